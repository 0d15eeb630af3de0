"""Premises about interleaved and zero-bubble schedules, each found by running them."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy as sp

from .operations import messages
from .premises import Premise, _points
from .schedule_premises import r
from .symbols import m, p, v
from .timeline import Timeline, simulate

t_F = sp.Symbol("t_F", positive=True)  # of a microbatch on all of a device's chunks
t_B = sp.Symbol("t_B", positive=True)
t_I = sp.Symbol("t_I", positive=True)
t_W = sp.Symbol("t_W", positive=True)


def _run(name: str, p: int, m: int, v: int = 1, **times: int) -> Timeline:
    """A schedule on equal stages; ``times`` are of a whole stage, kind by kind."""
    from .schedules import plan

    orders, placement = plan(name, p, m, v)
    per_chunk = {kind: Fraction(time, v) for kind, time in times.items()}
    return simulate(orders, m, per_chunk, placement=placement)


def _ends(timeline: Timeline, device: int, kind: str) -> Any:
    """When the device finishes its last operation of that kind."""
    last = next(op for op in reversed(timeline.orders[device]) if op.kind == kind)
    return timeline.finish[last[:2]][last[2]]


def _starts(timeline: Timeline, device: int) -> Any:
    first = timeline.orders[device][0]
    return timeline.start[first[:2]][first[2]]


def _interleaved(reading: Callable[[Timeline, int], Any]) -> Callable[..., Any]:
    def count(p: int, m: int, v: int, t_F: int, t_B: int) -> Any:
        return reading(_run("interleaved", p, m, v, F=t_F, B=t_B), p)

    return count


def _split(reading: Callable[[Timeline, int], Any]) -> Callable[..., Any]:
    def count(p: int, m: int, t_F: int, t_I: int, t_W: int) -> Any:
        return reading(_run("zb-h1", p, m, F=t_F, I=t_I, W=t_W), p)

    return count


def _held(p: int, m: int, v: int, r: int) -> int:
    return _run("interleaved", p, m, v, F=1, B=2).peak_in_flight(r)


def _sent(p: int, m: int, v: int) -> int:
    from .schedules import plan

    return messages(*plan("interleaved", p, m, v))[p // 2]


_CHUNKED = _points(p, m, v, t_F, t_B)(
    (1, 2, 2, 1, 2), (2, 4, 1, 3, 2), (3, 6, 2, 2, 5), (4, 8, 2, 1, 2), (4, 4, 3, 3, 1)
)
_H1 = _points(p, m, t_F, t_I, t_W)(
    (1, 3, 2, 3, 1), (2, 5, 1, 1, 1), (4, 8, 3, 4, 2), (5, 5, 4, 3, 2), (6, 13, 2, 5, 1)
)

INTERLEAVED_START = Premise(
    "interleaved-start",
    "the last device starts after $p-1$ forward chunks",
    (p - 1) * t_F / v,
    "interleaved 1F1B run, and its last device watched",
    _interleaved(lambda run, p: _starts(run, p - 1)),
    _CHUNKED,
)
INTERLEAVED_WORK = Premise(
    "interleaved-work",
    "it then works through all its chunks without waiting once",
    m * (t_F + t_B),
    "interleaved 1F1B run, and its last device watched",
    _interleaved(lambda run, p: _ends(run, p - 1, "B") - _starts(run, p - 1)),
    _CHUNKED,
)
INTERLEAVED_END = Premise(
    "interleaved-end",
    "the step ends $p-1$ backward chunks later, on the first device",
    (p - 1) * t_B / v,
    "interleaved 1F1B run, and its two ends compared",
    _interleaved(lambda run, p: run.makespan - _ends(run, p - 1, "B")),
    _CHUNKED,
)
INTERLEAVED_IN_FLIGHT = Premise(
    "interleaved-in-flight",
    "device $r$ holds $\\min(vm, 2(p-r-1)+(v-1)p+1)$ microbatches of one chunk each",
    sp.Min(v * m, 2 * (p - r - 1) + (v - 1) * p + 1),
    "interleaved 1F1B run, and what is held counted over time",
    _held,
    _points(p, m, v, r)(
        (1, 3, 2, 0), (4, 4, 2, 0), (4, 8, 2, 0), (4, 8, 2, 3), (3, 9, 4, 1), (5, 10, 1, 2)
    ),
)
INTERLEAVED_MESSAGES = Premise(
    "interleaved-messages",
    "an interior device sends $2vm$ messages a step",
    2 * v * m,
    "the hand-overs between devices, counted",
    _sent,
    _points(p, m, v)((3, 6, 1), (4, 8, 2), (5, 10, 3)),
)
H1_START = Premise(
    "zb-h1-start",
    "the last stage of ZB-H1 starts after $p-1$ forwards",
    (p - 1) * t_F,
    "ZB-H1 run, and its last stage watched",
    _split(lambda run, p: _starts(run, p - 1)),
    _H1,
)
H1_WORK = Premise(
    "zb-h1-work",
    "up to its last input gradient it never waits, and has put off $p$ weight gradients",
    m * (t_F + t_I) + (m - p) * t_W,
    "ZB-H1 run, and its last stage watched",
    _split(lambda run, p: _ends(run, p - 1, "I") - _starts(run, p - 1)),
    _H1,
)
H1_END = Premise(
    "zb-h1-end",
    "the step ends $p-1$ input gradients and a weight gradient later, on the first stage",
    (p - 1) * t_I + t_W,
    "ZB-H1 run, and its two ends compared",
    _split(lambda run, p: run.makespan - _ends(run, p - 1, "I")),
    _H1,
)

INTERLEAVING = (
    INTERLEAVED_START,
    INTERLEAVED_WORK,
    INTERLEAVED_END,
    INTERLEAVED_IN_FLIGHT,
    INTERLEAVED_MESSAGES,
)
ZERO_BUBBLE = (H1_START, H1_WORK, H1_END)
