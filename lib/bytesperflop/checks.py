"""Arguments are checked once, where they enter; symbols pass, numbers must be allowed."""

import math
from typing import Any

import sympy as sp


def _number(name: str, value: Any, allowed: str) -> bool:
    """True for a finite number, False for an expression with symbols; else an error."""
    if isinstance(value, sp.Basic) and value.free_symbols:
        return False
    try:
        if not isinstance(value, bool | str) and math.isfinite(value):
            return True
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name} = {value!r}: must be {allowed}")


def positive(**values: Any) -> None:
    """Refuse each keyword's value that is not a finite number above zero.

    Raises:
        ValueError: names the argument, the value and what is allowed.

    Example:
        >>> positive(F=4e14)
        >>> positive(B=-1)
        Traceback (most recent call last):
        ValueError: B = -1: must be a finite number above 0
    """
    for name, value in values.items():
        if _number(name, value, allowed := "a finite number above 0") and not value > 0:
            raise ValueError(f"{name} = {value!r}: must be {allowed}")


def non_negative(**values: Any) -> None:
    """Refuse each keyword's value that is not a finite number of at least zero.

    Raises:
        ValueError: names the argument, the value and what is allowed.

    Example:
        >>> non_negative(alpha=0)
    """
    for name, value in values.items():
        if _number(name, value, allowed := "a finite number of at least 0") and not value >= 0:
            raise ValueError(f"{name} = {value!r}: must be {allowed}")


def whole(at_least: int = 1, **values: Any) -> None:
    """Refuse each keyword's value that is not a whole number of at least ``at_least``.

    Raises:
        ValueError: names the argument, the value and what is allowed.

    Example:
        >>> whole(m=8)
        >>> whole(m=2.5)
        Traceback (most recent call last):
        ValueError: m = 2.5: must be a whole number of at least 1
    """
    for name, value in values.items():
        allowed = f"a whole number of at least {at_least}"
        if _number(name, value, allowed) and (value != int(value) or value < at_least):
            raise ValueError(f"{name} = {value!r}: must be {allowed}")


def not_above(**values: Any) -> None:
    """Refuse the first keyword's number when it is above the second's.

    Raises:
        ValueError: names both arguments and their values.

    Example:
        >>> not_above(p=8, L=96)
        >>> not_above(p=8, L=4)
        Traceback (most recent call last):
        ValueError: p = 8: must be at most L = 4
    """
    (name, value), (limit_name, limit) = values.items()
    excess = value - limit
    if not (isinstance(excess, sp.Basic) and excess.free_symbols) and excess > 0:
        raise ValueError(f"{name} = {value!r}: must be at most {limit_name} = {limit!r}")
