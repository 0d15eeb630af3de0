"""Induction over one or more indices: every base and every step decided by both engines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import sympy as sp

from . import rendering
from .decision import Malformed, Step, decide, judge, well_formed

FIRST = 4  # indices at which the recurrence is also run in numbers


@dataclass(frozen=True)
class Induction(rendering.Shown):
    """A claim about a recurrence, with one decided step for each way to stand at the edge."""

    name: str
    claim: sp.Expr
    over: tuple[sp.Symbol, ...]
    steps: tuple[Step, ...]
    given: tuple = ()

    def _rows(self):
        indices = ", ".join(map(sp.latex, self.over))
        held = [f"given ${sp.latex(h)}$" for h in self.given]
        rows: list = [("", self.claim, "; ".join([f"claimed for all ${indices}$", *held]), ())]
        for step in self.steps:
            rows.append(("", step.left, step.reason, ()))
            rows.append((step.relation, step.right, "", step.verdicts))
        return rows

    def at(self, *values: sp.Expr) -> sp.Expr:
        """The proven formula at given indices."""
        return self.claim.subs(dict(zip(self.over, values, strict=True)), simultaneous=True)


def induct(
    name: str,
    claim: sp.Expr,
    recurrence: Callable[..., sp.Expr],
    over: Sequence[sp.Symbol],
    start: int = 0,
    given: Sequence = (),
) -> Induction:
    """Prove ``C(i, j, …) = claim`` from ``C(i, j, …) = recurrence(C, i, j, …)``.

    Each index is at ``start`` or is ``x + 1`` with ``x ≥ start``; in every combination the
    recurrence, with the claim put in for what it asks of ``C``, must give the claim. What it
    asks must lie at smaller indices, none before ``start``: else the induction is no induction.
    The recurrence may branch on an index being ``start``, and on nothing else; a branch on one
    of the first few numbers after it is found, since there it is run in numbers as well.

    Raises:
        FalseStep, UndecidedStep: a base or a step that an engine refutes or can't decide.
        Malformed: a recurrence that asks for itself, for what follows, or for what is not there;
            an index that is not a plain whole number, or can't be ``start``.

    Example:
        >>> i = sp.Symbol("i", integer=True, nonnegative=True)
        >>> gauss = induct("sum", i * (i + 1) / 2, lambda C, k: 0 if k == 0 else C(k - 1) + k, [i])
        >>> [step.reason for step in gauss.steps]
        ['base: $i = 0$', 'step to $i + 1$']
    """
    over, given = tuple(over), tuple(given)
    named = (claim, *given)  # and so declared
    also = set(over).union(*(getattr(x, "free_symbols", ()) for x in named))
    well_formed(name, [claim, *over], given, also)
    for index in over:
        _check_index(name, index, start, given)

    def decided(here: tuple, reason: str) -> Step:
        held = [*given, *(sp.Ge(x, start) for now, x in zip(here, over, strict=True) if now.has(x))]
        left = _ask(name, recurrence, _earlier(name, claim, over, here, start), here)
        well_formed(name, [left], also=also)
        right = claim.subs(dict(zip(over, here, strict=True)), simultaneous=True)
        return judge(name, Step("=", left, right, reason, partial(decide, "=", given=held)))

    edges = product([True, False], repeat=len(over))
    steps = tuple(
        decided(_place(edge, over, start), _describe(edge, over, start)) for edge in edges
    )
    for numbers in product(range(start, start + FIRST), repeat=len(over)):
        decided(tuple(map(sp.Integer, numbers)), f"in numbers, at {numbers}")
    return Induction(name, claim, over, steps, given)


def _check_index(name, index, start, given) -> None:
    plain = [sp.Dummy(integer=True, **{sign: True}) for sign in ("nonnegative", "positive")]
    if index.assumptions0 not in [x.assumptions0 for x in plain]:
        raise Malformed(f"{name}: index {index} must be a whole number of at least 0, and no more")
    least = 1 if index.is_positive else 0
    if not isinstance(start, int) or start < least:
        raise Malformed(f"{name}: start = {start!r}: must be a whole number of at least {least}")
    if any(index in hypothesis.free_symbols for hypothesis in given):
        raise Malformed(f"{name}: what is given must not contain the index {index}")


def _place(edge, over, start) -> tuple[sp.Expr, ...]:
    return tuple(sp.Integer(start) if base else x + 1 for base, x in zip(edge, over, strict=True))


def _ask(name, recurrence, earlier, here) -> sp.Expr:
    try:
        return sp.sympify(recurrence(earlier, *here), strict=True)
    except TypeError as error:
        raise Malformed(f"{name}: the recurrence does not answer at {here}: {error}") from error


def _earlier(name, claim, over, here, start):
    """The claim as hypothesis: it answers only for smaller indices."""
    least = dict.fromkeys(over, sp.Integer(start))

    def hypothesis(*indices):
        indices = tuple(map(sp.sympify, indices))
        back = [now - then for now, then in zip(here, indices, strict=True)]
        if not all(x.is_Integer and x >= 0 for x in back) or not any(back):
            raise Malformed(
                f"{name}: the recurrence at {here} asks for {indices}, which is not earlier"
            )
        if any(x.subs(least) < start for x in indices):
            raise Malformed(
                f"{name}: the recurrence at {here} asks for {indices}, before the start {start}"
            )
        return claim.subs(dict(zip(over, indices, strict=True)), simultaneous=True)

    return hypothesis


def _describe(edge, over, start) -> str:
    at = ", ".join(f"{sp.latex(x)} = {start}" for base, x in zip(edge, over, strict=True) if base)
    to = ", ".join(f"{sp.latex(x)} + 1" for base, x in zip(edge, over, strict=True) if not base)
    if not to:
        return f"base: ${at}$"
    return f"step to ${to}$" + (f" with ${at}$" if at else "")
