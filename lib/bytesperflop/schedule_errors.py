"""Why a schedule cannot run, in words that name the operation at fault."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .operations import Operation, Order


class ScheduleError(ValueError):
    """A schedule that cannot run: its message names the operation at fault."""


def check(device: int, order: Order, due: list[tuple[str, int, int]]) -> None:
    """Refuse an order that is not each operation that is due, once.

    Raises:
        ScheduleError: an operation that is not the device's, is run twice, or never.
    """
    allowed = set(due)
    if len(order) == len(due) and set(order) == allowed:
        return
    times = Counter(order)
    for operation, count in times.items():
        if operation not in allowed:
            raise ScheduleError(f"device {device} cannot run {operation}")
        if count > 1:
            raise ScheduleError(f"{operation} is run twice")
    missing = next(operation for operation in due if operation not in times)
    raise ScheduleError(f"{Operation(*missing)} is never run")


def circle(
    orders: Sequence[Order],
    placement: Sequence[int],
    finish: Mapping[tuple[str, int], Sequence[Any]],
    dependencies: Callable[[str, int, int], list[tuple[str, int]]],
) -> str:
    """The devices' next operations that wait for one another, followed from need to need."""
    waits: dict[int, str] = {}
    device = next(placement[stage] for kind, stage in finish if None in finish[kind, stage])
    while device not in waits:
        head = next(op for op in orders[device] if finish[op[:2]][op[2]] is None)
        needs = dependencies(head.kind, head.stage, len(placement))
        lacking = next(need for need in needs if finish[need][head.microbatch] is None)
        waits[device] = f"{head} waits for {Operation(*lacking, head.microbatch)}"
        device = placement[lacking[1]]
    return ", ".join(list(waits.values())[list(waits).index(device) :])
