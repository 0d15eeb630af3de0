"""The overhead of one split over all three axes, as a chain, with what it assumes.

One device's own clock: the work of its share, the ring that sums its gradients, the
rings that sum its activations, and the stages' waiting. The full premise is written
once; dropping an assumption brings back what its ideal value had hidden.
"""

import sympy as sp

from .assumptions import BANDWIDTH_BOUND, Assumption, Given, Proposition
from .proof import Derivation, Quotient
from .symbols import B as bandwidth
from .symbols import B_t, F, L, N, T, T_g, alpha, b, d, m, p, p_d, t, u

step_tokens = sp.Symbol("step_tokens", positive=True)
microbatches = sp.Symbol("microbatches", positive=True)
stretch = sp.Symbol("stretch", nonnegative=True)
tensor_link = sp.Symbol("tensor_link", positive=True)

STEP_HELD = Assumption(
    "tokens of a step held",
    "a step has $T_g$ tokens, however many replicas share them",
    "each replica has $T$, and a step $Tp_d$",
    step_tokens,
    T_g,
    T * p_d,
)
MICROBATCHES_HELD = Assumption(
    "microbatches held",
    "a replica's share of the step is cut into $m$ microbatches",
    "into microbatches of $u$ tokens, $T_g/(p_du)$ of them",
    microbatches,
    m,
    step_tokens / (p_d * u),
)
FIRST_ORDER = Assumption(
    "first order",
    "while stages wait, nothing is exchanged: the three costs add up",
    "filling and draining the pipeline exchanges activations too",
    stretch,
    sp.Integer(0),
    sp.Integer(1),
)
FAST_GROUP = Assumption(
    "fast tensor group",
    "a tensor group's devices are joined by a link of their own, $B_t$ bytes/s",
    "they share the network, $B$ bytes/s",
    tensor_link,
    B_t,
    bandwidth,
)


_LATENCY = p_d * t * p * alpha * F / (3 * N * step_tokens)
_BY_DATA = (p_d - 1) * (b * F / (3 * bandwidth * step_tokens) + _LATENCY)
_LATE = t * p_d * microbatches * alpha * F / (9 * d**2 * step_tokens)
_BY_TENSOR = (t - 1) * (b * F / (9 * d * tensor_link) + _LATE)
_BY_STAGES = (p - 1) / microbatches * (1 + stretch * _BY_TENSOR)
_OVERHEAD = _BY_DATA + _BY_TENSOR + _BY_STAGES


def _split(given: Given) -> Derivation:
    def full(expression: sp.Expr) -> sp.Expr:
        return given(given(expression))  # microbatches held or not, the step's tokens may vary

    tokens = step_tokens / p_d
    work = 6 * N * tokens / (t * p * F)
    ring = 2 * (p_d - 1) / p_d * N / (t * p) * b / bandwidth + 2 * (p_d - 1) * alpha
    rings = 2 * (t - 1) / t * tokens * d * b / tensor_link + microbatches * 2 * (t - 1) * alpha
    exchange = 4 * L / p * rings
    waiting = (p - 1) / microbatches * (work + stretch * exchange)
    lost = ring + exchange + waiting

    return Derivation(
        "overhead of a split",
        Quotient([full(lost)], [full(x) for x in (6, N, tokens, 1 / (t * p * F))]),
        given=(sp.Eq(N, 12 * L * d**2),),
        opening="gradient ring, activation rings and waiting, over the work of one device",
    ).equals(full(_OVERHEAD), "$N = 12Ld^2$; divide each term")


SPLIT = Proposition(
    id="split",
    title="The overhead of a split",
    chapter="why-all-three",
    assumptions=(
        STEP_HELD,
        MICROBATCHES_HELD,
        FIRST_ORDER,
        FAST_GROUP,
        BANDWIDTH_BOUND,
    ),
    chain=_split,
    formula=_OVERHEAD,
    free_of=(N, L),
)
