"""The optimum of *why all three* as one expression, for the page; `optimum` has its algorithm."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import sympy as sp


def water_level(k: Sequence[Any], P: Any, caps: Sequence[Any]) -> sp.Expr:
    r"""The level λ at which $\prod_i \min(c_i, \max(1, \lambda/k_i)) = P$.

    $\lambda = \min_S \max_{R \subseteq S} \left(P \prod_R k_i / \prod_{S \setminus R} c_i
    \right)^{1/|R|}$ over sets S of axes and their non-empty parts R: the product is the
    largest over S of $\prod_S \min(c_i, \lambda/k_i)$, each of which is the least over R.
    Sets whose caps hold fewer than P devices are left out by a penalty that no level reaches.

    Args:
        k: a coefficient per axis, above 0.
        P: devices.
        caps: the largest degree per axis, at least 1; their product at least P.

    Example:
        >>> water_level([sp.Rational(1, 750), sp.Rational(1, 64)], 10, [1024, 1024]).doit()
        1/75
    """
    axes = range(len(k))
    return sp.Min(*(_level(k, P, caps, chosen) for chosen in _subsets(axes)), evaluate=False)


def _subsets(axes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return (x for size in range(1, len(axes) + 1) for x in combinations(axes, size))


def _level(k: Sequence[Any], P: Any, caps: Sequence[Any], chosen: tuple[int, ...]) -> sp.Expr:
    """The level at which these axes alone hold P devices."""
    room = sp.prod([caps[i] for i in chosen])
    levels = [
        sp.root(
            P
            * sp.prod([k[i] for i in rising])
            / sp.prod([caps[i] for i in chosen if i not in rising]),
            len(rising),
        )
        for rising in _subsets(chosen)
    ]
    return sp.Max(*levels, _PENALTY * (sp.ceiling(P / room) - 1), evaluate=False)


_PENALTY = 10**30
