"""Pipeline schedules, and a simulator that runs any of them by its dependencies alone.

A schedule is one order of operations a stage: ``F`` (forward) or ``B`` (backward) of a
microbatch. Each stage works through its order, one operation at a time, and waits for
what an operation needs. The simulator knows no closed form; numbers go through it as
they are, so whole numbers and fractions stay exact.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, chain, product
from numbers import Rational
from typing import Any, NamedTuple

from .checks import non_negative, positive, whole


class Operation(NamedTuple):
    """One kind of work (``F`` or ``B``) on one microbatch in one stage, both from 0."""

    kind: str
    stage: int
    microbatch: int

    def __str__(self) -> str:
        """In words, for error messages."""
        return f"{self.kind} of microbatch {self.microbatch} on stage {self.stage}"


Order = Sequence[Operation]
Work = tuple[str, int]  # kind and stage: what the operations of all microbatches share


class ScheduleError(ValueError):
    """A schedule that cannot run: its message names the operation at fault."""


def gpipe(p: int, m: int) -> list[Order]:
    """Each stage runs all its forwards, then all its backwards.

    Args:
        p: stages, a count.
        m: microbatches, a count.

    Raises:
        ValueError: p or m is not a whole number of at least 1.

    Source: Huang et al., *GPipe: Efficient training of giant neural networks using
    pipeline parallelism* (2019).

    Example:
        >>> [f"{kind}{microbatch}" for kind, _, microbatch in gpipe(2, 3)[0]]
        ['F0', 'F1', 'F2', 'B0', 'B1', 'B2']
    """
    whole(p=p, m=m)
    return [[Operation(kind, stage, j) for kind in "FB" for j in range(m)] for stage in range(p)]


def one_forward_one_backward(p: int, m: int) -> list[Order]:
    """Stage r runs ``min(m, p - r)`` forwards, then one backward and one forward in turn.

    Args and errors as :func:`gpipe`.

    Source: Narayanan et al., *Efficient large-scale language model training on GPU
    clusters using Megatron-LM* (2021), section 2.2.

    Example:
        >>> [f"{kind}{microbatch}" for kind, _, microbatch in one_forward_one_backward(2, 3)[0]]
        ['F0', 'F1', 'B0', 'F2', 'B1', 'B2']
    """
    whole(p=p, m=m)
    orders: list[Order] = []
    for stage in range(p):
        ahead = min(m, p - stage)
        order = [Operation("F", stage, j) for j in range(ahead)]
        for j in range(m):
            order.append(Operation("B", stage, j))
            if j + ahead < m:
                order.append(Operation("F", stage, j + ahead))
        orders.append(order)
    return orders


SCHEDULES: dict[str, Callable[[int, int], list[Order]]] = {
    "gpipe": gpipe,
    "1f1b": one_forward_one_backward,
}


def schedule(name: str, p: int, m: int) -> list[Order]:
    """The orders of the schedule of that name, one a stage.

    Raises:
        ValueError: no schedule has that name; or p or m is not a whole number of at least 1.

    Example:
        >>> schedule("1f1b", 2, 1)[1]
        [Operation(kind='F', stage=1, microbatch=0), Operation(kind='B', stage=1, microbatch=0)]
    """
    if name not in SCHEDULES:
        raise ValueError(f"name = {name!r}: must be one of {', '.join(SCHEDULES)}")
    return SCHEDULES[name](p, m)


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
        """Idle time over total time, all stages together: the bubble."""
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
        ScheduleError: an operation is on another stage's order, unknown, run twice or
            never run; or the schedule deadlocks.
        ValueError: a duration that is not above 0, a negative delay, or durations that
            are not one a stage.

    Example:
        >>> timeline = simulate(schedule("gpipe", p=4, m=8), 8, {"F": 1, "B": 2})
        >>> timeline.makespan, timeline.idle_fraction, timeline.peak_in_flight(0)
        (33, Fraction(3, 11), 8)
    """
    rows = _rows(len(orders), microbatches, durations, delay, dependencies)
    ready = list(range(len(orders)))
    workers = [_work(stage, orders[stage], rows, ready) for stage in ready]
    while ready:
        next(workers[ready.pop()], None)
    if any(None in row.finish for row in rows.values()):
        raise ScheduleError(_fault(orders, microbatches, rows, dependencies))
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


def _work(stage: int, order: Order, rows: Mapping[Work, _Row], ready: list[int]) -> Generator[None]:
    """Run a stage until it must wait; whoever finishes what it waits for makes it ready."""
    now: Any = 0
    for operation in order:
        kind, owner, j = operation
        row = rows.get((kind, stage))
        if owner != stage or row is None or not 0 <= j < len(row.finish):
            raise ScheduleError(f"stage {stage} cannot run {operation}")
        if row.finish[j] is not None:
            raise ScheduleError(f"{operation} is run twice")
        for needed, lag in row.needs:
            while needed.finish[j] is None:
                needed.waiting.append(stage)
                yield
            now = max(now, needed.finish[j] + lag)
        row.start[j] = now
        row.finish[j] = now = now + row.duration
        if row.waiting:
            ready.extend(row.waiting)
            row.waiting.clear()


def _fault(
    orders: Sequence[Order],
    microbatches: int,
    rows: Mapping[Work, _Row],
    dependencies: Callable[[str, int, int], list[Work]],
) -> str:
    """Why a schedule stopped short: an operation twice or never in it, or a circle of waits."""
    times = Counter(chain.from_iterable(orders))
    for operation, count in times.items():
        if count > 1:
            return f"{operation} is run twice"
    for (kind, stage), j in product(rows, range(microbatches)):
        if Operation(kind, stage, j) not in times:
            return f"{Operation(kind, stage, j)} is never run"
    heads: dict[int, str] = {}
    stage = next(stage for kind, stage in rows if None in rows[kind, stage].finish)
    while stage not in heads:
        head = next(op for op in orders[stage] if rows[op[:2]].finish[op[2]] is None)
        needs = dependencies(head.kind, head.stage, len(orders))
        lacking = next(need for need in needs if rows[need].finish[head.microbatch] is None)
        heads[stage] = f"{head} waits for {Operation(*lacking, head.microbatch)}"
        stage = lacking[1]
    circle = list(heads.values())[list(heads).index(stage) :]
    return f"deadlock: {', '.join(circle)}"
