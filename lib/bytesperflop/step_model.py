"""One step's seconds, term by term, and constants fitted to steps that were timed.

The three ratios laid on one clock: compute, the tensor group's all-reduces, the time that
stages wait, and the gradient's all-reduce, each in seconds of the busiest device.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import sympy as sp

from .checks import non_negative, not_above, positive, whole
from .counting import forward_flops, head_flops, parameters_rule, score_flops


class Step(NamedTuple):
    """Seconds of one optimiser step of the busiest device, by what they are spent on."""

    layers: Any
    head: Any
    tensor: Any
    elementwise: Any
    idle: Any
    gradient: Any

    @property
    def total(self) -> Any:
        """Seconds of the whole step, nothing overlapped."""
        return sum(self)


def layer_flops(L: Any, d: Any, s: Any = 0, recompute: bool = False) -> Any:
    """FLOPs of L layers per token of training: 6N + 12sdL, N = 12Ld²; 8N + 16sdL recomputed.

    ``s`` = 0 leaves attention's scores out. With ``recompute`` the forward pass runs twice
    (hardware FLOPs).

    Raises:
        ValueError: a count that is not whole.

    Example:
        >>> from bytesperflop.symbols import L, d
        >>> layer_flops(L, d), layer_flops(L, d, recompute=True)
        (72*L*d**2, 96*L*d**2)
    """
    scores = L * score_flops(s, d) / 3 if s else 0
    return (4 if recompute else 3) * (forward_flops(parameters_rule(L, d)) + scores)


def ring_bandwidth(inside: Any, adapter: Any, t: int, node: int = 8) -> Any:
    """What a device of a data-parallel ring can send where the ring leaves its node, byte/s.

    min(inside, adapter·node/t): of the ``node`` devices, each with one adapter, node/t are
    of the same ring. It has their adapters to itself, and hands on inside the node first.

    Args:
        inside, adapter: one-way rates of a device in its node and of one adapter, byte/s.
        t: tensor degree, which divides the node.
        node: devices (and adapters) of one node.

    Raises:
        ValueError: a rate that is not positive, or a t that does not divide the node.

    Example:
        >>> [ring_bandwidth(235e9, 24e9, t) / 1e9 for t in (1, 2, 4, 8)]
        [192.0, 96.0, 48.0, 24.0]
    """
    positive(inside=inside, adapter=adapter)
    whole(t=t, node=node)
    if node % t:
        raise ValueError(f"t = {t}: must divide node = {node}")
    return min(inside, adapter * node / t)


def predict_step(
    L: Any,
    d: Any,
    split: Sequence[Any],
    m: Any,
    u: Any,
    *,
    F: Any,
    b: Any,
    B_t: Any,
    B_d: Any,
    v: Any = 1,
    s: Any = 0,
    V: Any = 0,
    recompute: bool = False,
    elementwise: Any = 0,
) -> Step:
    r"""Seconds of one step of the busiest device, nothing overlapped and no latency.

    (layers + tensor + elementwise)·(1 + (p−1)/(vm)) + head + gradient, where layers =
    :func:`layer_flops`·mu/(tpF); tensor = four all-reduces a layer (six where recomputed) of
    2(t−1)/t·mud elements; gradient = 2(p_d−1)/p_d·12Ld²/(tp) elements; and the head's
    6dV·mu/(tF) delays each microbatch of the last stage, so that no bubble multiplies it.

    Args:
        L, d: layers and width.
        split: degrees (p_d, t, p).
        m, u: microbatches of a replica, and tokens of each.
        F: achievable FLOP rate of one device, 1/s.
        b: bytes per communicated element.
        B_t, B_d: one-way send bandwidth on the tensor and on the data axis, byte/s.
        v: model chunks per stage (interleaving).
        s, V: sequence length and vocabulary; 0 leaves scores or head out.
        recompute: whether the forward pass runs twice.
        elementwise: seconds per token and layer that no matrix product accounts for.

    Raises:
        ValueError: an argument out of range, or more chunks than layers.

    Example:
        >>> step = predict_step(24, 1024, (2, 1, 4), m=8, u=4096, F=3e14, b=2, B_t=3e11, B_d=25e9)
        >>> round(step.idle / step.layers, 9)
        0.375
    """
    p_d, t, p = split
    positive(d=d, u=u, F=F, b=b, B_t=B_t, B_d=B_d)
    whole(L=L, p_d=p_d, t=t, p=p, m=m, v=v)
    non_negative(s=s, V=V, elementwise=elementwise)
    not_above(**{"v p": v * p, "L": L})
    tokens, all_reduces = m * u, 6 if recompute else 4
    layers = layer_flops(L, d, s, recompute) * tokens / (t * p * F)
    tensor = all_reduces * L / p * 2 * (t - 1) / t * tokens * d * b / B_t
    other = elementwise * tokens * L / p
    return Step(
        layers=layers,
        head=head_flops(d, V) * tokens / (t * F) if V else 0,
        tensor=tensor,
        elementwise=other,
        idle=(layers + tensor + other) * (p - 1) / (v * m),
        gradient=2 * (p_d - 1) / p_d * parameters_rule(L, d) / (t * p) * b / B_d,
    )


def fit(
    predictions: Sequence[sp.Expr], measured: Sequence[float], unknowns: Sequence[sp.Symbol]
) -> dict[sp.Symbol, float]:
    """The unknowns for which the mean of $|prediction/measured - 1|$ is least.

    Predictions are linear in the unknowns, so that the mean is convex and piecewise linear,
    with a minimum where as many rows as there are unknowns are met exactly: all such
    choices of rows are tried.

    Raises:
        ValueError: lists of unlike lengths, or rows that do not determine the unknowns.

    Example:
        >>> x = sp.Symbol("x", positive=True)
        >>> fit([2 * x, 3 * x, 5 * x], [20, 30, 55], [x])
        {x: 10.0}
    """
    import numpy as np

    if len(predictions) != len(measured):
        raise ValueError(
            f"predictions and measured: {len(predictions)} and {len(measured)}, must be as many"
        )
    relative = [p / t for p, t in zip(predictions, measured, strict=True)]
    matrix, right = sp.linear_eq_to_matrix([r - 1 for r in relative], list(unknowns))
    A, y = np.array(matrix, float), np.array(right, float)[:, 0]
    unit = np.abs(A).max(axis=0)  # unknowns of unlike size, such as seconds per FLOP
    A = A / np.where(unit > 0, unit, 1)
    exact = (list(rows) for rows in combinations(range(len(y)), len(unknowns)))
    corners = [np.linalg.solve(A[r], y[r]) for r in exact if np.linalg.matrix_rank(A[r]) == len(r)]
    if not corners:
        raise ValueError(f"unknowns = {list(unknowns)}: not determined by the rows")
    best = min(corners, key=lambda z: np.abs(A @ z - y).mean())
    return dict(zip(unknowns, map(float, best / unit), strict=True))


def residuals(
    predictions: Sequence[Any], measured: Sequence[float], values: dict[sp.Symbol, float]
) -> list[float]:
    """Predicted over measured less 1, row by row: above 0 where the step was predicted too slow.

    Example:
        >>> x = sp.Symbol("x", positive=True)
        >>> residuals([2 * x, 3 * x], [20, 20], {x: 10})
        [0.0, 0.5]
    """
    return [
        float(sp.sympify(p).subs(values) / t - 1)
        for p, t in zip(predictions, measured, strict=True)
    ]


def leave_one_out(
    predictions: Sequence[sp.Expr], measured: Sequence[float], unknowns: Sequence[sp.Symbol]
) -> list[float]:
    """Each row's residual with the unknowns fitted on the other rows.

    Raises:
        ValueError: as :func:`fit`.

    Example:
        >>> x = sp.Symbol("x", positive=True)
        >>> leave_one_out([2 * x, 3 * x, 5 * x], [20, 30, 100], [x])
        [0.0, 0.0, -0.5]
    """
    out = []
    for i, (row, time) in enumerate(zip(predictions, measured, strict=True)):
        rest = fit(
            [*predictions[:i], *predictions[i + 1 :]], [*measured[:i], *measured[i + 1 :]], unknowns
        )
        out += residuals([row], [time], rest)
    return out
