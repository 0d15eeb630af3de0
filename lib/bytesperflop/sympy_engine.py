"""The first engine: SymPy, exact over the rationals; it answers or says that it can't."""

import random
from collections.abc import Iterator
from itertools import islice

import sympy as sp

from .quotient import Quotient

SAMPLES = 60


def value(side: "sp.Expr | Quotient") -> sp.Expr:
    """The SymPy expression of a side."""
    return side.expr if isinstance(side, Quotient) else side


def prove(
    relation, left, right, given=(), certificate=None
) -> tuple[bool | None, str, dict | None]:
    """Decide ``left relation right`` under ``given``: (verdict, how, counterexample).

    A few points are tried before the proof, since most falsehoods fall at the first.
    """
    points = sample(value(left).free_symbols | value(right).free_symbols, given)
    for point in islice(points, 3):
        if refutes(point, relation, left, right, given):
            return False, "counterexample", point
    why = _not_proven(relation, left, right, given, certificate)
    if why is None:
        return True, "difference cancels to 0" if relation == "=" else "never negative", None
    for point in points:
        if refutes(point, relation, left, right, given):
            return False, "counterexample", point
    return None, why, None


def _not_proven(relation, left, right, given, certificate) -> str | None:
    """None when the claim is proven, else what is missing."""
    written = [left, right, *(side for h in given for side in (h.lhs, h.rhs))]
    if certificate is not None:
        written.append(certificate)
    for below in sorted(set().union(*map(_denominators, written)), key=str):
        if not _differs_from_zero(below, given):
            return f"the denominator {below} could not be shown to differ from zero"
    one, two = (_normal(value(side), given) for side in (left, right))
    gap = two - one if relation == "≤" else one - two
    if relation == "=":
        return None if _vanishes(gap) else "equality not decided"
    if certificate is not None:
        if not _vanishes(gap - _normal(certificate, given)):
            return f"the certificate {certificate} is not the difference of the sides"
        gap = certificate
    return None if _never_negative(gap, given) else "no certificate found"


def substitutions(given) -> dict[sp.Symbol, sp.Expr]:
    """Hypotheses ``x = e``, ``x ≥ e``, ``x > e`` as substitutions, a fresh slack for each bound."""
    found: dict[sp.Symbol, sp.Expr] = {}
    for index, hypothesis in enumerate(given):
        relation = hypothesis.reversed if isinstance(hypothesis, (sp.Le, sp.Lt)) else hypothesis
        name, bound = relation.lhs, relation.rhs
        if not isinstance(name, sp.Symbol) or name in found or name in bound.free_symbols:
            continue
        strict = isinstance(relation, sp.Gt)
        slack = sp.Dummy(f"slack{index}", **{"positive" if strict else "nonnegative": True})
        found[name] = bound if isinstance(relation, sp.Eq) else bound + slack
    return found


def _apply(expression: sp.Expr, given) -> sp.Expr:
    rules = substitutions(given)
    for _ in rules:  # a bound may name another bounded symbol
        expression = expression.subs(rules)
    return expression


def _normal(expression: sp.Expr, given) -> sp.Expr:
    return _gather_extremes(_apply(expression, [h for h in given if isinstance(h, sp.Eq)]))


def _vanishes(gap: sp.Expr) -> bool:
    return sp.cancel(sp.together(gap)) == 0


def _denominators(side: "sp.Expr | Quotient") -> set[sp.Expr]:
    """What stands below a line, as written: a quotient's own, and bases of negative powers."""
    quotient = isinstance(side, Quotient)
    written = (*side.numerator, *side.denominator) if quotient else (side,)
    powers = (power for part in written for power in part.atoms(sp.Pow))
    found = {power.base for power in powers if not power.exp.is_nonnegative}
    return found | set(side.denominator) if quotient else found


def _differs_from_zero(below: sp.Expr, given) -> bool:
    below = _apply(below, given)
    return bool(below.is_nonzero or sp.expand(_from_one(below)).is_nonzero)


def _from_one(expression: sp.Expr) -> sp.Expr:
    """Each positive whole number as 1 and a slack."""
    slack = {
        x: 1 + sp.Dummy(x.name, nonnegative=True)
        for x in expression.free_symbols
        if x.is_positive and x.is_integer
    }
    return expression.subs(slack)


def _gather_extremes(expression: sp.Expr) -> sp.Expr:
    """Max and Min in one normal form: what multiplies or adds inside, every branch cancelled."""
    if not expression.has(sp.Max, sp.Min):
        return expression
    if isinstance(expression, (sp.Max, sp.Min)):
        return expression.func(
            *(sp.cancel(sp.together(_gather_extremes(x))) for x in expression.args)
        )
    if isinstance(expression, sp.Mul):
        inside = [x for x in expression.args if isinstance(x, (sp.Max, sp.Min))]
        rest = expression / sp.Mul(*inside)
        if len(inside) == 1 and rest.is_positive:
            return _gather_extremes(inside[0].func(*(x * rest for x in inside[0].args)))
    if isinstance(expression, sp.Add):
        terms = [_gather_extremes(x) for x in expression.args]
        inside = [x for x in terms if x.has(sp.Max, sp.Min)]
        if len(inside) == 1 and isinstance(inside[0], (sp.Max, sp.Min)):
            rest = sp.Add(*terms) - inside[0]
            return _gather_extremes(inside[0].func(*(x + rest for x in inside[0].args)))
        return sp.Add(*terms)
    return expression.func(*map(_gather_extremes, expression.args))


def _never_negative(gap: sp.Expr, given) -> bool:
    gap = _gather_extremes(_apply(gap, given))
    if gap.is_nonnegative:
        return True
    if isinstance(gap, (sp.Max, sp.Min)):
        enough = any if isinstance(gap, sp.Max) else all
        return enough(_never_negative(x, ()) for x in gap.args)
    above, below = sp.fraction(sp.cancel(sp.together(_from_one(gap))))
    if below.is_number and below.is_negative:
        above, below = -above, -below
    return _coefficients_good(above) and _coefficients_good(below)


def _coefficients_good(polynomial: sp.Expr) -> bool:
    symbols = sorted(polynomial.free_symbols, key=str)
    if not symbols:
        return bool(polynomial.is_nonnegative)
    if not polynomial.is_polynomial(*symbols) or not all(x.is_nonnegative for x in symbols):
        return False
    return all(c.is_nonnegative for c in sp.Poly(polynomial, *symbols).coeffs())


def refutes(point, relation, left, right, given=()) -> bool:
    """Whether the numbers keep all that is assumed, and break the claim."""
    gap = value(left).xreplace(point) - value(right).xreplace(point)
    if not (_admissible(point, given) and gap.is_real):
        return False
    return bool((gap > 0 and relation != "≥") or (gap < 0 and relation != "≤"))


def _admissible(point, given) -> bool:
    kept = (
        getattr(number, f"is_{trait}") is holds
        for symbol, number in point.items()
        for trait, holds in symbol.assumptions0.items()
    )
    return all(kept) and all(h.xreplace(point) is sp.true for h in given)


def sample(symbols, given=()) -> Iterator[dict[sp.Symbol, sp.Rational]]:
    """Rational points that keep the symbols' signs and the hypotheses, always the same ones."""
    draw = random.Random(20_190_917)
    rules = substitutions(given)
    everything = set(symbols).union(*(h.free_symbols for h in given))
    free = sorted(everything - set(rules), key=str)
    for _ in range(SAMPLES):
        point = {x: _draw(x, draw) for x in free}
        for name in [*rules] * len(rules):
            bound = rules[name].subs(point)
            point[name] = bound.subs({x: draw.randint(0, 3) for x in bound.free_symbols})
        if _admissible(point, given):
            yield {x: point[x] for x in everything}


def _draw(symbol: sp.Symbol, draw: random.Random) -> sp.Rational:
    least = 1 if symbol.is_positive else 0
    above = draw.randint(least, draw.choice([3, 12, 40, 1_000_000]))
    size = sp.Rational(above, 1 if symbol.is_integer else draw.randint(1, 12))
    return size if symbol.is_nonnegative else size * draw.choice([-1, 1])
