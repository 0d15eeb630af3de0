"""Interleaved and zero-bubble schedules, run by their dependencies, against closed forms."""

import ast
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from bytesperflop import bubbles, execution, interleaving, operations, schedule_errors, zero_bubble
from bytesperflop.interleaving import chunks_of, interleaved, round_robin
from bytesperflop.schedules import CHUNKED, SCHEDULES, Operation, plan, schedule
from bytesperflop.timeline import ScheduleError, messages, simulate
from bytesperflop.zero_bubble import v_shape, zb_h1, zb_h2, zb_v

NAMES = [*SCHEDULES, *CHUNKED]
TIMES = st.one_of(st.integers(1, 9), st.fractions(Fraction(1, 9), 9, max_denominator=9))
FREE = st.one_of(st.just(0), TIMES)


def times_of(orders, f, i, w):
    """One time a kind; a backward in one piece takes both halves."""
    kinds = {operation.kind for order in orders for operation in order}
    return {"F": f, "I": i, "W": w} if "W" in kinds else {"F": f, "B": i + w}


def run(name, p, m, f=1, i=1, w=1, v=2, **costs):
    orders, placement = plan(name, p, m, v)
    return simulate(orders, m, times_of(orders, f, i, w), placement=placement, **costs)


def on_a_link(orders, placement, stages):
    """What is sent from each device to each other, in the order in which it is finished."""
    links = {}
    for device, order in enumerate(orders):
        for kind, stage, j in order:
            if kind == "W":
                continue
            to = stage + 1 if kind == "F" else stage - 1
            if 0 <= to < stages and placement[to] != device:
                links.setdefault((device, placement[to]), []).append((kind, stage, to, j))
    return links


def by_hand(orders, placement, durations, delay, transfer):
    """The schedule as a graph; an edge weighs its tail, and a message is a node of its own."""
    graph, stages = nx.DiGraph(), len(placement)
    weights = {"message": transfer}

    def edge(before, after, more=0):
        own = weights["message"] if before[0] == "message" else durations[before[0]][before[1]]
        graph.add_edge(before, after, weight=own + more)

    for order in orders:
        for before, after in pairwise(order):
            edge(before, after)
        edge(order[-1], "end")
    for sent in on_a_link(orders, placement, stages).values():
        for before, after in pairwise(sent):
            edge(("message", *before), ("message", *after))
    for operation in (x for order in orders for x in order):
        kind, stage, j = operation
        if kind in "BI":
            edge(Operation("F", stage, j), operation)
        if kind == "W":
            edge(Operation("I", stage, j), operation)
        source = {"F": stage - 1, "W": -1}.get(kind, stage + 1)
        if 0 <= source < stages:
            need = Operation(kind, source, j)
            if placement[source] == placement[stage]:
                edge(need, operation)
            else:
                message = ("message", kind, source, stage, j)
                edge(need, message)
                edge(message, operation, delay)
    return graph


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), p=st.integers(1, 5), turns=st.integers(1, 9), v=st.integers(1, 3))
def test_random_durations_take_the_longest_path(name, data, p, turns, v):
    m = p * min(turns, 3) if name == "interleaved" else turns
    orders, placement = plan(name, p, m, v)
    stages, delay, transfer = len(placement), data.draw(FREE), data.draw(FREE)
    kinds = times_of(orders, 1, 1, 1)
    durations = {
        kind: data.draw(st.lists(TIMES, min_size=stages, max_size=stages)) for kind in kinds
    }
    timeline = simulate(orders, m, durations, delay=delay, placement=placement, transfer=transfer)
    graph = by_hand(orders, placement, durations, delay, transfer)
    assert timeline.makespan == nx.dag_longest_path_length(graph)
    earliest = dict.fromkeys(graph, 0)
    for node in nx.topological_sort(graph):
        for before, _, weight in graph.in_edges(node, data="weight"):
            earliest[node] = max(earliest[node], earliest[before] + weight)
    for operation, start, _ in timeline.spans():
        assert start == earliest[operation]


def test_makespans_of_another_implementation():
    """Lengths by dependencies of PyTorch's orders, p = 4, m = 8; found 2026-11, torch 2.13."""
    split = {name: run(name, 4, 8).makespan for name in NAMES}
    assert split == {
        "gpipe": 33,
        "1f1b": 33,
        "interleaved": 57,
        "zb-h1": 27,
        "zb-h2": 27,
        "zb-v": 51,
    }
    orders, placement = plan("interleaved", 4, 8)
    whole = simulate(orders, 8, {"F": 1, "B": 1}, placement=placement)
    assert whole.makespan == 38


# Interleaving


def sizes(most_v=4):
    return ((p, m, v) for p in range(1, 17) for m in range(p, 33, p) for v in range(1, most_v + 1))


def test_interleaving_takes_its_closed_forms_for_all_sizes():
    for p, m, v in sizes():
        timeline = run("interleaved", p, m, v=v)
        assert timeline.makespan == v * bubbles.interleaved_makespan(p, m, v, 3)
        assert timeline.idle_overhead == Fraction(p - 1, v * m)
        assert float(timeline.idle_overhead) == bubbles.interleaved_overhead(p, m, v)
        held = [timeline.peak_in_flight(r) for r in range(p)]
        assert held == [bubbles.interleaved_in_flight(p, m, v, r) for r in range(p)]
        if v >= 2 and m > p:
            assert Fraction(held[0], v * p) == 1 + Fraction(p - 1, p * v)


@given(p=st.integers(1, 6), turns=st.integers(1, 4), v=st.integers(1, 4), f=TIMES, b=TIMES)
def test_interleaving_with_any_ratio_of_forward_to_backward(p, turns, v, f, b):
    orders, placement = plan("interleaved", p, p * turns, v)
    timeline = simulate(orders, p * turns, {"F": f, "B": b}, placement=placement)
    assert timeline.makespan == (v * p * turns + p - 1) * (f + b)


@pytest.mark.parametrize(
    "planted",
    [
        lambda p, m, v: Fraction(p - 1, m),
        lambda p, m, v: Fraction(p, v * m),
        lambda p, m, v: Fraction(p - 1, v * (m + p - 1)),
        lambda p, m, v: Fraction(p - 1, v**2 * m),
        lambda p, m, v: Fraction(v * p - 1, v * m),
    ],
)
def test_a_planted_overhead_is_caught(planted):
    some = [(2, 4, 2), (3, 6, 3), (4, 8, 2)]
    assert [run("interleaved", p, m, v=v).idle_overhead for p, m, v in some] != [
        planted(*size) for size in some
    ]


def with_warm_up(p, m, v, ahead, delay=0):
    """Interleaved 1F1B with another number of forwards before each device's first backward."""
    orders = []
    for device, order in enumerate(interleaved(p, m, v)):
        forwards, backwards = ([x for x in order if x.kind == kind] for kind in "FB")
        lead = min(v * m, ahead(device))
        own = forwards[:lead]
        for backward, forward in zip(backwards, forwards[lead:], strict=False):
            own += [forward, backward]
        orders.append(own + backwards[v * m - lead :])
    return simulate(orders, m, {"F": 1, "B": 2}, delay, placement=round_robin(p, v))


def test_the_warm_up_fills_the_loop():
    """The published lead is 2 a device; 1 is as fast without delay, fewer stall."""
    for p, m, v in ((2, 4, 2), (4, 8, 2), (4, 16, 3), (8, 16, 2), (5, 15, 4)):
        rule = [bubbles.interleaved_warm_up(p, v, r) for r in range(p)]
        short = [lead - (p - r - 1) for r, lead in enumerate(rule)]
        best = run("interleaved", p, m, v=v).makespan
        assert with_warm_up(p, m, v, lambda r, rule=rule: rule[r]).makespan == best
        lean = with_warm_up(p, m, v, lambda r, short=short: short[r])
        assert (lean.makespan, lean.peak_in_flight(0)) == (best, p * v)
        stalled = with_warm_up(p, m, v, lambda r, s=short, p=p: s[r] - (r < p - 1))
        assert stalled.makespan > best
        with pytest.raises(ScheduleError, match=r"^deadlock: B of microbatch 0 on stage"):
            with_warm_up(p, m, v, lambda r, rule=rule: rule[r] - 1)


@pytest.mark.parametrize("c", [Fraction(1, 10), Fraction(1, 2), 1])
def test_the_published_warm_up_buys_the_delay_back(c):
    """Its extra forwards in flight pay only where boundaries take time."""
    p, m, v = 4, 16, 2
    rule = [bubbles.interleaved_warm_up(p, v, r) for r in range(p)]
    full = with_warm_up(p, m, v, lambda r: rule[r], delay=c)
    lean = with_warm_up(p, m, v, lambda r: rule[r] - (p - r - 1), delay=c)
    assert full.makespan < lean.makespan


def test_an_interior_device_sends_v_times_the_messages():
    for p, m, v in sizes(most_v=3):
        sent = messages(*plan("interleaved", p, m, v))
        assert all(count == v * 2 * m for count in sent[1:-1])
    assert messages(*plan("1f1b", 4, 8)) == [8, 16, 16, 8]
    assert messages(*plan("zb-v", 4, 8)) == [16, 32, 32, 16]
    assert messages(*plan("zb-h1", 4, 8)) == messages(*plan("1f1b", 4, 8))


def test_with_one_chunk_interleaving_is_1f1b_that_looks_further_ahead():
    timeline = run("interleaved", 4, 8, v=1)
    assert timeline.makespan == 33
    assert [timeline.peak_in_flight(r) for r in range(4)] == [7, 5, 3, 1]


# Zero bubble


def test_h1_idles_as_published_when_weight_gradients_are_short():
    for p in range(1, 17):
        for m in range(p, 33):
            for f, i, w in ((1, 1, 1), (2, 3, 1), (3, 2, 2)):
                timeline = run("zb-h1", p, m, f, i, w)
                assert timeline.makespan == m * (f + i + w) + (p - 1) * (f + i - w)
                assert [timeline.peak_in_flight(r) for r in range(p)] == [p] * p


@given(p=st.integers(1, 8), more=st.integers(0, 20), f=TIMES, i=TIMES, w=TIMES)
def test_h1_and_h2_idle_with_any_times(p, more, f, i, w):
    timeline = run("zb-h1", p, p + more, f, i, w)
    assert timeline.idle(0) == bubbles.zb_h1_idle(p, f, i, w)
    m = 2 * p - 1 + more
    timeline = run("zb-h2", p, m, f, i, w)
    assert timeline.idle(0) == bubbles.zb_h2_idle(p, f, i, w)
    assert max(timeline.waits(r) for r in range(p)) == bubbles.zb_h2_waits(p, f, i, w)
    assert [timeline.peak_in_flight(r) for r in range(p)] == [2 * p - 1] * p


@pytest.mark.parametrize(
    "planted",
    [
        lambda p, f, i, w: (p - 1) * (f + i),
        lambda p, f, i, w: (p - 1) * (f + i + w),
        lambda p, f, i, w: p * (f + i - w),
        lambda p, f, i, w: (p - 1) * (f + i - 2 * w),
        lambda p, f, i, w: (p - 1) * (2 * f - w),
    ],
)
def test_a_planted_idle_time_of_h1_is_caught(planted):
    assert run("zb-h1", 4, 8, 3, 4, 2).idle(0) != planted(4, 3, 4, 2)


def test_h1_with_fewer_microbatches_than_stages_idles_more_than_published():
    timeline = run("zb-h1", 8, 2, 6, 5, 5)
    assert timeline.idle(0) > bubbles.zb_h1_idle(8, 6, 5, 5)


def test_zero_bubble_is_zero_between_a_stages_own_ends_and_not_from_a_barrier():
    for p in range(1, 17):
        for m in range(2 * p - 1, 33):
            for name, step in (("zb-h2", 3 * m), ("zb-v", 6 * m)):
                timeline = run(name, p, m)
                assert [timeline.waits(r) for r in range(p)] == [0] * p
                assert timeline.makespan == step + bubbles.zb_v_idle(p, 1)
            assert [timeline.peak_in_flight(r) for r in range(p)] == [2 * p] * p


@given(p=st.integers(1, 6), m=st.integers(1, 14), f=TIMES, i=TIMES, w=TIMES)
def test_laws_of_every_schedule(p, m, f, i, w):
    for name in NAMES:
        microbatches = p * m if name == "interleaved" else m
        timeline = run(name, p, microbatches, f, i, w)
        scaled = run(name, p, microbatches, 3 * f, 3 * i, 3 * w)
        chunks = len(timeline.placement) // p
        assert timeline.busy(p - 1) == chunks * microbatches * (f + i + w)
        assert scaled.makespan == 3 * timeline.makespan
        assert timeline.in_flight(0)[-1][1] == 0
        assert 0 <= timeline.waits(0) <= timeline.idle(0)


# Links


def test_a_link_carries_one_message_after_the_other():
    """Two stages, three microbatches, and a link as slow as ten forwards."""
    timeline = simulate(schedule("gpipe", 2, 3), 3, {"F": 1, "B": 1}, delay=2, transfer=10)
    assert timeline.start["F", 1] == [13, 23, 33]
    assert timeline.start["B", 0] == [47, 57, 67]


@given(p=st.integers(1, 5), m=st.integers(1, 10), c=TIMES)
def test_a_link_that_is_never_full_is_a_delay(p, m, c):
    """A transfer shorter than any operation never queues."""
    for name in SCHEDULES:
        short = c / Fraction(10)
        loaded = run(name, p, m, 1, 1, 1, transfer=short)
        assert loaded.makespan == run(name, p, m, 1, 1, 1, delay=short).makespan


# Refusals


def spoilt(change):
    orders = [list(order) for order in zb_v(2, 4)]
    change(orders)
    return orders


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda o: o[0].append(o[0][0]), "^F of microbatch 0 on stage 0 is run twice"),
        (lambda o: o[1].pop(), "^W of microbatch 3 on stage 1 is never run"),
        (lambda o: o[1].append(o[0][0]), "^device 1 cannot run F of microbatch 0 on stage 0"),
        (lambda o: o[0].reverse(), "^deadlock: W of microbatch 3 on stage 0 waits for I of micro"),
        (
            lambda o: o[0].insert(0, o[0].pop(o[0].index(Operation("F", 3, 0)))),
            "^deadlock: F of microbatch 0 on stage 3 waits for F of microbatch 0 on stage 2, "
            "F of microbatch 0 on stage 1 waits for F of microbatch 0 on stage 0$",
        ),
    ],
)
def test_a_chunked_schedule_that_cannot_run_is_refused_by_name(change, message):
    with pytest.raises(ScheduleError, match=message):
        simulate(spoilt(change), 4, {"F": 1, "I": 1, "W": 1}, placement=v_shape(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: interleaved(4, 6), "m = 6: interleaving needs a multiple of p = 4"),
        (lambda: interleaved(4, 0), "m = 0: must be a whole number of at least 1"),
        (lambda: interleaved(4, 8, 0), "v = 0: must be a whole number of at least 1"),
        (lambda: round_robin(0, 2), "p = 0: must be a whole"),
        (lambda: chunks_of(96, 8, 5), "v = 5: must divide the layers of a stage, L/p = 12"),
        (lambda: chunks_of(96, 7, 1), "p = 7: must divide the layers, L = 96"),
        (lambda: zb_h1(0, 2), "p = 0: must be a whole"),
        (lambda: zb_h2(2, 0), "m = 0: must be a whole"),
        (lambda: zb_v(2, 1.5), "m = 1.5: must be a whole"),
        (lambda: v_shape(0), "p = 0: must be a whole"),
        (lambda: plan("magic", 2, 2), "must be one of gpipe, 1f1b, zb-h1, zb-h2, interleaved, zb"),
        (lambda: run("zb-v", 2, 4, f=-1), "duration of F on stage 0 = -1: must be"),
        (lambda: run("zb-v", 2, 4, transfer=-1), "transfer = -1: must be"),
        (
            lambda: simulate(zb_v(2, 1), 1, {"F": 1, "I": 1, "W": 1}, placement=[0, 1, 2, 0]),
            "placement on 2: must be a device of 2, from 0",
        ),
        (lambda: bubbles.interleaved_warm_up(2, 2, 2), "must be at most p = 2"),
        (lambda: bubbles.interleaved_makespan(2, 2, 2, 0), "tau = 0: must be"),
        (lambda: bubbles.interleaved_overhead(2, 0, 2), "m = 0: must be"),
        (lambda: bubbles.interleaved_in_flight(2, 0, 2, 0), "m = 0: must be"),
        (lambda: bubbles.zb_h1_idle(2, 1, 1, 0), "weight_gradient = 0: must be"),
        (lambda: bubbles.zb_h2_idle(0, 1, 1, 1), "p = 0: must be"),
        (lambda: bubbles.zb_h2_waits(2, -1, 1, 1), "forward = -1: must be"),
        (lambda: bubbles.zb_v_idle(2, -1), "time = -1: must be"),
    ],
)
def test_arguments_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_layers_of_a_chunk():
    assert chunks_of(96, 8, 4) == 3


def test_fewer_microbatches_than_zb_v_fills():
    for p in range(1, 6):
        for m in range(1, 2 * p - 1):
            for device, order in enumerate(zb_v(p, m)):
                count = Counter((kind, stage) for kind, stage, _ in order)
                assert set(count.values()) == {m}
                assert {stage for _, stage in count} == {device, 2 * p - 1 - device}


def test_symbols_go_in_and_come_out():
    p, m, v, f, i, w = sp.symbols("p m v f i w", positive=True)
    assert bubbles.interleaved_overhead(p, m, v) == (p - 1) / (v * m)
    at = {p: 4, m: 8, v: 2, f: 1, i: 3, w: 1}
    for idle in (bubbles.zb_h1_idle, bubbles.zb_h2_idle, bubbles.zb_h2_waits):
        assert idle(p, f, i, w).subs(at) == idle(4, 1, 3, 1)
    assert bubbles.interleaved_in_flight(p, m, v, 0).subs(at) == 11


@pytest.mark.parametrize(
    "module", [execution, operations, schedule_errors, interleaving, zero_bubble]
)
def test_the_simulators_never_see_a_closed_form(module):
    tree = ast.parse(Path(module.__file__).read_text())
    local = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not local & {"pipeline", "bubbles", "ratios", "bytesperflop"}
