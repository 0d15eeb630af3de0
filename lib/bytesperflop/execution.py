"""How a schedule is run: a worker a device, which waits for what its next operation needs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .checks import non_negative, positive, whole
from .operations import Needs, Order, Work


class Row:
    """One kind of work on one stage: its times by microbatch, its needs, and who waits for it."""

    def __init__(self, duration: Any, microbatches: int) -> None:
        self.duration = duration
        self.start: list[Any] = [None] * microbatches
        self.finish: list[Any] = [None] * microbatches
        self.needs: list[tuple[Row | Messages, Any]] = []
        self.sends: list[Messages] = []
        self.waiting: list[int] = []


class Link:
    """From one device to another: when it is free again."""

    free: Any = 0


class Messages:
    """What a row sends over a link: when the last byte of each microbatch has left."""

    def __init__(self, link: Link, transfer: Any, microbatches: int) -> None:
        self.link = link
        self.transfer = transfer
        self.finish: list[Any] = [None] * microbatches
        self.waiting: list[int] = []

    def send(self, j: int, now: Any) -> list[int]:
        """Put microbatch j behind what is on the link; the devices that waited for it."""
        self.link.free = self.finish[j] = max(now, self.link.free) + self.transfer
        waiting, self.waiting = self.waiting, []
        return waiting


def rows_of(
    placement: Sequence[int],
    microbatches: int,
    durations: Mapping[str, Any],
    delay: Any,
    transfer: Any,
    dependencies: Needs,
) -> dict[Work, Row]:
    """A row for each kind of work on each stage, tied to those that it needs."""
    stages = len(placement)
    whole(stages=stages, microbatches=microbatches)
    non_negative(delay=delay, transfer=transfer)
    rows = {}
    for kind, given in durations.items():
        times = list(given) if isinstance(given, Iterable) else [given] * stages
        if len(times) != stages:
            raise ValueError(f"durations of {kind} = {times}: must be one or {stages}, one a stage")
        for stage, duration in enumerate(times):
            positive(**{f"duration of {kind} on stage {stage}": duration})
            rows[kind, stage] = Row(duration, microbatches)
    links: dict[tuple[int, int], Link] = {}
    for (kind, stage), row in rows.items():
        for needed in dependencies(kind, stage, stages):
            if needed not in rows:
                raise ValueError(f"durations of {[*durations]}: must include {needed[0]}")
            ends = placement[needed[1]], placement[stage]
            source: Row | Messages = rows[needed]
            if ends[0] != ends[1] and transfer > 0:
                source = Messages(links.setdefault(ends, Link()), transfer, microbatches)
                rows[needed].sends.append(source)
            row.needs.append((source, 0 if ends[0] == ends[1] else delay))
    return rows


def work(order: Order, rows: Mapping[Work, Row], ready: list[int], device: int) -> Iterator[None]:
    """Run a device until it must wait; whoever finishes what it waits for makes it ready."""
    now: Any = 0
    for kind, stage, j in order:
        row = rows[kind, stage]
        for needed, lag in row.needs:
            while needed.finish[j] is None:
                needed.waiting.append(device)
                yield
            arrival = needed.finish[j] + lag
            if arrival > now:
                now = arrival
        row.start[j] = now
        row.finish[j] = now = now + row.duration
        if row.waiting:
            ready.extend(row.waiting)
            row.waiting.clear()
        for message in row.sends:
            ready.extend(message.send(j, now))
