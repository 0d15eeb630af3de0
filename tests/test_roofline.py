"""The roofline: closed forms against counted FLOPs and elements, laws and planted slips."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from bytesperflop import catalog, counting, ratios, roofline_rules
from bytesperflop import symbols as sym
from bytesperflop.counting_simulation import Tally
from bytesperflop.roofline import (
    attainable,
    cache_bytes,
    decode_seconds,
    matmul_intensity,
    ridge,
    tokens_to_ridge,
    weights_intensity,
)

PREMISES = (
    roofline_rules.FORWARD,
    roofline_rules.BACKWARD,
    roofline_rules.MOVED,
    roofline_rules.CACHED,
)
sizes = st.integers(1, 40)
rates = st.floats(1e-3, 1e3)


@pytest.mark.parametrize("premise", PREMISES, ids=lambda x: x.id)
def test_counts_and_no_mutant_of_them(premise):
    assert premise.verify() == 4
    attack = premise.attack()
    assert attack.tried > 5
    assert not attack.survivors


@given(sizes, sizes, sizes, st.sampled_from(["float16", "float32", "float64"]))
def test_intensity_of_a_product_that_runs_and_of_its_two_gradients(m, k, n, dtype):
    x, w, dy = (np.ones(shape, dtype) for shape in ((m, k), (k, n), (m, n)))
    for left, right in ((x, w), (dy, w.T), (x.T, dy)):
        tally = Tally()
        product = tally.matmul(left, right, "it")
        counted = tally.total() / (left.nbytes + right.nbytes + product.nbytes)
        assert counted == pytest.approx(matmul_intensity(m, k, n, x.itemsize))


def test_the_smallest_dimension_rules():
    m, k, n, b = sym.m, sym.k, sym.n, sym.b
    inverse = b / 2 * (1 / m + 1 / k + 1 / n)
    assert sp.cancel(1 / matmul_intensity(m, k, n, b) - inverse) == 0
    assert sp.limit(matmul_intensity(m, k, n, b), k, sp.oo) == 2 * m * n / (b * (m + n))
    limit = sp.limit(sp.limit(matmul_intensity(m, k, n, b), k, sp.oo), n, sp.oo)
    assert limit == weights_intensity(m, b)


@given(rates, rates, rates, rates)
def test_attainable_is_whichever_takes_longer(flops, amount, F, B_m):
    seconds = max(flops / F, amount / B_m)
    assert attainable(flops / amount, F, B_m) == pytest.approx(flops / seconds)
    assert attainable(ridge(F, B_m), F, B_m) == pytest.approx(F)


@given(rates, rates, rates)
def test_attainable_never_falls_with_intensity_and_never_passes_the_rate(low, high, F):
    low, high = sorted((low, high))
    assert attainable(low, F, 2.0) <= attainable(high, F, 2.0) <= F


def test_the_threshold_is_where_both_take_as_long():
    b, F, B_m, T = sym.b, sym.F, sym.B_m, sym.T
    assert sp.cancel(weights_intensity(tokens_to_ridge(b, F, B_m), b) - ridge(F, B_m)) == 0
    assert tokens_to_ridge(b, F, sym.B) == ratios.compute_bound_dimension(b, F, sym.B)
    assert roofline_rules.ROOFLINE.result() == sp.cancel(tokens_to_ridge(b, F, B_m) / T)


def test_each_assumption_of_the_proposition_gives_the_formula_and_its_counts():
    rule = roofline_rules.ROOFLINE
    for dropped in (None, *rule.assumptions):
        values = {x.symbol: x.actual if x is dropped else x.ideal for x in rule.assumptions}
        result = rule.result([dropped] if dropped else [])
        assert sp.cancel(result - rule.formula.subs(values)) == 0
    L, d, T, s, a, g, N = sym.L, sym.d, sym.T, sym.s, sym.a, sym.g, 12 * sym.L * sym.d**2
    cached = roofline_rules.NO_CACHE.actual * N
    assert sp.cancel(cached - roofline_rules.CACHED.claim) == 0
    assert sp.cancel(cache_bytes(L, d, s, sym.b, a, g) - sym.b * cached) == 0
    moved = roofline_rules.FREE_ACTIVATIONS.actual * N * T
    assert sp.cancel(moved - roofline_rules.MOVED.claim) == 0
    assert sp.cancel(roofline_rules.FORWARD.claim - T * counting.forward_flops(N)) == 0
    assert sp.cancel(roofline_rules.BACKWARD.claim - T * counting.backward_flops(N)) == 0


@given(st.integers(1, 4096), st.integers(0, 10**10))
def test_more_sequences_never_write_faster_each_and_never_slower_in_all(T, cache):
    one, more = (decode_seconds(8e9, x, 2, 8e14, 3e12, cache) for x in (T, T + 1))
    assert more >= one
    assert (T + 1) / more >= T / one * (1 - 1e-12)


def test_the_sparse_peak_halves_a_utilisation():
    """1979 TFLOP/s is a data sheet's rate for matrices half of whose elements are zero."""
    h100 = catalog.hardware("H100 SXM")
    dense = counting.utilisation(6e9, 60_000, h100.peak_flops)
    assert dense / counting.utilisation(6e9, 60_000, 1979e12) == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: ridge(1, 0), "B_m = 0"),
        (lambda: attainable(-1, 1, 1), "intensity = -1"),
        (lambda: matmul_intensity(0, 1, 1, 2), "m = 0"),
        (lambda: weights_intensity(0, 2), "T = 0"),
        (lambda: tokens_to_ridge(0, 1, 1), "b = 0"),
        (lambda: cache_bytes(1, 1.5, 1, 2), "d = 1.5"),
        (lambda: decode_seconds(1, 1, 2, 1, 1, cache=-1), "cache = -1"),
    ],
)
def test_refusals(wrong, said):
    with pytest.raises(ValueError, match=said):
        wrong()
