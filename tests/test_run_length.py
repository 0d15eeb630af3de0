"""The run's length as a chain, against the plain functions; and descent with counted steps."""

import math

import numpy as np
import pytest
import sympy as sp

from bytesperflop import symbols as sym
from bytesperflop.batch_size import (
    critical_batch,
    fastest_batch,
    fixed_tokens,
    step_time,
    steps_to_target,
)
from bytesperflop.combined import FAST_GROUP
from bytesperflop.noisy_descent import steps_until
from bytesperflop.optimum import tensor_coefficient
from bytesperflop.run_length import BATCH, MICROBATCH_HELD, ONE_CRITICAL_BATCH, rho

P = sym.p_d * sym.t * sym.p


def same(left, right):
    return sp.cancel(sp.together(left - right)) == 0


def direct(**changed):
    """Steps times seconds over the fewest tokens' compute, from the plain functions."""
    s = sym
    given = {"p_d": s.p_d, "p": s.p, "u": s.u, "T_g": s.T_g, "B_t": s.B_t} | changed
    A = tensor_coefficient(s.b, s.F, s.d, given["B_t"]) * (s.t - 1)
    D = fixed_tokens(s.b, s.F, s.B, given["p_d"], given["p"], given["u"], A)
    seconds = step_time(s.N, s.F, P, given["T_g"], D, A)
    steps = steps_to_target(s.S_min, s.B_crit, given["T_g"])
    return steps * seconds / (6 * s.N * s.S_min * s.B_crit / (P * s.F))


def test_the_chain_ends_where_the_plain_functions_do():
    assert same(BATCH.result(), direct())
    assert same(BATCH.result([FAST_GROUP]), direct(B_t=sym.B))


@pytest.mark.parametrize(
    "slip", [{"p": sym.p + 1}, {"p_d": sym.p_d + 1}, {"u": 2 * sym.u}, {"T_g": 2 * sym.T_g}]
)
def test_a_slip_is_seen(slip):
    assert not same(BATCH.result(), direct(**slip))


def test_with_the_microbatches_held_the_bubble_loses_no_tokens():
    s = sym
    A = (1 + (s.t - 1) * tensor_coefficient(s.b, s.F, s.d, s.B_t)) * (1 + (s.p - 1) / s.m)
    D = fixed_tokens(s.b, s.F, s.B, s.p_d, 1, s.u, A - 1)
    held = (1 + s.T_g / s.B_crit) * A * (1 + D / s.T_g)
    assert same(BATCH.result([MICROBATCH_HELD]), held)


def test_a_drifting_critical_batch_counts_by_its_mean():
    broken = BATCH.without(ONE_CRITICAL_BATCH)
    assert rho in broken.proof.start.free_symbols
    assert same(broken.result, BATCH.result())
    assert broken.returns == ()


@pytest.mark.parametrize("noise", [8, 32])
def test_counted_steps_follow_the_law_and_its_critical_batch_is_the_noise(noise):
    batches = [2, 4, 8, 16, 32, 64, 256]
    counted = [steps_until(0.01, batch, noise) for batch in batches]
    assert counted == sorted(counted, reverse=True)
    slope, least = np.polyfit(1 / np.array(batches), counted, 1)
    assert slope / least == pytest.approx(noise, rel=0.1)
    assert least == pytest.approx(math.log(0.01) / (2 * math.log(0.98)), rel=0.05)
    law = [steps_to_target(float(least), float(slope / least), batch) for batch in batches]
    assert counted == pytest.approx(law, rel=0.05)
    other = [steps_to_target(float(least), 2 * float(slope / least), batch) for batch in batches]
    assert counted != pytest.approx(other, rel=0.05)


def test_the_critical_batch_doubles_as_the_published_fit_says():
    assert critical_batch(1.0) == 2e8
    assert critical_batch(2.0) / critical_batch(2.0 * 2**0.21) == pytest.approx(2)
    assert critical_batch(2.0) > critical_batch(2.1)


def test_two_phases_each_at_its_best_batch_beat_one_batch_for_both():
    D, early, late = 3e5, 1e6, 7e6

    def length(T_g, critical):
        return steps_to_target(0.5, critical, T_g) * (T_g + D)

    held = fastest_batch(D, (early + late) / 2)
    one = length(held, early) + length(held, late)
    two = sum(length(fastest_batch(D, critical), critical) for critical in (early, late))
    root = (early**0.5 + late**0.5) / 2
    assert one - two == pytest.approx(2 * D**0.5 * (((early + late) / 2) ** 0.5 - root))
    assert two < one
    for factor in (0.5, 0.9, 1.1, 2):
        assert length(held * factor, early) + length(held * factor, late) > one


def test_refusals_name_the_argument():
    with pytest.raises(ValueError, match="fraction = 1"):
        steps_until(1, batch=1, noise=1)
    with pytest.raises(ValueError, match="loss = 0"):
        critical_batch(0)
