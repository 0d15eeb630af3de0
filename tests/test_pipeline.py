"""The pipeline's closed forms against schedules that are run, and the premises' attacks."""

import ast
from fractions import Fraction
from pathlib import Path

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from bytesperflop import pipeline, ratios, schedule_premises, schedules, symbols, timeline
from bytesperflop.schedules import Operation, schedule
from bytesperflop.timeline import simulate

TIMES = st.one_of(st.integers(1, 9), st.fractions(Fraction(1, 9), 9, max_denominator=9))
STAGES, MICROBATCHES = st.integers(1, 8), st.integers(1, 24)


@given(data=st.data(), p=STAGES, m=MICROBATCHES, c=st.one_of(st.just(0), TIMES))
def test_gpipe_takes_its_closed_form(data, p, m, c):
    f, b = (data.draw(st.lists(TIMES, min_size=p, max_size=p)) for _ in "FB")
    run = simulate(schedule("gpipe", p, m), m, {"F": f, "B": b}, c)
    assert run.makespan == pipeline.gpipe_makespan(f, b, m, c)


@given(p=STAGES, m=MICROBATCHES, f=TIMES, b=TIMES, c=st.one_of(st.just(0), TIMES))
def test_1f1b_takes_its_closed_form_when_stages_are_equal(p, m, f, b, c):
    run = simulate(schedule("1f1b", p, m), m, {"F": f, "B": b}, c)
    assert run.makespan == pipeline.one_forward_one_backward_makespan(p, m, f + b, c)


@pytest.mark.parametrize(
    "planted",
    [
        lambda f, b, m, c: sum(f) + sum(b) + m * (max(f) + max(b)) + 2 * (len(f) - 1) * c,
        lambda f, b, m, c: sum(f) + sum(b) + (m - 1) * (max(f) + max(b)) + 2 * len(f) * c,
        lambda f, b, m, c: sum(f) + sum(b) + (m - 1) * (max(f) + max(b)) + (len(f) - 1) * c,
        lambda f, b, m, c: (
            sum(f)
            + sum(b)
            + (m - 1) * max(x + y for x, y in zip(f, b, strict=True))
            + 2 * (len(f) - 1) * c
        ),
        lambda f, b, m, c: sum(f) + (m - 1) * max(f) + 2 * (len(f) - 1) * c,
    ],
)
def test_a_planted_makespan_is_caught(planted):
    f, b, m, c = [1, 5, 2], [5, 1, 3], 4, 2
    assert simulate(schedule("gpipe", 3, m), m, {"F": f, "B": b}, c).makespan != planted(f, b, m, c)


@pytest.mark.parametrize(
    "planted",
    [
        lambda p, m: 2 * (p - 1),
        lambda p, m: 2 * ((p - 2) + (m - 1)),
        lambda p, m: 2 * ((p - 2) + m - (m - 2) // p),
        lambda p, m: 2 * ((p - 2) + (m - 1) - (m - 1) // p),
        lambda p, m: 2 * ((p - 2) + (m - 1) - (m - 2) // (p + 1)),
        lambda p, m: (p - 2) + (m - 1) - (m - 2) // p,
    ],
)
def test_planted_crossings_are_caught(planted):
    counted = {
        (p, m): simulate(schedule("1f1b", p, m), m, {"F": 1, "B": 2}, 1).makespan - 3 * (m + p - 1)
        for p in range(1, 6)
        for m in range(1, 12)
    }
    assert counted == {at: pipeline.one_forward_one_backward_crossings(*at) for at in counted}
    assert counted != {at: planted(*at) for at in counted}


@given(p=st.integers(2, 12), m=st.integers(1, 200))
def test_1f1b_crosses_about_two_boundaries_a_microbatch_of_p(p, m):
    crossings = pipeline.one_forward_one_backward_crossings(p, m)
    assert abs(crossings - Fraction(2 * (p - 1), p) * m) < 2 * p
    assert crossings >= pipeline.gpipe_crossings(p)


@given(p=STAGES, m=MICROBATCHES)
def test_in_flight(p, m):
    run = simulate(schedule("1f1b", p, m), m, {"F": 1, "B": 2})
    held = [pipeline.one_forward_one_backward_in_flight(p, m, r) for r in range(p)]
    assert held == [run.peak_in_flight(r) for r in range(p)]


@given(p=STAGES, m=MICROBATCHES, f=st.integers(1, 3), b=st.integers(1, 3))
def test_some_stage_idles_in_twice_the_bubble(p, m, f, b):
    """Counted slot by slot: how many stages work in each unit of GPipe's time."""
    run = simulate(schedule("gpipe", p, m), m, {"F": f, "B": b})
    working = [0] * run.makespan
    for _, start, finish in run.spans():
        for slot in range(start, finish):
            working[slot] += 1
    share = Fraction(sum(stages < p for stages in working), len(working))
    assert float(share) == pytest.approx(float(pipeline.some_stage_idle(p, m)))
    assert share == min(1, 2 * run.idle_fraction)


def test_one_slow_stage_is_the_propositions_delta():
    """(1 + delta) tau on one stage, wherever it is, forward and backward alike."""
    p, m, delta, c = symbols.p, symbols.m, symbols.delta, symbols.c
    claim = (m + p - 1) + m * delta + 2 * (p - 1) * c
    for slow in range(4):
        f = [1 + (stage == slow) * Fraction(1, 5) for stage in range(4)]
        run = simulate(schedule("gpipe", 4, 8), 8, {"F": f, "B": [2 * x for x in f]}, 1)
        at = {p: 4, m: 8, delta: sp.Rational(1, 5), c: sp.Rational(1, 3)}
        assert sp.sympify(run.makespan) == 3 * claim.subs(at)


def ahead(p, m):
    """1F1B that admits 2(p - r) - 1 microbatches on stage r before its first backward."""
    orders = []
    for stage in range(p):
        lead = min(m, 2 * (p - stage) - 1)
        order = [Operation("F", stage, j) for j in range(lead)]
        for j in range(m):
            order.append(Operation("B", stage, j))
            if j + lead < m:
                order.append(Operation("F", stage, j + lead))
        orders.append(order)
    return orders


@pytest.mark.parametrize("c", [0, 1, 5, 15])
def test_microbatches_in_flight_buy_the_delay_back(c):
    """Up to c = tau/2, twice the activations leave 1F1B with GPipe's crossings only."""
    for p in range(1, 9):
        run = simulate(ahead(p, 40), 40, {"F": 10, "B": 20}, c)
        assert run.makespan == pipeline.gpipe_makespan([10] * p, [20] * p, 40, c)
        assert run.peak_in_flight(0) == 2 * p - 1


def test_stage_time_and_delay_give_the_boundary_traffic():
    """Two crossings a microbatch, over the stage's own time: the ratio of the other module."""
    b, F, B, L, d, p, u, t = (getattr(symbols, name) for name in [*"bFBLdput"])
    crossing, work = pipeline.boundary_delay(b, B, d, u), pipeline.stage_time(F, L, d, p, u)
    assert sp.cancel(2 * crossing / work - ratios.boundary_traffic(b, F, B, L, d, p)) == 0
    shared = pipeline.stage_time(F, L, d, p, u, t)
    assert sp.cancel(work / shared - t) == 0
    assert pipeline.boundary_delay(b, B, d, u, symbols.alpha).coeff(symbols.alpha) == 1


def test_the_head_is_a_share_of_a_stage():
    V, L, d, p = symbols.V, symbols.L, symbols.d, symbols.p
    share = pipeline.head_imbalance(V, L, d, p)
    assert sp.cancel(share - (6 * d * V) / (6 * 12 * d**2 * L / p)) == 0


def test_activations_of_the_first_stage():
    L, p, m = symbols.L, symbols.p, symbols.m
    assert pipeline.activations_held(p, L, p) == L
    assert pipeline.activations_held(m, L, p) == m * L / p
    for stages in (1, 2, 8, 96):
        assert pipeline.activations_held(stages, 96, stages) == 96


def test_symbols_go_in_and_come_out():
    f, b = sp.symbols("f:2", positive=True), sp.symbols("b:2", positive=True)
    span = pipeline.gpipe_makespan(f, b, symbols.m, symbols.c)
    at = dict(zip((*f, *b, symbols.m, symbols.c), (1, 5, 5, 1, 4, 2), strict=True))
    assert span.subs(at) == pipeline.gpipe_makespan([1, 5], [5, 1], 4, 2) == 46
    at = {symbols.p: 4, symbols.m: 8}
    crossings = pipeline.one_forward_one_backward_crossings(symbols.p, symbols.m)
    assert crossings.subs(at) == pipeline.one_forward_one_backward_crossings(4, 8)
    held = pipeline.one_forward_one_backward_in_flight(symbols.p, symbols.m, 1)
    assert held.subs(at) == 3
    assert pipeline.some_stage_idle(symbols.p, symbols.m).subs(at) == sp.Rational(6, 11)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pipeline.gpipe_makespan([1], [1, 2], 3), "must have one duration a stage"),
        (lambda: pipeline.gpipe_makespan([], [], 3), "must have one duration a stage"),
        (lambda: pipeline.gpipe_makespan([1], [0], 3), "backward of stage 0 = 0: must be"),
        (lambda: pipeline.gpipe_makespan([1], [1], 0), "m = 0: must be a whole"),
        (lambda: pipeline.gpipe_makespan([1], [1], 1, -1), "c = -1: must be"),
        (lambda: pipeline.gpipe_crossings(0), "p = 0: must be a whole"),
        (lambda: pipeline.one_forward_one_backward_makespan(2, 2, 0), "tau = 0: must be"),
        (lambda: pipeline.one_forward_one_backward_makespan(2, 2, 1, -1), "c = -1: must be"),
        (lambda: pipeline.one_forward_one_backward_crossings(2, 1.5), "m = 1.5: must be a whole"),
        (lambda: pipeline.one_forward_one_backward_in_flight(2, 3, 2), "must be at most p = 2"),
        (lambda: pipeline.one_forward_one_backward_in_flight(2, 3, -1), "r = -1: must be a whole"),
        (lambda: pipeline.activations_held(2, 4, 8), "p = 8: must be at most L = 4"),
        (lambda: pipeline.some_stage_idle(0, 4), "p = 0: must be a whole"),
        (lambda: pipeline.stage_time(1, 4, 8, 8, 1), "p = 8: must be at most L = 4"),
        (lambda: pipeline.stage_time(0, 4, 8, 2, 1), "F = 0: must be"),
        (lambda: pipeline.boundary_delay(2, 1, 8, 0), "u = 0: must be"),
        (lambda: pipeline.boundary_delay(2, 1, 8, 1, -1), "alpha = -1: must be"),
        (lambda: pipeline.head_imbalance(0, 4, 8, 2), "V = 0: must be a whole"),
    ],
)
def test_arguments_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("module", [schedules, timeline])
def test_the_simulators_never_see_a_closed_form(module):
    tree = ast.parse(Path(module.__file__).read_text())
    local = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not local & {"pipeline", "ratios", "bytesperflop"}


@pytest.mark.parametrize(
    "premise", schedule_premises.SCHEDULE_PREMISES.values(), ids=lambda x: x.id
)
def test_premises_hold_and_only_equivalent_mutants_survive(premise):
    assert premise.verify() == len(premise.points)
    attack = premise.attack()
    assert attack.tried > 1
    assert all("equivalent" in survivor for survivor in attack.survivors)


def test_the_edges_that_survive_are_the_ones_that_the_order_enforces():
    attack = schedule_premises.EDGES.attack()
    assert [survivor.split(" dropped")[0] for survivor in attack.survivors] == [
        f"edge F{stage} to B{stage}" for stage in range(4)
    ]
    assert (attack.tried, attack.caught) == (10, 6)
