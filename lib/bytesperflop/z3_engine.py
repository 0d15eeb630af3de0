"""The second engine: Z3, handed both sides of a claim as they were written.

Whole numbers are relaxed to reals above their bound, so what is proven here holds for
more than the book needs. A denominator that can vanish is refused before anything is proven.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy as sp

from .quotient import Quotient

RESOURCES = 20_000_000  # Z3's own count of work, the same on every machine; not a time


class Untranslatable(ValueError):
    """An expression that Z3's real arithmetic cannot be handed."""


class Translator:
    """SymPy to Z3, with the side conditions that the translation needs."""

    def __init__(self):
        import z3

        self.z3 = z3
        self.variables: dict[sp.Symbol, Any] = {}
        self.conditions: list[Any] = []
        self.denominators: dict[Any, sp.Expr] = {}
        self._roots: dict[tuple, Any] = {}

    def number(self, value: sp.Expr) -> Any:
        """A rational constant."""
        return self.z3.RealVal(str(sp.Rational(value)))

    def symbol(self, symbol: sp.Symbol) -> Any:
        """A real variable, with the symbol's sign (and 1 as the least positive whole number)."""
        if symbol not in self.variables:
            variable = self.variables[symbol] = self.z3.Real(f"v{len(self.variables)}")
            if symbol.is_positive and symbol.is_integer:
                self.conditions.append(variable >= 1)
            elif symbol.is_positive:
                self.conditions.append(variable > 0)
            elif symbol.is_nonnegative:
                self.conditions.append(variable >= 0)
        return self.variables[symbol]

    def _inverse(self, below: Any, source: sp.Expr) -> Any:
        self.denominators[below] = source
        return 1 / below

    def _root(self, base: sp.Expr, degree: int) -> Any:
        if (base, degree) not in self._roots:
            root = self._roots[base, degree] = self.z3.Real(f"r{len(self._roots)}")
            self.conditions += [root >= 0, self._power(root, degree) == self(base)]
        return self._roots[base, degree]

    @staticmethod
    def _power(base: Any, exponent: int) -> Any:
        result = base
        for _ in range(exponent - 1):
            result = result * base
        return result

    def __call__(self, expression: "sp.Expr | Quotient") -> Any:
        """The Z3 term of an expression, its structure kept."""
        z3 = self.z3
        if isinstance(expression, Quotient):
            below = self(sp.Mul(*expression.denominator, evaluate=False))
            return self(sp.Mul(*expression.numerator, evaluate=False)) * self._inverse(
                below, sp.Mul(*expression.denominator)
            )
        if expression.is_Rational:
            return self.number(expression)
        if isinstance(expression, sp.Symbol):
            return self.symbol(expression)
        if isinstance(expression, sp.Add):
            return z3.Sum([self(x) for x in expression.args])
        if isinstance(expression, sp.Mul):
            return z3.Product([self(x) for x in expression.args])
        if isinstance(expression, sp.Pow) and expression.exp.is_Rational:
            return self._translate_power(expression)
        if isinstance(expression, (sp.Max, sp.Min)):
            first, *rest = map(self, expression.args)
            for other in rest:
                keep = first >= other if isinstance(expression, sp.Max) else first <= other
                first = z3.If(keep, first, other)
            return first
        raise Untranslatable(
            f"{expression}: Z3's real arithmetic has no {type(expression).__name__}"
        )

    def _translate_power(self, power: sp.Pow) -> Any:
        base, exponent = power.args
        above, degree = abs(exponent.p), exponent.q
        if degree > 1 and not base.is_nonnegative:
            raise Untranslatable(f"{power}: the root of {base}, which may be negative")
        inner = self(base) if degree == 1 else self._root(base, degree)
        result = self._power(inner, above)
        return self._inverse(result, base**above) if exponent < 0 else result

    def relation(self, relation: Any) -> Any:
        """The Z3 formula of a SymPy relation."""
        left, right = self(relation.lhs), self(relation.rhs)
        return {
            sp.Eq: lambda: left == right,
            sp.Ge: lambda: left >= right,
            sp.Gt: lambda: left > right,
            sp.Le: lambda: left <= right,
            sp.Lt: lambda: left < right,
        }[relation.func]()


def prove(relation: str, left, right, given=()) -> tuple[bool | None, str, dict | None]:
    """Decide ``left relation right`` under ``given``: (verdict, how, counterexample).

    The negation is handed to Z3; ``unsat`` proves the claim, a model refutes it.
    """
    import z3

    translate = Translator()
    try:
        hypotheses = [translate.relation(h) for h in given]
        one, two = translate(left), translate(right)
    except Untranslatable as error:
        return None, str(error), None
    known = [*translate.conditions, *hypotheses]
    for source in translate.denominators.values():
        if why := _may_vanish(source, tuple(given)):
            return None, f"the denominator {source} {why}", None
    negation = {"=": one != two, "≤": one > two, "≥": one < two}[relation]
    answer, solver = _check([*known, negation])
    if answer == z3.unsat:
        return True, "negation unsatisfiable", None
    if answer == z3.unknown:
        return None, f"undecided ({solver.reason_unknown()})", None
    model = solver.model()
    variables = translate.variables.items()
    return (
        False,
        "counterexample",
        {x: _value(model.eval(y, model_completion=True)) for x, y in variables},
    )


@lru_cache(maxsize=4096)
def _may_vanish(below: sp.Expr, given: tuple) -> str:
    """Why a denominator is not known to differ from zero; empty when it is known."""
    import z3

    translate = Translator()
    hypotheses = [translate.relation(h) for h in given]
    zero = translate(below) == 0
    answer, _ = _check([*translate.conditions, *hypotheses, zero])
    if answer == z3.unsat:
        return ""
    return "can vanish" if answer == z3.sat else "could not be shown to differ from zero"


def _check(formulas) -> tuple[Any, Any]:
    """Z3's answer from a fresh solver (an incremental one gives up its best tactic)."""
    import z3

    solver = z3.SolverFor("QF_NRA")
    solver.set("rlimit", RESOURCES)
    solver.add(*formulas)
    return solver.check(), solver


def _value(term: Any) -> sp.Rational:
    if hasattr(term, "as_fraction"):
        return sp.Rational(Fraction(term.as_fraction()))
    return sp.Rational(Fraction(term.approx(12).as_fraction()))
