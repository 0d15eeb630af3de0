"""The pictures of a widget: as data for the page, and drawn with matplotlib where none runs.

None holds a formula: each names those of its spec.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from ..assumptions import Assumption
from .orders import Orders
from .spec import Spec

_SAMPLES = 120


@dataclass(frozen=True)
class Line:
    """A formula drawn as a line, by its name in the spec."""

    formula: str
    label: str
    dashed: bool = False


@dataclass(frozen=True)
class Mark:
    """A place on the axis of ``over`` that a formula gives, while an assumption is dropped."""

    formula: str
    label: str
    over: sp.Symbol
    dropped: Assumption


@dataclass(frozen=True)
class Curve:
    """Formulas over one control, on a logarithmic scale; the choice named ``choice`` swaps it."""

    lines: tuple[Line, ...]
    over: sp.Symbol
    ylabel: str
    alt: str
    marks: tuple[Mark, ...] = ()
    choice: str = ""
    style: str = "percent"

    def data(self) -> dict[str, Any]:
        """What the page needs of it."""
        return {
            "kind": "curve",
            "lines": [vars(x) for x in self.lines],
            "over": self.over.name,
            "ylabel": self.ylabel,
            "alt": self.alt,
            "choice": self.choice,
            "style": self.style,
            "marks": [
                {"formula": x.formula, "label": x.label, "over": x.over.name} | _when(x.dropped)
                for x in self.marks
            ],
        }

    def draw(self, ax: Any, spec: Spec, values: Mapping[str, Any], dropped: list[str]) -> None:
        """Draw the lines, and a dot where the widget stands."""
        over = next(x for x in spec.controls if x.symbol == self.over)
        shares = [i / _SAMPLES for i in range(_SAMPLES + 1)]
        xs = [over.low * (over.high / over.low) ** share for share in shares]
        per, factor = over.per_unit, 100 if self.style == "percent" else 1
        for line in self.lines:
            ys = [spec.at({**values, over.symbol.name: x}, dropped)[line.formula] for x in xs]
            style = "--" if line.dashed else "-"
            (drawn,) = ax.plot([x / per for x in xs], [factor * y for y in ys], style)
            drawn.set_label(line.label)
            here = spec.at(values, dropped)[line.formula]
            ax.plot(values[over.symbol.name] / per, factor * here, "o", color=drawn.get_color())
        ax.legend()
        unit = f", {over.unit}" if over.unit else ""
        percent = ", %" if self.style == "percent" else ""
        ax.set(xscale="log", yscale="log", ylabel=self.ylabel + percent)
        ax.set_xlabel(f"{over.data()['meaning']}{unit}")


@dataclass(frozen=True)
class Bar:
    """One item: a formula in each series, or none."""

    label: str
    formulas: tuple[str, ...]


@dataclass(frozen=True)
class Bars:
    """Items of one or more totals, each a share of its own series."""

    items: tuple[Bar, ...]
    series: tuple[str, ...]
    alt: str

    def data(self) -> dict[str, Any]:
        """What the page needs of it."""
        return {
            "kind": "bars",
            "items": [vars(x) for x in self.items],
            "series": list(self.series),
            "alt": self.alt,
        }

    def draw(self, ax: Any, spec: Spec, values: Mapping[str, Any], dropped: list[str]) -> None:
        """Draw a bar an item and series."""
        numbers = spec.at(values, dropped)
        rows = range(len(self.items))
        height = 0.8 / len(self.series)
        for i, name in enumerate(self.series):
            sizes = [numbers.get(item.formulas[i], 0.0) for item in self.items]
            at = [row + i * height for row in rows]
            ax.barh(at, [100 * x / sum(sizes) for x in sizes], height, label=name)
        ax.set(xlabel="share of the total, %", yticks=[row + 0.4 - height / 2 for row in rows])
        ax.set_yticklabels([item.label for item in self.items])
        ax.invert_yaxis()
        ax.legend()


@dataclass(frozen=True)
class Gantt:
    """A pipeline's timeline, run from the orders; formulas give each kind's time and the delay.

    ``slowest`` is the factor by which the last stage takes longer.
    """

    orders: Orders
    durations: Mapping[str, str]
    kinds: Mapping[str, str]
    delay: str
    slowest: str
    alt: str
    stages: str = "p"
    microbatches: str = "m"
    choice: str = "schedule"

    def data(self) -> dict[str, Any]:
        """What the page needs of it, the orders included."""
        plain = {k: v for k, v in vars(self).items() if k != "orders"}
        return {"kind": "gantt", **plain, **self.orders.data()}

    def timeline(self, spec: Spec, values: Mapping[str, Any], dropped: list[str]) -> Any:
        """The same timeline by :func:`bytesperflop.timeline.simulate`."""
        from ..timeline import simulate

        numbers = spec.at(values, dropped)
        p, m = values[self.stages], values[self.microbatches]
        orders, placement = self.orders.schedules[values[self.choice]](p, m)
        kinds = {operation.kind for order in orders for operation in order}
        last = numbers[self.slowest]
        share = [p / len(placement) * (last if x == p - 1 else 1) for x in placement]
        durations = {k: [numbers[self.durations[k]] * x for x in share] for k in sorted(kinds)}
        return simulate(orders, m, durations, numbers[self.delay], placement=placement)

    def draw(self, ax: Any, spec: Spec, values: Mapping[str, Any], dropped: list[str]) -> None:
        """Draw the book's own picture of it."""
        from ..plotting import gantt

        gantt(ax, self.timeline(spec, values, dropped))


@dataclass(frozen=True)
class Triangle:
    """Splits of ``total`` devices by what the formula ``cost`` says, and their optimum.

    ``caps`` name the controls that bound each degree (or nothing); the optimum is shown
    while the assumptions in ``held`` are.
    """

    cost: str
    degrees: tuple[str, str, str]
    total: str
    optimum: tuple[str, str, str]
    caps: tuple[str, str, str]
    held: tuple[Assumption, ...]
    alt: str
    names: tuple[str, str, str] = field(default=("data", "tensor", "pipeline"))

    def data(self) -> dict[str, Any]:
        """What the page needs of it."""
        return {"kind": "triangle", **vars(self), "held": [x.name for x in self.held]}

    def draw(self, ax: Any, spec: Spec, values: Mapping[str, Any], dropped: list[str]) -> None:
        """Draw the book's own picture of it."""
        import numpy as np

        from ..triangle import draw_triangle, place

        total = values[self.total]
        numbers = spec.at(values, dropped)

        def percent(*split: Any) -> Any:
            points = zip(*split, strict=True)
            own = [dict(zip(self.degrees, map(float, x), strict=True)) for x in points]
            return np.array([100 * spec.at({**values, **x}, dropped)[self.cost] for x in own])

        draw_triangle(ax, total, percent, [5, 10, 20, 50, 100, 200, 500, 1000], steps=24)
        best = [numbers[name] for name in self.optimum]
        ax.plot(*place(best, total), "o")


def _when(assumption: Assumption | None) -> dict[str, str]:
    return {"dropped": assumption.name if assumption else ""}
