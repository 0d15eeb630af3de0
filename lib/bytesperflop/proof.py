"""The proof kernel: a derivation is a chain of steps, and each step is decided, not believed.

Two engines that share no code decide every step: SymPy (:mod:`.sympy_engine`) and Z3
(:mod:`.z3_engine`). A step stands when both say yes. A false step raises
:class:`FalseStep` with a counterexample in numbers, an undecided one
:class:`UndecidedStep`; a claim that is not well formed raises :class:`Malformed`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import sympy as sp

from . import rendering, sympy_engine
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
)
from .quotient import Quotient
from .symbols import TABLE

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
        return [("", self.start, self.opening, ()), *rows]

    def _footer(self) -> str:
        gone = " and ".join(f"${sp.latex(x)}$" for x in self.cancelled)
        return f"∎ {gone} {'have' if len(self.cancelled) > 1 else 'has'} cancelled." if gone else ""

    def __post_init__(self):
        object.__setattr__(self, "given", tuple(h for h in self.given if h is not sp.true))
        if not str(self.name).strip():
            raise Malformed("name: a derivation needs one")
        self._check(self.start)
        for hypothesis in self.given:
            if not isinstance(hypothesis, (sp.Eq, sp.Ge, sp.Gt, sp.Le, sp.Lt)):
                raise Malformed(
                    f"{self.name}: hypothesis {hypothesis!r} is not a relation of SymPy"
                )
            self._check(hypothesis.lhs)
            self._check(hypothesis.rhs)
        if self.given and next(sympy_engine.sample((), self.given), None) is None:
            raise Malformed(f"{self.name}: no point found that satisfies {list(self.given)}")

    @property
    def last(self) -> Side:
        """The right side of the last step (the start of an empty chain)."""
        return self.steps[-1].right if self.steps else self.start

    @property
    def relation(self) -> str:
        """What the chain says of its start and its end: = unless a step is ≤, ≥ or →."""
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
        """Add ``→ right`` as ``variable`` → ∞ (or 0), with ``|left - right| ≤ bound/variable``."""
        if to not in (0, sp.oo):
            raise Malformed(f"{self.name}: to = {to}: must be 0 or oo")
        if variable in sp.sympify(bound).free_symbols or variable in right.free_symbols:
            raise Malformed(f"{self.name}: the limit and its bound must not contain {variable}")
        check = partial(decide_limit, variable=variable, to=to, bound=bound)
        return self._add("→", right, reason, partial(check, given=self.given))

    def concludes(
        self, expected: "Side | None" = None, free_of: Iterable[sp.Symbol] = ()
    ) -> "Derivation":
        """Close the chain: it ends in ``expected``, without symbols that it had at its start."""
        if not self.steps:
            raise Malformed(f"{self.name}: an empty chain concludes nothing")
        end = self.last.free_symbols
        for symbol in free_of:
            if symbol not in self.start.free_symbols:
                raise Malformed(
                    f"{self.name}: {symbol} was not there at the start, so it can't cancel"
                )
            if symbol in end:
                raise FalseStep(f"{self.name}: {symbol} is still in {self.last}", {})
        closed = replace(self, cancelled=(*self.cancelled, *free_of))
        if expected is None or sympy_engine.value(expected) == sympy_engine.value(self.last):
            return closed
        return closed.equals(expected, "the result as stated")

    def _bound(self, relation: str, right: Side, reason: str, certificate) -> "Derivation":
        check = partial(decide, relation, given=self.given, certificate=certificate)
        return self._add(relation, right, reason, check)

    def _add(self, relation: str, right: Side, reason: str, check) -> "Derivation":
        if not isinstance(reason, str) or not reason.strip():
            raise Malformed(f"{self.name}: a step needs a reason in words")
        self._check(right)
        if relation != "=" and self.relation not in ("=", relation):
            raise Malformed(f"{self.name}: {relation} does not chain after {self.relation}")
        step = judge(self.name, Step(relation, self.last, right, reason, check))
        return replace(self, steps=(*self.steps, step))

    def _check(self, side: Any) -> None:
        if not isinstance(side, (sp.Expr, Quotient)):
            raise Malformed(f"{self.name}: {side!r} is not a SymPy expression")
        for symbol in side.free_symbols:
            if symbol in TABLE or symbol in self.also:
                if not symbol.is_extended_real:
                    raise Malformed(
                        f"{self.name}: symbol {symbol} has no assumptions: nothing can be decided"
                    )
                continue
            twin = next((x for x in TABLE if x.name == symbol.name), None)
            hint = f"use bytesperflop.symbols.{twin}" if twin else "list it in 'also'"
            kind = "is unknown" if twin is None else "is not the book's (other assumptions)"
            raise Malformed(f"{self.name}: symbol {symbol} {kind}: {hint}")
