"""The first engine: SymPy, exact over the rationals; it answers or says that it can't."""

import random
from collections.abc import Iterator

import sympy as sp

from .quotient import Quotient

SAMPLES = 60


def value(side: "sp.Expr | Quotient") -> sp.Expr:
    """The SymPy expression of a side."""
    return side.expr if isinstance(side, Quotient) else side


def prove(
    relation, left, right, given=(), certificate=None
) -> tuple[bool | None, str, dict | None]:
    """Decide ``left relation right`` under ``given``: (verdict, how, counterexample)."""
    one, two = (_normal(value(side), given) for side in (left, right))
    gap = {"=": one - two, "≥": one - two, "≤": two - one}[relation]
    if relation == "=" and _vanishes(gap):
        return True, "difference cancels to 0", None
    if relation != "=":
        if certificate is not None and _vanishes(gap - _normal(certificate, given)):
            gap = certificate
        if _never_negative(gap, given):
            how = "certificate" if certificate is not None else "no negative coefficient"
            return True, how, None
    for point in sample(one.free_symbols | two.free_symbols, given):
        difference = gap.subs(point)
        if difference.is_finite and (difference < 0 or (relation == "=" and difference != 0)):
            return False, "counterexample", point
    return None, "no certificate found" if relation != "=" else "equality not decided", None


def substitutions(given) -> dict[sp.Symbol, sp.Expr]:
    """Hypotheses ``x = e`` and ``x ≥ e`` as substitutions, a fresh slack for each ≥."""
    found: dict[sp.Symbol, sp.Expr] = {}
    for index, hypothesis in enumerate(given):
        relation = hypothesis.reversed if isinstance(hypothesis, (sp.Le, sp.Lt)) else hypothesis
        name, bound = relation.lhs, relation.rhs
        if not isinstance(name, sp.Symbol) or name in found or name in bound.free_symbols:
            continue
        slack = sp.Dummy(f"slack{index}", nonnegative=True)
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
    slack = {
        x: 1 + sp.Dummy(x.name, nonnegative=True)
        for x in gap.free_symbols
        if x.is_positive and x.is_integer
    }
    above, below = sp.fraction(sp.cancel(sp.together(gap.subs(slack))))
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
        good = (x.is_integer is not True or point[x].is_integer for x in point)
        positive = (not x.is_positive or point[x] > 0 for x in point)
        if all(good) and all(positive) and all(h.subs(point) is sp.true for h in given):
            yield {x: point[x] for x in everything}


def _draw(symbol: sp.Symbol, draw: random.Random) -> sp.Rational:
    if symbol.is_integer:
        return sp.Integer(draw.randint(1 if symbol.is_positive else 0, 12))
    size = sp.Rational(draw.randint(1, 40), draw.randint(1, 12))
    return size if symbol.is_nonnegative else size * draw.choice([-1, 1])
