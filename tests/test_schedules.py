"""Pipeline schedules run by their dependencies, against closed forms and a graph library."""

from fractions import Fraction
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bytesperflop.schedules import (
    Operation,
    gpipe,
    one_forward_one_backward,
    schedule,
)
from bytesperflop.timeline import ScheduleError, dependencies, simulate

SIZES = st.integers(1, 6)
TIMES = st.one_of(st.integers(1, 9), st.fractions(Fraction(1, 9), 9, max_denominator=9))
NAMES = ["gpipe", "1f1b"]  # whose backward is one piece; the others have a file of their own


def draw_times(data, stages):
    return {kind: data.draw(st.lists(TIMES, min_size=stages, max_size=stages)) for kind in "FB"}


def by_hand(orders, stages, durations, delay):
    """The schedule as a graph: an edge weighs its tail's duration and the delay it crosses."""
    graph = nx.DiGraph()

    def edge(before, after, crossing):
        kind, stage, _ = before
        graph.add_edge(before, after, weight=durations[kind][stage] + delay * crossing)

    for order in orders:
        for before, after in pairwise(order):
            edge(before, after, False)
        edge(order[-1], "end", False)
        for operation in order:
            _, stage, j = operation
            if operation.kind == "F" and stage > 0:
                edge(Operation("F", stage - 1, j), operation, True)
            if operation.kind == "B":
                edge(Operation("F", stage, j), operation, False)
                edge(operation, "end", False)
                if stage < stages - 1:
                    edge(Operation("B", stage + 1, j), operation, True)
    return graph


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), p=SIZES, m=SIZES)
def test_random_durations_take_the_longest_path(name, data, p, m):
    orders, durations = schedule(name, p, m), draw_times(data, p)
    delay = data.draw(st.one_of(st.just(0), TIMES))
    timeline = simulate(orders, m, durations, delay)
    graph = by_hand(orders, p, durations, delay)
    assert timeline.makespan == nx.dag_longest_path_length(graph)
    earliest = dict.fromkeys(graph, 0)
    for node in nx.topological_sort(graph):
        for before, _, weight in graph.in_edges(node, data="weight"):
            earliest[node] = max(earliest[node], earliest[before] + weight)
    for operation, start, finish in timeline.spans():
        assert start == earliest[operation]
        assert finish == start + durations[operation.kind][operation.stage]


def test_equal_stages_take_the_closed_form_for_all_sizes_up_to_32():
    f, b = 1, 2
    for p in range(1, 33):
        for m in range(1, 33):
            timeline = simulate(gpipe(p, m), m, {"F": f, "B": b})
            assert timeline.makespan == (m + p - 1) * (f + b)
            assert timeline.idle_fraction == Fraction(p - 1, m + p - 1)
            assert timeline.idle_overhead == Fraction(p - 1, m)


@pytest.mark.parametrize(
    "planted",
    [
        lambda p, m, f, b: (m + p) * (f + b),
        lambda p, m, f, b: (m + p - 2) * (f + b),
        lambda p, m, f, b: m * (f + b),
        lambda p, m, f, b: (m + p - 1) * f,
        lambda p, m, f, b: (m + p - 1) * 2 * max(f, b),
        lambda p, m, f, b: (2 * m + p - 1) * (f + b),
        lambda p, m, f, b: m * p * (f + b),
    ],
)
def test_the_timeline_catches_a_planted_makespan(planted):
    sizes = [(p, m) for p in range(1, 5) for m in range(1, 5)]
    counted = [simulate(gpipe(p, m), m, {"F": 1, "B": 2}).makespan for p, m in sizes]
    assert counted != [planted(p, m, 1, 2) for p, m in sizes]


def test_two_denominators():
    """Three of eleven slots are idle; the same idle time is three eighths of the useful time."""
    timeline = simulate(schedule("gpipe", p=4, m=8), 8, {"F": 1, "B": 2})
    assert timeline.idle_fraction == Fraction(3, 11)
    assert timeline.idle_overhead == Fraction(3, 8)
    assert [timeline.idle(stage) for stage in range(4)] == [9] * 4
    assert simulate(schedule("gpipe", p=4, m=32), 32, {"F": 1, "B": 2}).idle_fraction == Fraction(
        3, 35
    )


def test_a_larger_microbatch_of_the_same_batch_raises_the_bubble():
    """Twice the tokens a microbatch: half as many, each twice as long, and a larger bubble."""
    small = simulate(gpipe(4, 16), 16, {"F": 1, "B": 2})
    large = simulate(gpipe(4, 8), 8, {"F": 2, "B": 4})
    assert small.busy(0) == large.busy(0)
    assert (small.idle_fraction, large.idle_fraction) == (Fraction(3, 19), Fraction(3, 11))


@given(data=st.data(), p=st.integers(1, 8), m=st.integers(1, 12), delay=TIMES)
def test_gpipe_with_unequal_stages_and_boundary_delay(data, p, m, delay):
    durations = draw_times(data, p)
    f, b = durations["F"], durations["B"]
    free = simulate(gpipe(p, m), m, durations)
    assert free.makespan == sum(f) + sum(b) + (m - 1) * (max(f) + max(b))
    assert (
        simulate(gpipe(p, m), m, durations, delay).makespan == free.makespan + 2 * (p - 1) * delay
    )


@given(data=st.data(), p=st.integers(1, 8), m=st.integers(1, 12))
def test_1f1b_is_never_later_than_gpipe_when_boundaries_cost_nothing(data, p, m):
    durations = draw_times(data, p)
    gpiped, alternating = gpipe(p, m), one_forward_one_backward(p, m)
    assert simulate(alternating, m, durations).makespan <= simulate(gpiped, m, durations).makespan
    equal = {"F": durations["F"][0], "B": durations["B"][0]}
    assert simulate(alternating, m, equal).makespan == simulate(gpiped, m, equal).makespan


def test_1f1b_can_be_earlier_than_gpipe_when_stages_are_unequal():
    """GPipe waits for the slowest forward and the slowest backward, on whatever stages."""
    durations = {"F": [1, 5], "B": [5, 1]}
    times = {name: simulate(schedule(name, 2, 4), 4, durations).makespan for name in NAMES}
    assert times == {"gpipe": 12 + 3 * (5 + 5), "1f1b": 12 + 3 * (1 + 5)}


@given(p=st.integers(2, 9), m=st.integers(1, 40), f=TIMES, b=TIMES, delay=TIMES)
def test_1f1b_pays_the_boundary_delay_at_almost_every_microbatch(p, m, f, b, delay):
    late = simulate(one_forward_one_backward(p, m), m, {"F": f, "B": b}, delay).makespan
    times = p - 2 + m - 1 - (m - 2) // p
    assert late == (m + p - 1) * (f + b) + 2 * times * delay
    assert abs(times - Fraction(p - 1, p) * m) < p


@given(p=st.integers(1, 9), m=st.integers(1, 20), f=TIMES, b=TIMES)
def test_microbatches_in_flight(p, m, f, b):
    for name, held in (("gpipe", lambda r: m), ("1f1b", lambda r: min(m, p - r))):
        timeline = simulate(schedule(name, p, m), m, {"F": f, "B": b})
        assert [timeline.peak_in_flight(r) for r in range(p)] == [held(r) for r in range(p)]
        times, counts = zip(*timeline.in_flight(0), strict=True)
        assert list(times) == sorted(times)
        assert counts[-1] == 0


def test_in_flight_over_time():
    timeline = simulate(schedule("1f1b", 2, 2), 2, {"F": 1, "B": 2})
    assert timeline.in_flight(0) == [(0, 1), (1, 2), (6, 1), (9, 0)]
    assert timeline.in_flight(1) == [(1, 1), (4, 0), (4, 1), (7, 0)]


@given(data=st.data(), p=SIZES, m=SIZES, factor=TIMES)
def test_time_scales_with_its_unit_and_grows_with_each_duration(data, p, m, factor):
    durations = draw_times(data, p)
    orders = schedule(data.draw(st.sampled_from(NAMES)), p, m)
    scaled = {kind: [factor * time for time in times] for kind, times in durations.items()}
    makespan = simulate(orders, m, durations).makespan
    assert simulate(orders, m, scaled).makespan == factor * makespan
    slower = {"F": durations["F"], "B": [durations["B"][0] + factor, *durations["B"][1:]]}
    assert simulate(orders, m, slower).makespan >= makespan
    assert sum(simulate(orders, m, durations).busy(r) for r in range(p)) == m * sum(
        map(sum, durations.values())
    )


def test_numbers_come_out_as_they_went_in():
    whole = simulate(gpipe(3, 4), 4, {"F": 1, "B": 2})
    assert all(type(end) is int for _, _, end in whole.spans())
    exact = simulate(gpipe(3, 4), 4, {"F": Fraction(1, 3), "B": Fraction(2, 3)})
    assert type(exact.makespan) is Fraction
    assert exact.makespan == 6
    assert exact.idle_fraction == Fraction(1, 3)
    assert simulate(gpipe(3, 4), 4, {"F": 0.5, "B": 1.0}).idle_fraction == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", NAMES)
def test_an_edge_dropped_from_the_dependencies_changes_the_timeline(name):
    """Except a backward's own forward, which the order of the last stage enforces already."""
    orders, durations = schedule(name, 4, 8), {"F": 1, "B": 2}
    for kind, stage in [(kind, stage) for kind in "FB" for stage in range(4)]:
        for edge in dependencies(kind, stage, 4):

            def dropped(k, s, stages, edge=edge, end=(kind, stage)):
                return [
                    need for need in dependencies(k, s, stages) if ((k, s), need) != (end, edge)
                ]

            shorter = simulate(orders, 8, durations, dependencies=dropped).makespan
            assert shorter == 33 if edge == ("F", stage) else shorter < 33


def test_own_forward_is_needed_where_the_order_does_not_enforce_it():
    orders = [[Operation("B", 0, 0), Operation("F", 0, 0)]]
    with pytest.raises(ScheduleError, match="deadlock"):
        simulate(orders, 1, {"F": 1, "B": 1})
    backward_alone = simulate(orders, 1, {"F": 1, "B": 1}, dependencies=lambda *_: [])
    assert backward_alone.makespan == 2


def broken(change):
    """The orders of 1F1B with p = 2, m = 2, spoilt."""
    orders = [list(order) for order in schedule("1f1b", 2, 2)]
    change(orders)
    return orders


F, B = (lambda stage, j: Operation("F", stage, j)), (lambda stage, j: Operation("B", stage, j))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda o: o[1].append(F(1, 0)), "^F of microbatch 0 on stage 1 is run twice"),
        (lambda o: o[0].insert(0, B(0, 1)), "^B of microbatch 1 on stage 0 is run twice"),
        (lambda o: o[0].remove(B(0, 1)), "^B of microbatch 1 on stage 0 is never run"),
        (lambda o: o[0].remove(F(0, 0)), "^F of microbatch 0 on stage 0 is never run"),
        (lambda o: o[1].clear(), "^F of microbatch 0 on stage 1 is never run"),
        (lambda o: o[0].append(F(1, 1)), "^device 0 cannot run F of microbatch 1 on stage 1"),
        (lambda o: o[0].append(F(0, 2)), "^device 0 cannot run F of microbatch 2 on stage 0"),
        (lambda o: o[0].append(F(0, -1)), "^device 0 cannot run F of microbatch -1 on stage 0"),
        (
            lambda o: o[0].append(Operation("W", 0, 0)),
            "^device 0 cannot run W of microbatch 0 on stage 0",
        ),
        (
            lambda o: o[1].reverse(),
            "^deadlock: B of microbatch 1 on stage 1 waits for F of microbatch 1 on stage 1$",
        ),
        (
            lambda o: (
                o[0].__setitem__(slice(None), [F(0, 0), B(0, 0), F(0, 1), B(0, 1)])
                or o[1].__setitem__(slice(None), [F(1, 0), F(1, 1), B(1, 0), B(1, 1)])
            ),
            "^deadlock: B of microbatch 0 on stage 0 waits for B of microbatch 0 on stage 1, "
            "F of microbatch 1 on stage 1 waits for F of microbatch 1 on stage 0$",
        ),
        (
            lambda o: o[1].remove(F(1, 1)) or o[0].append(F(1, 1)),
            "^device 0 cannot run F of microbatch 1 on stage 1",
        ),
    ],
)
def test_a_schedule_that_cannot_run_is_refused_by_name(change, message):
    with pytest.raises(ScheduleError, match=message):
        simulate(broken(change), 2, {"F": 1, "B": 1})


def test_a_microbatch_left_out_everywhere_is_missed():
    with pytest.raises(ScheduleError, match="F of microbatch 2 on stage 0 is never run"):
        simulate(gpipe(2, 2), 3, {"F": 1, "B": 1})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gpipe(0, 3), "p = 0: must be a whole number of at least 1"),
        (lambda: one_forward_one_backward(2, 0), "m = 0: must be a whole number of at least 1"),
        (lambda: schedule("magic", 2, 2), "name = 'magic': must be one of gpipe, 1f1b"),
        (lambda: simulate([], 1, {"F": 1, "B": 1}), "stages = 0: must be"),
        (lambda: simulate(gpipe(2, 2), 0, {"F": 1, "B": 1}), "microbatches = 0: must be"),
        (lambda: simulate(gpipe(2, 2), 2, {"F": 0, "B": 1}), "duration of F on stage 0 = 0: must"),
        (lambda: simulate(gpipe(2, 2), 2, {"F": 1, "B": [1, -1]}), "of B on stage 1 = -1: must be"),
        (lambda: simulate(gpipe(2, 2), 2, {"F": 1, "B": [1]}), "must be one or 2, one a stage"),
        (lambda: simulate(gpipe(2, 2), 2, {"B": 1}), r"durations of \['B'\]: must include F"),
        (lambda: simulate(gpipe(2, 2), 2, {"F": 1, "B": 1}, -1), "delay = -1: must be"),
    ],
)
def test_arguments_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_64_stages_and_1024_microbatches():
    orders = schedule("1f1b", 64, 1024)
    timeline = simulate(orders, 1024, {"F": 1, "B": 2})
    assert timeline.makespan == (1024 + 63) * 3
