"""Memory as published: ZeRO's tables and the bars of Korthikanti et al., with their sources."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .catalog import Source, _find, _load


@dataclass(frozen=True)
class PublishedMemory:
    """One published figure, as printed (``printed``, in the unit that its source names).

    ``devices`` are replicas in ZeRO's tables. ``state`` and ``activations`` are bytes.
    """

    name: str
    group: str
    sources: Mapping[str, Source] = field(repr=False, compare=False)
    printed: str | None = None
    published_parameters: int | None = None
    devices: int | None = None
    stage: int | None = None
    layers: int | None = None
    width: int | None = None
    heads: int | None = None
    sequence: int | None = None
    tensor: int | None = None
    pipeline: int | None = None
    chunks: int | None = None
    microbatch: int | None = None
    sequence_parallel: bool | None = None
    recompute: str | None = None
    state: int | None = None
    activations: int | None = None
    theory_baseline: int | None = None
    measured_baseline: int | None = None
    measured_stage_1: int | None = None


def published_memory(group: str) -> tuple[PublishedMemory, ...]:
    """The rows of one published table or figure, in its order.

    Raises:
        ValueError: no such group; the error lists those there are.

    Example:
        >>> len(published_memory("zero_table1"))
        54
        >>> published_memory("zero_fig1")[1].printed
        '31.4'
    """
    groups: dict[str, tuple[PublishedMemory, ...]] = {}
    for row in _load("published_memory", PublishedMemory).values():
        groups[row.group] = (*groups.get(row.group, ()), row)
    return _find(groups, "group", group)
