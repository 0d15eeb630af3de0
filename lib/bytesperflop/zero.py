"""What ZeRO moves over the wire, in closed form; `bytesperflop.zero_simulation` counts again."""

from typing import Any

import sympy as sp

from .checks import non_negative, positive, whole


def passes(stage: int, k: Any = 1, reshard: bool = True) -> Any:
    r"""How often the N parameters' worth of elements cross the wire in a step of k microbatches.

    ========================================  ===============  ===========  ======
    stage                                     reduce-scatters  all-gathers  in all
    ========================================  ===============  ===========  ======
    0, 1                                      1                1            2
    2                                         k                1            k + 1
    3                                         k                2k           3k
    3, weights kept from forward to backward  k                k            2k
    ========================================  ===============  ===========  ======

    Raises:
        ValueError: a stage that is not 0 to 3, or a k that is not whole.

    Source: Rajbhandari et al. 2020, arXiv:1910.02054, section 7, for k = 1.

    Example:
        >>> [passes(stage) for stage in (0, 1, 2, 3)]
        [2, 2, 2, 3]
        >>> [passes(stage, k=8) for stage in (0, 1, 2, 3)]
        [2, 2, 9, 24]
    """
    if stage not in range(4):
        raise ValueError(f"stage = {stage!r}: must be 0, 1, 2 or 3")
    whole(k=k)
    return (2, 2, k + 1, (3 if reshard else 2) * k)[stage]


def sent_elements(N: Any, p_d: Any, stage: int, k: Any = 1, reshard: bool = True) -> Any:
    r"""Elements that each replica sends in a step: $\frac{p_d-1}{p_d}N$ for each of :func:`passes`.

    Raises:
        ValueError: as :func:`passes`, or counts that are not whole.

    Example:
        >>> sent_elements(1000, 4, stage=3)
        2250
    """
    whole(N=N, p_d=p_d)
    return passes(stage, k, reshard) * sp.Integer(1) * N * (p_d - 1) / p_d


def zero_ratio(b: Any, F: Any, B: Any, T: Any, stage: int = 3, k: Any = 1) -> Any:
    r"""Communication over compute for many replicas: $\frac{bF}{2BT}$ in stage 3.

    passes·Nb/B against 6NT/F with T tokens a replica and step, in k microbatches: in stage
    3 the tokens that count are those of a microbatch, T/k.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> from bytesperflop.symbols import B, F, T, b, k
        >>> zero_ratio(b, F, B, T), zero_ratio(b, F, B, T, stage=1, k=k)
        (b*F/(2*B*T), b*F/(3*B*T))
    """
    positive(b=b, F=F, B=B, T=T)
    return passes(stage, k) * b * F / (6 * B * T)


def tokens_to_gather(b: Any, F: Any, B: Any, N: Any = 1, messages: Any = 0, alpha: Any = 0) -> Any:
    r"""Tokens of a microbatch whose forward pass lasts as long as one gathering of the weights.

    $\frac{bF}{2B}$, plus $\frac{F\,\alpha\cdot\text{messages}}{2N}$ for the latency.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> round(tokens_to_gather(b=2, F=4e14, B=5e10))
        8000
    """
    positive(b=b, F=F, B=B, N=N)
    non_negative(messages=messages, alpha=alpha)
    return b * F / (2 * B) + F * alpha * messages / (2 * N)
