"""Every schedule's orders in few characters, and what each operation waits for.

The page places them by these needs; no closed form and no schedule's rule goes with them.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..schedules import SCHEDULES, Order
from ..timeline import dependencies


def written(order: Order) -> str:
    """An order in short: how often each run of kinds comes.

    Raises:
        ValueError: microbatches of one kind that do not come in order.

    Example:
        >>> from bytesperflop.schedules import schedule
        >>> written(schedule("1f1b", 4, 16)[0]), written(schedule("gpipe", 4, 16)[3])
        ('4F12(BF)4B', '16F16B')
    """
    seen: Counter = Counter()
    for kind, stage, microbatch in order:
        if microbatch != seen[kind]:
            raise ValueError(f"{kind} on stage {stage}: microbatches must come in order")
        seen[kind] += 1
    kinds = "".join(x.kind for x in order)
    return "".join(_run(found) for found in _RUN.finditer(kinds))


# A few kinds in turn, twice or more, or else any number of one.
_RUN = re.compile(r"(?P<turn>(.)(?!\2).{1,5}?)(?P=turn)+|(?P<one>.)(?P=one)*")


def _run(found: re.Match) -> str:
    if turn := found["turn"]:
        return f"{len(found[0]) // len(turn)}({turn})"
    return f"{len(found[0])}{found['one']}"


@dataclass(frozen=True)
class Orders:
    """The orders of each schedule for every p and m up to a largest."""

    most_stages: int
    most_microbatches: int
    schedules: Mapping[str, Callable[[int, int], Sequence[Order]]]

    @cached_property
    def _made(self) -> tuple[dict[str, int], dict[str, list]]:
        strings: dict[str, int] = {}
        rows: dict[str, list] = {}
        for name, make in self.schedules.items():
            rows[name] = [
                [self._row(strings, name, make, p, m) for m in range(1, self.most_microbatches + 1)]
                for p in range(1, self.most_stages + 1)
            ]
        return strings, rows

    @staticmethod
    def _row(strings: dict[str, int], name: str, make: Callable, p: int, m: int) -> Any:
        """The orders by number; or why this schedule has none here."""
        try:
            orders = make(p, m)
        except ValueError as reason:
            return f"{name}: {reason}"
        return [strings.setdefault(written(order), len(strings)) for order in orders]

    @cached_property
    def kinds(self) -> list[str]:
        """Every kind of work, in the order of first use."""
        made = "".join(self._made[0])
        return list(dict.fromkeys(re.findall(r"[A-Za-z]", made)))

    def data(self) -> dict[str, Any]:
        """What the page needs of them."""
        strings, rows = self._made
        needs = [
            {
                f"{kind},{stage}": [list(need) for need in dependencies(kind, stage, p)]
                for kind in self.kinds
                for stage in range(p)
            }
            for p in range(1, self.most_stages + 1)
        ]
        return {"strings": list(strings), "orders": rows, "needs": needs}


def every_schedule(most_stages: int = 16, most_microbatches: int = 32) -> Orders:
    """The orders of all schedules that the book has."""
    return Orders(most_stages, most_microbatches, SCHEDULES)
