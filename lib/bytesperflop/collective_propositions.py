"""The all-reduce's proposition and its assumptions, each of which can be dropped."""

import sympy as sp

from . import assumptions as assume
from .assumptions import Assumption, Given, Proposition
from .proof import Derivation, Quotient
from .symbols import B, alpha, b, n, p

_share = sp.Symbol("all_reduce_share", nonnegative=True)
_padding = sp.Symbol("padding", nonnegative=True)
_duplex = sp.Symbol("duplex", nonnegative=True)

ADDED_ON_DEVICES = Assumption(
    "addition on devices",
    "only devices add; what carries the messages does not",
    "a switch adds, and each device sends its array once",
    _share,
    2 * (p - 1) / p,
    sp.Integer(1),
)
EVEN_CHUNKS = Assumption(
    "even chunks",
    "$p$ divides $n$",
    "the largest chunk goes all the way round, as if $n$ had up to $p-1$ elements more",
    _padding,
    sp.Integer(0),
    p - 1,
)
BOTH_WAYS = Assumption(
    "both ways at once",
    "a device sends at $B$ while it receives at $B$",
    "sending and receiving share $B$",
    _duplex,
    sp.Integer(1),
    sp.Integer(2),
)

_RATIO = _duplex * _share * (1 + _padding / n) + 2 * (p - 1) * alpha * B / (n * b)


def _all_reduce(given: Given) -> Derivation:
    seconds = given(2 * (p - 1) * alpha + _duplex * _share * (n + _padding) * b / B)
    return Derivation(
        "an all-reduce over sending the array once",
        Quotient(seconds, n * b / B),
        opening="a ring's seconds, over those of one message of $n$ elements",
    ).equals(given(_RATIO), "divide both by $nb/B$")


ALL_REDUCE = Proposition(
    id="collectives",
    title="No all-reduce sends less than a ring",
    chapter="prerequisites/collectives",
    assumptions=(assume.BANDWIDTH_BOUND, EVEN_CHUNKS, BOTH_WAYS, ADDED_ON_DEVICES),
    chain=_all_reduce,
    formula=_RATIO,
    free_of=(n, b, B),
    written="{:.3g}",
)
