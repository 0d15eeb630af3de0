"""Premises about pipeline schedules, each found by running the schedule, never by a formula."""

from collections.abc import Callable
from fractions import Fraction

import sympy as sp

from .mutants import Attack
from .premises import Premise, _points
from .symbols import c, m, p, tau
from .timeline import Timeline, Work, dependencies, simulate

r = sp.Symbol("r", integer=True, nonnegative=True)  # a stage, from 0


def _run(name: str, p: int, m: int, tau: int, delay: int = 0, waits=dependencies) -> Timeline:
    """A schedule whose backward takes twice its forward, both exact."""
    from .schedules import schedule

    durations = {"F": Fraction(tau, 3), "B": Fraction(2 * tau, 3)}
    return simulate(schedule(name, p, m), m, durations, delay, waits)


def _alternating(p: int, m: int, tau: int, c: int) -> Fraction:
    return _run("1f1b", p, m, tau, c).makespan


def _held(name: str) -> Callable[..., int]:
    return lambda p, m, r: _run(name, p, m, 3).peak_in_flight(r)


def _without(kind: str, stage: int, lost: Work) -> Callable[[str, int, int], list[Work]]:
    """The dependencies of a schedule, one of them gone."""

    def waits(a_kind: str, a_stage: int, stages: int) -> list[Work]:
        needs = dependencies(a_kind, a_stage, stages)
        here = (a_kind, a_stage) == (kind, stage)
        return [need for need in needs if not (here and need == lost)]

    return waits


class EdgePremise(Premise):
    """The makespan needs the schedule's edges: its mutants drop them, one at a time."""

    def attack(self) -> Attack:
        """Run the schedule without each edge; the makespan must contradict the claim.

        An edge is *equivalent* to none when not one start time moves without it.
        """
        result = Attack(self.id)
        for point in self.points:
            at = {symbol.name: size for symbol, size in point.items()}
            whole = _run("gpipe", **at)
            for kind, stage in whole.start:
                for lost in dependencies(kind, stage, at["p"]):
                    less = _run("gpipe", **at, waits=_without(kind, stage, lost))
                    caught = less.makespan != self.claim.subs(point)
                    label = f"edge {''.join(map(str, lost))} to {kind}{stage} dropped"
                    if less.start == whole.start:
                        label += " (equivalent: the order has it)"
                    result.add(label, ["measurement"] if caught else [])
        return result


EDGES = EdgePremise(
    "schedule-edges",
    "the step needs every edge between two stages: without one it would be shorter",
    (m + p - 1) * tau,
    "GPipe run again with one edge left out",
    lambda p, m, tau: _run("gpipe", p, m, tau).makespan,
    _points(p, m, tau)((4, 8, 3)),
)
ALTERNATING = Premise(
    "1f1b",
    "1F1B lasts $(m+p-1)\\tau$, and $2[(p-2)+(m-1)-\\lfloor(m-2)/p\\rfloor]$ boundary delays",
    (m + p - 1) * tau + 2 * (p - 2 + m - 1 - sp.floor((m - 2) / p)) * c,
    "1F1B's operations run by their dependencies",
    _alternating,
    _points(p, m, tau, c)(
        (1, 1, 2, 1), (2, 3, 1, 2), (3, 2, 2, 0), (4, 8, 3, 1), (5, 13, 1, 2), (8, 33, 2, 3)
    ),
)
GPIPE_IN_FLIGHT = Premise(
    "gpipe-in-flight",
    "GPipe holds $m$ microbatches' activations on every stage",
    m,
    "GPipe run, and what is held counted over time",
    _held("gpipe"),
    _points(p, m, r)((1, 3, 0), (4, 8, 0), (4, 8, 3), (6, 2, 1)),
)
ALTERNATING_IN_FLIGHT = Premise(
    "1f1b-in-flight",
    "1F1B holds $\\min(m, p-r)$ on stage $r$",
    sp.Min(m, p - r),
    "1F1B run, and what is held counted over time",
    _held("1f1b"),
    _points(p, m, r)((1, 3, 0), (4, 8, 0), (4, 8, 3), (6, 2, 1), (6, 3, 3), (8, 12, 2)),
)

SCHEDULE_PREMISES = {x.id: x for x in (EDGES, ALTERNATING, GPIPE_IN_FLIGHT, ALTERNATING_IN_FLIGHT)}
