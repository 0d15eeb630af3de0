"""The page's propositions as chains that can be run with any assumption dropped.

Every premise is written in full; ``given`` freezes what an assumption hides.
"""

import sympy as sp

from . import assumptions as assume
from .assumptions import Given, Proposition
from .counting_rules import FLOP_RULE, PARAMETER_RULE
from .proof import Derivation, Quotient
from .symbols import B, F, L, N, T, alpha, b, c, d, delta, m, p, p_d, t, tau

_RING = assume.ring_share_d * b * F / (B * T) + (p_d - 1) * alpha * F / (N * T)
_HIDDEN = assume.overlap * (2 + assume.recompute) * (1 + assume.scores)
_EXPOSED = assume.synchronisations * _RING - _HIDDEN
_HALVED = (3 + assume.recompute) * (1 + assume.scores)


def _data(given: Given) -> Derivation:
    all_reduce = 2 * assume.ring_share_d * N * b / B + 2 * (p_d - 1) * alpha
    flops = (6 + 2 * assume.recompute) * (1 + assume.scores) * N * T
    backward = (4 + 2 * assume.recompute) * (1 + assume.scores) * N * T
    exposed = assume.synchronisations * all_reduce - assume.overlap * backward / F
    return Derivation(
        "communication per compute of data parallelism",
        Quotient(sp.Max(0, given(exposed)), given(flops) / F),
        opening="$2N$ elements of $b$ bytes sent, $6N$ FLOPs a token done",
    ).equals(sp.Max(0, given(_EXPOSED)) / given(_HALVED), "divide both by $2NT/F$")


_PER_LAYER = 4 + 2 * assume.unfused + 2 * assume.recompute
_WORK = (6 + 2 * assume.recompute) * (1 + assume.scores)
_TENSOR = (
    _PER_LAYER
    * assume.split_compute
    * (assume.ring_share_t * b * F / (B * d) + (t - 1) * alpha * F / (d**2 * T))
    / (6 * _WORK)
)


def _tensor(given: Given) -> Derivation:
    all_reduce = 2 * assume.ring_share_t * T * d * b / B + 2 * (t - 1) * alpha
    communication = given(_PER_LAYER) * L * given(all_reduce)
    share = given(assume.split_compute)
    time = [given(_WORK), 12, L, d**2, T, 1 / F, 1 / share]
    return Derivation(
        "communication per compute of tensor parallelism",
        Quotient(communication, [x for x in time if x != 1]),
        opening="four all-reduces of $Td$ elements a layer, $6\\cdot 12d^2$ FLOPs a token",
    ).equals(given(_TENSOR), "strike what both have, then divide by $12d^2/F$")


_OVERHEAD = (p - 1) / m + delta + 2 * (p - 1) * c / (m * tau)
_IDLE = (p - 1) + m * delta + 2 * (p - 1) * c / tau


def _late(given: Given) -> sp.Expr:
    """The time that a pipeline's schedule takes beyond the ideal $m\\tau$."""
    return given((p - 1) * tau + m * delta * tau + 2 * (p - 1) * c)


def _overhead(given: Given) -> Derivation:
    makespan = given((m + p - 1) * tau + m * delta * tau + 2 * (p - 1) * c)
    return (
        Derivation(
            "overhead of the pipeline",
            Quotient([makespan - m * tau], m * tau),
            opening="the schedule's length less the ideal, over the ideal",
        )
        .equals(Quotient(_late(given), m * tau), "$m\\tau$ of the schedule is work")
        .equals(given(_OVERHEAD), "divide by $m\\tau$")
    )


def _bubble(given: Given) -> Derivation:
    makespan = given((m + p - 1) * tau + m * delta * tau + 2 * (p - 1) * c)
    idle = given(_IDLE)
    return (
        Derivation(
            "bubble fraction of the pipeline",
            Quotient([makespan - m * tau], makespan),
            opening="the schedule's length less the ideal, over the schedule's length",
        )
        .equals(Quotient(_late(given), makespan), "$m\\tau$ of the schedule is work")
        .equals(idle / (m + idle), "divide both by $\\tau$")
    )


DATA = Proposition(
    id="data",
    title="Data-parallel communication does not depend on model size",
    chapter="data-parallelism",
    assumptions=(
        assume.BANDWIDTH_BOUND,
        assume.MANY_REPLICAS,
        assume.NO_OVERLAP,
        assume.ONE_SYNCHRONISATION,
        assume.WEIGHTS_ONLY,
        assume.NO_RECOMPUTE,
    ),
    chain=_data,
    formula=sp.Max(0, _EXPOSED) / _HALVED,
    free_of=(N,),
)

TENSOR = Proposition(
    id="tensor",
    title="Tensor-parallel communication does not depend on batch size",
    chapter="tensor-parallelism",
    assumptions=(
        assume.WHOLE_LAYER,
        assume.MANY_SHARDS,
        assume.BANDWIDTH_BOUND,
        assume.FUSED_QKV,
        assume.WEIGHTS_ONLY,
        assume.NO_RECOMPUTE,
    ),
    chain=_tensor,
    formula=_TENSOR,
    free_of=(L, T),
)

OVERHEAD = Proposition(
    id="pipeline-overhead",
    title="The pipeline's overhead",
    chapter="pipeline-parallelism",
    assumptions=(assume.EQUAL_STAGES, assume.FREE_BOUNDARIES),
    chain=_overhead,
    formula=_OVERHEAD,
    free_of=(tau,),
)

BUBBLE = Proposition(
    id="pipeline-bubble",
    title="The pipeline bubble fraction",
    chapter="pipeline-parallelism",
    assumptions=(assume.EQUAL_STAGES, assume.FREE_BOUNDARIES),
    chain=_bubble,
    formula=_IDLE / (m + _IDLE),
    free_of=(tau,),
)

PROPOSITIONS = {x.id: x for x in (PARAMETER_RULE, FLOP_RULE, DATA, TENSOR, OVERHEAD, BUBBLE)}
