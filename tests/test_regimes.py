"""The other regimes: microbatch held, memory held; closed forms against enumeration."""

import math

import pytest
import sympy as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from bytesperflop import symbols
from bytesperflop.optimum import (
    data_coefficient,
    overhead_product,
    overhead_sum,
    tensor_coefficient,
    water_fill,
)
from bytesperflop.regimes import (
    balance_microbatch,
    bubble_coefficient,
    fewest_model_ways,
    fixed_microbatch_fill,
    fixed_microbatch_overhead,
    memory_release,
)

small = st.floats(1e-4, 0.5)
cap = st.one_of(st.none(), st.floats(1, 200))


def held(k_d, k_t, k_u, split):
    """The overhead to first order, its microbatches counted: m = 1/(k_u·p_d)."""
    m = 1 / (k_u * split[0])
    return overhead_sum((k_d, k_t, 1 / m), split)


def test_the_objective_is_the_sum_with_m_written_out():
    k_d, k_t = sp.symbols("k_d k_t", positive=True)
    s = symbols
    k_u = bubble_coefficient(s.u, s.T_g)
    m = s.T_g / (s.p_d * s.u)
    direct = overhead_sum((k_d, k_t, 1 / m), (s.p_d, s.t, s.P / (s.p_d * s.t)))
    closed = fixed_microbatch_overhead(k_d, k_t, k_u, s.P, s.p_d, s.t)
    assert sp.expand(direct - closed) == 0
    assert sp.diff(closed, s.p_d, 2) == 0  # linear in the replicas
    for planted in (k_u * 2, s.u / s.T_g**2, 1 / k_u):
        wrong = fixed_microbatch_overhead(k_d, k_t, planted, s.P, s.p_d, s.t)
        assert sp.expand(direct - wrong) != 0


def test_the_product_form_is_linear_in_the_replicas_too():
    k_d, k_t, k_u = sp.symbols("k_d k_t k_u", positive=True)
    s = symbols
    full = overhead_product((k_d, k_t, k_u * s.p_d), (s.p_d, s.t, s.P / (s.p_d * s.t)))
    slope = sp.diff(sp.expand(full), s.p_d)
    assert sp.expand(slope - (k_d - k_u * (1 + k_t * (s.t - 1)))) == 0


def test_the_balance_is_where_a_replica_costs_as_much_as_a_stage():
    s = symbols
    u = balance_microbatch(s.b, s.F, s.B)
    assert sp.cancel(u / s.T_g - data_coefficient(s.b, s.F, s.B, s.T_g)) == 0
    assert s.dimension(u) == s.PURE
    assert balance_microbatch(b=2, F=4e14, B=50e9) == pytest.approx(16000 / 3)


def grid(P, steps=60):
    points = [P ** (i / steps) for i in range(steps + 1)]
    return [(x, y, P / (x * y)) for x in points for y in points if x * y <= P * (1 + 1e-9)]


@given(small, small, small, st.floats(2, 5000), st.tuples(cap, cap, cap))
def test_no_grid_point_is_cheaper(k_d, k_t, k_u, P, caps):
    limits = [math.inf if c is None else c for c in caps]
    limits[0] = min(limits[0], 1 / k_u)
    assume(math.prod(min(c, P) for c in limits) >= P)
    best = fixed_microbatch_fill(k_d, k_t, k_u, P, caps)
    assert math.prod(best) == pytest.approx(P)
    assert all(1 - 1e-9 <= x <= c * (1 + 1e-9) for x, c in zip(best, limits, strict=True))
    cost = held(k_d, k_t, k_u, best)
    assert cost == pytest.approx(
        fixed_microbatch_overhead(k_d, k_t, k_u, P, best.p_d, best.t), rel=1e-6, abs=1e-9
    )
    for rival in grid(P):
        if all(x <= c for x, c in zip(rival, limits, strict=True)):
            assert cost <= held(k_d, k_t, k_u, rival) * (1 + 1e-9) + 1e-9


@given(small, small, small, st.floats(2, 5000))
def test_data_and_pipeline_mix_only_at_one_microbatch(k_d, k_t, k_u, P):
    best = fixed_microbatch_fill(k_d, k_t, k_u, P)
    microbatches = 1 / (k_u * best.p_d)
    mixed = best.p_d > 1 + 1e-9 and best.p > 1 + 1e-9
    assert not mixed or microbatches == pytest.approx(1)
    assert microbatches >= 1 - 1e-9


def test_one_microbatch_is_the_case_with_all_three():
    best = fixed_microbatch_fill(k_d=1 / 16, k_t=1, k_u=1 / 4, P=16)
    assert best == (4, 2, 2)
    cost = held(1 / 16, 1, 1 / 4, best)
    two_axes = [held(1 / 16, 1, 1 / 4, (x, 16 / x, 1)) for x in (1, 2, 3, 4)]
    two_axes += [held(1 / 16, 1, 1 / 4, (1, t, 16 / t)) for t in (1, 2, 3, 4, 8, 16)]
    assert cost < min(two_axes) * 0.99


@pytest.mark.parametrize(
    ("k_d", "k_u", "expected"),
    [
        (0.0004, 0.001, ("data", math.sqrt(0.0004 * 500 / 0.01))),
        (0.001, 0.0004, ("pipeline", math.sqrt(0.0004 * 500 / 0.01))),
        (1e-6, 0.001, ("data", 1)),
        (0.001, 1e-6, ("pipeline", 1)),
    ],
)
def test_the_two_closed_forms(k_d, k_u, expected):
    axis, t = expected
    best = fixed_microbatch_fill(k_d, 0.01, k_u, 500)
    assert best.t == pytest.approx(t)
    assert (best.p if axis == "data" else best.p_d) == pytest.approx(1)


def test_a_dear_axis_gives_all_to_tensor():
    assert fixed_microbatch_fill(k_d=0.4, k_t=0.001, k_u=0.4, P=64) == (1, 64, 1)


def test_at_the_balance_every_number_of_replicas_costs_the_same():
    costs = [held(0.01, 0.02, 0.01, (p_d, 4, 64 / (4 * p_d))) for p_d in (1, 2, 5, 16)]
    assert costs == pytest.approx([costs[0]] * 4)
    off = [held(0.011, 0.02, 0.01, (p_d, 4, 64 / (4 * p_d))) for p_d in (1, 2, 5, 16)]
    assert off == sorted(off)
    assert off[0] < off[-1]


def test_caps_that_leave_nothing_are_refused():
    with pytest.raises(ValueError, match="must admit a split of P = 64"):
        fixed_microbatch_fill(0.01, 0.02, 0.5, 64, (None, 4, 4))
    with pytest.raises(ValueError, match="k_u = 2"):
        fixed_microbatch_fill(0.01, 0.02, 2, 64)


def test_gpt3_with_the_microbatch_held():
    k_d = data_coefficient(b=2, F=4e14, B=50e9, T_g=4e6)
    k_t = tensor_coefficient(b=2, F=4e14, d=12288, B=450e9)
    one_sequence = fixed_microbatch_fill(k_d, k_t, bubble_coefficient(2048, 4e6), 1024)
    assert one_sequence == pytest.approx((1, 5.711, 179.305), abs=1e-3)
    four = fixed_microbatch_fill(k_d, k_t, bubble_coefficient(8192, 4e6), 1024)
    assert four == pytest.approx((111.111, 9.216, 1), abs=1e-3)


# Memory held


@given(small, small, small, st.floats(1, 1e5), st.floats(1, 500))
def test_memory_is_a_cap_on_the_replicas(k_d, k_t, k_p, P, ways):
    assume(ways <= P)
    k = (k_d, k_t, k_p)
    best = water_fill(k, P, (P / ways, None, None)).degrees
    assert best[1] * best[2] >= ways * (1 - 1e-9)
    for rival in grid(P, 40):
        if rival[1] * rival[2] >= ways:
            assert overhead_sum(k, best) <= overhead_sum(k, rival) * (1 + 1e-9) + 1e-9


@given(small, small, small, st.floats(1, 500))
def test_the_release_is_where_the_constraint_stops_to_bind(k_d, k_t, k_p, ways):
    k, release = (k_d, k_t, k_p), memory_release((k_d, k_t, k_p), ways)
    for factor, binds in ((0.97, True), (1.03, False)):
        free = water_fill(k, max(1, release * factor)).degrees
        if free[1] * free[2] > 1 + 1e-6 and release * factor >= ways:
            assert (free[1] * free[2] < ways * (1 - 1e-12)) == binds


def test_release_in_closed_form():
    k, ways = (0.001, 0.02, 0.03), 40
    expected = ways**1.5 * math.sqrt(0.02 * 0.03) / 0.001
    assert memory_release(k, ways) == pytest.approx(expected)
    assert memory_release(k, ways) != pytest.approx(expected * 0.02 / 0.03)


@pytest.mark.parametrize(("kept", "sharded"), [(16, 0), (4, 12), (2, 14)])
def test_the_fewest_ways_just_fit(kept, sharded):
    N, P, memory = 175e9, 1024, 60e9
    ways = fewest_model_ways(N, P, memory, kept, sharded)
    used = kept * N / ways + sharded * N / P
    assert used == pytest.approx(memory)
    assert kept * N / (ways * 0.99) + sharded * N / P > memory


def test_sharding_frees_the_replicas():
    N, P, memory = 175e9, 1024, 60e9
    stages = [(16, 0), (4, 12), (2, 14), (0, 16)]
    ways = [fewest_model_ways(N, P, memory, *stage) for stage in stages]
    assert ways == sorted(ways, reverse=True)
    assert ways[0] == pytest.approx(16 * N / memory)
    assert ways[-1] == 1
    with pytest.raises(ValueError, match="the shared part"):
        fewest_model_ways(N=175e9, P=16, memory=60e9, kept=0, sharded=16)


def test_few_layers_pull_tensor_below_the_edge():
    """Stages capped at 4: t = √((k_u + (k_d−k_u)/4)·P/k_t) = 10 lies below P/4 = 25."""
    best = fixed_microbatch_fill(k_d=0.41, k_t=0.11, k_u=0.01, P=100, caps=(None, None, 4))
    assert best == pytest.approx((2.5, 10, 4))
    for t in (5, 9, 11, 25):
        rival = (max(1, 100 / (4 * t)), t, min(4, 100 / t))
        assert held(0.41, 0.11, 0.01, best) < held(0.41, 0.11, 0.01, rival)
