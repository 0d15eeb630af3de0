"""Every schedule's orders in few characters, and what each operation waits for.

The page places them by these needs; no closed form and no schedule's rule goes with them.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from ..schedules import CHUNKED, SCHEDULES, Order, plan
from ..timeline import dependencies

Made = tuple[Sequence[Order], Sequence[int]]  # a device's order each, a stage's device each


def written(order: Order, owned: Sequence[int] | None = None) -> str:
    """An order in short: how often each run of kinds comes.

    ``owned`` are the stages of the order's device where they are two chunks of a model; the
    second chunk's kinds are written small.

    Raises:
        ValueError: microbatches of one kind that do not come in order, or more than two chunks.

    Example:
        >>> from bytesperflop.schedules import schedule
        >>> written(schedule("1f1b", 4, 16)[0]), written(schedule("gpipe", 4, 16)[3])
        ('4F12(BF)4B', '16F16B')
    """
    owned = sorted({x.stage for x in order}) if owned is None else owned
    if len(owned) > 2:
        raise ValueError(f"chunks {list(owned)}: a device may have two")
    seen: Counter = Counter()
    for kind, stage, microbatch in order:
        if microbatch != seen[kind, stage]:
            raise ValueError(f"{kind} on stage {stage}: microbatches must come in order")
        seen[kind, stage] += 1
    kinds = "".join(x.kind if x.stage == owned[0] else x.kind.lower() for x in order)
    return "".join(_run(found) for found in _RUN.finditer(kinds))


# A few kinds in turn, twice or more, or else any number of one.
_RUN = re.compile(r"(?P<turn>(.)(?!\2).{1,5}?)(?P=turn)+|(?P<one>.)(?P=one)*")


def _run(found: re.Match) -> str:
    if turn := found["turn"]:
        return f"{len(found[0]) // len(turn)}({turn})"
    return f"{len(found[0])}{found['one']}"


def rising(orders: Sequence[str]) -> list[tuple[int, str]]:
    """Orders for one m after the other, told as few: from which on, and how the counts go on.

    Example:
        >>> rising(["1F1B", "2F2B", "2F1(BF)2B", "2F2(BF)2B", "2F3(BF)2B"])
        [(0, '1+1F1+1B'), (2, '2F1+1(BF)2B')]
    """
    told, begin = [], 0
    while begin < len(orders):
        first = _counts(orders[begin])
        end, steps = begin + 1, [0] * len(first)
        if end < len(orders) and _shape(orders[end]) == _shape(orders[begin]):
            steps = [b - a for a, b in zip(first, _counts(orders[end]), strict=True)]
        while end < len(orders) and _shape(orders[end]) == _shape(orders[begin]):
            expected = [a + step * (end - begin) for a, step in zip(first, steps, strict=True)]
            if _counts(orders[end]) != expected:
                break
            end += 1
        counts = [_rising(a, step) for a, step in zip(first, steps, strict=True)]
        between = _COUNT.split(orders[begin])
        text = "".join(x for pair in zip(between, [*counts, ""], strict=True) for x in pair)
        told.append((begin, text))
        begin = end
    return told


_COUNT = re.compile(r"\d+")


def _counts(order: str) -> list[int]:
    return [int(x) for x in _COUNT.findall(order)]


def _shape(order: str) -> str:
    return _COUNT.sub("", order)


def _rising(count: int, step: int) -> str:
    return f"{count}{step:+d}" if step else str(count)


@dataclass(frozen=True)
class Orders:
    """The orders of each schedule for every p and m up to a largest."""

    most_stages: int
    most_microbatches: int
    schedules: Mapping[str, Callable[[int, int], Made]]

    @cached_property
    def _made(self) -> dict[str, Any]:
        """Per schedule and p: where each device's order is told, the placement, what is refused."""
        strings: dict[str, int] = {}
        made: dict[str, dict[str, list]] = {}
        for name, make in self.schedules.items():
            made[name] = {"orders": [], "placement": [], "refused": []}
            for p in range(1, self.most_stages + 1):
                refused: dict[int, str] = {}
                orders: list[list[str]] = [[] for _ in range(p)]
                placement: Sequence[int] = []
                for m in range(1, self.most_microbatches + 1):
                    try:
                        found, placement = make(p, m)
                    except ValueError as reason:
                        refused[m] = f"{name}: {reason}"
                        continue
                    for device, order in enumerate(found):
                        orders[device].append(written(order, chunks_on(device, placement)))
                told = [
                    [[begin, strings.setdefault(x, len(strings))] for begin, x in rising(order)]
                    for order in orders
                ]
                made[name]["orders"].append(told)
                made[name]["placement"].append(list(placement))
                made[name]["refused"].append(refused)
        return {"schedules": made, "strings": list(strings)}

    @cached_property
    def kinds(self) -> list[str]:
        """Every kind of work, in the order of first use."""
        made = "".join(self._made["strings"]).upper()
        return list(dict.fromkeys(re.findall(r"[A-Z]", made)))

    def data(self) -> dict[str, Any]:
        """What the page needs of them; ``needs`` by the number of stages, chunks counted."""
        made = self._made["schedules"].values()
        counts = {len(x) for each in made for x in each["placement"] if x}
        needs = {
            count: {
                f"{kind},{stage}": [list(need) for need in dependencies(kind, stage, count)]
                for kind in self.kinds
                for stage in range(count)
            }
            for count in sorted(counts)
        }
        return {**self._made, "needs": needs}


def chunks_on(device: int, placement: Sequence[int]) -> list[int]:
    """The stages that a device has.

    Example:
        >>> chunks_on(1, placement=[0, 1, 1, 0])
        [1, 2]
    """
    return [stage for stage, owner in enumerate(placement) if owner == device]


def every_schedule(most_stages: int = 12, most_microbatches: int = 32) -> Orders:
    """The orders of all schedules that the book has."""
    names = (*SCHEDULES, *CHUNKED)
    return Orders(most_stages, most_microbatches, {name: partial(plan, name) for name in names})
