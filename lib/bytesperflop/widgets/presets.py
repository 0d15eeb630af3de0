"""The catalogue's devices, links and models as presets; what has no sustained value is left out."""

from collections.abc import Callable
from typing import Any

import sympy as sp

from .. import catalog
from ..symbols import B, F, alpha
from .spec import Presets


def known(value: float | None) -> float:
    """A value of the catalogue that a widget begins with.

    Raises:
        ValueError: the catalogue has no source for it.
    """
    if value is None:
        raise ValueError("value = None: a widget cannot begin with what the catalogue lacks")
    return value


def chips() -> Presets:
    """Each device with the rate that a published run sustained."""
    points = {x.name: {F.name: x.achievable_flops} for x in catalog.all_hardware()}
    return Presets("Chip", {k: v for k, v in points.items() if v[F.name]})


def links(meaning: str = "Network") -> Presets:
    """Each link with the bandwidth that was measured and the latency of its cost model."""
    known = [link for link in catalog.all_links() if link.achievable and link.latency]
    points = {x.name: {B.name: x.achievable, alpha.name: x.latency} for x in known}
    return Presets(meaning, points)


def bandwidths(bandwidth: sp.Symbol, meaning: str) -> Presets:
    """Each link with the bandwidth that was measured, for an axis of its own."""
    known = [link for link in catalog.all_links() if link.achievable]
    return Presets(meaning, {x.name: {bandwidth.name: x.achievable} for x in known})


def models(values: Callable[[catalog.Model], dict[str, Any] | None]) -> Presets:
    """Each model for which ``values`` gives the controls' values."""
    points = {x.name: values(x) for x in catalog.all_models()}
    return Presets("Model", {name: point for name, point in points.items() if point})
