"""Run a pipeline schedule by its dependencies alone, and read times off the result.

Each device works through its order, one operation at a time, and waits for what an
operation needs. No closed form enters; numbers go through as they are, so whole numbers
and fractions stay exact.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, chain, product
from numbers import Rational
from typing import Any

from .execution import rows_of, work
from .operations import Needs, Operation, Order, Work, dependencies, messages
from .schedule_errors import ScheduleError, check, circle

__all__ = ["ScheduleError", "Timeline", "Work", "dependencies", "messages", "simulate"]


@dataclass(frozen=True)
class Timeline:
    """When each operation of a schedule ran: ``start[kind, stage][microbatch]``.

    ``placement`` is the device of each stage. Without model chunks they are the same.
    """

    orders: Sequence[Order]
    start: Mapping[Work, Sequence[Any]]
    finish: Mapping[Work, Sequence[Any]]
    placement: Sequence[int]

    def spans(self) -> Iterator[tuple[Operation, Any, Any]]:
        """Each operation with its start and finish, device by device in order."""
        for operation in chain.from_iterable(self.orders):
            kind, stage, j = operation
            yield operation, self.start[kind, stage][j], self.finish[kind, stage][j]

    @property
    def makespan(self) -> Any:
        """Time from 0 to the last finish."""
        return max(max(times) for times in self.finish.values())

    def busy(self, device: int) -> Any:
        """Time that a device works."""
        return sum(
            end - begin
            for work, begins in self.start.items()
            if self.placement[work[1]] == device
            for begin, end in zip(begins, self.finish[work], strict=True)
        )

    def idle(self, device: int) -> Any:
        """Time that a device waits, from 0 to the makespan."""
        return self.makespan - self.busy(device)

    def waits(self, device: int) -> Any:
        """Time that a device waits between its own first start and its own last finish."""
        first, last = self.orders[device][0], self.orders[device][-1]
        span = self.finish[last[:2]][last[2]] - self.start[first[:2]][first[2]]
        return span - self.busy(device)

    @property
    def idle_fraction(self) -> Any:
        """Idle time over total time of all devices together, the bubble."""
        makespan = self.makespan
        return self._idle(makespan) / (makespan * len(self.orders))

    @property
    def idle_overhead(self) -> Any:
        """Idle time over useful time, all devices together."""
        idle = self._idle(self.makespan)
        return idle / (self.makespan * len(self.orders) - idle)

    def _idle(self, makespan: Any) -> Any:
        """Idle time of all devices; whole numbers as fractions, so that ratios stay exact."""
        idle = sum(makespan - self.busy(device) for device in range(len(self.orders)))
        return Fraction(idle) if isinstance(idle, Rational) else idle

    def in_flight(self, device: int) -> list[tuple[Any, int]]:
        """(time, microbatches whose activations the device holds from then on), in order.

        Held from the start of a microbatch's forward to the finish of the last operation on
        it. With v chunks, a microbatch counts once for each chunk: 1/v of a stage's.
        """
        last = {operation[1:]: operation for operation in self.orders[device]}
        events = []
        for operation in self.orders[device]:
            kind, stage, j = operation
            if kind == "F":
                events.append((self.start[kind, stage][j], 1))
            if last[stage, j] == operation:
                events.append((self.finish[kind, stage][j], -1))
        held = accumulate(change for _, change in events)
        return [(time, now) for (time, _), now in zip(events, held, strict=True)]

    def peak_in_flight(self, device: int) -> int:
        """The most microbatches (of one chunk each) whose activations the device holds at once."""
        return max(held for _, held in self.in_flight(device))


def simulate(
    orders: Sequence[Order],
    microbatches: int,
    durations: Mapping[str, Any],
    delay: Any = 0,
    dependencies: Needs = dependencies,
    placement: Sequence[int] | None = None,
    transfer: Any = 0,
) -> Timeline:
    """Run a schedule: each operation starts when its device is free and its needs are met.

    Args:
        orders: one order of operations a device.
        microbatches: how many; each must go through each kind of work on each stage once.
        durations: for each kind of work its time, one for all stages or one a stage.
        delay: time from a finish to its arrival at another device. It keeps nothing busy.
        dependencies: what an operation waits for.
        placement: the device of each stage; without it, stage r is on device r.
        transfer: time that a message to another device keeps the link busy: its bytes over
            the bandwidth. Messages of one device to another go one after the other.

    Raises:
        ScheduleError: an operation is unknown, in another device's order, run twice or
            never run; or the schedule deadlocks.
        ValueError: a duration that is not above 0, a negative delay or transfer, durations
            that are not one a stage, or a placement on a device that has no order.

    Example:
        >>> from bytesperflop.schedules import plan, schedule
        >>> timeline = simulate(schedule("gpipe", p=4, m=8), 8, {"F": 1, "B": 2})
        >>> timeline.makespan, timeline.idle_fraction, timeline.peak_in_flight(0)
        (33, Fraction(3, 11), 8)
        >>> orders, placement = plan("interleaved", p=4, m=8, v=2)
        >>> simulate(orders, 8, {"F": 1, "B": 2}, placement=placement).makespan
        57
    """
    placement = list(range(len(orders)) if placement is None else placement)
    rows = rows_of(placement, microbatches, durations, delay, transfer, dependencies)
    if beyond := [device for device in placement if device not in range(len(orders))]:
        raise ValueError(f"placement on {beyond[0]}: must be a device of {len(orders)}, from 0")
    for device, order in enumerate(orders):
        own = [stage for stage, owner in enumerate(placement) if owner == device]
        check(device, order, list(product(durations, own, range(microbatches))))
    ready = list(range(len(orders)))
    workers = [work(orders[device], rows, ready, device) for device in ready]
    while ready:
        next(workers[ready.pop()], None)
    finish = {work: row.finish for work, row in rows.items()}
    if any(None in times for times in finish.values()):
        raise ScheduleError(f"deadlock: {circle(orders, placement, finish, dependencies)}")
    return Timeline(orders, {work: row.start for work, row in rows.items()}, finish, placement)
