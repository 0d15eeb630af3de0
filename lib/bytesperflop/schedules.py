"""Pipeline schedules: the order in which each stage runs its operations.

``timeline`` runs any of them by its dependencies.
"""

from collections.abc import Callable
from typing import NamedTuple

from .checks import whole
from .interleaving import interleaved, round_robin
from .operations import Operation, Order
from .zero_bubble import v_shape, zb_h1, zb_h2, zb_v

__all__ = [
    "CHUNKED",
    "SCHEDULES",
    "Operation",
    "Order",
    "Plan",
    "gpipe",
    "one_forward_one_backward",
    "plan",
    "schedule",
]


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
    "zb-h1": zb_h1,
    "zb-h2": zb_h2,
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


class Plan(NamedTuple):
    """A schedule that may give a device several chunks: its orders, and each chunk's device."""

    orders: list[Order]
    placement: list[int]

    @property
    def chunks(self) -> int:
        """Chunks that one device owns."""
        return len(self.placement) // len(self.orders)


CHUNKED = ("interleaved", "zb-v")


def plan(name: str, p: int, m: int, v: int = 2) -> Plan:
    """Any schedule of the book, chunked or not, with its placement.

    Args:
        name: of ``SCHEDULES`` or of ``CHUNKED``.
        p, m: stages and microbatches, counts.
        v: chunks a device, for ``interleaved`` only: ZB-V has two, the others one.

    Raises:
        ValueError: no schedule has that name; or p, m or v is out of its range.

    Example:
        >>> plan("zb-v", p=2, m=4).placement, plan("gpipe", p=2, m=4).chunks
        ([0, 1, 1, 0], 1)
    """
    if name == "interleaved":
        return Plan(interleaved(p, m, v), round_robin(p, v))
    if name == "zb-v":
        return Plan(zb_v(p, m), v_shape(p))
    if name not in SCHEDULES:
        raise ValueError(f"name = {name!r}: must be one of {', '.join([*SCHEDULES, *CHUNKED])}")
    return Plan(SCHEDULES[name](p, m), [*range(p)])
