"""ZeRO's third stage as a chain with assumptions to drop, and its counts as premises."""

from collections.abc import Callable

import sympy as sp

from . import assumptions as assume
from .assumptions import Assumption, Given, Proposition
from .memory import state_bytes
from .premises import Premise, _points
from .proof import Derivation, Quotient
from .symbols import B, F, L, N, T, alpha, b, d, k, p_d
from .zero import sent_elements

regathers = sp.Symbol("regathers", nonnegative=True)

MANY_SHARES = Assumption(
    "many shares",
    "there are many replicas, so that gathering or reducing $N$ elements sends $N$",
    "it sends $N(p_d-1)/p_d$",
    assume.ring_share_d,
    sp.Integer(1),
    (p_d - 1) / p_d,
)
NO_SECOND_FORWARD = Assumption(
    "no recomputation",
    "activations are kept for the backward pass, not computed a second time",
    "the forward pass runs twice, the second time on weights that are there already",
    assume.recompute,
    sp.Integer(0),
    sp.Integer(1),
)

GATHERED_AGAIN = Assumption(
    "gathered again",
    "a layer's weights are dropped after its forward pass and gathered again for its backward",
    "they are kept from one to the other, $2N$ bytes at the turn",
    regathers,
    sp.Integer(1),
    sp.Integer(0),
)
ONE_MICROBATCH = Assumption(
    "one microbatch",
    "the $T$ tokens of a step are one microbatch",
    "they are $k$ microbatches, and each gathers and reduces",
    assume.synchronisations,
    sp.Integer(1),
    k,
)

_COLLECTIVES = 2 + regathers
_WORK = (6 + 2 * assume.recompute) * (1 + assume.scores)
_SENT = assume.ring_share_d * b * F / (B * T) + L * (p_d - 1) * alpha * F / (N * T)


def _zero(given: Given) -> Derivation:
    once = given(assume.ring_share_d * N * b / B + L * (p_d - 1) * alpha)
    times = given(assume.synchronisations * _COLLECTIVES)
    return Derivation(
        "communication per compute of ZeRO stage 3",
        Quotient(times * once, given(_WORK) * N * T / F),
        opening="two gatherings and one reduction of $N$ elements, $6N$ FLOPs a token",
    ).equals(times * given(_SENT) / given(_WORK), "divide both by $NT/F$")


ZERO = Proposition(
    id="zero",
    title="The cost of sharded weights does not depend on their number",
    chapter="beyond/zero",
    assumptions=(
        assume.BANDWIDTH_BOUND,
        MANY_SHARES,
        GATHERED_AGAIN,
        ONE_MICROBATCH,
        assume.WEIGHTS_ONLY,
        NO_SECOND_FORWARD,
    ),
    chain=_zero,
    formula=assume.synchronisations * _COLLECTIVES * _SENT / _WORK,
    free_of=(N,),
)


def _trained(stage: int, L: int, d: int, p_d: int, k: int, reshard: bool = True):
    """A model after one step of k microbatches."""
    import numpy as np

    from .network import Network
    from .zero_simulation import Zero

    draw = np.random.default_rng(0).normal
    layers = [draw(size=(d, d)) for _ in range(L)]
    model = Zero(Network(p_d), layers, stage, reshard)
    rows = [draw(size=(p_d, d)) for _ in range(k)]
    model.step(rows, rows)
    return model


def _sent(stage: int, reshard: bool = True) -> Callable[..., int]:
    def count(L: int, d: int, p_d: int, k: int) -> int:
        sent = set(_trained(stage, L, d, p_d, k, reshard).network.elements)
        return sent.pop() if len(sent) == 1 else -1

    return count


def _held(stage: int) -> Callable[..., int]:
    def count(L: int, d: int, p_d: int) -> int:
        held = {replica.bytes() for replica in _trained(stage, L, d, p_d, 1).replicas}
        return held.pop() if len(held) == 1 else -1

    return count


def _volume(stage: int, says: str, reshard: bool = True) -> Premise:
    """Elements sent, N being the Ld² of the simulated layers."""
    return Premise(
        f"zero-{stage}-sent" if reshard else f"zero-{stage}-kept-sent",
        f"stage {stage} sends $(p_d-1)/p_d$ of {says}",
        sent_elements(N, p_d, stage, k, reshard).subs(N, L * d**2),
        "a step of Adam on replicas over a wire that counts",
        _sent(stage, reshard),
        _points(L, d, p_d, k)((1, 4, 2, 3), (2, 6, 3, 1), (3, 4, 4, 2), (2, 8, 8, 5)),
    )


def _memory(stage: int, says: str) -> Premise:
    return Premise(
        f"zero-{stage}-held",
        f"stage {stage} holds {says} bytes a parameter",
        sp.expand(state_bytes(N, stage, p_d)).subs(N, L * d**2),
        "the arrays that a replica holds after a step, their bytes added up",
        _held(stage),
        _points(L, d, p_d)((1, 4, 2), (2, 6, 3), (3, 4, 4), (2, 8, 8)),
    )


SENT = (
    _volume(0, "$2N$"),
    _volume(1, "$2N$"),
    _volume(2, "$(k+1)N$"),
    _volume(3, "$3kN$"),
    _volume(3, "$2kN$ where weights are kept for the backward pass", reshard=False),
)
HELD = (
    _memory(0, "16"),
    _memory(1, "$4+12/p_d$"),
    _memory(2, "$2+14/p_d$"),
    _memory(3, "$16/p_d$"),
)
