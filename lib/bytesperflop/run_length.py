"""How long a run takes against its batch: steps to a target times seconds a step, as a chain."""

import sympy as sp

from .assumptions import BANDWIDTH_BOUND, Assumption, Given, Proposition
from .combined import FAST_GROUP, tensor_link
from .proof import Derivation, Quotient
from .symbols import B, B_crit, F, L, N, S_min, T_g, alpha, b, d, m, p, p_d, t, u

microbatch = sp.Symbol("microbatch", positive=True)
early = sp.Symbol("early", positive=True)
rho = sp.Symbol("rho", positive=True)

MICROBATCH_HELD = Assumption(
    "microbatch held",
    "a microbatch has $u$ tokens, and a larger step has more of them",
    "a replica's step is cut into $m$ microbatches, whatever its size",
    microbatch,
    u,
    T_g / (p_d * m),
)
ONE_CRITICAL_BATCH = Assumption(
    "one critical batch",
    "$B_{crit}$ is the same from the first step to the last",
    "it is $\\rho$ times as large in the second half as in the first, and $B_{crit}$ its mean",
    early,
    sp.Integer(1),
    2 / (1 + rho),
)


_STRETCH = 1 + (t - 1) * (b * F / (9 * d * tensor_link) + t * alpha * F / (9 * d**2 * microbatch))
_LOST = (p_d - 1) * (b * F / (3 * B) + p_d * t * p * alpha * F / (3 * N))
_FIXED = (p - 1) * p_d * microbatch + _LOST / _STRETCH
_LENGTH = _STRETCH * (1 + T_g / B_crit) * (1 + _FIXED / T_g)


def _batch(given: Given) -> Derivation:
    halves = (early * B_crit, (2 - early) * B_crit)
    steps = sum(S_min / 2 * (1 + critical / T_g) for critical in halves)
    tokens = T_g / p_d
    work = 6 * N * tokens / (t * p * F)
    rings = (
        2 * (t - 1) / t * tokens * d * b / tensor_link + tokens / microbatch * 2 * (t - 1) * alpha
    )
    ring = 2 * (p_d - 1) / p_d * N / (t * p) * b / B + 2 * (p_d - 1) * alpha
    step = (work + 4 * L / p * rings) * (1 + (p - 1) * microbatch / tokens) + ring

    return Derivation(
        "length of a run over the compute of its fewest tokens",
        Quotient([given(steps), given(step)], [S_min, B_crit, 6, N, 1 / (p_d * t * p * F)]),
        given=(sp.Eq(N, 12 * L * d**2),),
        also=(rho,),
        opening="steps times seconds a step, over $6N$ FLOPs for each of $S_{min}B_{crit}$ tokens",
    ).equals(given(_LENGTH), "$N = 12Ld^2$; what a step loses is put in tokens")


BATCH = Proposition(
    id="batch",
    title="The shortest run takes the geometric mean of what a step loses and the critical batch",
    chapter="what-this-does-not-say",
    assumptions=(MICROBATCH_HELD, ONE_CRITICAL_BATCH, FAST_GROUP, BANDWIDTH_BOUND),
    chain=_batch,
    formula=_LENGTH,
    free_of=(N, L, S_min),
)
