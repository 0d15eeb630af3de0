"""Each symbol once, and dimensions that add up."""

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from bytesperflop import ratios, symbols
from bytesperflop.symbols import (
    BYTES,
    BYTES_PER_SECOND,
    PER_SECOND,
    PURE,
    SECONDS,
    TABLE,
    B,
    F,
    L,
    N,
    T,
    alpha,
    b,
    d,
    dimension,
    m,
    p,
    p_d,
    t,
    tau,
)


def test_each_symbol_is_in_the_table_under_its_own_name():
    public = {x: y for x, y in vars(symbols).items() if isinstance(y, sp.Symbol)}
    assert set(public.values()) == set(TABLE)
    renamed = {name: symbol.name for name, symbol in public.items() if name != symbol.name}
    assert renamed == {"lam": "lambda"}  # a word of Python's
    assert len({symbol.name for symbol in TABLE}) == len(TABLE)


def test_each_entry_has_a_meaning_of_its_own_a_sign_and_a_dimension():
    meanings = [entry.meaning for entry in TABLE.values()]
    assert all(meanings)
    assert len(set(meanings)) == len(meanings)
    for symbol, entry in TABLE.items():
        assert entry.symbol is symbol
        assert symbol.is_nonnegative
        assert symbol.is_real
        assert len(entry.dimension) == 2
    assert all(x.is_integer for x in (N, L, d, T, p, p_d, t, m))
    assert not alpha.is_positive


def test_a_symbol_is_not_what_merely_has_its_name():
    for twin in (sp.Symbol("N"), sp.Symbol("N", positive=True, integer=True)):
        assert twin != N
        assert twin not in TABLE


def test_printed_in_the_table_s_order():
    assert sp.latex(F * b / (B * T)) == r"\frac{b F}{B T}"
    assert sp.latex(d * L * 12) == "12 L d"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (N, PURE),
        (b, BYTES),
        (tau, SECONDS),
        (alpha, SECONDS),
        (F, PER_SECOND),
        (B, BYTES_PER_SECOND),
        (2 * N * b / B, SECONDS),
        (6 * N * T / F, SECONDS),
        (b * F / B, PURE),
        (p_d * alpha * B / b, PURE),
        ((m + p - 1) * tau, SECONDS),
        (sp.Max(tau, 2 * alpha), SECONDS),
        (sp.Max(0, tau - alpha), SECONDS),
        (sp.Min(tau, alpha) / tau, PURE),
        (sp.sqrt(b * tau), (sp.Rational(1, 2), sp.Rational(1, 2))),
        (sp.sqrt(B) ** 3, (sp.Rational(3, 2), -sp.Rational(3, 2))),
        (2**m, PURE),
        (sp.exp(alpha * F), PURE),
        (sp.Integer(7), PURE),
        (3, PURE),
    ],
    ids=str,
)
def test_dimension(expression, expected):
    assert dimension(expression) == expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (N + b, "unlike dimensions"),
        (tau + 1, "unlike dimensions"),
        (b / B + b, "unlike dimensions"),
        (sp.Max(tau, b), "unlike dimensions"),
        (sp.Max(tau, 1), "unlike dimensions"),
        (2**tau, "must be a pure number"),
        (N ** (tau + 1), "unlike dimensions"),
        (sp.exp(tau), "must be a pure number"),
        (sp.log(b), "must be a pure number"),
        (sp.Symbol("q"), "not in the book's table"),
        (N * sp.Symbol("q"), "not in the book's table"),
    ],
    ids=str,
)
def test_what_has_no_dimension_is_refused(expression, message):
    with pytest.raises(ValueError, match=message):
        dimension(expression)


POWERS = st.lists(st.integers(-3, 3), min_size=6, max_size=6)


@given(POWERS, POWERS)
def test_dimensions_add_in_products_and_scale_in_powers(one, two):
    letters = (b, F, B, N, tau, alpha)
    left, right = (sp.prod(x**e for x, e in zip(letters, es, strict=True)) for es in (one, two))
    both = dimension(left * right)
    assert both == tuple(i + j for i, j in zip(dimension(left), dimension(right), strict=True))
    assert dimension(left**2) == tuple(2 * i for i in dimension(left))
    expected = (one[0] + one[2], one[4] + one[5] - one[1] - one[2])
    assert dimension(left) == expected


@pytest.mark.parametrize(
    "ratio",
    [
        ratios.data_parallel(b, F, B, T),
        ratios.data_parallel_exact(b, F, B, T, N, p_d, alpha),
        ratios.latency_balance(p_d, alpha, B, b),
        ratios.tokens_to_hide(b, F, B, p_d, alpha, N),
        ratios.tensor_parallel(b, F, B, d),
        ratios.tensor_parallel_exact(b, F, B, d, t, T, alpha),
        ratios.bubble_overhead(p, m),
        ratios.bubble_fraction(p, m),
        ratios.boundary_traffic(b, F, B, L, d, p),
    ],
    ids=str,
)
def test_every_ratio_is_a_pure_number(ratio):
    assert dimension(ratio) == PURE
    for planted in (ratio * tau, ratio / b, ratio * F):
        assert dimension(planted) != PURE
    with pytest.raises(ValueError, match="unlike dimensions"):
        dimension(ratio + tau)
