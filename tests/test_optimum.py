"""Why all three: the relaxed optimum against random, dense and machine-checked rivals."""

import math
import random

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from bytesperflop import symbols
from bytesperflop.optimum import (
    Split,
    cross_term_bound,
    data_coefficient,
    interior_level,
    interior_overhead,
    overhead_product,
    overhead_sum,
    pipeline_coefficient,
    product_fill,
    tensor_coefficient,
    thresholds,
    water_fill,
)

coefficients = st.tuples(*[st.floats(1e-5, 0.9)] * 3)
devices = st.floats(1, 1e6)
degrees = st.tuples(*[st.floats(1, 500)] * 3)
GPT3 = (
    data_coefficient(b=2, F=4e14, B=50e9, T_g=4e6),
    tensor_coefficient(b=2, F=4e14, d=12288, B=450e9),
    pipeline_coefficient(64),
)


def wall_clock(N, L, d, F, B_d, B_t, b, T_g, m, split):
    """Seconds of (ideal step, gradient ring, activation rings, bubble), counted on one device."""
    p_d, t, p = split
    own = T_g // p_d  # tokens of a replica
    ideal = sp.Rational(6 * N * own, t * p) / F
    ring = 2 * sp.Rational(p_d - 1, p_d) * sp.Rational(N, t * p) * b / B_d
    layers = sp.Rational(L, p)
    activations = 4 * layers * 2 * sp.Rational(t - 1, t) * own * d * b / B_t
    slots = m + p - 1  # of one microbatch each, of which a device works in m
    bubble = (ideal + activations) * sp.Rational(slots - m, m)
    return ideal, ring, activations, bubble


@pytest.mark.parametrize("split", [Split(4, 2, 8), Split(1, 8, 2), Split(16, 1, 1), Split(2, 4, 4)])
def test_coefficients_are_what_a_device_spends(split):
    L, d, F, B_d, B_t, b, T_g, m = 16, 64, 10**9, 3 * 10**6, 7 * 10**6, 2, 4096, 8
    N = 12 * L * d**2
    ideal, ring, activations, bubble = wall_clock(N, L, d, F, B_d, B_t, b, T_g, m, split)
    k = (
        data_coefficient(b, sp.Integer(F), B_d, T_g),
        tensor_coefficient(b, sp.Integer(F), d, B_t),
        pipeline_coefficient(sp.Integer(m)),
    )
    assert ring / ideal == k[0] * (split.p_d - 1)
    assert activations / ideal == k[1] * (split.t - 1)
    assert (ring + activations + bubble) / ideal == overhead_product(k, split)
    for planted in (2, sp.Rational(3, 2)):  # a factor slipped into any one coefficient
        for axis in range(3):
            wrong = [k_i * (planted if i == axis else 1) for i, k_i in enumerate(k)]
            if split[axis] > 1:
                assert (ring + activations + bubble) / ideal != overhead_product(wrong, split)


def test_coefficients_are_pure_numbers_and_take_symbols():
    s = symbols
    for k in (data_coefficient(s.b, s.F, s.B, s.T_g), tensor_coefficient(s.b, s.F, s.d, s.B)):
        assert s.dimension(k) == s.PURE
        assert s.dimension(k * s.B) != s.PURE
    assert pipeline_coefficient(s.m) == 1 / s.m
    with pytest.raises(ValueError, match="T_g = 0"):
        data_coefficient(b=2, F=4e14, B=5e10, T_g=0)


@given(coefficients, degrees)
def test_the_cross_term_is_between_zero_and_a_quarter_of_the_square(k, split):
    first, full = overhead_sum(k, split), overhead_product(k, split)
    slack = 1e-12 * (1 + full)
    assert first - slack <= full <= first + cross_term_bound(first) + slack


def test_the_cross_term_reaches_its_bound():
    k, split = (sp.Rational(1, 9), sp.Rational(1, 6), sp.Rational(1, 4)), Split(1, 7, 5)
    first = overhead_sum(k, split)
    assert overhead_product(k, split) == first + cross_term_bound(first)
    assert overhead_product(k, split) > first + first**2 / 5  # a smaller bound would be false


# The relaxed optimum


def feasible(rng, P, n=3):
    """A random point with every degree at least 1 and product P."""
    cuts = sorted(rng.random() for _ in range(n - 1))
    shares = [high - low for low, high in zip([0, *cuts], [*cuts, 1], strict=True)]
    return tuple(P**share for share in shares)


@given(coefficients, devices, st.randoms(use_true_random=False))
def test_no_feasible_point_is_cheaper(k, P, rng):
    best = water_fill(k, P).degrees
    assert math.prod(best) == pytest.approx(P)
    assert min(best) >= 1 - 1e-12
    for _ in range(20):
        rival = feasible(rng, P)
        assert overhead_sum(k, best) <= overhead_sum(k, rival) * (1 + 1e-9) + 1e-9


@given(coefficients, devices, st.tuples(*[st.floats(1, 300)] * 3))
def test_caps_hold_and_so_do_the_conditions_of_optimality(k, P, caps):
    P = min(P, math.prod(caps))
    x, level = water_fill(k, P, caps)
    assert math.prod(x) == pytest.approx(P)
    for k_i, x_i, cap in zip(k, x, caps, strict=True):
        assert 1 - 1e-9 <= x_i <= cap * (1 + 1e-9)
        excess = k_i * x_i - level  # marginal cost of a factor, against the level
        assert excess <= 1e-9 or x_i == pytest.approx(1)
        assert excess >= -1e-9 * level or x_i == pytest.approx(cap)


def bisected(k, P, caps):
    """The slow way: halve an interval of levels until the product is P."""

    def at(level):
        return [min(cap, max(1.0, level / k_i)) for k_i, cap in zip(k, caps, strict=True)]

    low, high = min(k), max(k_i * min(cap, P) for k_i, cap in zip(k, caps, strict=True))
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if math.prod(at(middle)) < P else (low, middle)
    return at(high)


@given(coefficients, devices, st.tuples(*[st.one_of(st.floats(1, 300), st.just(math.inf))] * 3))
def test_closed_form_equals_bisection(k, P, caps):
    P = min(P, math.prod(caps))
    fast = water_fill(k, P, [None if cap == math.inf else cap for cap in caps]).degrees
    assert fast == pytest.approx(bisected(k, P, caps), rel=1e-6)


def test_closed_form_equals_a_dense_grid():
    k, P, steps = (0.02, 0.05, 0.11), 600, 400
    grid = [P ** (i / steps) for i in range(steps + 1)]
    points = [(x, y, P / (x * y)) for x in grid for y in grid if x * y <= P * (1 + 1e-12)]
    cheapest = min(points, key=lambda x: overhead_sum(k, x))
    assert cheapest == pytest.approx(water_fill(k, P).degrees, rel=0.02)


@given(coefficients, devices, st.floats(1, 50))
def test_more_devices_shrink_no_axis(k, P, factor):
    before, after = water_fill(k, P), water_fill(k, P * factor)
    assert after.level >= before.level * (1 - 1e-9)
    assert all(y >= x * (1 - 1e-9) for x, y in zip(before.degrees, after.degrees, strict=True))


@given(coefficients, devices, st.permutations(range(3)), st.floats(0.01, 100))
def test_order_and_unit_of_cost_do_not_matter(k, P, order, unit):
    x, level = water_fill(k, P)
    shuffled = water_fill([k[i] * unit for i in order], P)
    assert shuffled.degrees == pytest.approx([x[i] for i in order])
    assert shuffled.level == pytest.approx(level * unit)


def test_axes_come_in_at_the_thresholds():
    k = (sp.Rational(1, 100), sp.Rational(1, 20), sp.Rational(1, 4))
    second, third = thresholds(k)
    assert (second, third) == (5, 125)
    assert water_fill(k, second).degrees == (5, 1, 1)
    assert water_fill(k, second * sp.Rational(121, 100)).degrees == (
        sp.Rational(11, 2),
        sp.Rational(11, 10),
        1,
    )
    assert water_fill(k, third).degrees == (25, 5, 1)
    assert water_fill(k, 8 * third).degrees == (50, 10, 2)
    assert water_fill(k, third - 1).degrees[2] == 1  # not a device earlier
    with pytest.raises(ValueError, match="sorted upwards"):
        thresholds((2, 1))


def test_each_axis_takes_another_root():
    k = (1e-12, 1e-6, 1.0)
    first, second = thresholds(k)
    for P, root in ((first / 100, 1), (second / 100, 2), (second * 1e12, 3)):
        growth = overhead_sum(k, water_fill(k, 8 * P).degrees) / overhead_sum(
            k, water_fill(k, P).degrees
        )
        assert growth == pytest.approx(8 ** (1 / root), rel=0.03)
        assert growth != pytest.approx(8 ** (1 / (root + 1)), rel=0.03)


def test_the_interior_value_is_exact():
    k, P = (sp.Rational(1, 8), sp.Rational(1, 27), sp.Rational(1, 64)), sp.Integer(8**3 * 27)
    x, level = water_fill(k, P)
    assert level == interior_level(k, P) == sp.root(sp.prod(k) * P, 3)
    assert sp.simplify(overhead_sum(k, x) - interior_overhead(k, P)) == 0
    two = (sp.Rational(1, 4), sp.Rational(1, 9))
    assert interior_overhead(two, sp.Integer(36)) == overhead_sum(two, water_fill(two, 36).degrees)
    assert interior_overhead(k, 1) < 0  # below the thresholds it is no split's overhead


@pytest.mark.parametrize(
    ("k", "P", "caps", "message"),
    [
        ((1, 0, 1), 8, None, r"k\[1\] = 0"),
        ((1, 1, 1), 0.5, None, "must be at least 1"),
        ((1, 1, 1), 8, (2, 2, 0.5), "must be at least 1"),
        ((1, 1, 1), 9, (2, 2, 2), "at most the caps' product, 8"),
        ((1, 1, 1), 8, (2, 2), "must be 3"),
        ((), 8, None, "at least one axis"),
    ],
)
def test_impossible_tasks_are_refused(k, P, caps, message):
    with pytest.raises(ValueError, match=message):
        water_fill(k, P, caps)


def test_full_caps_and_a_single_device():
    assert water_fill((1, 2, 3), 24, (2, 3, 4)).degrees == (2, 3, 4)
    assert water_fill((1, 2, 3), 8, (8, 8, 8)).degrees[2] >= 1
    assert water_fill((1, 2, 3), 1).degrees == (1, 1, 1)
    assert water_fill((1.0, 20.0), 8, (8, None)).degrees == (8, 1)  # a flat stretch of the level


@pytest.mark.parametrize(
    "planted",
    [
        lambda k, P: [P ** (1 / 3)] * 3,  # equal degrees
        lambda k, P: [x * (P * math.prod(k)) ** (1 / 3) for x in (1 / k[0] ** 2, k[0] / k[1], 1)],
        lambda k, P: [P, 1, 1],  # the page's T and m held: all on one axis
        lambda k, P: [1, P, 1],
        lambda k, P: sorted(water_fill(k, P).degrees),  # large degrees on the dear axes
    ],
)
def test_planted_rules_are_beaten(planted):
    k, P = (0.001, 0.02, 0.05), 4096
    wrong = planted(k, P)
    scale = (P / math.prod(wrong)) ** (1 / 3)
    wrong = [x * scale for x in wrong]
    assert overhead_sum(k, wrong) > overhead_sum(k, water_fill(k, P).degrees) * 1.01


# The product form


def far_root(k, P):
    """The interior optimum of the product form: w³(1 + w) = K, by Newton's method."""
    k_d, k_t, k_p = k
    A, C = 1 - k_t, 1 - k_p
    K = math.prod(k) * P / (A * C) ** 2
    w = max(1.0, K)
    for _ in range(200):
        w -= (w**4 + w**3 - K) / (4 * w**3 + 3 * w**2)
    return Split(A * C * w * (1 + w) / k_d, A * w / k_t, C * w / k_p)


@given(coefficients, st.floats(1, 1e9))
def test_product_optimum_equals_the_quartic_inside(k, P):
    inside = far_root(k, P)
    assert math.prod(inside) == pytest.approx(P)
    if min(inside) > 1.001:
        assert product_fill(k, P) == pytest.approx(inside, rel=1e-6)


@given(coefficients, devices, st.randoms(use_true_random=False))
def test_product_optimum_beats_rivals_and_is_near_the_sum(k, P, rng):
    first, full = water_fill(k, P).degrees, product_fill(k, P)
    assert math.prod(full) == pytest.approx(P)
    least = overhead_product(k, full)
    for rival in (first, *(feasible(rng, P) for _ in range(20))):
        assert least <= overhead_product(k, rival) * (1 + 1e-9) + 1e-9
    bound = overhead_sum(k, first)
    assert (
        bound * (1 - 1e-9) - 1e-9 <= least <= (bound + cross_term_bound(bound)) * (1 + 1e-9) + 1e-9
    )


@given(coefficients, st.floats(1, 1e5), st.tuples(*[st.floats(1, 60)] * 3), st.randoms())
def test_product_optimum_respects_caps(k, P, caps, rng):
    P = min(P, math.prod(caps))
    full = product_fill(k, P, caps)
    assert math.prod(full) == pytest.approx(P)
    assert all(1 - 1e-9 <= x <= cap * (1 + 1e-9) for x, cap in zip(full, caps, strict=True))
    for _ in range(20):
        rival = feasible(rng, P)
        if all(x <= cap for x, cap in zip(rival, caps, strict=True)):
            assert overhead_product(k, full) <= overhead_product(k, rival) * (1 + 1e-9) + 1e-9


@given(coefficients, st.tuples(degrees, degrees))
def test_product_form_is_convex_in_logarithms_below_one(k, ends):
    middle = [math.sqrt(x * y) for x, y in zip(*ends, strict=True)]
    average = sum(overhead_product(k, end) for end in ends) / 2
    assert overhead_product(k, middle) <= average * (1 + 1e-9) + 1e-9


def test_product_form_is_not_convex_for_a_tensor_coefficient_above_one():
    k = (sp.Rational(1, 10), sp.Integer(2), sp.Rational(1, 2))
    ends, middle = (Split(1, 1, 16), Split(1, 4, 4)), Split(1, 2, 8)
    average = sum(overhead_product(k, end) for end in ends) / 2
    assert (average, overhead_product(k, middle)) == (12, sp.Rational(25, 2))
    with pytest.raises(ValueError, match="must be below 1"):
        product_fill(k, 16)


def test_far_out_the_cross_term_takes_a_root_back():
    k = (0.01, 0.01, 0.01)
    growth = [overhead_product(k, product_fill(k, P)) for P in (1e20, 1e22)]
    assert growth[1] / growth[0] == pytest.approx(10, rel=0.01)  # P^(1/2), with three axes
    sums = [overhead_sum(k, water_fill(k, P).degrees) for P in (1e20, 1e22)]
    assert sums[1] / sums[0] == pytest.approx(100 ** (1 / 3), rel=0.01)


def test_gpt3_on_1024_devices():
    assert overhead_sum(GPT3, (1024, 1, 1)) == pytest.approx(1.364)
    relaxed = water_fill(GPT3, 1024).degrees
    assert relaxed == pytest.approx((52.497, 4.354, 4.480), abs=1e-3)
    assert overhead_sum(GPT3, relaxed) == pytest.approx(0.17695, abs=1e-5)
    full = product_fill(GPT3, 1024)
    assert full == pytest.approx((54.334, 4.279, 4.404), abs=1e-3)
    assert overhead_product(GPT3, full) == pytest.approx(0.17982, abs=1e-5)
    assert overhead_product(GPT3, relaxed) == pytest.approx(0.17989, abs=1e-5)
    assert 4e6 / (64 * relaxed[0]) < 2048  # less than a sequence a microbatch


def test_random_points_are_feasible():
    rng = random.Random(1)
    for _ in range(50):
        point = feasible(rng, 1000)
        assert min(point) >= 1
        assert math.prod(point) == pytest.approx(1000)
