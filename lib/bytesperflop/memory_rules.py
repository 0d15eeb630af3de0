"""What activations weigh against the parameters' state: a chain with assumptions to drop."""

import sympy as sp

from .assumptions import Assumption, Given, Proposition
from .premises import Premise, _points
from .proof import Derivation, Quotient
from .symbols import L, a, d, p_d, s, t, u

gradient_bytes = sp.Symbol("gradient_bytes", positive=True)
score_tensors = sp.Symbol("score_tensors", nonnegative=True)
dropouts = sp.Symbol("dropouts", nonnegative=True)
cut = sp.Symbol("cut", positive=True)
sharded = sp.Symbol("sharded", positive=True)

NARROW_GRADIENTS = Assumption(
    "narrow gradients",
    "gradients are summed in 2-byte elements",
    "they are summed in fp32, 4 bytes",
    gradient_bytes,
    sp.Integer(2),
    sp.Integer(4),
)
SCORES_KEPT = Assumption(
    "scores kept",
    "attention's $s$ by $s$ scores are kept for the backward pass",
    "a fused kernel or selective recomputation makes them again",
    score_tensors,
    sp.Integer(1),
    sp.Integer(0),
)
DROPOUT = Assumption(
    "dropout",
    "scores and both blocks' outputs go through dropout, whose masks are kept",
    "nothing is dropped: no masks, and no second copy of the scores",
    dropouts,
    sp.Integer(1),
    sp.Integer(0),
)
UNCUT = Assumption(
    "whole layer",
    "one device holds the layer, or $t$ devices cut weights and tokens alike",
    "they cut the weights only: norms, block inputs and masks stay whole",
    cut,
    sp.Integer(1),
    t,
)
REPLICATED = Assumption(
    "replicated state",
    "every replica holds the optimiser's state",
    "$p_d$ replicas share its 12 bytes (ZeRO stage 1)",
    sharded,
    sp.Integer(1),
    p_d,
)


def _bytes(given: Given) -> tuple[sp.Expr, sp.Expr]:
    """State bytes a parameter, and activation bytes a token and layer."""
    state = 2 + gradient_bytes + 12 / sharded
    outside, inside = 8 * d + 2 * d * dropouts, 24 * d / cut
    of_scores = score_tensors * a * s * (2 + 3 * dropouts) / cut
    return given(state), given(outside + inside + of_scores)


def _ratio(given: Given) -> Derivation:
    state, activations = _bytes(given)
    share = given(cut)
    result = sp.cancel(u * activations * share / (12 * d**2 * state))
    return Derivation(
        "activations over state",
        Quotient(sp.Mul(L, u, activations, evaluate=False), [state, 12, L, d, d, 1 / share])
        if share != 1
        else Quotient([L, u, activations], [state, 12, L, d, d]),
        opening="bytes of $L$ layers for $u$ tokens, over bytes of $12Ld^2$ parameters",
    ).equals(result, "strike $L$")


STATE_AND_ACTIVATIONS = Proposition(
    id="memory",
    title="Activations against state does not depend on depth",
    chapter="prerequisites/training-memory",
    assumptions=(NARROW_GRADIENTS, SCORES_KEPT, DROPOUT, UNCUT, REPLICATED),
    chain=_ratio,
    formula=u
    * (8 + 2 * dropouts + 24 / cut + score_tensors * a * s * (2 + 3 * dropouts) / (cut * d))
    * cut
    / (12 * d * (2 + gradient_bytes + 12 / sharded)),
    free_of=(L,),
    written="{:.3f}",
)


def _held(sequence: bool, recompute: str):
    def count(L: int, s: int, d: int, a: int, t: int) -> int:
        import numpy as np

        from .memory_simulation import make_model, run_step

        x = np.random.default_rng(0).normal(size=(s, d)).astype("float16")
        _, _, meter = run_step(make_model(L, d, a, t), x, x, sequence, recompute)
        return max(x.activations for x in meter.history if x.phase == "forward")

    return count


def _kept(id: str, says: str, claim: sp.Expr, sequence: bool, recompute: str) -> Premise:
    return Premise(
        id,
        says,
        L * s * claim,
        "the arrays that a step in NumPy keeps for its backward pass, their bytes added up",
        _held(sequence, recompute),
        _points(L, s, d, a, t)(
            (1, 4, 8, 2, 1), (2, 6, 8, 4, 2), (3, 8, 16, 4, 4), (2, 4, 12, 2, 2)
        ),
    )


KEPT = _kept(
    "kept",
    "a layer keeps $(10+24/t)d+5as/t$ bytes a token",
    (10 + 24 / t) * d + 5 * a * s / t,
    False,
    "none",
)
KEPT_SEQUENCE = _kept(
    "kept-sequence",
    "$(34d+5as)/t$ where the tokens are cut too",
    (34 * d + 5 * a * s) / t,
    True,
    "none",
)
KEPT_SELECTIVE = _kept(
    "kept-selective",
    "$34d/t$ where scores are made again as well",
    34 * d / t,
    True,
    "selective",
)
KEPT_FULL = _kept("kept-full", "$2d$ where the whole layer is run again", 2 * d, False, "full")
