"""Step time is not run time: steps to a target against the batch size.

Two runs of batch T_g reach the same loss after different numbers of steps; the
model is S = S_min·(1 + B_crit/T_g), with B_crit in tokens and drifting upwards
during training (one number for a run is a stand-in for its average).
"""

from typing import Any

from bytesperflop.checks import non_negative, positive


def steps_to_target(S_min: Any, B_crit: Any, T_g: Any) -> Any:
    """Optimiser steps to a given loss: S = S_min·(1 + B_crit/T_g).

    S_min steps are needed however large the batch; at T_g = B_crit it takes twice
    as many. Source: McCandlish et al. 2018 (arXiv:1812.06162), section 2, in
    tokens as in Kaplan et al. 2020 (arXiv:2001.08361), section 5.

    Raises:
        ValueError: an argument that is not a finite number above 0.

    Example:
        >>> steps_to_target(S_min=50_000, B_crit=4_000_000, T_g=4_000_000)
        100000.0
    """
    positive(S_min=S_min, B_crit=B_crit, T_g=T_g)
    return S_min * (1 + B_crit / T_g)


def tokens_to_target(S_min: Any, B_crit: Any, T_g: Any) -> Any:
    """Tokens to a given loss: E = S·T_g = S_min·(T_g + B_crit).

    With E_min = S_min·B_crit, (S/S_min − 1)(E/E_min − 1) = 1. Source: as
    :func:`steps_to_target`.

    Example:
        >>> tokens_to_target(S_min=50_000, B_crit=4_000_000, T_g=1_000_000)
        250000000000
    """
    positive(S_min=S_min, B_crit=B_crit, T_g=T_g)
    return S_min * (T_g + B_crit)


def fixed_tokens(b: Any, F: Any, B: Any, p_d: Any, p: Any, u: Any, tensor_overhead: Any) -> Any:
    """What a step loses whatever its batch, in tokens: D = (p−1)·u·p_d + (p_d−1)·bF/(3BA).

    The bubble is p−1 microbatches of u tokens on each replica, the gradient's
    all-reduce takes as long as (p_d−1)·bF/(3B) tokens' compute; A = 1 + k_t(t−1) is
    1 + ``tensor_overhead``, which stretches the tokens' time and not the all-reduce.

    Raises:
        ValueError: b, F, B or u not above 0, or a negative tensor_overhead.

    Example:
        >>> fixed_tokens(b=2, F=3e14, B=1e11, p_d=3, p=2, u=1000, tensor_overhead=0)
        7000.0
    """
    positive(b=b, F=F, B=B, p_d=p_d, p=p, u=u)
    non_negative(tensor_overhead=tensor_overhead)
    return (p - 1) * u * p_d + (p_d - 1) * b * F / (3 * B * (1 + tensor_overhead))


def step_time(N: Any, F: Any, P: Any, T_g: Any, fixed: Any, tensor_overhead: Any) -> Any:
    """Seconds of one step: 6N·A·(T_g + D)/(P·F), with D of :func:`fixed_tokens`.

    This is the product form of the overhead with the microbatch's size held: as
    T_g grows the step takes longer and the devices are better used.

    Raises:
        ValueError: N, F, P or T_g not above 0, or a negative D or tensor_overhead.

    Example:
        >>> step_time(N=1e9, F=3e14, P=8, T_g=1e6, fixed=2e5, tensor_overhead=0)
        3.0
    """
    positive(N=N, F=F, P=P, T_g=T_g)
    non_negative(fixed=fixed, tensor_overhead=tensor_overhead)
    return 6 * N * (1 + tensor_overhead) * (T_g + fixed) / (P * F)


def fastest_batch(fixed: Any, B_crit: Any) -> Any:
    """The batch of the shortest run: T_g = √(D·B_crit) tokens.

    S·(step time) ∝ (1 + B_crit/T_g)(T_g + D) = T_g + B_crit·D/T_g + B_crit + D. The
    shortest step has the smallest batch, the best throughput the largest; the
    shortest run lies at the geometric mean of what a step loses and the critical
    batch, and takes (√D + √B_crit)² of these units.

    Raises:
        ValueError: an argument that is not a finite number above 0.

    Example:
        >>> fastest_batch(fixed=250_000, B_crit=4_000_000)
        1000000.0
    """
    positive(fixed=fixed, B_crit=B_crit)
    return (fixed * B_crit) ** 0.5


def critical_batch(loss: Any) -> Any:
    """Critical batch in tokens of a language model at a loss in nats: 2·10⁸/loss^(1/0.21).

    A fit to runs of 2020; the size of the model enters through the loss alone. Source:
    Kaplan et al. 2020 (arXiv:2001.08361), section 5, read in a transcription.

    Raises:
        ValueError: a loss that is not a finite number above 0.

    Example:
        >>> round(critical_batch(3.0) / 1e6, 1), round(critical_batch(2.0) / 1e6, 1)
        (1.1, 7.4)
    """
    positive(loss=loss)
    return 2e8 / loss ** (1 / 0.21)
