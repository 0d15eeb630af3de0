"""The counting rules as chains that can be run with any assumption dropped: 12d² and 6N."""

import sympy as sp

from .assumptions import (
    NO_RECOMPUTE,
    WEIGHTS_ONLY,
    Assumption,
    Given,
    Proposition,
    recompute,
    scores,
)
from .proof import Derivation, Quotient
from .symbols import L, V, a, d, d_ff, g

gates = sp.Symbol("gates", nonnegative=True)
vocabulary = sp.Symbol("vocabulary", nonnegative=True)
constant_input = sp.Symbol("constant_input", nonnegative=True)

FULL_HEADS = Assumption(
    "full heads",
    "every query head has its own key-value head, $g = a$",
    "keys and values shrink to $g/a$ of their size; queries and output do not",
    g,
    a,
    g,
)
FOUR_D = Assumption(
    "MLP of $4d$",
    "the MLP is four times as wide as the model",
    "it is $d_{ff}$ wide",
    d_ff,
    4 * d,
    d_ff,
)
PLAIN_MLP = Assumption(
    "plain MLP",
    "the MLP has two matrices, up and down",
    "it is gated, and has three",
    gates,
    sp.Integer(0),
    sp.Integer(1),
)
LAYERS_ONLY = Assumption(
    "layers only",
    "embedding and head are left out",
    "each has $Vd$ parameters, of which only the head's multiply",
    vocabulary,
    sp.Integer(0),
    V,
)
EVERY_GRADIENT = Assumption(
    "every gradient",
    "each product needs the gradients of both its factors",
    "the first layer's input is a constant, and queries, keys and values skip its gradient",
    constant_input,
    sp.Integer(0),
    sp.Integer(1),
)


_PARAMETERS = 2 + 2 * g / a + (2 + gates) * d_ff / d + 2 * vocabulary / (L * d)
_SHARE = vocabulary / (L * d)
_FLOPS = ((3 + recompute) * (1 + scores) * 2 - constant_input / (2 * L) + _SHARE / 2) / (
    1 + _SHARE / 6
)


def _parameters(given: Given) -> Derivation:
    heads, width, rows = given(g), given(d_ff), 2 * given(vocabulary)
    layer = 2 * d**2 + 2 * d**2 * g / a + (2 + given(gates)) * d * d_ff
    shape = {g: heads, d_ff: width}
    chain = Derivation(
        "parameters over $Ld^2$",
        Quotient(L * layer + rows * d, L * d**2),
        given=(sp.Eq(g, heads), sp.Eq(d_ff, width)),
        opening="queries and output, keys and values, MLP",
    )
    if shape != {g: g, d_ff: d_ff}:
        assumed = Quotient(L * layer.subs(shape) + rows * d, L * d**2)
        chain = chain.equals(assumed, "what is assumed of the shape")
    return chain.equals(given(_PARAMETERS), "divide by $Ld^2$")


def _flops(given: Given) -> Derivation:
    products = (3 + recompute) * (1 + scores)
    skipped, rows = 6 * d**2 * constant_input, vocabulary * d
    flops = products * 2 * 12 * L * d**2 - skipped + 6 * rows
    parameters = 12 * L * d**2 + 2 * rows
    result = given(_FLOPS)
    return Derivation(
        "training FLOPs a token over parameters",
        Quotient(given(flops), given(parameters)),
        opening="three products of two FLOPs for each parameter of $12Ld^2$",
    ).equals(sp.cancel(result) if result.has(V) else result, "divide both by $12Ld^2$")


PARAMETER_RULE = Proposition(
    id="counting-parameters",
    title="A layer has $12d^2$ parameters",
    chapter="counting-rules",
    assumptions=(FULL_HEADS, FOUR_D, PLAIN_MLP, LAYERS_ONLY),
    chain=_parameters,
    formula=_PARAMETERS,
    free_of=(L, d),
    written="{:.3f}",
)

FLOP_RULE = Proposition(
    id="counting",
    title="Training costs six FLOPs a parameter and token",
    chapter="counting-rules",
    assumptions=(WEIGHTS_ONLY, NO_RECOMPUTE, LAYERS_ONLY, EVERY_GRADIENT),
    chain=_flops,
    formula=_FLOPS,
    free_of=(L, d),
    written="{:.3f}",
)
