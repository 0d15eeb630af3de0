"""What a widget is, in plain data: controls, switches, formulas, pictures, words, a question.

A formula is a SymPy expression. Here it becomes a Python function and the source of a
JavaScript one, of the same arguments in the same order: every control, then every symbol
that an assumption freezes, then what a picture varies by itself, then what other formulas
define.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sympy as sp

from ..assumptions import Assumption
from ..javascript import javascript, python
from ..symbols import TABLE
from . import words


@dataclass(frozen=True)
class Control:
    """A symbol that the reader sets, from ``low`` to ``high``, in base units.

    ``unit`` is what is written beside it and ``per_unit`` how many base units that is;
    ``scale`` is ``log``, ``linear`` or ``doubling``; ``folded`` controls open on demand.
    """

    symbol: sp.Symbol
    low: float
    high: float
    start: float
    unit: str = ""
    per_unit: float = 1
    scale: str = "log"
    whole: bool = False
    meaning: str = ""
    folded: bool = False

    def data(self) -> dict[str, Any]:
        """What the page needs of it."""
        meaning = self.meaning or TABLE[self.symbol].meaning
        return {
            "name": self.symbol.name,
            "html": words.symbol(self.symbol.name),
            "meaning": meaning,
            **{key: getattr(self, key) for key in ("low", "high", "start", "unit", "scale")},
            "per": self.per_unit,
            "whole": self.whole,
            "folded": self.folded,
        }


@dataclass(frozen=True)
class Choice:
    """One of several names, such as a schedule's."""

    name: str
    meaning: str
    options: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """What the page needs of it."""
        return {"name": self.name, "meaning": self.meaning, "options": list(self.options)}


@dataclass(frozen=True)
class Presets:
    """Named points, such as the catalogue's devices: each sets some of the controls.

    A point may also name assumptions to hold or to drop: ``{"full heads": False}`` drops one.
    """

    meaning: str
    points: Mapping[str, Mapping[str, Any]]

    def data(self) -> dict[str, Any]:
        """What the page needs of them."""
        return {"meaning": self.meaning, "points": {k: dict(v) for k, v in self.points.items()}}


@dataclass(frozen=True)
class Limit:
    """The formula named ``slack`` must not be negative; else ``says`` is shown."""

    slack: str
    says: str

    def data(self) -> dict[str, Any]:
        """What the page needs of it."""
        return {"slack": self.slack, "says": self.says}


@dataclass(frozen=True)
class Sentence:
    """Words with numbers in braces, ``{ratio:percent}``; said while its conditions hold.

    ``held`` are assumptions, ``dropped`` is one, ``positive`` names a formula.
    """

    text: str
    held: tuple[Assumption, ...] = ()
    dropped: Assumption | None = None
    positive: str = ""

    def data(self) -> dict[str, Any]:
        """What the page needs of it."""
        return {
            "text": words.html(self.text),
            "held": [x.name for x in self.held],
            "dropped": str(self.dropped or ""),
            "positive": self.positive,
        }


@dataclass(frozen=True)
class Slip:
    """A way to go wrong: the formula that it leads to, and the word for it."""

    formula: str
    says: str


@dataclass(frozen=True)
class Question:
    """Asked before anything is shown: ``answer`` names a formula, at the widget's start.

    ``per_unit`` turns the reader's number into the formula's; within ``tolerance`` of it,
    relative, the guess is right.
    """

    text: str
    answer: str
    unit: str
    style: str
    because: str
    slips: tuple[Slip, ...] = ()
    per_unit: float = 1
    tolerance: float = 0.05

    def data(self) -> dict[str, Any]:
        """What the page needs of it."""
        plain = {k: getattr(self, k) for k in ("answer", "unit", "style", "tolerance")}
        slips = [{"formula": x.formula, "says": words.html(x.says)} for x in self.slips]
        text, because = words.html(self.text), words.html(self.because)
        return plain | {"text": text, "because": because, "slips": slips, "per": self.per_unit}


@dataclass(frozen=True)
class Spec:
    """A whole widget. ``formulas`` by name, of the controls and the assumptions' symbols.

    ``main`` names the formula whose change is shown beside a dropped assumption, in
    ``style``, unless ``measures`` names another; ``defined`` gives symbols that formulas share,
    each of controls and those before it; ``varied`` are symbols that a picture sets by itself,
    elsewhere one that is defined;
    controls of the formulas named in ``also`` are in use even where ``main`` is free of them.
    ``pictures`` know how to write themselves as data and to draw themselves without a browser.
    """

    id: str
    title: str
    controls: tuple[Control, ...]
    formulas: Mapping[str, sp.Expr]
    main: str
    pictures: tuple[Any, ...]
    readout: tuple[Sentence, ...]
    alt: str
    style: str = "percent"
    assumptions: tuple[Assumption, ...] = ()
    choices: tuple[Choice, ...] = ()
    presets: tuple[Presets, ...] = ()
    limits: tuple[Limit, ...] = ()
    question: Question | None = None
    defined: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    varied: Mapping[sp.Symbol, sp.Symbol] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    measures: Mapping[Assumption, str] = field(default_factory=dict)

    @cached_property
    def arguments(self) -> tuple[sp.Symbol, ...]:
        """Every symbol that a formula may have, in the order of the functions' arguments."""
        symbols = [x.symbol for x in self.controls] + [x.symbol for x in self.assumptions]
        return tuple(dict.fromkeys([*symbols, *self.varied, *self.defined]))

    @cached_property
    def functions(self) -> dict[str, Any]:
        """Each formula as a Python function of the arguments."""
        return {name: python(x, self.arguments) for name, x in self.formulas.items()}

    @property
    def start(self) -> dict[str, Any]:
        """Where every control and choice begins."""
        chosen: dict[str, Any] = {x.name: x.options[0] for x in self.choices}
        return {x.symbol.name: x.start for x in self.controls} | chosen

    def point(self, values: Mapping[str, Any], dropped: Iterable[str] = ()) -> list[float]:
        """The functions' arguments: each frozen symbol has its ideal or its actual value.

        Both frozen and defined symbols may build on those before them.
        """
        point = [values.get(x.name, 0) for x in self.arguments]
        place = self.arguments.index
        for symbol, expression in self.defined.items():
            point[place(symbol)] = self._slots[expression](*point)
        for symbol, default in self.varied.items():
            point[place(symbol)] = values.get(symbol.name, point[place(default)])
        for assumption in self.assumptions:
            value = assumption.actual if assumption.name in set(dropped) else assumption.ideal
            point[place(assumption.symbol)] = self._slots[value](*point)
        return point

    @cached_property
    def _slots(self) -> dict[sp.Expr, Any]:
        values = [x for a in self.assumptions for x in (a.ideal, a.actual)]
        return {x: python(x, self.arguments) for x in (*values, *self.defined.values())}

    def at(self, values: Mapping[str, Any], dropped: Iterable[str] = ()) -> dict[str, float]:
        """Every formula's number at a point."""
        point = self.point(values, dropped)
        return {name: function(*point) for name, function in self.functions.items()}

    def free(self, name: str, dropped: Iterable[str] = ()) -> set[str]:
        """The symbols that a formula depends on, by name, with these assumptions dropped.

        An assumption may build on one before it, so the last is put in first.
        """
        dropped, expression = set(dropped), sp.sympify(self.formulas[name])
        for a in reversed(self.assumptions):
            value = a.actual if a.name in dropped else a.ideal
            expression = expression.subs(a.symbol, value)
        if not self.defined:
            expression = sp.cancel(sp.together(expression))
        free = {self.varied.get(x, x) for x in expression.free_symbols}
        for symbol in reversed(self.defined):
            if symbol in free:
                free = free - {symbol} | self.defined[symbol].free_symbols
        return {x.name for x in free}

    def measure(self, assumption: Assumption) -> str:
        """The formula by which a dropped assumption is measured."""
        return self.measures.get(assumption, self.main)

    def returns(self, assumption: Assumption) -> set[str]:
        """The symbols that come back into that formula when the assumption is dropped."""
        name = self.measure(assumption)
        return self.free(name, [assumption.name]) - self.free(name)

    def uses(self, dropped: Iterable[str] = ()) -> set[str]:
        """The symbols on which ``main`` or a formula of ``also`` depends."""
        return {x for name in (self.main, *self.also) for x in self.free(name, dropped)}

    def data(self) -> dict[str, Any]:
        """All of it as JSON, formulas as JavaScript.

        Raises:
            ValueError: a formula that has no JavaScript, by the formula's name.
        """
        switches = [
            {
                "name": a.name,
                "html": words.html(a.name),
                "says": words.html(a.says),
                "otherwise": words.html(a.otherwise),
                "symbol": a.symbol.name,
                "ideal": javascript(a.ideal, self.arguments),
                "actual": javascript(a.actual, self.arguments),
                "measure": self.measure(a),
                "returns": sorted(self.returns(a)),
                "uses": sorted(self.uses([a.name])),
            }
            for a in self.assumptions
        ]
        return {
            "id": self.id,
            "title": self.title,
            "main": self.main,
            "style": self.style,
            "controls": [x.data() for x in self.controls],
            "choices": [x.data() for x in self.choices],
            "presets": [x.data() for x in self.presets],
            "limits": [x.data() for x in self.limits],
            "switches": switches,
            "uses": sorted(self.uses()),
            "arguments": [x.name for x in self.arguments],
            "functions": self._sources(),
            "varied": {x.name: default.name for x, default in self.varied.items()},
            "defined": [
                {"symbol": symbol.name, "source": javascript(x, self.arguments)}
                for symbol, x in self.defined.items()
            ],
            "pictures": [x.data() for x in self.pictures],
            "readout": [x.data() for x in self.readout],
            "question": self.question.data() if self.question else None,
        }

    def _sources(self) -> dict[str, str]:
        sources = {}
        for name, expression in self.formulas.items():
            try:
                sources[name] = javascript(expression, self.arguments)
            except ValueError as error:
                raise ValueError(f"{self.id}, formula {name!r}: {error}") from error
        return sources

    def refuse(self, values: Mapping[str, Any], dropped: Iterable[str] = ()) -> None:
        """Raise unless every control has a value in its range and every limit is kept.

        Raises:
            ValueError: names the control or the limit, and what is allowed.
        """
        for control in self.controls:
            name, value = control.symbol.name, values.get(control.symbol.name)
            allowed = f"a number from {control.low:g} to {control.high:g}"
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise ValueError(f"{name} = {value!r}: must be {allowed}")
            if not control.low <= value <= control.high:
                raise ValueError(f"{name} = {value!r}: must be {allowed}")
            if control.whole and value != int(value):
                raise ValueError(f"{name} = {value!r}: must be a whole number")
        for choice in self.choices:
            if values.get(choice.name) not in choice.options:
                allowed = ", ".join(choice.options)
                raise ValueError(f"{choice.name} = {values.get(choice.name)!r}: one of {allowed}")
        known = {a.name for a in self.assumptions}
        if unknown := set(dropped) - known:
            raise ValueError(f"{self.id} does not assume {', '.join(sorted(unknown))}")
        numbers = self.at(values, dropped)
        for limit in self.limits:
            if numbers[limit.slack] < 0:
                raise ValueError(limit.says)
