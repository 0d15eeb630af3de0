"""Tensor parallelism's ratios, each against a second route: arrays, a clock, or the chain."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from bytesperflop import assumptions, ratios
from bytesperflop.counting import score_factor
from bytesperflop.network import Network, all_reduce
from bytesperflop.premises import PREMISES, FalsePremise
from bytesperflop.propositions import TENSOR
from bytesperflop.symbols import B, F, T, alpha, b, d, s, t
from bytesperflop.tensor_split import random_layer, step

PAGE = b * F / (9 * d * B)
fractions = st.fractions(min_value=Fraction(1, 50), max_value=50)
devices = st.integers(1, 64)


def same(one, other):
    return sp.cancel(sp.together(one - other)) == 0


def clock(bytes_each, F, B, d, t, T, alpha=0, options=None, flops=6):
    """Seconds on the wire over seconds of compute, both of one device in a simulated step.

    Elements and messages are what the wire counted in a layer of 12d² parameters; no formula.
    """
    network = Network(t)
    layer = random_layer(d, a=t, g=t, d_ff=4 * d)
    step(network, [layer], np.ones((T, d)), np.ones((T, d)), **(options or {}))
    assert len(set(network.elements)) == 1
    parameters = sum(weight.size for weight in layer.values())
    wire = Fraction(network.elements[0]) * bytes_each / B + network.messages[0] * alpha
    return wire / (Fraction(flops * parameters * T) / t / F)


@pytest.mark.parametrize("t", [1, 2, 4, 8])
@pytest.mark.parametrize("alpha", [0, Fraction(1, 7)])
def test_the_exact_ratio_is_what_a_clock_on_one_device_shows(t, alpha):
    machine = Fraction(2), Fraction(11), Fraction(3)
    for tokens in (8, 16):
        shown = clock(*machine, d=16, t=t, T=tokens, alpha=alpha)
        assert ratios.tensor_parallel_exact(*machine, 16, t, tokens, alpha) == shown
        if t > 1:
            assert ratios.tensor_parallel_exact(*machine, 16, t + 1, tokens, alpha) != shown


@pytest.mark.parametrize(
    ("all_reduces", "flops", "options"),
    [
        (4, 6, {}),
        (6, 6, {"fused": False}),
        (6, 8, {"recompute": "all"}),
        (6, 6, {"recompute": "all"}),
        (5, 8, {"recompute": "needed"}),
        (4, 6, {"sequence": True}),
        (5, 6, {"sequence": True, "keep_gathered": False}),
        (3, 6, {"input_gradient": False}),
    ],
)
@pytest.mark.parametrize("t", [2, 4, 8])
def test_the_counted_ratio_is_what_a_clock_shows_in_every_variant(all_reduces, flops, options, t):
    machine = Fraction(2), Fraction(11), Fraction(3)
    shown = clock(*machine, d=16, t=t, T=8, options=options, flops=flops)

    def ratio(r, w, width=16, devices=t):
        return ratios.tensor_parallel_counted(*machine, width, devices, r, w)

    assert ratio(all_reduces, flops) == shown
    wrong = ratio(all_reduces + 1, flops), ratio(all_reduces, flops + 2)
    assert shown not in (
        *wrong,
        ratio(all_reduces, flops, 17),
        ratio(all_reduces, flops, 16, t + 1),
    )


def test_the_forward_pass_is_what_recomputation_repeats():
    """Forward alone is not a run of its own: it is what recomputing everything adds."""
    machine = Fraction(2), Fraction(11), Fraction(3)
    once, again = (clock(*machine, 16, 4, 8, options={"recompute": r}) for r in ("none", "all"))
    forward = (again - once) * 6 / 2  # from 6 FLOPs a parameter and token to 2
    assert ratios.tensor_parallel_counted(*machine, 16, 4, all_reduces=2, flops=2) == forward


@pytest.mark.parametrize(
    ("dropped", "expected"),
    [
        ((), PAGE),
        (("WHOLE_LAYER",), t * PAGE),
        (("MANY_SHARDS",), (t - 1) / t * PAGE),
        (("WHOLE_LAYER", "MANY_SHARDS"), ratios.tensor_parallel_exact(b, F, B, d, t)),
        (
            ("WHOLE_LAYER", "MANY_SHARDS", "BANDWIDTH_BOUND"),
            ratios.tensor_parallel_exact(b, F, B, d, t, T, alpha),
        ),
        (
            ("WHOLE_LAYER", "MANY_SHARDS", "FUSED_QKV"),
            ratios.tensor_parallel_counted(b, F, B, d, t, 6, 6),
        ),
        (
            ("WHOLE_LAYER", "MANY_SHARDS", "NO_RECOMPUTE"),
            ratios.tensor_parallel_counted(b, F, B, d, t, 6, 8),
        ),
        (("WEIGHTS_ONLY",), PAGE / score_factor(s, d)),
    ],
)
def test_the_chain_without_assumptions_ends_in_the_ratio(dropped, expected):
    without = [getattr(assumptions, name) for name in dropped]
    found = TENSOR.result(without)
    assert same(found, expected)
    assert not same(found, expected * t)
    assert not same(found, expected * (t - 1) / t)


def test_forward_alone_is_half_as_dear_again():
    whole = ratios.tensor_parallel_exact(b, F, B, d, t)
    forward = ratios.tensor_parallel_counted(b, F, B, d, t, all_reduces=2, flops=2)
    assert same(forward, sp.Rational(3, 2) * whole)
    assert same(forward, (t - 1) * b * F / (6 * d * B))


def test_the_page_form_is_the_exact_one_at_two_devices_only():
    exact = ratios.tensor_parallel_exact(b, F, B, d, t)
    assert sp.solve(sp.Eq(exact, PAGE), t) == [2]


@given(fractions, fractions, fractions, fractions, devices)
def test_a_device_more_costs_the_page_form(b, F, B, d, t):
    more, exact = (ratios.tensor_parallel_exact(b, F, B, d, n) for n in (t + 1, t))
    assert more - exact == ratios.tensor_parallel(b, F, B, d)


@given(fractions, fractions, fractions, fractions, devices)
def test_a_layer_obeys_amdahl(b, F, B, d, t):
    share = ratios.tensor_parallel(b, F, B, d)
    time = ratios.tensor_layer_time(b, F, B, d, t)
    assert time == (1 - share) / t + share
    assert ratios.tensor_layer_time(b, F, B, d, 1) == 1
    more = ratios.tensor_layer_time(b, F, B, d, t + 1)
    assert (more < time) == (share < 1)
    assert time == (Fraction(1) + ratios.tensor_parallel_exact(b, F, B, d, t)) / t
    assert abs(time - share) <= (1 + share) / t


@given(fractions, fractions, fractions, fractions, fractions, st.integers(2, 64))
def test_latency_and_bytes_cost_the_same_at_their_balance_only(b, F, B, d, alpha, t):
    balance = ratios.tensor_latency_balance(t, alpha, B, b, d)
    by_bytes = ratios.tensor_parallel_exact(b, F, B, d, t)
    for tokens, twice in ((balance, True), (2 * balance, False), (balance / 2, False)):
        both = ratios.tensor_parallel_exact(b, F, B, d, t, tokens, alpha)
        assert (both == 2 * by_bytes) == twice


@given(fractions, fractions, fractions, st.integers(1, 40), st.integers(1, 5000), devices)
def test_the_local_width_of_an_mlp_decides_who_waits(b, F, B, T, d, d_ff):
    """One all-reduce of 2Tdb bytes against the two products of a device's share of an MLP."""
    wire, compute = 2 * T * d * b / B, 2 * (2 * T * d * d_ff) / F
    limit = ratios.compute_bound_dimension(b, F, B)
    assume(d_ff != limit)
    assert (wire < compute) == (d_ff > limit)
    assert ratios.compute_bound_dimension(b, F, B / 2) == 2 * limit


class Nodes(Network):
    """Devices in nodes of n: what each sends inside its node and through its adapter."""

    def __init__(self, devices, n):
        super().__init__(devices)
        self.n, self.inside, self.outside = n, [0] * devices, [0] * devices
        self.order = list(range(devices))

    def send(self, source, destination, chunk):
        one, other = self.order[source], self.order[destination]
        ways = self.inside if one // self.n == other // self.n else self.outside
        ways[one] += chunk.size
        return super().send(source, destination, chunk)


@pytest.mark.parametrize(("nodes", "n"), [(2, 2), (2, 4), (3, 4), (2, 8)])
@pytest.mark.parametrize("outside", [Fraction(1, 3), Fraction(2), Fraction(9)])
def test_rings_over_whole_nodes_use_every_adapter(nodes, n, outside):
    """One ring for each adapter: ring j visits each node's devices so as to leave by the j-th."""
    inside, devices = Fraction(2), nodes * n
    network = Nodes(devices, n)
    elements = devices * 2
    for leaves_by in range(n):
        network.order = [
            node * n + (leaves_by + 1 + i) % n for node in range(nodes) for i in range(n)
        ]
        all_reduce(network, [np.ones(elements)] * devices)
    assert len(set(network.inside)) == len(set(network.outside)) == 1
    lasts = max(network.inside[0] / inside, network.outside[0] / outside)
    sent = network.inside[0] + network.outside[0]
    assert ratios.bandwidth_across_nodes(inside, outside, n) == sent / lasts
    assert ratios.bandwidth_across_nodes(inside, outside, n + 1) != sent / lasts


def test_bandwidth_across_nodes_takes_symbols():
    found = ratios.bandwidth_across_nodes(B, B / 8, 8)
    assert found == B


@given(fractions, fractions, fractions, fractions, st.integers(2, 64), fractions)
def test_only_the_product_of_bytes_and_rates_counts(b, F, B, d, t, x):
    for ratio in (
        ratios.tensor_parallel,
        lambda b, F, B, d: ratios.tensor_parallel_exact(b, F, B, d, t),
        lambda b, F, B, d: ratios.tensor_parallel_counted(b, F, B, d, t, 5, 8),
        lambda b, F, B, d: ratios.tensor_layer_time(b, F, B, d, t),
    ):
        held = ratio(b, F, B, d)
        assert ratio(b * x, F, B * x, d) == held
        assert ratio(b, F * x, B, d * x) == held
        assert (ratio(b * x, F, B, d) == held) == (x == 1 or held == 0)


@pytest.mark.parametrize(
    "id", ["unfused-qkv", "recomputed", "recomputed-as-needed", "sequence-parallel"]
)
def test_a_premise_with_a_wrong_count_is_refused(id):
    premise = PREMISES[id]
    premise.verify()
    for wrong in (premise.claim * 2, premise.claim - T * d, premise.claim / 2):
        with pytest.raises(FalsePremise, match=id):
            premise.verify(wrong)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ratios.tensor_parallel_counted(2, 1, 1, 8, 0, 4, 6), "t = 0: must be a whole"),
        (lambda: ratios.tensor_parallel_counted(2, 1, 1, 8, 2, 0, 6), "all_reduces = 0: must be"),
        (lambda: ratios.tensor_parallel_counted(2, 1, 1, 8, 2, 4, -6), "flops = -6: must be"),
        (lambda: ratios.tensor_parallel_counted(2, 1, 0, 8, 2, 4, 6), "B = 0: must be"),
        (lambda: ratios.tensor_layer_time(2, 1, 1, 8, 2.5), "t = 2.5: must be a whole"),
        (lambda: ratios.tensor_latency_balance(2, 0, 1, 2, 8), "alpha = 0: must be"),
        (lambda: ratios.tensor_latency_balance(0.5, 1, 1, 2, 8), "t = 0.5: must be a whole"),
        (lambda: ratios.compute_bound_dimension(2, float("inf"), 1), "F = inf: must be"),
        (lambda: ratios.bandwidth_across_nodes(2, 1, 1), "n = 1: must be a whole number of at"),
        (lambda: ratios.bandwidth_across_nodes(2, 0, 2), "outside = 0: must be"),
    ],
)
def test_arguments_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
