"""Why all three: the cheapest split of P devices over data, tensor and pipeline.

With the tokens of a step T_g and the microbatches m held, each degree costs its
own coefficient, k = (k_d, k_t, k_p), for every device beyond the first. A *split*
is the triple of degrees (p_d, t, p) in the same order; an *overhead* is lost time
over ideal time.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import sympy as sp

from bytesperflop.checks import positive


class Split(NamedTuple):
    """Degrees of data, tensor and pipeline parallelism."""

    p_d: Any
    t: Any
    p: Any


class Filling(NamedTuple):
    """The degrees at the optimum and the water level λ they share."""

    degrees: tuple[Any, ...]
    level: Any


def data_coefficient(b: Any, F: Any, B: Any, T_g: Any) -> Any:
    """Cost of each further replica when the tokens of a step are held.

    k_d = bF/(3·B·T_g), a pure number: the ring moves 2(p_d−1)/p_d of the gradient,
    and a replica's tokens are T_g/p_d.

    Raises:
        ValueError: an argument that is not a finite number above 0.

    Example:
        >>> data_coefficient(b=2, F=sp.Integer(4) * 10**14, B=5 * 10**10, T_g=4 * 10**6)
        1/750
    """
    positive(b=b, F=F, B=B, T_g=T_g)
    return b * F / (3 * B * T_g)


def tensor_coefficient(b: Any, F: Any, d: Any, B: Any) -> Any:
    """Cost of each further device of a tensor group.

    k_t = bF/(9·d·B), a pure number: four all-reduces a layer, 2(t−1)/t of the
    activations each, against 1/t of the layer's compute.

    Raises:
        ValueError: an argument that is not a finite number above 0.

    Example:
        >>> round(tensor_coefficient(b=2, F=4e14, d=12288, B=450e9), 4)
        0.0161
    """
    positive(b=b, F=F, d=d, B=B)
    return b * F / (9 * d * B)


def pipeline_coefficient(m: Any) -> Any:
    """Cost of each further stage: k_p = 1/m for m microbatches, a pure number.

    Raises:
        ValueError: m is not a finite number above 0.

    Example:
        >>> pipeline_coefficient(sp.Integer(64))
        1/64
    """
    positive(m=m)
    return 1 / m


def overhead_sum(k: Sequence[Any], degrees: Sequence[Any]) -> Any:
    """Overhead to first order, Σ k_i(x_i − 1): a lower bound of the product form.

    Raises:
        ValueError: as many coefficients as degrees are due.

    Example:
        >>> k = (sp.Rational(1, 750), sp.Rational(1, 50), sp.Rational(1, 64))
        >>> overhead_sum(k, Split(1024, 1, 1))
        341/250
    """
    return sum(k_i * (x_i - 1) for k_i, x_i in zip(k, degrees, strict=True))


def overhead_product(k: Sequence[Any], split: Sequence[Any]) -> Any:
    """Overhead when the bubble also stretches the tensor traffic.

    (1 + k_t(t−1))·(1 + k_p(p−1)) + k_d(p_d−1) − 1: while a pipeline fills and
    drains, its stages exchange activations too.

    Example:
        >>> k = (sp.Rational(1, 750), sp.Rational(1, 50), sp.Rational(1, 64))
        >>> overhead_product(k, Split(16, 8, 8)) - overhead_sum(k, Split(16, 8, 8))
        49/3200
    """
    (k_d, k_t, k_p), (p_d, t, p) = k, split
    return (1 + k_t * (t - 1)) * (1 + k_p * (p - 1)) + k_d * (p_d - 1) - 1


def cross_term_bound(total: Any) -> Any:
    """Most that the cross term k_t(t−1)·k_p(p−1) can be: (overhead_sum)²/4.

    Since xy ≤ ((x+y)/2)²; so sum ≤ product ≤ sum + sum²/4 for the same split, and
    for the two minima as well.

    Example:
        >>> cross_term_bound(sp.Rational(1, 5))
        1/100
    """
    return total**2 / 4


def thresholds(k: Sequence[Any]) -> tuple[Any, ...]:
    """Device counts from which the second, third, … axis is used.

    For k sorted upwards, axis j comes into use at P = k_j^(j−1)/(k_1·…·k_{j−1}):
    k_2/k_1, then k_3²/(k_1k_2).

    Raises:
        ValueError: k is not sorted upwards, or not above 0.

    Example:
        >>> thresholds((sp.Rational(1, 750), sp.Rational(1, 64), sp.Rational(1, 50)))
        (375/32, 96/5)
    """
    _check_coefficients(k)
    if any(later < earlier for earlier, later in pairwise(k)):
        raise ValueError(f"k = {tuple(k)!r}: must be sorted upwards")
    return tuple(k[j] ** j / prod(k[:j]) for j in range(1, len(k)))


def interior_level(k: Sequence[Any], P: Any) -> Any:
    """Water level where every axis is used: λ = (P·Πk)^(1/n).

    Example:
        >>> interior_level((sp.Rational(1, 8),) * 3, sp.Integer(512))
        1
    """
    return _root(P * prod(k), len(k))


def interior_overhead(k: Sequence[Any], P: Any) -> Any:
    """Least overhead where every axis is used: n·(P·Πk)^(1/n) − Σk.

    Valid from the last of :func:`thresholds`; below it no split reaches it.

    Example:
        >>> interior_overhead((sp.Rational(1, 8),) * 3, sp.Integer(512))
        21/8
    """
    return len(k) * interior_level(k, P) - sum(k)


def water_fill(k: Sequence[Any], P: Any, caps: Sequence[Any] | None = None) -> Filling:
    """The one split that minimises Σ k_i(x_i − 1) under Πx_i = P and 1 ≤ x_i ≤ cap_i.

    x_i = min(cap_i, max(1, λ/k_i)) with λ such that Πx_i = P (geometric
    water-filling). On a logarithmic scale Πx_i is piecewise linear in λ, with a
    corner where an axis starts (λ = k_i) or reaches its cap (λ = k_i·cap_i), so
    the right piece gives λ in closed form. Exact for SymPy numbers.

    Args:
        k: a coefficient per axis, above 0; any number of axes.
        P: devices, a number of at least 1.
        caps: the largest degree per axis, at least 1; None for no cap.

    Raises:
        ValueError: a coefficient, P or cap out of range, or a P above Πcaps.

    Example:
        >>> k = (sp.Rational(1, 750), sp.Rational(1, 50), sp.Rational(1, 64))
        >>> water_fill(k, 10).degrees
        (10, 1, 1)
        >>> water_fill(k, 1024, caps=(32, 8, None)).degrees
        (32, 5, 32/5)
    """
    caps = [None] * len(k) if caps is None else list(caps)
    _check_filling(k, P, caps)
    full = [None if cap is None else k_i * cap for k_i, cap in zip(k, caps, strict=True)]
    corners = sorted({*k, *(top for top in full if top is not None)})
    for lower, upper in pairwise([*corners, None]):
        started = [k_i <= lower for k_i in k]
        capped = [top is not None and top <= lower for top in full]
        active = [i for i in range(len(k)) if started[i] and not capped[i]]
        fixed = prod(cap for cap, at_cap in zip(caps, capped, strict=True) if at_cap)
        if upper is None or fixed * prod(upper / k[i] for i in active) >= P:
            break
    level = _root(P * prod(k[i] for i in active) / fixed, len(active)) if active else lower
    degrees = tuple(
        level / k[i] if i in active else (caps[i] if capped[i] else 1) for i in range(len(k))
    )
    return Filling(degrees, level)


def product_fill(k: Sequence[Any], P: Any, caps: Sequence[Any] = (None, None, None)) -> Split:
    """The split that minimises the product form, in floating point.

    For q = t·p held, the product form is a sum with the coefficients k_t(1−k_p)
    and k_p(1−k_t): water-filling. What is left is convex in log q, and its slope
    λ(q) + k_t·k_p·q − k_d·P/q rises: bisection finds its zero.

    Raises:
        ValueError: as :func:`water_fill`; also a k_t or k_p that is not below 1,
            where the product form need not be convex.

    Example:
        >>> [round(x, 2) for x in product_fill((1 / 750, 1 / 50, 1 / 64), 1024)]
        [58.55, 3.69, 4.74]
    """
    k_d, k_t, k_p = map(float, k)
    _check_filling((k_d, k_t, k_p), P, caps)
    if max(k_t, k_p) >= 1:
        raise ValueError(f"k_t, k_p = {k_t!r}, {k_p!r}: must be below 1")
    inner = (k_t * (1 - k_p), k_p * (1 - k_t))

    def slope(q: float) -> float:
        return water_fill(inner, q, caps[1:]).level + k_t * k_p * q - k_d * P / q

    widest = float("inf") if None in caps[1:] else float(caps[1] * caps[2])
    most = min(float(P), widest)
    least = 1.0 if caps[0] is None else max(1.0, min(float(P / caps[0]), most))
    q = _rising_zero(slope, least, most)
    return Split(P / q, *water_fill(inner, q, caps[1:]).degrees)


def _rising_zero(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function of q changes sign between two bounds, or the nearer bound."""
    if rising(low) >= 0:
        return low
    if rising(high) <= 0:
        return high
    while low < (middle := (low * high) ** 0.5) < high:
        low, high = (low, middle) if rising(middle) >= 0 else (middle, high)
    return low


def _root(value: Any, n: int) -> Any:
    if n == 1:
        return value
    return sp.root(value, n) if isinstance(value, sp.Basic) else value ** (1 / n)


def _check_coefficients(k: Sequence[Any]) -> None:
    if not k:
        raise ValueError(f"k = {k!r}: must name at least one axis")
    for i, k_i in enumerate(k):
        positive(**{f"k[{i}]": k_i})


def _check_filling(k: Sequence[Any], P: Any, caps: Sequence[Any]) -> None:
    _check_coefficients(k)
    positive(P=P, **{f"caps[{i}]": cap for i, cap in enumerate(caps) if cap is not None})
    if len(caps) != len(k):
        raise ValueError(f"caps = {tuple(caps)!r}: must be {len(k)}, one an axis, or None")
    if P < 1 or any(cap is not None and cap < 1 for cap in caps):
        raise ValueError(f"P, caps = {P!r}, {tuple(caps)!r}: must be at least 1")
    if None not in caps and prod(caps) < P:
        raise ValueError(f"P = {P!r}: must be at most the caps' product, {prod(caps)!r}")
