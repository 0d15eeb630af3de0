"""Induction over one or more indices: every base and every step decided by both engines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import sympy as sp

from . import rendering
from .decision import Malformed, Step, decide, judge


@dataclass(frozen=True)
class Induction(rendering.Shown):
    """A claim about a recurrence, with one decided step for each way to stand at the edge."""

    name: str
    claim: sp.Expr
    over: tuple[sp.Symbol, ...]
    steps: tuple[Step, ...]

    def _rows(self):
        indices = ", ".join(map(sp.latex, self.over))
        rows: list = [("", self.claim, f"claimed for all ${indices}$", ())]
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

    Raises:
        FalseStep, UndecidedStep: a base or a step that an engine refutes or can't decide.
        Malformed: a recurrence that asks for itself, for what follows, or for what is not there.

    Example:
        >>> i = sp.Symbol("i", integer=True, nonnegative=True)
        >>> gauss = induct("sum", i * (i + 1) / 2, lambda C, k: 0 if k == 0 else C(k - 1) + k, [i])
        >>> [step.reason for step in gauss.steps]
        ['base: $i = 0$', 'step to $i + 1$']
    """
    over = tuple(over)
    for index in over:
        if not (index.is_integer and index.is_nonnegative):
            raise Malformed(f"{name}: index {index} must be a whole number of at least 0")
    steps = []
    for edge in product([True, False], repeat=len(over)):
        here = tuple(
            sp.Integer(start) if base else x + 1 for base, x in zip(edge, over, strict=True)
        )
        held = [*given, *(sp.Ge(x, start) for base, x in zip(edge, over, strict=True) if not base)]
        earlier = _earlier(name, claim, over, here, start)
        left = sp.sympify(recurrence(earlier, *here))
        right = claim.subs(dict(zip(over, here, strict=True)), simultaneous=True)
        reason = _describe(edge, over, start)
        step = Step("=", left, right, reason, partial(decide, "=", given=held))
        steps.append(judge(name, step))
    return Induction(name, claim, over, tuple(steps))


def _earlier(name, claim, over, here, start):
    """The claim as hypothesis: it answers only for smaller indices."""

    def hypothesis(*indices):
        indices = tuple(map(sp.sympify, indices))
        back = [now - then for now, then in zip(here, indices, strict=True)]
        if not all(x.is_Integer and x >= 0 for x in back) or not any(back):
            raise Malformed(
                f"{name}: the recurrence at {here} asks for {indices}, which is not earlier"
            )
        if any(x.is_number and x < start for x in indices):
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
