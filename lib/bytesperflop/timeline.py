"""Run a pipeline schedule by its dependencies alone, and read times off the result.

Each stage works through its order, one operation at a time, and waits for what an
operation needs. No closed form enters; numbers go through as they are, so whole numbers
and fractions stay exact.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, chain, product
from numbers import Rational
from typing import Any

from .checks import non_negative, positive, whole
from .schedules import Operation, Order

Work = tuple[str, int]  # kind and stage: what the operations of all microbatches share


class ScheduleError(ValueError):
    """A schedule that cannot run: its message names the operation at fault."""


def dependencies(kind: str, stage: int, stages: int) -> list[Work]:
    """What an operation waits for: the (kind, stage) whose same microbatch must be done.

    A forward needs the forward of the stage before. A backward needs its own forward,
    whose activations it uses, and the backward of the stage after.

    Example:
        >>> dependencies("F", 2, stages=4)
        [('F', 1)]
        >>> dependencies("B", 2, stages=4)
        [('F', 2), ('B', 3)]
    """
    if kind == "F":
        return [("F", stage - 1)] if stage > 0 else []
    return [("F", stage), *([("B", stage + 1)] if stage < stages - 1 else [])]


@dataclass(frozen=True)
class Timeline:
    """When each operation of a schedule ran: ``start[kind, stage][microbatch]``."""

    orders: Sequence[Order]
    start: Mapping[Work, Sequence[Any]]
    finish: Mapping[Work, Sequence[Any]]

    def spans(self) -> Iterator[tuple[Operation, Any, Any]]:
        """Each operation with its start and finish, stage by stage in order."""
        for operation in chain.from_iterable(self.orders):
            kind, stage, j = operation
            yield operation, self.start[kind, stage][j], self.finish[kind, stage][j]

    @property
    def makespan(self) -> Any:
        """Time from 0 to the last finish."""
        return max(max(times) for times in self.finish.values())

    def busy(self, stage: int) -> Any:
        """Time that a stage works."""
        return sum(
            end - begin
            for work, begins in self.start.items()
            if work[1] == stage
            for begin, end in zip(begins, self.finish[work], strict=True)
        )

    def idle(self, stage: int) -> Any:
        """Time that a stage waits, from 0 to the makespan."""
        return self.makespan - self.busy(stage)

    @property
    def idle_fraction(self) -> Any:
        """Idle time over total time of all stages together, the bubble."""
        makespan = self.makespan
        return self._idle(makespan) / (makespan * len(self.orders))

    @property
    def idle_overhead(self) -> Any:
        """Idle time over useful time, all stages together."""
        idle = self._idle(self.makespan)
        return idle / (self.makespan * len(self.orders) - idle)

    def _idle(self, makespan: Any) -> Any:
        """Idle time of all stages; whole numbers as fractions, so that ratios stay exact."""
        idle = sum(makespan - self.busy(stage) for stage in range(len(self.orders)))
        return Fraction(idle) if isinstance(idle, Rational) else idle

    def in_flight(self, stage: int) -> list[tuple[Any, int]]:
        """(time, microbatches whose activations the stage holds from then on), in order.

        Held from the start of a microbatch's forward to the finish of its backward.
        """
        order = self.orders[stage]
        times = [(self.start if op.kind == "F" else self.finish)[op[:2]][op[2]] for op in order]
        held = accumulate(1 if operation.kind == "F" else -1 for operation in order)
        return list(zip(times, held, strict=True))

    def peak_in_flight(self, stage: int) -> int:
        """The most microbatches whose activations the stage holds at once."""
        return max(held for _, held in self.in_flight(stage))


def simulate(
    orders: Sequence[Order],
    microbatches: int,
    durations: Mapping[str, Any],
    delay: Any = 0,
    dependencies: Callable[[str, int, int], list[Work]] = dependencies,
) -> Timeline:
    """Run a schedule: each operation starts when its stage is free and its needs are met.

    Args:
        orders: one order of operations a stage.
        microbatches: how many; each must go through each kind of work on each stage once.
        durations: for each kind of work its time, one for all stages or one a stage.
        delay: time from a finish to its arrival at another stage. It keeps no stage busy.
        dependencies: what an operation waits for.

    Raises:
        ScheduleError: an operation is unknown, in another stage's order, run twice or
            never run; or the schedule deadlocks.
        ValueError: a duration that is not above 0, a negative delay, or durations that
            are not one a stage.

    Example:
        >>> from bytesperflop.schedules import schedule
        >>> timeline = simulate(schedule("gpipe", p=4, m=8), 8, {"F": 1, "B": 2})
        >>> timeline.makespan, timeline.idle_fraction, timeline.peak_in_flight(0)
        (33, Fraction(3, 11), 8)
    """
    rows = _rows(len(orders), microbatches, durations, delay, dependencies)
    for stage, order in enumerate(orders):
        _check(stage, order, list(product(durations, [stage], range(microbatches))))
    ready = list(range(len(orders)))
    workers = [_work(stage, orders[stage], rows, ready) for stage in ready]
    while ready:
        next(workers[ready.pop()], None)
    if any(None in row.finish for row in rows.values()):
        raise ScheduleError(f"deadlock: {_circle(orders, rows, dependencies)}")
    start = {work: row.start for work, row in rows.items()}
    return Timeline(orders, start, {work: row.finish for work, row in rows.items()})


class _Row:
    """One kind of work on one stage: its times by microbatch, its needs, and who waits for it."""

    def __init__(self, duration: Any, microbatches: int) -> None:
        self.duration = duration
        self.start: list[Any] = [None] * microbatches
        self.finish: list[Any] = [None] * microbatches
        self.needs: list[tuple[_Row, Any]] = []
        self.waiting: list[int] = []


def _rows(
    stages: int,
    microbatches: int,
    durations: Mapping[str, Any],
    delay: Any,
    dependencies: Callable[[str, int, int], list[Work]],
) -> dict[Work, _Row]:
    whole(stages=stages, microbatches=microbatches)
    non_negative(delay=delay)
    rows = {}
    for kind, given in durations.items():
        times = list(given) if isinstance(given, Iterable) else [given] * stages
        if len(times) != stages:
            raise ValueError(f"durations of {kind} = {times}: must be one or {stages}, one a stage")
        for stage, duration in enumerate(times):
            positive(**{f"duration of {kind} on stage {stage}": duration})
            rows[kind, stage] = _Row(duration, microbatches)
    for (kind, stage), row in rows.items():
        for needed in dependencies(kind, stage, stages):
            if needed not in rows:
                raise ValueError(f"durations of {[*durations]}: must include {needed[0]}")
            row.needs.append((rows[needed], 0 if needed[1] == stage else delay))
    return rows


def _check(stage: int, order: Order, due: list[tuple[str, int, int]]) -> None:
    """Refuse an order that is not each operation that is due, once."""
    allowed = set(due)
    if len(order) == len(due) and set(order) == allowed:
        return
    times = Counter(order)
    for operation, count in times.items():
        if operation not in allowed:
            raise ScheduleError(f"stage {stage} cannot run {operation}")
        if count > 1:
            raise ScheduleError(f"{operation} is run twice")
    missing = next(operation for operation in due if operation not in times)
    raise ScheduleError(f"{Operation(*missing)} is never run")


def _work(stage: int, order: Order, rows: Mapping[Work, _Row], ready: list[int]) -> Iterator[None]:
    """Run a stage until it must wait; whoever finishes what it waits for makes it ready."""
    now: Any = 0
    own = {kind: row for (kind, owner), row in rows.items() if owner == stage}
    for kind, _, j in order:
        row = own[kind]
        for needed, lag in row.needs:
            while needed.finish[j] is None:
                needed.waiting.append(stage)
                yield
            arrival = needed.finish[j] + lag
            if arrival > now:
                now = arrival
        row.start[j] = now
        row.finish[j] = now = now + row.duration
        if row.waiting:
            ready.extend(row.waiting)
            row.waiting.clear()


def _circle(
    orders: Sequence[Order],
    rows: Mapping[Work, _Row],
    dependencies: Callable[[str, int, int], list[Work]],
) -> str:
    """The stages' next operations that wait for one another, followed from need to need."""
    waits: dict[int, str] = {}
    stage = next(stage for kind, stage in rows if None in rows[kind, stage].finish)
    while stage not in waits:
        head = next(op for op in orders[stage] if rows[op[:2]].finish[op[2]] is None)
        needs = dependencies(head.kind, stage, len(orders))
        lacking = next(need for need in needs if rows[need].finish[head.microbatch] is None)
        waits[stage] = f"{head} waits for {Operation(*lacking, head.microbatch)}"
        stage = lacking[1]
    return ", ".join(list(waits.values())[list(waits).index(stage) :])
