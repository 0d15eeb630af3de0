"""The triangle of splits: degrees whose product is fixed, each a point by its logarithms.

A corner is one axis alone, an edge two axes, the middle all three. What a split costs
comes in as a function; nothing here knows a formula.
"""

from collections.abc import Callable, Sequence
from math import log, sqrt
from typing import Any

from .plotting import AXIS_COLOURS, GREY

CORNERS = {"tensor": (0.0, 0.0), "pipeline": (1.0, 0.0), "data": (0.5, sqrt(3) / 2)}


def place(split: Sequence[Any], P: Any) -> tuple[float, float]:
    """Where a split (p_d, t, p) of P devices lies: tensor left, pipeline right, data on top.

    Each corner pulls with its degree's logarithm.

    Example:
        >>> place((1, 8, 1), 8)
        (0.0, 0.0)
        >>> place((1, 1, 8), 8)
        (1.0, 0.0)
    """
    p_d, _, p = (log(x) / log(P) for x in split)
    return p + p_d / 2, p_d * sqrt(3) / 2


def draw_triangle(
    ax: Any, P: int, percent: Callable[..., Any], levels: Sequence[float], steps: int = 120
) -> None:
    """The outline, its corners' names and the contours of ``percent(p_d, t, p)``, given arrays."""
    import numpy as np

    shares = [(i, steps - i - j, j) for i in range(steps + 1) for j in range(steps + 1 - i)]
    data, tensor, pipeline = np.array(shares).T / steps
    x, y = pipeline + data / 2, data * sqrt(3) / 2
    cost = percent(P**data, P**tensor, P**pipeline)
    contours = ax.tricontour(x, y, cost, levels, colors=GREY, linewidths=0.9, linestyles="solid")
    ax.clabel(contours, fmt="%g %%", fontsize=8)
    outline = [*CORNERS.values(), CORNERS["tensor"]]
    ax.plot(*zip(*outline, strict=True), color=GREY, lw=1.2)
    for name, (left, up) in CORNERS.items():
        below = up == 0
        ax.annotate(
            f"{name} alone",
            (left, up),
            xytext=(0, -14 if below else 6),
            textcoords="offset points",
            ha="center",
            color=AXIS_COLOURS[name],
        )
    ax.set_aspect("equal")
    ax.axis("off")
