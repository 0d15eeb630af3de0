"""The ratios against seconds added up, their limits and laws, and what they refuse."""

from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from bytesperflop import ratios, symbols
from bytesperflop.ratios import (
    boundary_traffic,
    bubble_fraction,
    bubble_overhead,
    data_parallel,
    data_parallel_exact,
    latency_balance,
    tensor_parallel,
    tensor_parallel_exact,
    tokens_to_hide,
)

sizes = st.fractions(Fraction(1, 10**3), 10**3)
latencies = st.fractions(0, 10)
counts = st.integers(1, 10**4).map(Fraction)
degrees = st.integers(1, 64).map(Fraction)


# A second route: seconds, in the order in which a step spends them


def ring_seconds(elements, b, B, devices, alpha):
    """2(n − 1) rounds, each a message of 1/n of the array."""
    return sum(alpha + elements / devices * b / B for _ in range(2 * (int(devices) - 1)))


@given(sizes, sizes, sizes, counts, counts, degrees, latencies)
def test_data_parallel_exact_is_a_ring_over_three_passes(b, F, B, T, N, p_d, alpha):
    compute = (2 * N + 4 * N) * T / F
    ring = ring_seconds(N, b, B, p_d, alpha)
    assert data_parallel_exact(b, F, B, T, N, p_d, alpha) == Fraction(ring) / compute


@given(sizes, sizes, sizes, counts, counts)
def test_data_parallel_is_two_arrays_sent_over_three_passes(b, F, B, T, N):
    assert data_parallel(b, F, B, T) == (2 * N * b / B) / (6 * N * T / F)


@given(sizes, sizes, sizes, counts, counts, degrees.filter(lambda t: t > 1), latencies)
def test_tensor_parallel_exact_is_four_rings_over_a_share_of_the_layer(b, F, B, d, u, t, alpha):
    layers = 3
    rings = sum(4 * ring_seconds(u * d, b, B, t, alpha) for _ in range(layers))
    compute = layers * 6 * (4 * d**2 + 8 * d**2) * u / (t * F)
    assert tensor_parallel_exact(b, F, B, d, t, u, alpha) == rings / compute


@given(sizes, sizes, sizes, counts, counts)
def test_tensor_parallel_is_four_asymptotic_rings_over_the_whole_layer(b, F, B, d, T):
    assert tensor_parallel(b, F, B, d) == (4 * 2 * T * d * b / B) / (6 * 12 * d**2 * T / F)


@given(st.integers(1, 12), st.integers(1, 12))
def test_the_bubble_counted_cell_by_cell(p, m):
    ticks, busy = 0, set()
    for batch in range(m):
        for stage in range(p):
            busy.add((stage, stage + batch))
            ticks = max(ticks, stage + batch + 1)
    idle = [(s, tick) for s in range(p) for tick in range(ticks) if (s, tick) not in busy]
    p, m = Fraction(p), Fraction(m)
    assert bubble_fraction(p, m) == Fraction(len(idle), ticks * int(p))
    assert bubble_overhead(p, m) == Fraction(len(idle), int(m) * int(p))


@given(sizes, sizes, sizes, counts, degrees, latencies)
def test_tokens_to_hide_make_the_backward_pass_as_long_as_the_ring(b, F, B, N, p_d, alpha):
    T = tokens_to_hide(b, F, B, p_d, alpha, N)
    assert ring_seconds(N, b, B, p_d, alpha) == 4 * N * T / F


@given(sizes, sizes, sizes, counts, degrees, counts)
def test_boundary_traffic_is_two_tensors_over_a_stage(b, F, B, d, p, extra):
    L, T = p + extra, Fraction(17)
    sent = 2 * T * d * b / B
    assert boundary_traffic(b, F, B, L, d, p) == sent / (6 * 12 * (L / p) * d**2 * T / F)


@given(sizes, sizes, sizes, counts, degrees.filter(lambda p: p > 1), latencies.filter(bool))
def test_at_the_balance_latency_costs_what_the_bytes_do(b, F, B, T, p_d, alpha):
    N = latency_balance(p_d, alpha, B, b)
    bytes_alone = data_parallel_exact(b, F, B, T, N, p_d)
    assert data_parallel_exact(b, F, B, T, N, p_d, alpha) == 2 * bytes_alone


# Numbers that the book states


def test_stated_numbers():
    assert bubble_fraction(Fraction(4), Fraction(8)) == Fraction(3, 11)
    assert bubble_fraction(Fraction(4), Fraction(32)) == Fraction(3, 35)
    assert bubble_overhead(Fraction(4), Fraction(8)) == Fraction(3, 8)
    assert data_parallel(2, 400e12, 50e9, 8192) == pytest.approx(0.651, abs=5e-4)
    assert tensor_parallel(2, 400e12, 450e9, 12288) == pytest.approx(0.0161, abs=5e-5)
    assert tensor_parallel(2, 400e12, 50e9, 12288) == pytest.approx(0.1447, abs=5e-5)
    assert latency_balance(1024, 10e-6, 50e9, 2) == pytest.approx(256e6)


# Limits and laws


def test_limits():
    s = symbols
    exact = data_parallel_exact(s.b, s.F, s.B, s.T, s.N, s.p_d)
    page = data_parallel(s.b, s.F, s.B, s.T)
    assert sp.limit(exact, s.p_d, sp.oo) == page
    assert sp.cancel(exact.subs(s.p_d, 2) - page / 2) == 0
    assert exact.subs(s.p_d, 1) == 0
    with_latency = data_parallel_exact(s.b, s.F, s.B, s.T, s.N, s.p_d, s.alpha)
    assert sp.cancel(sp.limit(with_latency, s.N, sp.oo) - exact) == 0
    assert sp.limit(tokens_to_hide(s.b, s.F, s.B, s.p_d), s.p_d, sp.oo) == s.b * s.F / (2 * s.B)
    tensor = tensor_parallel_exact(s.b, s.F, s.B, s.d, s.t, s.u, s.alpha)
    bytes_alone = (s.t - 1) * tensor_parallel(s.b, s.F, s.B, s.d)
    assert sp.cancel(sp.limit(tensor, s.u, sp.oo) - bytes_alone) == 0
    assert tensor.subs(s.t, 1) == 0
    assert sp.limit(bubble_fraction(s.p, s.m), s.m, sp.oo) == 0
    assert sp.limit(bubble_fraction(s.p, s.m), s.p, sp.oo) == 1


@given(sizes, sizes, sizes, counts, counts, degrees, latencies)
def test_more_of_each_helps_or_hurts(b, F, B, T, N, p_d, alpha):
    def cost(**change):
        given = dict(b=b, F=F, B=B, T=T, N=N, p_d=p_d, alpha=alpha) | change
        return data_parallel_exact(**given)

    assume(p_d > 1)
    assert cost(T=T + 1) < cost()
    assert cost(B=B + 1) < cost()
    assert cost(F=F + 1) > cost()
    assert cost(b=b + 1) > cost()
    assert cost(p_d=p_d + 1) > cost()
    assert cost(alpha=alpha + 1) > cost()
    assert cost(N=N + 1) <= cost()
    assert (cost(N=N + 1) == cost()) == (alpha == 0)


@given(sizes, sizes, sizes, counts, counts, degrees, latencies)
def test_more_of_each_helps_or_hurts_a_tensor_group(b, F, B, d, u, t, alpha):
    def cost(**change):
        return tensor_parallel_exact(**dict(b=b, F=F, B=B, d=d, t=t, u=u, alpha=alpha) | change)

    assume(t > 1)
    assert cost(d=d + 1) < cost()
    assert cost(t=t + 1) > cost()
    assert (cost(u=u + 1) < cost()) == (alpha > 0)


@given(st.integers(2, 200).map(Fraction), st.integers(1, 200).map(Fraction))
def test_microbatches_fill_a_pipeline_and_stages_empty_it(p, m):
    for bubble in (bubble_fraction, bubble_overhead):
        assert bubble(p, m + 1) < bubble(p, m) < bubble(p + 1, m)
    assert 0 < bubble_fraction(p, m) < 1
    assert bubble_fraction(p, m) < bubble_overhead(p, m)
    assert 1 / bubble_fraction(p, m) == 1 + 1 / bubble_overhead(p, m)


@given(sizes, sizes, sizes, counts, counts, degrees, latencies, sizes, sizes)
def test_ratios_do_not_know_units(b, F, B, T, N, p, alpha, kilo, milli):
    """Bytes counted in kilobytes, seconds in milliseconds: every ratio stays."""
    scaled = dict(b=b * kilo, F=F / milli, B=B * kilo / milli)
    plain, late = dict(b=b, F=F, B=B), alpha * milli
    pairs = [
        (data_parallel, dict(T=T), {}),
        (data_parallel_exact, dict(T=T, N=N, p_d=p, alpha=alpha), dict(alpha=late)),
        (tokens_to_hide, dict(p_d=p, alpha=alpha, N=N), dict(alpha=late)),
        (tensor_parallel, dict(d=T), {}),
        (tensor_parallel_exact, dict(d=T, t=p, u=N, alpha=alpha), dict(alpha=late)),
        (boundary_traffic, dict(L=p + 3, d=T, p=p), {}),
    ]
    for function, other, change in pairs:
        assert function(**plain, **other) == function(**scaled, **other | change)
        if function(**plain, **other):  # one unit changed alone must show
            shifted = function(**plain | dict(B=B * 2), **other)
            assert shifted != function(**plain, **other)
    assume(alpha > 0)
    assert latency_balance(p, alpha, B, b) == latency_balance(p, late, scaled["B"], scaled["b"])


# Numbers, fractions and symbols


def test_symbols_in_symbols_out_and_the_same_numbers():
    s = symbols
    formula = data_parallel_exact(s.b, s.F, s.B, s.T, s.N, s.p_d, s.alpha)
    numbers = dict(b=2, F=700, B=3, T=9, N=11, p_d=5, alpha=Fraction(1, 7))
    exact = data_parallel_exact(**{x: Fraction(v) for x, v in numbers.items()})
    assert formula.subs({getattr(s, x): sp.Rational(v) for x, v in numbers.items()}) == exact
    assert isinstance(exact, Fraction)
    assert isinstance(bubble_fraction(sp.Integer(4), sp.Integer(8)), sp.Rational)


# Falsehoods planted: the second routes above must tell them from the truth


@pytest.mark.parametrize(
    "planted",
    [
        lambda b, F, B, T, N, p, a: b * F / (3 * B * T) + (p - 1) * a * F / (3 * N * T),
        lambda b, F, B, T, N, p, a: (p - 1) / p * b * F / (2 * B * T),
        lambda b, F, B, T, N, p, a: p / (p + 1) * b * F / (3 * B * T),
        lambda b, F, B, T, N, p, a: (p - 1) / p * b * F / (3 * B * T) + p * a * F / (3 * N * T),
        lambda b, F, B, T, N, p, a: (p - 1) / p * b * F / (3 * B * T**2),
    ],
)
def test_planted_data_falsehoods_differ_from_the_ring(planted):
    b, F, B, T, N, p, alpha = map(Fraction, (2, 5, 7, 11, 13, 3, 17))
    ring = ring_seconds(N, b, B, p, alpha) / (6 * N * T / F)
    assert data_parallel_exact(b, F, B, T, N, p, alpha) == ring
    assert planted(b, F, B, T, N, p, alpha) != ring


@pytest.mark.parametrize(
    "planted",
    [
        lambda b, F, B, d, u, t, a: t * b * F / (9 * d * B) + t * (t - 1) * a * F / (9 * d**2 * u),
        lambda b, F, B, d, u, t, a: (t - 1) * b * F / (8 * d * B),
        lambda b, F, B, d, u, t, a: (t - 1) * (b * F / (9 * d * B) + a * F / (9 * d**2 * u)),
        lambda b, F, B, d, u, t, a: (t - 1) * b * F / (9 * d**2 * B),
    ],
)
def test_planted_tensor_falsehoods_differ_from_the_rings(planted):
    b, F, B, d, u, t, alpha = map(Fraction, (2, 5, 7, 11, 13, 4, 17))
    rings = 4 * ring_seconds(u * d, b, B, t, alpha) / (72 * d**2 * u / (t * F))
    assert tensor_parallel_exact(b, F, B, d, t, u, alpha) == rings
    assert planted(b, F, B, d, u, t, alpha) != rings


# What they refuse

GOOD = {
    data_parallel: dict(b=2, F=1.0, B=1.0, T=1),
    data_parallel_exact: dict(b=2, F=1.0, B=1.0, T=1, N=1, p_d=2, alpha=0.0),
    latency_balance: dict(p_d=2, alpha=1.0, B=1.0, b=2),
    tokens_to_hide: dict(b=2, F=1.0, B=1.0, p_d=2, alpha=0.0, N=1),
    tensor_parallel: dict(b=2, F=1.0, B=1.0, d=1),
    tensor_parallel_exact: dict(b=2, F=1.0, B=1.0, d=1, t=2, u=1, alpha=0.0),
    bubble_overhead: dict(p=2, m=1),
    bubble_fraction: dict(p=2, m=1),
    boundary_traffic: dict(b=2, F=1.0, B=1.0, L=4, d=1, p=2),
}
WHOLE = {"p_d", "t", "p", "m", "L"}
BAD = [-1, float("nan"), float("inf"), "2", None, True, 1j, sp.oo, sp.Integer(-1), [1]]
CASES = [(f, name, bad) for f, good in GOOD.items() for name in good for bad in BAD]


@pytest.mark.parametrize(
    ("function", "name", "bad"), CASES, ids=lambda x: getattr(x, "__name__", str(x))
)
def test_an_argument_out_of_range_is_named(function, name, bad):
    function(**GOOD[function])
    with pytest.raises(ValueError, match=rf"^{name} = .*: must be ") as caught:
        function(**GOOD[function] | {name: bad})
    allowed = "whole number" if name in WHOLE else "finite number"
    assert allowed in str(caught.value)


def test_zero_halves_and_too_many_stages():
    for function, good in GOOD.items():
        for name in set(good) - {"alpha"}:
            with pytest.raises(ValueError, match=rf"^{name} = 0: must be"):
                function(**good | {name: 0})
        for name in WHOLE & set(good):
            with pytest.raises(ValueError, match=rf"^{name} = 2.5: must be a whole number"):
                function(**good | {name: 2.5})
    with pytest.raises(ValueError, match=r"p = 5: must be at most L = 4"):
        boundary_traffic(2, 1.0, 1.0, L=4, d=1, p=5)
    with pytest.raises(ValueError, match="alpha = 0: must be a finite number above 0"):
        ratios.latency_balance(2, 0, 1.0, 2)
