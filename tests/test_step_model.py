"""The step's seconds against the ratios they add up, a simulated clock, and planted slips."""

from dataclasses import replace

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bytesperflop import catalog, counting, ratios
from bytesperflop import symbols as sym
from bytesperflop.mutants import mutate
from bytesperflop.optimum import data_coefficient, overhead_product, tensor_coefficient
from bytesperflop.schedules import schedule
from bytesperflop.step_model import (
    fit,
    layer_flops,
    leave_one_out,
    predict_step,
    residuals,
    ring_bandwidth,
)
from bytesperflop.timeline import simulate

unhurried = settings(deadline=None)  # SymPy's first calls are slow
B_t, B_d = sp.symbols("B_t B_d", positive=True)
SPLIT = (sym.p_d, sym.t, sym.p)
RATES = {"F": sym.F, "b": sym.b, "B_t": B_t, "B_d": B_d}


def step(**changed):
    return predict_step(sym.L, sym.d, SPLIT, sym.m, sym.u, **RATES | changed)


def same(left, right):
    return sp.cancel(sp.together(left - right)) == 0


def test_each_term_over_compute_is_the_chapters_exact_ratio():
    plain = step()
    T = sym.m * sym.u
    N = 12 * sym.L * sym.d**2
    data = ratios.data_parallel_exact(sym.b, sym.F, B_d, T, N, sym.p_d)
    tensor = ratios.tensor_parallel_exact(sym.b, sym.F, B_t, sym.d, sym.t)
    assert same(plain.gradient / plain.layers, data)
    assert same(plain.tensor / plain.layers, tensor)
    assert same(plain.idle / (plain.layers + plain.tensor), ratios.bubble_overhead(sym.p, sym.m))
    assert (plain.head, plain.elementwise) == (0, 0)


def test_the_whole_is_the_product_form_and_no_mutant_of_it():
    T_g = sym.m * sym.u * sym.p_d
    k = (
        data_coefficient(sym.b, sym.F, B_d, T_g),
        tensor_coefficient(sym.b, sym.F, sym.d, B_t),
        1 / sym.m,
    )
    ideal = 72 * sym.L * sym.d**2 * T_g / (sym.p_d * sym.t * sym.p * sym.F)
    form = 1 + overhead_product(k, SPLIT)
    total = step().total / ideal
    assert same(total, form)
    mutants = [changed for _, changed in mutate(sp.expand(form))]
    assert len(mutants) > 20
    assert not any(same(total, changed) for changed in mutants)


def test_recomputation_costs_a_third_more_work_and_half_again_the_all_reduces():
    plain, twice = step(), step(recompute=True)
    assert same(twice.layers / plain.layers, sp.Rational(4, 3))
    assert same(twice.tensor / plain.tensor, sp.Rational(3, 2))
    per_hardware_flop = (sym.t - 1) * sym.b * sym.F / (8 * sym.d * B_t)
    assert same(twice.tensor / twice.layers, per_hardware_flop)
    assert same(twice.gradient, plain.gradient)


def test_chunks_divide_the_idle_time_only():
    plain, cut = step(), step(v=sym.v)
    assert same(plain.idle / cut.idle, sym.v)
    assert same(cut.total - cut.idle, plain.total - plain.idle)


def test_every_term_is_a_time():
    timed = predict_step(
        sym.L,
        sym.d,
        SPLIT,
        sym.m,
        sym.u,
        F=sym.F,
        b=sym.b,
        B_t=sym.B,
        B_d=sym.B,
        s=sym.s,
        V=sym.V,
        elementwise=sym.tau,
    )
    assert {sym.dimension(sp.expand(term)) for term in timed} == {sym.SECONDS}


@unhurried
@given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 9))
def test_a_simulated_pipeline_whose_last_stage_has_the_head_lasts_as_long(p, m, head):
    """Forward and backward of a layer take 4 and 8 units, of the head 1 and 2 shares."""
    at_end = [0] * (p - 1) + [head]
    durations = {"F": [4 + h for h in at_end], "B": [8 + 2 * h for h in at_end]}
    simulated = simulate(schedule("gpipe", p, m), m, durations).makespan
    # 72·L·d²·u/(pF) = 12 and 6·d·V·u/F = 3·head
    predicted = predict_step(p, 1, (1, 1, p), m, 1, F=6, b=1, B_t=1, B_d=1, V=3 * head)
    assert predicted.total == pytest.approx(simulated)
    if p > 1 and head:
        shared = predicted.total - predicted.head * (p - 1) / p
        assert shared < simulated  # the head's work spread over the stages would be too fast


def test_flops_are_those_of_the_counted_model_and_of_the_published_formula():
    gpt3 = catalog.model("GPT-3 175B")
    for recompute in (False, True):
        items = counting.model_flops(gpt3, recompute=recompute)
        counted = items["matrices"] + items["scores"]
        assert layer_flops(gpt3.layers, gpt3.width, gpt3.sequence, recompute) == counted
    L, d, s, V = sym.L, sym.d, sym.s, sym.V
    narayanan = 96 * L * d**2 * (1 + s / (6 * d) + V / (16 * L * d))
    assert same(layer_flops(L, d, s, recompute=True) + counting.head_flops(d, V), narayanan)
    assert not same(layer_flops(L, d, s) + counting.head_flops(d, V), narayanan)


@pytest.mark.parametrize("t", [1, 2, 4, 8])
def test_the_rings_of_a_node_share_its_adapters(t):
    """Each of t rings crosses the node's edge once, carrying what one device sends."""
    node, nodes, adapter, sent = 8, 3, 24.0, 960.0
    crossing = 0.0
    for ring in range(t):
        members = [device for device in range(node * nodes) if device % t == ring]
        onward = zip(members, [*members[1:], members[0]], strict=True)
        crossing += sent * sum(a // node == 0 and b // node != 0 for a, b in onward)
    seconds = crossing / (node * adapter)  # every adapter of the node carries its share
    assert sent / ring_bandwidth(1e9, adapter, t) == pytest.approx(seconds)
    assert ring_bandwidth(20.0, adapter, t) == 20.0


x, y = sp.symbols("x y", positive=True)
coefficients = st.lists(st.tuples(*[st.floats(1, 100)] * 2), min_size=4, max_size=7)


@unhurried
@given(coefficients, st.floats(0.1, 10), st.floats(0.1, 10))
def test_constants_that_fit_exactly_are_found(rows, first, second):
    rows = [*rows, (1.0, 0.0), (0.0, 1.0)]
    measured = [p * first + q * second for p, q in rows]
    found = fit([p * x + q * y for p, q in rows], measured, [x, y])
    assert found[x] == pytest.approx(first, rel=1e-5)
    assert found[y] == pytest.approx(second, rel=1e-5)


@unhurried
@given(coefficients, st.lists(st.floats(1, 100), min_size=7, max_size=7), st.floats(-0.3, 0.3))
def test_no_other_constants_fit_better(rows, times, shift):
    rows = [*rows, (1.0, 0.0), (0.0, 1.0)]
    measured = [*times[: len(rows) - 2], 3.0, 5.0]
    forms = [p * x + q * y for p, q in rows]

    def error(values):
        found = residuals(forms, measured, values)
        return sum(map(abs, found)) / len(found)

    best = fit(forms, measured, [x, y])
    for name in (x, y):
        assert error(best) <= error(best | {name: best[name] * (1 + shift)}) + 1e-9
        assert error(best) <= error(best | {name: best[name] + shift}) + 1e-9


def test_the_unit_of_an_unknown_does_not_matter():
    rows, measured = [(3, 1), (5, 2), (2, 7), (1, 1)], [10, 20, 30, 5]
    plain = fit([p * x + q * y for p, q in rows], measured, [x, y])
    large = fit([p * 1e15 * x + q * y for p, q in rows], measured, [x, y])
    assert large[x] * 1e15 == pytest.approx(plain[x])
    assert large[y] == pytest.approx(plain[y])


def test_a_row_left_out_has_no_say():
    forms = [2 * x, 3 * x, 5 * x, 7 * x]
    measured = [20, 30, 50, 700]
    assert leave_one_out(forms, measured, [x])[3] == pytest.approx(-0.9)
    measured[3] = 7e5
    assert leave_one_out(forms, measured, [x])[3] == pytest.approx(-0.9999)


def test_the_published_chunks_and_microbatches_are_whole():
    for run in catalog.published_runs("narayanan21_table1"):
        assert run.data * run.tensor * run.pipeline == run.devices
        assert run.batch % (run.data * run.microbatch) == 0
        assert run.layers % (run.pipeline * run.chunks) == 0
        assert run.batch // run.data // run.microbatch % run.pipeline == 0
        planted = replace(run, chunks=run.layers)
        assert run.pipeline == 1 or planted.layers % (planted.pipeline * planted.chunks) != 0


def test_refusals_name_the_argument():
    with pytest.raises(ValueError, match="v p = 8: must be at most L = 4"):
        predict_step(4, 8, (1, 1, 4), 4, 1, F=1, b=1, B_t=1, B_d=1, v=2)
    with pytest.raises(ValueError, match="B_d = 0"):
        predict_step(4, 8, (1, 1, 4), 4, 1, F=1, b=1, B_t=1, B_d=0)
    with pytest.raises(ValueError, match="t = 3: must divide node = 8"):
        ring_bandwidth(1, 1, 3)
    with pytest.raises(ValueError, match="2 and 1, must be as many"):
        fit([x, x], [1], [x])
    with pytest.raises(ValueError, match="not determined"):
        fit([x + y, 2 * x + 2 * y], [1, 2], [x, y])
