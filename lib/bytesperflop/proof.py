"""The proof kernel: a derivation is a chain of steps, and each step is decided, not believed.

Two engines that share no code decide every step: SymPy (:mod:`.sympy_engine`) and Z3
(:mod:`.z3_engine`). A step stands when both say yes. A false step raises
``FalseStep`` with a counterexample in numbers, an undecided one ``UndecidedStep``; a claim
that is not well formed raises ``Malformed``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import sympy as sp

from . import rendering
from .decision import (
    FalseStep,
    Malformed,
    ProofError,
    Side,
    Step,
    UndecidedStep,
    Verdict,
    decide,
    decide_limit,
    judge,
    well_formed,
)
from .quotient import Quotient

__all__ = [
    "Derivation",
    "FalseStep",
    "Malformed",
    "ProofError",
    "Quotient",
    "UndecidedStep",
    "Verdict",
]


@dataclass(frozen=True)
class Derivation(rendering.Shown):
    """A chain of decided steps; each method returns the longer chain.

    Example:
        >>> from bytesperflop.symbols import B, F, N, T, b
        >>> chain = (
        ...     Derivation("data", Quotient(2 * N * b / B, 6 * N * T / F))
        ...     .equals(b * F / (3 * B * T), "N stands above and below")
        ...     .concludes(free_of=[N])
        ... )
        >>> [verdict.engine for verdict in chain.steps[0].verdicts]
        ['SymPy', 'Z3']
        >>> chain.equals(b * F / (2 * B * T), "a slip")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        bytesperflop.decision.FalseStep: data: step 'a slip' is false: ...

    Raises:
        FalseStep, UndecidedStep, Malformed: as the module says.
    """

    name: str
    start: Side
    given: tuple = ()
    also: tuple[sp.Symbol, ...] = ()
    opening: str = ""
    steps: tuple[Step, ...] = field(default=(), repr=False)
    cancelled: tuple[sp.Symbol, ...] = field(default=(), repr=False)

    def _rows(self) -> list[tuple[str, Any, str, tuple]]:
        rows = [(s.relation, s.right, s.reason, s.verdicts) for s in self.steps]
        held = [f"given ${sp.latex(h)}$" for h in self.given]
        return [("", self.start, "; ".join([*filter(None, [self.opening]), *held]), ()), *rows]

    def _footer(self) -> str:
        gone = " and ".join(f"${sp.latex(x)}$" for x in self.cancelled)
        verb = "have" if len(self.cancelled) > 1 else "has"
        how = "cancelled" if self.relation == "=" else "dropped out"
        return f"∎ {gone} {verb} {how}." if gone else ""

    def __post_init__(self):
        object.__setattr__(self, "given", tuple(h for h in self.given if h is not sp.true))
        object.__setattr__(self, "also", tuple(self.also))
        if not str(self.name).strip():
            raise Malformed("name: a derivation needs one")
        well_formed(self.name, [self.start], self.given, self.also)

    @property
    def last(self) -> Side:
        """The right side of the last step (the start of an empty chain)."""
        return self.steps[-1].right if self.steps else self.start

    @property
    def relation(self) -> str:
        """How the chain relates its start and its end, = unless a step is ≤, ≥ or →."""
        return next((s.relation for s in self.steps if s.relation != "="), "=")

    def equals(self, right: Side, reason: str) -> "Derivation":
        """Add ``= right``."""
        return self._add("=", right, reason, partial(decide, "=", given=self.given))

    def at_most(self, right: Side, reason: str, certificate=None) -> "Derivation":
        """Add ``≤ right``; ``certificate`` is ``right - left`` in a form seen to be ≥ 0."""
        return self._bound("≤", right, reason, certificate)

    def at_least(self, right: Side, reason: str, certificate=None) -> "Derivation":
        """Add ``≥ right``; ``certificate`` is ``left - right`` in a form seen to be ≥ 0."""
        return self._bound("≥", right, reason, certificate)

    def tends_to(
        self, right: Side, reason: str, variable: sp.Symbol, bound, to=sp.oo
    ) -> "Derivation":
        """Add ``→ right`` as ``variable`` → ∞ (or 0), with ``|left - right| ≤ bound/variable``.

        At 0 the bound is ``bound*variable``. No hypothesis may tie the variable down.
        """
        bound = sp.Integer(bound) if isinstance(bound, int) else bound
        well_formed(self.name, [variable, bound, right], also=self.also)
        if to not in (0, sp.oo):
            raise Malformed(f"{self.name}: to = {to}: must be 0 or oo")
        if not (variable.is_Symbol and variable.is_nonnegative):
            raise Malformed(f"{self.name}: {variable} must be a symbol that is not negative")
        if to == 0 and variable.is_integer:
            raise Malformed(f"{self.name}: {variable} is a whole number: it can't tend to 0")
        for side in (right, bound, *self.given):
            if variable in side.free_symbols:
                raise Malformed(
                    f"{self.name}: the limit, its bound and what is given must not "
                    f"contain {variable}"
                )
        check = partial(decide_limit, variable=variable, to=to, bound=bound)
        where = rf" (${sp.latex(variable)} \to {sp.latex(to)}$)"
        return self._add("→", right, reason, partial(check, given=self.given), where)

    def concludes(
        self, expected: "Side | None" = None, free_of: Iterable[sp.Symbol] = ()
    ) -> "Derivation":
        """Close the chain: it ends in ``expected``, without symbols that it had at its start."""
        if not self.steps:
            raise Malformed(f"{self.name}: an empty chain concludes nothing")
        end, free_of = self.last.free_symbols, tuple(free_of)
        for symbol in free_of:
            if symbol not in self.start.free_symbols:
                raise Malformed(
                    f"{self.name}: {symbol} was not there at the start, so it can't cancel"
                )
            if symbol in end:
                raise FalseStep(f"{self.name}: {symbol} is still in {self.last}", {})
        closed = replace(self, cancelled=(*self.cancelled, *free_of))
        if expected is None or expected == self.last:
            return closed
        return closed.equals(expected, "the result as stated")

    def _bound(self, relation: str, right: Side, reason: str, certificate) -> "Derivation":
        if certificate is not None:
            well_formed(self.name, [certificate], also=self.also)
        check = partial(decide, relation, given=self.given, certificate=certificate)
        return self._add(relation, right, reason, check)

    def _add(self, relation: str, right: Side, reason: str, check, where="") -> "Derivation":
        if not isinstance(reason, str) or not reason.strip():
            raise Malformed(f"{self.name}: a step needs a reason in words")
        well_formed(self.name, [right], also=self.also)
        if relation != "=" and self.relation not in ("=", relation):
            raise Malformed(f"{self.name}: {relation} does not chain after {self.relation}")
        step = judge(self.name, Step(relation, self.last, right, reason + where, check))
        return replace(self, steps=(*self.steps, step))
