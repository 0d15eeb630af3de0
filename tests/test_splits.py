"""Whole splits against the relaxation, and the splits that can run."""

import math
from itertools import product

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from bytesperflop.optimum import (
    Split,
    data_coefficient,
    overhead_product,
    overhead_sum,
    pipeline_coefficient,
    product_fill,
    tensor_coefficient,
    water_fill,
)
from bytesperflop.splits import (
    ROUNDING_OF_OVERHEAD,
    ROUNDING_OF_TOTAL,
    best_whole_split,
    runnable_splits,
    whole_splits,
)

coefficients = st.tuples(*[st.floats(1e-5, 0.9)] * 3)
GPT3 = (
    data_coefficient(b=2, F=4e14, B=50e9, T_g=4e6),
    tensor_coefficient(b=2, F=4e14, d=12288, B=450e9),
    pipeline_coefficient(64),
)
SHAPE = {"T_g": 4e6, "m": 64, "s": 2048, "a": 96, "L": 96, "domain": 8}


@pytest.mark.parametrize("P", [1, 2, 12, 36, 64, 97])
def test_whole_splits_are_all_of_them(P):
    found = list(whole_splits(P))
    naive = [(x, y, z) for x, y, z in product(range(1, P + 1), repeat=3) if x * y * z == P]
    assert found == naive
    assert len(found) == math.prod(math.comb(e + 2, 2) for e in sp.factorint(P).values())


def test_fractional_devices_are_refused():
    with pytest.raises(ValueError, match=r"P = 10\.5"):
        list(whole_splits(10.5))


@given(coefficients, st.integers(1, 3000))
def test_the_relaxation_is_a_lower_bound(k, P):
    whole = best_whole_split(k, P)
    relaxed = overhead_sum(k, water_fill(k, P).degrees)
    assert whole.sum >= relaxed * (1 - 1e-9) - 1e-9
    assert whole.sum == overhead_sum(k, whole.split)
    best_product = min(overhead_product(k, split) for split in whole_splits(P))
    assert best_product >= overhead_product(k, product_fill(k, P)) * (1 - 1e-9) - 1e-9


@given(coefficients, st.integers(0, 14), st.tuples(*[st.one_of(st.none(), st.integers(0, 7))] * 3))
def test_a_power_of_two_costs_at_most_the_stated_factor(k, exponent, cap_exponents):
    P = 2**exponent
    caps = [None if e is None else 2**e for e in cap_exponents]
    if None not in caps and math.prod(caps) < P:
        caps = [None] * 3
    whole, relaxed = best_whole_split(k, P, caps), water_fill(k, P, caps).degrees
    bound = float(ROUNDING_OF_OVERHEAD) * overhead_sum(k, relaxed)
    assert whole.sum <= bound * (1 + 1e-9) + 1e-9


@given(coefficients, st.integers(0, 14))
def test_a_power_of_two_costs_at_most_six_percent_of_the_total(k, exponent):
    whole, relaxed = best_whole_split(k, 2**exponent), water_fill(k, 2**exponent).degrees
    total = [sum(a * x for a, x in zip(k, y, strict=True)) for y in (whole.split, relaxed)]
    assert total[0] <= float(ROUNDING_OF_TOTAL) * total[1] * (1 + 1e-9)


def test_the_overhead_factor_is_reached_and_the_total_factor_approached():
    k = (sp.Rational(1, 10),) * 3
    whole, relaxed = best_whole_split(k, 2), overhead_sum(k, water_fill(k, sp.Integer(2)).degrees)
    assert sp.simplify(whole.sum / relaxed - ROUNDING_OF_OVERHEAD) == 0
    # Three equal coefficients and P = 2·8^n: fractional parts of a third each.
    P = 2 * 8**4
    total = sum(best_whole_split(k, P).split) / sum(water_fill(k, sp.Integer(P)).degrees)
    assert sp.simplify(total - ROUNDING_OF_TOTAL) == 0
    assert 1.058 < float(ROUNDING_OF_TOTAL) < 1.059
    assert 1.282 < float(ROUNDING_OF_OVERHEAD) < 1.283


def test_a_prime_has_no_middle():
    assert [s.split for s in map(lambda P: best_whole_split(GPT3, P), (1021, 1024))] == [
        Split(1021, 1, 1),
        Split(64, 4, 4),
    ]
    ratio = [
        best_whole_split(GPT3, P).sum / overhead_sum(GPT3, water_fill(GPT3, P).degrees)
        for P in (127, 1021, 8191, 131071)
    ]
    assert ratio == sorted(ratio)
    assert ratio[1] > 7
    assert ratio[3] > 100


def test_caps_that_admit_nothing_are_refused():
    with pytest.raises(ValueError, match="must admit a whole split of P = 7"):
        best_whole_split(GPT3, 7, caps=(4, 4, 4))


def test_splits_that_can_run_for_gpt3():
    found = runnable_splits(GPT3, 1024, **SHAPE, ways=35)
    assert [costed.split for costed in found[:3]] == [(16, 8, 8), (16, 4, 16), (8, 8, 16)]
    assert found[0].sum == pytest.approx(0.24190, abs=1e-5)
    assert found[0].product == pytest.approx(0.25421, abs=1e-5)
    relaxed = water_fill(GPT3, 1024, (4e6 / (64 * 2048), 8, 96)).degrees
    assert overhead_sum(GPT3, relaxed) == pytest.approx(0.19126, abs=1e-5)
    assert all(costed.sum >= overhead_sum(GPT3, relaxed) for costed in found)


@pytest.mark.parametrize(
    ("loosened", "gained"),
    [
        ({"s": 1024}, Split(32, 4, 8)),
        ({"m": 32}, Split(32, 8, 4)),
        ({"domain": 16, "a": 128}, Split(8, 16, 8)),
        ({"L": 128}, Split(2, 8, 64)),
        ({"T_g": 8e6}, Split(32, 8, 4)),
    ],
)
def test_each_constraint_keeps_something_out(loosened, gained):
    before = [c.split for c in runnable_splits(GPT3, 1024, **SHAPE, ways=1)]
    after = [c.split for c in runnable_splits(GPT3, 1024, **(SHAPE | loosened), ways=1)]
    assert gained not in before
    assert gained in after


def test_memory_and_heads_keep_splits_out():
    free = [c.split for c in runnable_splits(GPT3, 8, **(SHAPE | {"domain": 8}), ways=1)]
    assert Split(8, 1, 1) in free
    tight = [c.split for c in runnable_splits(GPT3, 8, **SHAPE, ways=4.5)]
    assert tight == [split for split in tight if split.t * split.p >= 8]
    assert Split(1, 8, 1) in free
    odd = [c.split for c in runnable_splits(GPT3, 8, **(SHAPE | {"a": 12}), ways=1)]
    assert Split(1, 8, 1) not in odd
    assert Split(2, 4, 1) in odd


@given(st.sampled_from([64, 96, 768, 1024]), st.sampled_from([1, 35, 60]))
def test_every_runnable_split_obeys_and_none_is_missing(P, ways):
    found = {c.split for c in runnable_splits(GPT3, P, **SHAPE, ways=ways)}
    for p_d in range(1, P + 1):
        for t in (1, 2, 3, 4, 6, 8):  # the divisors of 96 up to 8
            p, rest = divmod(P, p_d * t)
            fits = rest == 0 and p > 0 and 96 % max(p, 1) == 0 and t * p >= ways
            assert ((p_d, t, p) in found) == (fits and 4e6 / (p_d * 64) >= 2048)


def test_the_product_form_orders_the_runnable_splits():
    wide = {"T_g": 1e9, "m": 1, "s": 1, "a": 64, "L": 64, "domain": 64, "ways": 1}
    found = runnable_splits((0.02, 0.1, 0.1), 64, **wide)
    assert [c.product for c in found] == sorted(c.product for c in found)
    assert [c.sum for c in found] != sorted(c.sum for c in found)
