"""Schedules side by side: shares of a stage, what is held, and the front that none beats."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bytesperflop.comparison import pareto_front, run, stages_held
from bytesperflop.schedules import CHUNKED, SCHEDULES

POINTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30)


@given(points=POINTS)
def test_the_front_is_what_nobody_beats(points):
    def beaten(x):
        return any(y != x and y[0] <= x[0] and y[1] <= x[1] for y in points)

    assert pareto_front(points) == sorted({x for x in points if not beaten(x)})


@pytest.mark.parametrize("name", [*SCHEDULES, *CHUNKED])
@given(p=st.integers(1, 5), turns=st.integers(1, 3), v=st.integers(1, 4))
def test_every_schedule_does_the_same_work(name, p, turns, v):
    timeline = run(name, p, p * turns, (3, 4, 5), v=v)
    assert [timeline.busy(device) for device in range(p)] == [12 * p * turns] * p
    halves = run(name, p, p * turns, (1.5, 2.0, 2.5), v=v)
    assert halves.makespan == pytest.approx(float(timeline.makespan) / 2)


def test_what_is_held_counts_whole_stages():
    held = {x: stages_held(run(x, 4, 16)) for x in [*SCHEDULES, *CHUNKED]}
    assert held == {
        "gpipe": 16,
        "1f1b": 4,
        "zb-h1": 4,
        "zb-h2": 7,
        "interleaved": Fraction(11, 2),
        "zb-v": 4,
    }
