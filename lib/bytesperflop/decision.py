"""Deciding one step: two engines, their verdicts, and the error that a bad step calls for."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import sympy as sp

from . import sympy_engine
from .quotient import Quotient
from .symbols import TABLE

Side: TypeAlias = "sp.Expr | Quotient"

NO_NUMBERS = (sp.Float, sp.I, sp.oo, -sp.oo, sp.zoo, sp.nan)


class ProofError(ValueError):
    """A derivation that does not stand."""


class FalseStep(ProofError):
    """A step that an engine refuted; ``counterexample`` maps symbols to numbers."""

    def __init__(self, message: str, counterexample: dict):
        super().__init__(message)
        self.counterexample = counterexample


class UndecidedStep(ProofError):
    """A step that an engine could neither prove nor refute."""


class Malformed(ProofError):
    """Input that says nothing which could be decided."""


@dataclass(frozen=True)
class Verdict:
    """What one engine says of one step: ``holds`` is True, False or None (undecided)."""

    engine: str
    holds: bool | None
    how: str
    counterexample: dict | None = None
    ran: bool = True


@dataclass(frozen=True)
class Step:
    """``left relation right``, its reason, and what the engines said."""

    relation: str
    left: Side
    right: Side
    reason: str
    decide: Callable[[Side, Side], list[Verdict]]
    verdicts: tuple[Verdict, ...] = ()


def well_formed(name: str, sides, given=(), also=()) -> None:
    """Refuse, with a message for each, what no engine could be asked about.

    Raises:
        Malformed: not SymPy; not exact, finite and real; a symbol that is unknown, is not the
            book's, or is not said to be real; hypotheses that are none, or that nothing fulfils.
    """
    for hypothesis in given:
        if not isinstance(hypothesis, (sp.Eq, sp.Ge, sp.Gt, sp.Le, sp.Lt)):
            raise Malformed(f"{name}: hypothesis {hypothesis!r} is not a relation of SymPy")
    for side in [*sides, *(x for h in given for x in (h.lhs, h.rhs))]:
        if not isinstance(side, (sp.Expr, Quotient)):
            raise Malformed(f"{name}: {side!r} is not a SymPy expression")
        for symbol in side.free_symbols:
            _known(name, symbol, also)
        parts = (*side.numerator, *side.denominator) if isinstance(side, Quotient) else ()
        if any(x.has(*NO_NUMBERS) for x in (*parts, sympy_engine.value(side))):
            raise Malformed(f"{name}: {side} is not exact, finite and real")
    if given and next(sympy_engine.sample((), given), None) is None:
        raise Malformed(f"{name}: no point found that satisfies {list(given)}")


def _known(name: str, symbol: sp.Symbol, also) -> None:
    if symbol in TABLE:
        return
    if any(symbol.name == twin.name for twin in TABLE):
        raise Malformed(
            f"{name}: symbol {symbol} is not the book's (other assumptions): "
            f"use bytesperflop.symbols.{symbol.name}"
        )
    if symbol not in also:
        raise Malformed(f"{name}: symbol {symbol} is unknown: list it in 'also'")
    if not symbol.is_real:
        raise Malformed(f"{name}: symbol {symbol} has no assumptions: nothing can be decided")


def decide(relation: str, left: Side, right: Side, given=(), certificate=None) -> list[Verdict]:
    """Both engines' verdicts on ``left relation right`` (=, ≤ or ≥) under ``given``.

    A counterexample stands only if its numbers, put in, keep what is assumed and break the claim.
    """
    given = [h for h in given if h is not sp.true]
    verdicts = [Verdict("SymPy", *sympy_engine.prove(relation, left, right, given, certificate))]
    try:
        from . import z3_engine

        verdicts.append(Verdict("Z3", *z3_engine.prove(relation, left, right, given)))
    except ModuleNotFoundError as error:
        if error.name != "z3":
            raise
        verdicts.append(
            Verdict("Z3", None, "not installed here: this engine did not run", None, False)
        )
    return [
        replace(v, holds=None, how="counterexample not confirmed", counterexample=None)
        if v.holds is False
        and not sympy_engine.refutes(v.counterexample, relation, left, right, given)
        else v
        for v in verdicts
    ]


def decide_limit(left, right, variable, to, bound, given) -> list[Verdict]:
    """Both decide ``|left - right| ≤ bound/x`` (``bound*x`` at 0); SymPy also takes the limit."""
    goal = sympy_engine.value(right)
    size = bound / variable if to == sp.oo else bound * variable
    held = [*given, variable >= 1] if to == sp.oo else list(given)
    sides = [decide("≤", left, goal + size, held), decide("≥", left, goal - size, held)]
    verdicts = []
    for pair in zip(*sides, strict=True):
        worst = min(pair, key=lambda v: {False: 0, None: 1, True: 2}[v.holds])
        how = {True: f"within {size}", False: f"not within {size}", None: worst.how}[worst.holds]
        verdicts.append(replace(worst, how=how))
    limit = sp.limit(sympy_engine.value(left), variable, to)
    if verdicts[0].holds and not sympy_engine.prove("=", limit, goal, given)[0]:
        verdicts[0] = Verdict("SymPy", None, f"the limit is {limit}")
    return verdicts


def judge(name: str, step: Step) -> Step:
    """The step with its verdicts, or the error that they call for."""
    verdicts = step.decide(step.left, step.right)
    claim = f"{step.left} {step.relation} {step.right}"
    for verdict in verdicts:
        if verdict.holds is False:
            point = verdict.counterexample or {}
            found = f"{verdict.engine}: {verdict.how}{_values(step, point)}"
            raise FalseStep(f"{name}: step '{step.reason}' is false:\n  {claim}\n  {found}", point)
    for verdict in verdicts:
        if verdict.holds is None and verdict.ran:
            raise UndecidedStep(
                f"{name}: step '{step.reason}' was not decided by {verdict.engine}:\n"
                f"  {claim}\n  {verdict.how}"
            )
    return replace(step, verdicts=tuple(verdicts))


def _values(step: Step, point: dict) -> str:
    """Where a counterexample lies, and what the two sides are there."""
    if not point:
        return ""
    at = ", ".join(f"{x} = {y}" for x, y in point.items())
    left, right = (sympy_engine.value(side).subs(point) for side in (step.left, step.right))
    return f" at {at}:\n  left {left}, right {right}"
