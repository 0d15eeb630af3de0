"""Deciding one step: two engines, their verdicts, and the error that a bad step calls for."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import sympy as sp

from . import sympy_engine
from .quotient import Quotient

Side: TypeAlias = "sp.Expr | Quotient"


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


def decide(relation: str, left: Side, right: Side, given=(), certificate=None) -> list[Verdict]:
    """Both engines' verdicts on ``left relation right`` (=, ≤ or ≥) under ``given``."""
    given = [h for h in given if h is not sp.true]
    verdicts = [Verdict("SymPy", *sympy_engine.prove(relation, left, right, given, certificate))]
    try:
        from . import z3_engine

        verdicts.append(Verdict("Z3", *z3_engine.prove(relation, left, right, given)))
    except ModuleNotFoundError:
        verdicts.append(
            Verdict("Z3", None, "not installed here: this engine did not run", None, False)
        )
    return verdicts


def decide_limit(left, right, variable, to, bound, given) -> list[Verdict]:
    """SymPy takes the limit; both decide ``|left - right| ≤ bound/x`` (``bound*x`` at 0)."""
    limit = sp.limit(sympy_engine.value(left), variable, to)
    gap = sympy_engine.value(left) - right
    size = bound / variable if to == sp.oo else bound * variable
    held = [*given, variable >= 1] if to == sp.oo else list(given)
    sides = [decide("≤", gap, size, held), decide("≥", gap, -size, held)]
    verdicts = []
    for pair in zip(*sides, strict=True):
        worst = min(pair, key=lambda v: {False: 0, None: 1, True: 2}[v.holds])
        verdicts.append(replace(worst, how=f"bounded by {size}" if worst.holds else worst.how))
    if sp.cancel(limit - right) != 0:
        verdicts[0] = Verdict("SymPy", False, f"the limit is {limit}", {variable: to})
    return verdicts


def judge(name: str, step: Step) -> Step:
    """The step with its verdicts, or the error that they call for."""
    verdicts = step.decide(step.left, step.right)
    claim = f"{step.left} {step.relation} {step.right}"
    for verdict in verdicts:
        if verdict.holds is False:
            at = ", ".join(f"{x} = {y}" for x, y in (verdict.counterexample or {}).items())
            raise FalseStep(
                f"{name}: step '{step.reason}' is false: {claim} "
                f"({verdict.engine}: {verdict.how}, at {at})",
                verdict.counterexample or {},
            )
    for verdict in verdicts:
        if verdict.holds is None and verdict.ran:
            raise UndecidedStep(
                f"{name}: step '{step.reason}' was not decided by {verdict.engine}: "
                f"{claim} ({verdict.how})"
            )
    return replace(step, verdicts=tuple(verdicts))
