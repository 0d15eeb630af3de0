"""Attack a proof: every coefficient, exponent, sign and symbol of it, changed one at a time."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import sympy as sp

from .decision import Side
from .quotient import Quotient


@dataclass
class Attack:
    """What became of the mutants: who caught how many, and which ones nobody caught."""

    name: str
    tried: int = 0
    by: Counter = field(default_factory=Counter)
    survivors: list[str] = field(default_factory=list)

    @property
    def caught(self) -> int:
        """Mutants that at least one check refused."""
        return self.tried - len(self.survivors)

    def add(self, label: str, catchers: list[str]) -> None:
        """Record one mutant and who refused it."""
        self.tried += 1
        self.by.update(catchers)
        if not catchers:
            self.survivors.append(label)

    def __add__(self, other: "Attack") -> "Attack":
        return Attack(
            self.name,
            self.tried + other.tried,
            self.by + other.by,
            self.survivors + other.survivors,
        )

    def __str__(self) -> str:
        who = ", ".join(f"{name} {count}" for name, count in sorted(self.by.items()))
        left = "; ".join(self.survivors) or "none"
        return (
            f"{self.name}: {self.caught} of {self.tried} mutants caught ({who}); survivors: {left}"
        )


def mutate(expression: sp.Expr) -> Iterator[tuple[str, sp.Expr]]:
    """Each way to change one number, exponent, sign or symbol of an expression.

    Example:
        >>> from bytesperflop.symbols import N
        >>> [str(changed) for _, changed in mutate(2 * N)]
        ['3*N', '2*N**2', '-2*N']
    """
    others = sorted(expression.free_symbols, key=str)
    seen = {expression}
    for label, changed in _changes(expression, others):
        if changed not in seen:
            seen.add(changed)
            yield label, changed
    if -expression not in seen:
        yield f"-({expression}) for {expression}", -expression


def _changes(node: sp.Expr, others: list[sp.Symbol]) -> Iterator[tuple[str, sp.Expr]]:
    if node.is_Rational:
        yield f"{node + 1} for {node}", node + 1
    elif isinstance(node, sp.Symbol):
        yield f"{node}^2 for {node}", node**2
        swap = next((x for x in others if x != node), None)
        if swap is not None:
            yield f"{swap} for {node}", swap
    elif isinstance(node, sp.Pow):
        base, exponent = node.args
        for label, changed in _changes(base, others):
            yield label, changed**exponent
        if exponent + 1 != 0:
            yield f"exponent {exponent + 1} for {exponent}", base ** (exponent + 1)
    else:
        for index, part in enumerate(node.args):
            rest = [*node.args[:index], *node.args[index + 1 :]]
            for label, changed in _changes(part, others):
                yield label, node.func(changed, *rest)
            if isinstance(node, sp.Add):
                yield f"-({part}) for {part}", node.func(-part, *rest)


def mutate_side(side: Side) -> Iterator[tuple[str, Side]]:
    """As :func:`mutate`; in a quotient factor by factor, those that cancel included."""
    if not isinstance(side, Quotient):
        yield from mutate(side)
        return
    symbols = sorted(side.free_symbols, key=str)
    seen = {side}
    for position, factor in enumerate(side.numerator + side.denominator):
        sign = [(f"-({factor}) for {factor}", -factor)] if position == 0 else []
        for label, changed in [*_changes(factor, symbols), *sign]:
            mutant = side.replace(position, changed)
            if mutant not in seen:
                seen.add(mutant)
                yield label, mutant


def attack(derivation) -> Attack:
    """Mutate the right side of each step, and ask the engines about each mutant.

    ``derivation`` is anything with a name and decided steps (a chain or an induction).

    Example:
        >>> from bytesperflop.propositions import DATA
        >>> attack(DATA.proof()).survivors
        []
    """
    result = Attack(derivation.name)
    for index, step in enumerate(derivation.steps):
        if index == 0:
            for label, changed in mutate_side(step.left):
                result.add(f"start: {label}", _refusing(step.decide(changed, step.right)))
        for label, changed in mutate_side(step.right):
            result.add(f"step {index + 1}: {label}", _refusing(step.decide(step.left, changed)))
    return result


def _refusing(verdicts) -> list[str]:
    return [v.engine for v in verdicts if v.ran and not v.holds]
