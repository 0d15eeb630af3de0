"""Memory: closed forms against tensors that are weighed, published figures and planted slips."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bytesperflop import memory, memory_rules
from bytesperflop import symbols as sym
from bytesperflop.memory import activation_bytes, layers_in_flight, state_bytes, state_items
from bytesperflop.memory_simulation import make_model, run_step
from bytesperflop.mutants import mutate
from bytesperflop.published_memory import published_memory

unhurried = settings(deadline=None, max_examples=40)
PREMISES = (
    memory_rules.KEPT,
    memory_rules.KEPT_SEQUENCE,
    memory_rules.KEPT_SELECTIVE,
    memory_rules.KEPT_FULL,
)


def agrees(exact, printed):
    """Within one unit of the last digit: some published cells are cut off, not rounded."""
    step = Decimal(1).scaleb(Decimal(printed).as_tuple().exponent)
    return abs(Decimal(float(exact)) - Decimal(printed)) < step


@pytest.mark.parametrize("group", ["zero_table1", "zero_fig1"])
def test_zero_tables_are_the_closed_form_to_the_last_digit(group):
    for row in published_memory(group):
        ours = state_bytes(row.published_parameters, row.stage, row.devices) / 10**9
        assert agrees(ours, row.printed), row


def test_the_tables_refuse_every_planted_slip():
    rows = published_memory("zero_table1")
    for stage, form in ((1, 4 + 12 / sym.p_d), (2, 2 + 14 / sym.p_d), (3, 16 / sym.p_d)):
        assert sp.cancel(state_bytes(sym.N, stage, sym.p_d) / sym.N - form) == 0
        for label, wrong in mutate(form):
            own = [row for row in rows if row.stage == stage]
            assert not all(
                agrees(
                    wrong.subs(sym.p_d, row.devices) * row.published_parameters / 10**9, row.printed
                )
                for row in own
            ), label


def test_largest_models_of_the_zero_paper():
    """Theory as printed; what was measured stays below what fits."""
    for row in published_memory("zero_table2_maxmodel"):
        room, replicas = 32 * 10**9 * row.tensor, row.devices // row.tensor
        assert row.theory_baseline == room // sum(state_items().values())
        assert row.measured_baseline < row.theory_baseline
        assert row.measured_stage_1 < room / sum(state_items(1, replicas).values())


def bar(row, **changed):
    options = {"sequence": row.sequence_parallel, "recompute": row.recompute} | changed
    kept = activation_bytes(row.sequence, row.width, row.heads, row.tensor, **options)
    return row.sequence * row.microbatch * kept


def test_bars_of_korthikanti_are_met_exactly():
    rows = published_memory("korthikanti22_fig1_memory")
    assert len(rows) == 8
    for row in rows:
        layers = layers_in_flight(row.layers, row.pipeline, row.chunks)
        assert row.activations == layers * Fraction(bar(row))
        assert row.activations != layers * Fraction(bar(row, recompute="full"))
        assert row.activations != layers * Fraction(bar(row, sequence=not row.sequence_parallel))
        share = Fraction(12 * row.layers * row.width**2, row.tensor * row.pipeline)
        assert row.state == state_bytes(share, gradient=4) == 18 * share


@pytest.mark.parametrize("premise", PREMISES, ids=lambda x: x.id)
def test_what_is_kept_is_counted_and_no_mutant_of_it(premise):
    assert premise.verify() == 4
    attack = premise.attack()
    assert attack.tried > 5
    assert not attack.survivors


@unhurried
@given(
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([1, 2, 4]),
    st.booleans(),
    st.sampled_from(memory.RECOMPUTE),
)
def test_any_layer_keeps_what_the_formula_says(L, per_device, size, t, sequence, recompute):
    s, a, d = 4 * per_device, 4, 4 * size
    x = np.random.default_rng(0).normal(size=(s, d)).astype("float16")
    _, _, meter = run_step(make_model(L, d, a, t), x, x, sequence, recompute)
    forward = [z.activations for z in meter.history if z.phase == "forward"]
    assert max(forward) == L * s * activation_bytes(s, d, a, t, sequence, recompute)
    assert meter.history[-1].activations == 0
    assert meter.gradients == 2 * L * 12 * d**2 // t


def test_full_recomputation_peaks_one_layer_above_what_it_keeps():
    L, s, d, a = 5, 8, 16, 4
    x = np.random.default_rng(0).normal(size=(s, d)).astype("float16")
    _, _, meter = run_step(make_model(L, d, a), x, x, recompute="full")
    peak = max(z.activations for z in meter.history)
    assert peak == s * ((L - 1) * 2 * d + activation_bytes(s, d, a))  # its input is among them


def loss(where, name, t, sequence, recompute):
    model = make_model(2, 8, 4, t, "complex128")
    model.layers[where][name][0][1, 2] += 1e-30j
    draw = np.random.default_rng(5).normal
    x, upstream = draw(size=(4, 8)) + 0j, draw(size=(4, 8)) + 0j
    out, by_input, _ = run_step(model, x, upstream, sequence, recompute)
    slope = (out * upstream).sum().imag / 1e-30
    return slope, model.gradients[where][name][0][1, 2].real, by_input


@pytest.mark.parametrize("recompute", memory.RECOMPUTE)
@pytest.mark.parametrize(("t", "sequence"), [(1, False), (2, False), (2, True)])
def test_what_was_kept_is_enough_for_the_gradients(t, sequence, recompute):
    """The derivative by complex step, from outputs alone."""
    for where in (0, 1):
        for name in ("qkv", "o", "up", "down"):
            by_step, by_tape, _ = loss(where, name, t, sequence, recompute)
            assert by_tape == pytest.approx(by_step, rel=1e-11, abs=1e-13)


def test_the_input_gradient_is_the_same_however_much_is_recomputed():
    one, two, three = (loss(0, "qkv", 2, True, x)[2] for x in memory.RECOMPUTE)
    np.testing.assert_allclose(two, one, rtol=1e-13)
    np.testing.assert_allclose(three, one, rtol=1e-13)


def test_the_variants_and_their_limits():
    s, d, a, t, p, v, L = sym.s, sym.d, sym.a, sym.t, sym.p, sym.v, sym.L
    assert sp.expand(activation_bytes(s, d, a)) == 34 * d + 5 * a * s
    assert sp.limit(activation_bytes(s, d, a, t), t, sp.oo) == 10 * d
    assert activation_bytes(s, d, a, t, sequence=True, recompute="full") == 2 * d / t
    assert sp.cancel(layers_in_flight(L, p, v) / L - (1 + (p - 1) / (p * v))) == 0
    assert sp.limit(layers_in_flight(L, p, v), v, sp.oo) == L
    assert sp.limit(state_bytes(sym.N, 3, sym.p_d), sym.p_d, sp.oo) == 0


@unhurried
@given(st.integers(1, 10**12), st.integers(1, 4096))
def test_each_stage_holds_less_and_none_less_than_the_replicas_need_together(N, p_d):
    held = [state_bytes(N, stage, p_d) for stage in range(4)]
    assert held == sorted(held, reverse=True)
    assert held[0] == 16 * N
    assert held[3] * p_d == 16 * N


def test_each_assumption_of_the_proposition_gives_the_formula():
    rule = memory_rules.STATE_AND_ACTIVATIONS
    for dropped in (None, *rule.assumptions):
        values = {x.symbol: x.actual if x is dropped else x.ideal for x in rule.assumptions}
        result = rule.result([dropped] if dropped else [])
        assert sp.cancel(result - rule.formula.subs(values)) == 0
        assert sym.L not in result.free_symbols
    s, d, a, u, L = sym.s, sym.d, sym.a, sym.u, sym.L
    ours = L * u * activation_bytes(s, d, a) / state_bytes(12 * L * d**2)
    assert sp.cancel(rule.result() - ours) == 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: state_items(4), "stage = 4: must be 0, 1, 2 or 3"),
        (lambda: state_items(1, 0), "p_d = 0: must be a whole number of at least 1"),
        (lambda: state_items(1, 2, gradient=0), "gradient = 0: must be a finite number above 0"),
        (lambda: state_bytes(-1), "N = -1"),
        (lambda: activation_bytes(8, 8, 2, 0), "t = 0"),
        (lambda: activation_bytes(8, 8, 2, recompute="all"), "recompute = 'all'"),
        (lambda: activation_bytes(8, 0, 2), "d = 0"),
        (lambda: layers_in_flight(4, 4, 2), "v p = 8: must be at most L = 4"),
        (lambda: make_model(1, 8, 4, 3), "t must divide a"),
    ],
)
def test_refusals(wrong, said):
    with pytest.raises(ValueError, match=said):
        wrong()
