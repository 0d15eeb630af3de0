"""The overhead of a split as a chain, as a simulated step, and as a place in the triangle."""

import math

import pytest
import sympy as sp

from bytesperflop.assumptions import BANDWIDTH_BOUND
from bytesperflop.combined import (
    FAST_GROUP,
    FIRST_ORDER,
    MICROBATCHES_HELD,
    SPLIT,
    STEP_HELD,
)
from bytesperflop.mutants import attack
from bytesperflop.optimum import (
    data_coefficient,
    overhead_product,
    overhead_sum,
    pipeline_coefficient,
    tensor_coefficient,
)
from bytesperflop.premises import FalsePremise
from bytesperflop.proof import Malformed
from bytesperflop.ratios import data_parallel_exact, tensor_parallel_exact
from bytesperflop.regimes import bubble_coefficient, fixed_microbatch_overhead
from bytesperflop.split_premises import LEAST, WHOLE_STEP
from bytesperflop.splits import whole_splits
from bytesperflop.symbols import B, B_t, F, L, N, P, T, T_g, alpha, b, d, k_d, m, p, p_d, t, u
from bytesperflop.triangle import CORNERS, place

K = (data_coefficient(b, F, B, T_g), tensor_coefficient(b, F, d, B_t), pipeline_coefficient(m))
SYMBOLIC = (p_d, t, p)


def same(one, two):
    return sp.cancel(sp.together(one - two)) == 0


def test_the_chain_ends_in_the_optimums_objective():
    assert same(SPLIT.result(), overhead_sum(K, SYMBOLIC))
    for axis in range(3):
        wrong = [2 * k if i == axis else k for i, k in enumerate(K)]
        assert not same(SPLIT.result(), overhead_sum(wrong, SYMBOLIC))


def test_no_mutant_of_the_chain_survives():
    tried = attack(SPLIT.proof())
    assert tried.tried > 50
    assert tried.survivors == []


def test_without_first_order_it_is_the_product_form():
    broken = SPLIT.without(FIRST_ORDER)
    assert same(broken.result, overhead_product(K, SYMBOLIC))
    assert broken.returns == ()
    assert not same(broken.result, overhead_sum(K, SYMBOLIC))


def test_without_held_microbatches_it_is_the_second_regime():
    result = SPLIT.without(MICROBATCHES_HELD).result
    stated = fixed_microbatch_overhead(K[0], K[1], bubble_coefficient(u, T_g), P, p_d, t)
    assert same(result, stated.subs(P, p_d * t * p))
    assert SPLIT.without(MICROBATCHES_HELD).returns == (u,)


def test_without_a_held_step_data_is_the_ring_of_the_first_proposition():
    result = SPLIT.without(STEP_HELD).result
    rest = overhead_sum((0, *K[1:]), SYMBOLIC)
    assert same(result - rest, data_parallel_exact(b, F, B, T, N, p_d))


def test_without_both_the_microbatches_are_the_replicas_tokens_over_u():
    result = SPLIT.without(STEP_HELD, MICROBATCHES_HELD).result
    assert T_g not in result.free_symbols
    rest = data_parallel_exact(b, F, B, T, N, p_d) + K[1] * (t - 1)
    assert same(result - rest, (p - 1) * u / T)


def test_latency_is_that_of_the_two_exact_ratios():
    result = SPLIT.without(BANDWIDTH_BOUND).result
    own = data_parallel_exact(b, F, B, T_g / p_d, N / (t * p), p_d, alpha)
    group = tensor_parallel_exact(b, F, B_t, d, t, T_g / (p_d * m), alpha)
    assert same(result.subs(alpha, 0), overhead_sum(K, SYMBOLIC))
    assert same(result - (p - 1) / m, own + group)


def test_a_slow_tensor_group_pays_the_networks_bandwidth():
    result = SPLIT.without(FAST_GROUP).result
    assert same(result, SPLIT.result().subs(B_t, B))
    assert B_t not in result.free_symbols


def test_an_assumption_it_does_not_make_is_refused():
    from bytesperflop.assumptions import EQUAL_STAGES

    with pytest.raises(Malformed, match="does not assume"):
        SPLIT.without(EQUAL_STAGES)
    assert {N, L} <= SPLIT.proof().start.free_symbols


@pytest.mark.parametrize("premise", [WHOLE_STEP, LEAST], ids=lambda x: x.id)
def test_the_counts_agree_and_refuse_every_mutant(premise):
    assert premise.verify() == 4
    tried = premise.attack()
    assert tried.tried > 20
    assert tried.survivors == []


def test_the_simulated_step_is_the_product_form_and_not_the_sum():
    claim = WHOLE_STEP.claim
    k = (b / (3 * B * p_d * m * u), b / (9 * d * B), 1 / m)
    assert same(claim, overhead_product(k, SYMBOLIC))
    with pytest.raises(FalsePremise, match="whole-step"):
        WHOLE_STEP.verify(overhead_sum(k, SYMBOLIC))


def test_a_least_overhead_with_another_root_is_refused():
    with pytest.raises(FalsePremise):
        LEAST.verify(LEAST.claim + k_d)


def test_corners_edges_and_the_middle_of_the_triangle():
    for axis, name in enumerate(("data", "tensor", "pipeline")):
        alone = [64 if i == axis else 1 for i in range(3)]
        assert place(alone, 64) == pytest.approx(CORNERS[name])
    assert place((4, 4, 4), 64) == pytest.approx((0.5, math.sqrt(3) / 6))
    heights = {place(split, 64)[1] for split in whole_splits(64) if split.p_d == 8}
    assert max(heights) - min(heights) < 1e-12  # one number of replicas, one height
    assert len({place(split, 64) for split in whole_splits(64)}) == 28
