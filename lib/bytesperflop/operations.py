"""What a pipeline schedule is made of: operations, what they wait for, an order a device."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple


class Operation(NamedTuple):
    """One kind of work on one microbatch in one stage, both counted from 0.

    Kinds: ``F`` forward; ``B`` the whole backward, or its two halves, ``I`` the gradient of
    the input and ``W`` that of the weights.

    Example:
        >>> print(Operation("W", stage=3, microbatch=0))
        W of microbatch 0 on stage 3
    """

    kind: str
    stage: int
    microbatch: int

    def __str__(self) -> str:
        """In words, for error messages."""
        return f"{self.kind} of microbatch {self.microbatch} on stage {self.stage}"


Order = Sequence[Operation]
Work = tuple[str, int]  # kind and stage: what the operations of all microbatches share
Needs = Callable[[str, int, int], list[Work]]


def dependencies(kind: str, stage: int, stages: int) -> list[Work]:
    """What an operation waits for: the (kind, stage) whose same microbatch must be done.

    A forward needs the forward of the stage before. A backward, or its first half, the input
    gradient, needs its own forward, whose activations it uses, and the same of the stage
    after. A weight gradient needs its own input gradient, and nobody needs it.

    Example:
        >>> dependencies("F", 2, stages=4)
        [('F', 1)]
        >>> dependencies("B", 2, stages=4)
        [('F', 2), ('B', 3)]
        >>> dependencies("I", 3, stages=4), dependencies("W", 2, stages=4)
        ([('F', 3)], [('I', 2)])
    """
    if kind == "F":
        return [("F", stage - 1)] if stage > 0 else []
    if kind == "W":
        return [("I", stage)]
    return [("F", stage), *([(kind, stage + 1)] if stage < stages - 1 else [])]


def messages(
    orders: Sequence[Order], placement: Sequence[int], dependencies: Needs = dependencies
) -> list[int]:
    """How many messages each device sends: one for each need that is met on another device.

    Example:
        >>> from bytesperflop.schedules import plan
        >>> messages(*plan("1f1b", p=3, m=6)), messages(*plan("interleaved", p=3, m=6, v=2))
        ([6, 12, 6], [18, 24, 18])
    """
    sent: Counter = Counter()
    for kind, stage, _ in chain.from_iterable(orders):
        for _, source in dependencies(kind, stage, len(placement)):
            sent[placement[source]] += placement[source] != placement[stage]
    return [sent[device] for device in range(len(orders))]
