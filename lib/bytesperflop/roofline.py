"""The roofline: what a device attains when its own memory has to feed it, in closed form.

FLOPs are counts, so an arithmetic intensity is in 1/byte: FLOPs for each byte that passes
between the device's memory and its arithmetic.
"""

from typing import Any

import sympy as sp

from .checks import non_negative, positive, whole


def ridge(F: Any, B_m: Any) -> Any:
    """FLOPs a byte at which arithmetic and memory take equally long: F/B_m.

    Args:
        F: FLOP rate, 1/s.
        B_m: bandwidth of the device's memory, byte/s.

    Raises:
        ValueError: an argument that is not a finite number above 0.

    Example:
        >>> ridge(F=989e12, B_m=3.35e12) > 295
        True
    """
    positive(F=F, B_m=B_m)
    return F / B_m


def attainable(intensity: Any, F: Any, B_m: Any) -> Any:
    r"""FLOP rate at an intensity: $\min(F, \text{intensity}\cdot B_m)$.

    Raises:
        ValueError: an argument that is not a finite number above 0.

    Source: Williams, Waterman and Patterson 2009, *Roofline: an insightful visual
    performance model for multicore architectures*, Communications of the ACM 52(4).

    Example:
        >>> attainable(1, F=100, B_m=5), attainable(50, F=100, B_m=5)
        (5, 100)
    """
    positive(intensity=intensity, F=F, B_m=B_m)
    fed = intensity * B_m
    symbolic = any(isinstance(rate, sp.Basic) for rate in (F, fed))
    return sp.Min(F, fed) if symbolic else min(F, fed)


def matmul_intensity(m: Any, k: Any, n: Any, b: Any) -> Any:
    r"""FLOPs a byte of an (m, k) by (k, n) product: $\frac{2mkn}{b(mk + kn + mn)}$.

    Each factor is read once and the product written once. The form is symmetric, so a
    product and the two products of its backward pass have one intensity.

    Args:
        m, k, n: counts.
        b: bytes per element.

    Raises:
        ValueError: a count that is not whole, or a ``b`` that is not above 0.

    Example:
        >>> matmul_intensity(3, 3, 3, b=2)
        1.0
        >>> matmul_intensity(1, 4096, 4096, b=2) < 1
        True
    """
    whole(m=m, k=k, n=n)
    positive(b=b)
    return 2 * m * k * n / (b * (m * k + k * n + m * n))


def weights_intensity(T: Any, b: Any) -> Any:
    """FLOPs a byte of a pass over the weights that T tokens share: 2NT/(Nb) = 2T/b.

    Decoding, T is the number of sequences; reading a prompt, all its tokens.

    Raises:
        ValueError: an argument that is not a finite number above 0.

    Example:
        >>> weights_intensity(T=64, b=2)
        64.0
    """
    positive(T=T, b=b)
    return 2 * T / b


def tokens_to_ridge(b: Any, F: Any, B_m: Any) -> Any:
    """Tokens that must share a reading of the weights for compute to take as long: bF/(2B_m).

    Raises:
        ValueError: an argument that is not a finite number above 0.

    Example:
        >>> round(tokens_to_ridge(b=2, F=794.5e12, B_m=3.35e12))
        237
    """
    positive(b=b)
    return b * ridge(F, B_m) / 2


def cache_bytes(L: Any, d: Any, s: Any, b: Any, a: Any = 1, g: Any = None) -> Any:
    """Bytes of keys and values of one sequence of s tokens: 2·L·s·d·b·g/a.

    Raises:
        ValueError: a count that is not whole, or a ``b`` that is not above 0.

    Example:
        >>> cache_bytes(L=32, d=4096, s=8192, b=2, a=32, g=8) / 2**30
        1.0
    """
    g = a if g is None else g
    whole(L=L, d=d, s=s, a=a, g=g)
    positive(b=b)
    return 2 * L * s * d * b * g / a


def decode_seconds(N: Any, T: Any, b: Any, F: Any, B_m: Any, cache: Any = 0) -> Any:
    """Seconds to write one token for each of T sequences: the longer of memory and compute.

    max((Nb + T·cache)/B_m, 2NT/F), weights read once and each sequence's cache, in bytes,
    once; the scores' FLOPs are left out.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> round(1e3 * decode_seconds(N=8.03e9, T=1, b=2, F=794.5e12, B_m=3.35e12), 2)
        4.79
    """
    positive(N=N, T=T, b=b, F=F, B_m=B_m)
    non_negative(cache=cache)
    return max((N * b + T * cache) / B_m, 2 * N * T / F)
