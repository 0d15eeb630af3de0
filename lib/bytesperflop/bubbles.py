"""Closed forms of the schedules that split a stage or a backward pass.

``timeline`` finds the same numbers by running the schedules, and never sees these.
"""

import sympy as sp

from .checks import non_negative, not_above, positive, whole
from .pipeline import _extreme


def interleaved_makespan(p, m, v, tau):
    r"""Length of interleaved 1F1B for equal stages and free boundaries, p dividing m.

    $m\tau + (p-1)\tau/v$

    Args:
        p, m, v: devices, microbatches, chunks a device.
        tau: time of one microbatch on all chunks of a device, forward and backward, s.

    Raises:
        ValueError: an argument out of range.

    Source: Narayanan et al. (2021), section 2.2.

    Example:
        >>> interleaved_makespan(p=4, m=8, v=2, tau=6)
        57.0
    """
    whole(p=p, m=m, v=v)
    positive(tau=tau)
    return m * tau + (p - 1) * tau / v


def interleaved_overhead(p, m, v):
    r"""Idle time over useful time of interleaved 1F1B: $\frac{p-1}{vm}$.

    Raises:
        ValueError: an argument is not a whole number of at least 1.

    Example:
        >>> interleaved_overhead(p=4, m=8, v=2)
        0.1875
    """
    whole(p=p, m=m, v=v)
    return (p - 1) / (v * m)


def interleaved_warm_up(p, v, r):
    r"""Forwards of a chunk that device r (from 0) runs before it alternates.

    $2(p-r-1)+(v-1)p$: $(v-1)p$ bring the first group to the last chunk, and two more for
    each device between here and the end, one for the way there and one for the way back.

    Raises:
        ValueError: an argument that is not a whole number, or ``r`` not below ``p``.

    Example:
        >>> [interleaved_warm_up(p=4, v=2, r=r) for r in range(4)]
        [10, 8, 6, 4]
    """
    whole(p=p, v=v)
    whole(0, r=r)
    not_above(**{"r + 1": r + 1, "p": p})
    return 2 * (p - r - 1) + (v - 1) * p


def interleaved_in_flight(p, m, v, r):
    r"""Microbatches whose chunk activations device r holds at most, each 1/v of a stage's.

    $\min(vm,\, 2(p-r-1)+(v-1)p+1)$; over $v$, the first device holds
    $1+\frac{p-1}{pv}$ times the $p$ of 1F1B, if $v \ge 2$ and $m > p$.

    Raises:
        ValueError: as :func:`interleaved_warm_up`, or ``m`` is not a whole number.

    Example:
        >>> interleaved_in_flight(p=4, m=8, v=2, r=0)
        11
    """
    whole(m=m)
    return _extreme(min, sp.Min, [v * m, interleaved_warm_up(p, v, r) + 1])


def zb_h1_idle(p, forward, input_gradient, weight_gradient):
    r"""Time that each stage of ZB-H1 idles in a step, for equal stages and $m \ge p$.

    $(p-1)\max(t_F,\, t_I,\, t_F+t_I-t_W)$, which is $(p-1)(t_F+t_I-t_W)$ when
    $t_W \le \min(t_F, t_I)$.

    Raises:
        ValueError: an argument out of range.

    Source: Qi et al., arXiv:2401.10241, give the case of a short $t_W$.

    Example:
        >>> zb_h1_idle(4, 1, 1, 1), zb_h1_idle(4, 1, 1, 2)
        (3, 3)
    """
    whole(p=p)
    f, i, w = _times(forward, input_gradient, weight_gradient)
    return (p - 1) * _extreme(max, sp.Max, [f, i, f + i - w])


def zb_h2_idle(p, forward, input_gradient, weight_gradient):
    r"""Time that each stage of ZB-H2 idles from 0 to the end of the step, for $m \ge 2p-1$.

    $(p-1)\max(t_F,\, t_I-t_F,\, t_F+t_I-2t_W)$, for equal stages.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> zb_h2_idle(4, 1, 1, 1)
        3
    """
    whole(p=p)
    f, i, w = _times(forward, input_gradient, weight_gradient)
    return (p - 1) * _extreme(max, sp.Max, [f, i - f, f + i - 2 * w])


def zb_h2_waits(p, forward, input_gradient, weight_gradient):
    r"""The most that a stage of ZB-H2 waits between its own first start and last finish.

    $(p-1)\max(0,\, t_I-t_F,\, t_F+t_I-2t_W)$, for equal stages and $m \ge 2p-1$.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> zb_h2_waits(4, 1, 1, 1), zb_h2_waits(4, 1, 2, 1)
        (0, 3)
    """
    whole(p=p)
    f, i, w = _times(forward, input_gradient, weight_gradient)
    return (p - 1) * _extreme(max, sp.Max, [0, i - f, f + i - 2 * w])


def zb_v_idle(p, time):
    r"""Time that each device of ZB-V idles in a step when all operations take the same time.

    $(p-1)t$ for operations of $t$ each on one chunk and $m \ge 2p-1$.

    Raises:
        ValueError: ``p`` is not a whole number of at least 1, or the time is negative.

    Example:
        >>> zb_v_idle(4, 1)
        3
    """
    whole(p=p)
    non_negative(time=time)
    return (p - 1) * time


def _times(forward, input_gradient, weight_gradient):
    positive(forward=forward, input_gradient=input_gradient, weight_gradient=weight_gradient)
    return forward, input_gradient, weight_gradient
