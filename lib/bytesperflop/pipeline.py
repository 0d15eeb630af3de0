"""Closed forms of the pipeline: makespans, crossings, activations held, what a boundary costs.

``timeline`` finds the same numbers by running the schedules, and never sees these.
"""

from typing import Any

import sympy as sp

from .checks import non_negative, not_above, positive, whole


def _extreme(plain: Any, symbolic: Any, values: Any) -> Any:
    """The largest or smallest of numbers, or SymPy's expression for it."""
    values = list(values)
    return symbolic(*values) if any(isinstance(x, sp.Basic) for x in values) else plain(values)


def gpipe_makespan(forward, backward, m, c=0):
    r"""Length of GPipe's schedule for stages of any durations.

    $\sum_r (f_r+b_r) + (m-1)(\max_r f_r+\max_r b_r) + 2(p-1)c$

    Args:
        forward, backward: seconds of one microbatch on each of the p stages.
        m: microbatches.
        c: delay of one stage boundary, s.

    Raises:
        ValueError: a duration that is not positive, lists of unlike lengths, or ``m`` not a
            whole number of at least 1.

    Example:
        >>> gpipe_makespan([1, 5], [5, 1], m=4)
        42
        >>> gpipe_makespan([1] * 4, [2] * 4, m=8)
        33
    """
    forward, backward = list(forward), list(backward)
    if not forward or len(forward) != len(backward):
        raise ValueError(
            f"forward and backward = {forward}, {backward}: must have one duration a stage"
        )
    for stage, (f, b) in enumerate(zip(forward, backward, strict=True)):
        positive(**{f"forward of stage {stage}": f, f"backward of stage {stage}": b})
    whole(m=m)
    non_negative(c=c)
    slowest = _extreme(max, sp.Max, forward) + _extreme(max, sp.Max, backward)
    crossings = gpipe_crossings(len(forward))
    return sum(forward) + sum(backward) + (m - 1) * slowest + crossings * c


def one_forward_one_backward_makespan(p, m, tau, c=0):
    r"""Length of the 1F1B schedule for equal stages.

    $(m+p-1)\tau + 2\left[(p-2)+(m-1)-\lfloor(m-2)/p\rfloor\right]c$; without a delay, GPipe's.

    Args:
        p, m: stages and microbatches.
        tau: time of one microbatch on one stage, forward and backward, s.
        c: delay of one stage boundary, s.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> one_forward_one_backward_makespan(p=4, m=8, tau=3)
        33
    """
    positive(tau=tau)
    non_negative(c=c)
    return (m + p - 1) * tau + one_forward_one_backward_crossings(p, m) * c


def gpipe_crossings(p):
    r"""Boundary delays that lengthen a step of GPipe: once down the stages, once back up.

    $2(p-1)$

    Raises:
        ValueError: ``p`` is not a whole number of at least 1.

    Example:
        >>> gpipe_crossings(p=4)
        6
    """
    whole(p=p)
    return 2 * (p - 1)


def one_forward_one_backward_crossings(p, m):
    r"""Boundary delays that lengthen a step of 1F1B with equal stages.

    $2\left[(p-2)+(m-1)-\lfloor(m-2)/p\rfloor\right]$, about $2(p-1)/p$ a microbatch: the first
    stage admits microbatch $j+p$ when $j$ has come back over $2(p-1)$ boundaries.

    Raises:
        ValueError: ``p`` or ``m`` is not a whole number of at least 1.

    Example:
        >>> one_forward_one_backward_crossings(p=4, m=8)
        16
    """
    whole(p=p, m=m)
    return 2 * ((p - 2) + (m - 1) - (m - 2) // p)


def one_forward_one_backward_in_flight(p, m, r):
    r"""Microbatches whose activations stage ``r`` (from 0) holds at most under 1F1B.

    $\min(m, p-r)$; under GPipe it is $m$ on every stage.

    Raises:
        ValueError: an argument that is not a whole number, or ``r`` not below ``p``.

    Example:
        >>> [one_forward_one_backward_in_flight(p=4, m=8, r=r) for r in range(4)]
        [4, 3, 2, 1]
    """
    whole(p=p, m=m)
    whole(0, r=r)
    not_above(**{"r + 1": r + 1, "p": p})
    return _extreme(min, sp.Min, [m, p - r])


def activations_held(microbatches, L, p):
    r"""Activations of one stage, counted in layers: one layer's for one microbatch is 1.

    microbatches in flight times $L/p$. On the first stage that is $L$ under 1F1B with
    $m \ge p$ ($p$ cancels), and $mL/p$ under GPipe.

    Raises:
        ValueError: an argument out of range, or more stages than layers.

    Example:
        >>> activations_held(8, L=96, p=8), activations_held(64, L=96, p=8)
        (96.0, 768.0)
    """
    whole(microbatches=microbatches, L=L, p=p)
    not_above(p=p, L=L)
    return microbatches * L / p


def some_stage_idle(p, m):
    r"""Share of GPipe's schedule in which at least one stage idles: twice the bubble, at most 1.

    $\min\left(1, \frac{2(p-1)}{m+p-1}\right)$, for equal stages and free boundaries.

    Raises:
        ValueError: ``p`` or ``m`` is not a whole number of at least 1.

    Example:
        >>> round(some_stage_idle(p=4, m=8), 4)
        0.5455
    """
    whole(p=p, m=m)
    return _extreme(min, sp.Min, [1, 2 * (p - 1) / (m + p - 1)])


def stage_time(F, L, d, p, u, t=1):
    r"""Time of one microbatch on one stage, forward and backward.

    $\tau = \frac{72(L/p)d^2u}{tF}$, in seconds.

    Args:
        F: achievable FLOP rate of one device, 1/s.
        L, d: layers and width of the model.
        p: stages.
        u: tokens in a microbatch.
        t: devices that share a stage.

    Raises:
        ValueError: an argument out of range, or more stages than layers.

    Example:
        >>> round(stage_time(400e12, L=96, d=12288, p=8, u=2048, t=8), 3)
        0.083
    """
    positive(F=F, d=d, u=u)
    whole(L=L, p=p, t=t)
    not_above(p=p, L=L)
    return 72 * L * d**2 * u / (p * t * F)


def boundary_delay(b, B, d, u, alpha=0):
    r"""Time in which the activations of one microbatch cross a boundary.

    $c = \frac{udb}{B} + \alpha$, in seconds.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> round(1e3 * boundary_delay(b=2, B=50e9, d=12288, u=2048), 2)
        1.01
    """
    positive(b=b, B=B, d=d, u=u)
    non_negative(alpha=alpha)
    return u * d * b / B + alpha


def head_imbalance(V, L, d, p):
    r"""Extra time of the last stage when it also computes the output head, as a share of tau.

    $\delta = \frac{6dV}{72(L/p)d^2} = \frac{pV}{12Ld}$

    Raises:
        ValueError: an argument that is not a whole number, or more stages than layers.

    Example:
        >>> round(head_imbalance(V=50257, L=96, d=12288, p=8), 4)
        0.0284
    """
    whole(V=V, L=L, d=d, p=p)
    not_above(p=p, L=L)
    return p * V / (12 * L * d)
