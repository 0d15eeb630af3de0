"""Numbers as the page writes them, for the words that stand where no script runs."""

import re
from collections.abc import Mapping
from math import floor, isfinite, log10
from typing import Any

from .spec import Control, Sentence, Spec

_LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def digits(value: float, significant: int = 3) -> str:
    """A number to some significant digits, thousands apart.

    Example:
        >>> digits(0.65123), digits(256e6), digits(8192, 6), digits(3.2e-7)
        ('0.651', '256,000,000', '8,192', '3.2·10⁻⁷')
    """
    if not isfinite(value):
        return "—"
    if value == 0:
        return "0"
    size = floor(log10(abs(value)))
    if size < -4 or size > 14:
        front, back = f"{value:.{significant - 1}e}".split("e")
        return f"{float(front):g}·10{str(int(back)).translate(_RAISED)}"
    written = f"{value:,.{min(max(0, significant - 1 - size), 12)}f}"
    if "." in written:
        written = written.rstrip("0").rstrip(".")
    return written.replace("-", "−")


def count(value: float) -> str:
    """A count, large ones in words.

    Example:
        >>> count(8192), count(1.75e11)
        ('8,192', '175 billion')
    """
    for size, word in _LARGE:
        if size <= abs(value) < size * 1e4:
            return f"{digits(value / size)} {word}"
    return digits(value, 6 if abs(value) < 1e6 else 3)


_STYLES = {
    "percent": lambda value: f"{digits(100 * value)} %",
    "signed": lambda value: ("+" if value > 0 else "") + f"{digits(100 * value)} %",
    "points": lambda value: ("+" if value >= 0 else "") + f"{digits(100 * value)} points",
    "times": lambda value: f"{digits(value)} times",
    "number": digits,
    "whole": lambda value: digits(round(value), 15),
    "count": count,
}


def shown(control: Control, value: float) -> str:
    """A control's value with its unit."""
    number = value / control.per_unit
    large = control.whole and number >= 1e6
    text = count(number) if large else digits(number, 6 if control.whole else 4)
    return f"{text} {control.unit}" if control.unit else text


def readout(spec: Spec, values: Mapping[str, Any], dropped: list[str]) -> str:
    """The sentences that hold at a point, their numbers filled in."""
    numbers = spec.at(values, dropped)
    controls = {x.symbol.name: x for x in spec.controls}

    def number(found: re.Match) -> str:
        name, style = found[1], found[2]
        if style:
            return _STYLES[style](numbers[name])
        return shown(controls[name], values[name]) if name in controls else str(values[name])

    def said(sentence: Sentence) -> bool:
        return not (
            (sentence.dropped and sentence.dropped.name not in dropped)
            or any(x.name in dropped for x in sentence.held)
            or (sentence.positive and not numbers[sentence.positive] > 0)
        )

    sentences = (x.data()["text"] for x in spec.readout if said(x))
    return " ".join(re.sub(r"\{(\w+)(?::(\w+))?\}", number, x) for x in sentences)
