"""Whole splits: degrees that are integers, and those that a model and a machine allow."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import sympy as sp

from bytesperflop.checks import positive, whole
from bytesperflop.optimum import Split, overhead_product, overhead_sum

#: Where P is a power of two, the best whole split's Σk_i·x_i over the relaxation's, at most.
ROUNDING_OF_TOTAL = 2 * sp.root(4, 3) / 3
#: The same for the overhead Σk_i(x_i − 1); reached by P = 2 and three equal coefficients.
ROUNDING_OF_OVERHEAD = 1 / (3 * (sp.root(2, 3) - 1))


class CostedSplit(NamedTuple):
    """A split and its overhead, to first order and in the product form."""

    split: Split
    sum: Any
    product: Any


def whole_splits(P: int) -> Iterator[Split]:
    """Every triple of whole degrees with p_d·t·p = P.

    Raises:
        ValueError: P is not a whole number of at least 1.

    Example:
        >>> len(list(whole_splits(1024)))
        66
        >>> list(whole_splits(3))
        [Split(p_d=1, t=1, p=3), Split(p_d=1, t=3, p=1), Split(p_d=3, t=1, p=1)]
    """
    whole(P=P)
    for p_d in sp.divisors(P):
        for t in sp.divisors(P // p_d):
            yield Split(p_d, t, P // p_d // t)


def best_whole_split(
    k: Sequence[Any], P: int, caps: Sequence[Any] = (None, None, None)
) -> CostedSplit:
    """The whole split of least Σk_i(x_i − 1) under the caps, found by enumeration.

    Never below :func:`bytesperflop.optimum.water_fill`. Where P and the caps are
    powers of two, at most :data:`ROUNDING_OF_OVERHEAD` times its overhead; where P
    is prime there is no such factor.

    Raises:
        ValueError: P is not a whole number of at least 1, or no split respects the caps.

    Example:
        >>> k = (sp.Rational(1, 750), sp.Rational(1, 50), sp.Rational(1, 64))
        >>> best_whole_split(k, 1024).split
        Split(p_d=64, t=4, p=4)
        >>> best_whole_split(k, 1021).split
        Split(p_d=1021, t=1, p=1)
    """
    allowed = [
        split
        for split in whole_splits(P)
        if all(cap is None or x <= cap for x, cap in zip(split, caps, strict=True))
    ]
    if not allowed:
        raise ValueError(f"caps = {tuple(caps)!r}: must admit a whole split of P = {P}")
    return min((_costed(k, split) for split in allowed), key=lambda costed: costed.sum)


def runnable_splits(
    k: Sequence[Any], P: int, *, T_g: Any, m: int, s: int, a: int, L: int, domain: int, ways: Any
) -> list[CostedSplit]:
    """The whole splits that can run, cheapest first by the product form.

    A split runs if every microbatch holds a sequence (T_g/(p_d·m) ≥ s), the tensor
    group divides the heads and stays within its fast domain, the stages divide the
    layers, and the model state fits (t·p ≥ ways).

    Args:
        k: the coefficients (k_d, k_t, k_p).
        P: devices.
        T_g: tokens per step over all replicas.
        m: microbatches per step.
        s: sequence length, tokens.
        a: attention heads.
        L: layers (slots to share out: with embedding and head counted, two more).
        domain: devices of a tensor group's fast domain, such as 8 on one NVLink.
        ways: the fewest devices that hold one model's state,
            :func:`bytesperflop.regimes.fewest_model_ways`; 1 if memory is no matter.

    Raises:
        ValueError: an argument that is not a (whole) number in its range.

    Example:
        >>> k = (sp.Rational(1, 750), sp.Rational(1, 62), sp.Rational(1, 64))
        >>> shape = dict(T_g=4e6, m=64, s=2048, a=96, L=96, domain=8, ways=36)
        >>> runnable_splits(k, 1024, **shape)[0].split
        Split(p_d=16, t=8, p=8)
    """
    whole(P=P, m=m, s=s, a=a, L=L, domain=domain)
    positive(T_g=T_g, ways=ways)
    runnable = [
        _costed(k, split)
        for split in whole_splits(P)
        if split.p_d * m * s <= T_g
        and split.t <= domain
        and a % split.t == 0
        and L % split.p == 0
        and split.t * split.p >= ways
    ]
    return sorted(runnable, key=lambda costed: costed.product)


def _costed(k: Sequence[Any], split: Split) -> CostedSplit:
    return CostedSplit(split, overhead_sum(k, split), overhead_product(k, split))
