"""Pipeline schedules: the order in which each stage runs its operations.

``timeline`` runs any of them by its dependencies.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .checks import whole


class Operation(NamedTuple):
    """One kind of work (``F`` or ``B``) on one microbatch in one stage, both from 0."""

    kind: str
    stage: int
    microbatch: int

    def __str__(self) -> str:
        """In words, for error messages."""
        return f"{self.kind} of microbatch {self.microbatch} on stage {self.stage}"


Order = Sequence[Operation]


def gpipe(p: int, m: int) -> list[Order]:
    """Each stage runs all its forwards, then all its backwards.

    Args:
        p: stages, a count.
        m: microbatches, a count.

    Raises:
        ValueError: p or m is not a whole number of at least 1.

    Source: Huang et al., *GPipe: Efficient training of giant neural networks using
    pipeline parallelism* (2019).

    Example:
        >>> [f"{kind}{microbatch}" for kind, _, microbatch in gpipe(2, 3)[0]]
        ['F0', 'F1', 'F2', 'B0', 'B1', 'B2']
    """
    whole(p=p, m=m)
    return [[Operation(kind, stage, j) for kind in "FB" for j in range(m)] for stage in range(p)]


def one_forward_one_backward(p: int, m: int) -> list[Order]:
    """Stage r runs ``min(m, p - r)`` forwards, then one backward and one forward in turn.

    Args and errors as :func:`gpipe`.

    Source: Narayanan et al., *Efficient large-scale language model training on GPU
    clusters using Megatron-LM* (2021).

    Example:
        >>> [f"{kind}{microbatch}" for kind, _, microbatch in one_forward_one_backward(2, 3)[0]]
        ['F0', 'F1', 'B0', 'F2', 'B1', 'B2']
    """
    whole(p=p, m=m)
    orders: list[Order] = []
    for stage in range(p):
        ahead = min(m, p - stage)
        order = [Operation("F", stage, j) for j in range(ahead)]
        for j in range(m):
            order.append(Operation("B", stage, j))
            if j + ahead < m:
                order.append(Operation("F", stage, j + ahead))
        orders.append(order)
    return orders


SCHEDULES: dict[str, Callable[[int, int], list[Order]]] = {
    "gpipe": gpipe,
    "1f1b": one_forward_one_backward,
}


def schedule(name: str, p: int, m: int) -> list[Order]:
    """The orders of the schedule of that name, one a stage.

    Raises:
        ValueError: no schedule has that name; or p or m is not a whole number of at least 1.

    Example:
        >>> schedule("1f1b", 2, 1)[1]
        [Operation(kind='F', stage=1, microbatch=0), Operation(kind='B', stage=1, microbatch=0)]
    """
    if name not in SCHEDULES:
        raise ValueError(f"name = {name!r}: must be one of {', '.join(SCHEDULES)}")
    return SCHEDULES[name](p, m)
