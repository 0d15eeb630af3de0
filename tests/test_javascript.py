"""Expressions as functions: what is printed, what is refused, what Python's side computes."""

import keyword
import math

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from bytesperflop.javascript import javascript, python

x, y, z = sp.symbols("x y z", positive=True)
AWKWARD = [r"\bar{x}", "p'", "function", "lambda", "a0", "NaN", "x y", "Math"]


@pytest.mark.parametrize(
    ("expression", "source"),
    [
        (x / 3, "(a0,a1)=>(1/3)*a0"),
        (sp.sqrt(x) + sp.cbrt(y), "(a0,a1)=>Math.sqrt(a0) + Math.cbrt(a1)"),
        (sp.Max(0, x - y), "(a0,a1)=>Math.max(0, a0 - a1)"),
        (x ** sp.Rational(-2, 3), "(a0,a1)=>Math.pow(a0, -2/3)"),
        (sp.floor(x / y), "(a0,a1)=>Math.floor(a0/a1)"),
        (sp.Integer(7), "(a0,a1)=>7"),
        (5, "(a0,a1)=>5"),
    ],
)
def test_what_is_printed(expression, source):
    assert javascript(expression, [x, y]) == source


@pytest.mark.parametrize("name", AWKWARD)
def test_a_symbol_may_have_any_name(name):
    odd = sp.Symbol(name)
    assert javascript(2 * odd + x, [x, odd]) in ("(a0,a1)=>2*a1 + a0", "(a0,a1)=>a0 + 2*a1")
    assert python(2 * odd + x, [x, odd])(1, 10) == 21


def test_symbols_of_one_name_and_two_signs_are_two():
    plain = sp.Symbol("x")
    assert python(x - plain, [x, plain])(3, 1) == 2
    with pytest.raises(ValueError, match="unbound symbols x"):
        javascript(x - plain, [x])


@pytest.mark.parametrize(
    ("expression", "word"),
    [
        (sp.Sum(x, (x, 1, y)), "Sum"),
        (sp.Integral(x, (x, 1, y)), "Integral"),
        (sp.Derivative(sp.Function("f")(x), x), "Derivative|f"),
        (sp.gamma(x), "gamma"),
        (sp.factorial(x), "factorial"),
        (sp.erf(x), "erf"),
        (sp.Function("f")(x), "f"),
        (sp.I * x, "ImaginaryUnit"),
        (sp.oo, "Infinity"),
        (sp.nan, "NaN"),
        (sp.zoo, "ComplexInfinity"),
        (sp.pi * x, "Pi"),
        (sp.Piecewise((x, x > y), (y, True)), "Piecewise"),
        (z + x, "unbound symbols z"),
    ],
)
@pytest.mark.parametrize("function", [javascript, python])
def test_what_has_no_javascript_is_refused_by_name(function, expression, word):
    with pytest.raises(ValueError, match=word):
        function(expression, [x, y])


def test_an_argument_named_twice_is_refused():
    with pytest.raises(ValueError, match="must differ"):
        javascript(x, [x, x])


EXPRESSIONS = [
    x * y / (3 * z),
    sp.Max(0, x - y) / (z + 1),
    sp.Min(x, y, z) + sp.Max(x, 2),
    sp.root(x * y, 3) * sp.sqrt(z),
    (x + y) ** -2 + z ** sp.Rational(5, 2),
    sp.log(1 + x) + sp.exp(-y),
    sp.ceiling(x / 7) - sp.floor(y / 3),
]
numbers = st.floats(1e-3, 1e6)


@given(st.sampled_from(EXPRESSIONS), st.tuples(numbers, numbers, numbers))
def test_pythons_number_is_sympys(expression, point):
    exact = expression.subs(dict(zip((x, y, z), map(sp.Rational, point), strict=True))).evalf(30)
    assert math.isclose(python(expression, [x, y, z])(*point), exact, rel_tol=1e-12, abs_tol=1e-12)


def test_no_keyword_can_be_a_name():
    assert not any(keyword.iskeyword(f"a{place}") for place in range(100))
