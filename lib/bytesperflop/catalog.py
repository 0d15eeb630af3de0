"""Hardware, links, models and published runs, each value with its unit, source and date.

Numbers come back in base units (FLOP/s, byte, byte/s, s); the data files in ``data/`` keep
them in the units of their sources. A value whose source could not be read is None.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

UNITS = {
    "TFLOP/s": Decimal("1e12"),
    "GB": Decimal("1e9"),
    "GiB": Decimal(2**30),
    "GB/s": Decimal("1e9"),
    "billion": Decimal("1e9"),
    "percent": Decimal("0.01"),
    "microsecond": Decimal("1e-6"),
    "s": Decimal(1),
    "1": Decimal(1),
}


@dataclass(frozen=True)
class Source:
    """Where a value was read: document, place in it, address, and the document's date."""

    document: str
    where: str
    url: str
    date: str
    unit: str


@dataclass(frozen=True)
class Hardware:
    """One device. ``peak_flops`` is the dense bf16 peak, never the sparse one.

    ``achievable_flops``: F, the model FLOP/s that a published training run sustained per device.
    ``matmul_flops``: the best bf16 matrix product measured. ``link`` names the device's
    fastest entry among the links.
    """

    name: str
    peak_flops: int
    memory_bytes: int
    memory_bandwidth: int
    link: str
    sources: Mapping[str, Source] = field(repr=False, compare=False)
    achievable_flops: int | None = None
    matmul_flops: int | None = None


@dataclass(frozen=True)
class Link:
    """One device's way out, one way: ``line_rate`` on the wire, ``achievable`` as measured, byte/s.

    ``latency``: seconds per message in the cost model of the collective library.
    """

    name: str
    line_rate: int
    sources: Mapping[str, Source] = field(repr=False, compare=False)
    achievable: int | None = None
    latency: float | None = None


@dataclass(frozen=True)
class Model:
    """Shape of a decoder-only transformer, and the parameter count that was published.

    ``head_size`` times ``heads`` need not be the width. ``positions`` counts learned
    position vectors; a norm holds ``vectors_per_norm`` vectors of the width's length.
    """

    name: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_size: int
    mlp_width: int
    gated: bool
    vocabulary: int
    tied: bool
    positions: int
    sequence: int
    biases: bool
    vectors_per_norm: int
    norms_per_layer: int
    norms_outside: int
    published_parameters: int
    sources: Mapping[str, Source] = field(repr=False, compare=False)


@dataclass(frozen=True)
class PublishedRun:
    """One training run as published: shape, split, batch (sequences) and what was measured.

    ``flops_per_device`` (FLOP/s) and ``convention``: 'hardware' counts recomputation,
    'model' does not; the two must not be mixed. ``read_in``: 'original' or 'transcript'.
    """

    name: str
    group: str
    model: str
    published_parameters: int
    layers: int
    width: int
    heads: int
    mlp_width: int
    sequence: int
    devices: int
    hardware: str
    read_in: str
    sources: Mapping[str, Source] = field(repr=False, compare=False)
    kv_heads: int | None = None
    vocabulary: int | None = None
    data: int | None = None
    tensor: int | None = None
    pipeline: int | None = None
    context: int | None = None
    chunks: int | None = None
    microbatch: int | None = None
    batch: int | None = None
    recompute: str | None = None
    sequence_parallel: bool | None = None
    step_time: float | None = None
    flops_per_device: int | None = None
    convention: str | None = None
    mfu: float | None = None
    hfu: float | None = None
    tokens_per_second: float | None = None


def _scaled(value: Any, unit: str) -> Any:
    """A number in base units, whole numbers as int; text, truth and absence as they are."""
    if value is None or isinstance(value, str | bool):
        return value
    exact = Decimal(value) * UNITS[unit]
    return int(exact) if exact == int(exact) else float(exact)


def _record(kind: type, entry: dict, units: dict, documents: dict) -> Any:
    """A record of ``kind``: each value is bare (the entry's source) or carries its own."""
    values: dict[str, Any] = {"name": entry["name"]}
    sources = {}
    known = {f.name for f in fields(kind)} - {"name", "sources"}
    for item, given in entry["values"].items():
        if item not in known:
            raise ValueError(f"{entry['name']}: {item!r} is no field of {kind.__name__}")
        own = given if isinstance(given, dict) else {"value": given}
        unit = own.get("unit", units.get(item, "1"))
        where = own["where"] if "where" in own else entry["where"]
        values[item] = _scaled(own["value"], unit)
        document = documents[own.get("source", entry["source"])]
        sources[item] = Source(where=where, unit=unit, **document)
    return kind(sources=sources, **values)


@cache
def _load(file: str, kind: type) -> dict[str, Any]:
    """Every record of one data file by name, in the file's order; read once."""
    text = files("bytesperflop").joinpath("data", f"{file}.json").read_text(encoding="utf-8")
    data = json.loads(text, parse_float=Decimal)
    return {
        entry["name"]: _record(kind, entry, data["units"], data["documents"])
        for entry in data["records"]
    }


def _find(records: Mapping[str, Any], what: str, name: str) -> Any:
    if name not in records:
        raise ValueError(f"{what} = {name!r}: must be one of {', '.join(map(repr, records))}")
    return records[name]


def hardware(name: str) -> Hardware:
    """The device of that name.

    Raises:
        ValueError: no such device; the error lists those there are.

    Example:
        >>> hardware("H100 SXM").achievable_flops
        400000000000000
        >>> hardware("H100 SXM").sources["peak_flops"].unit
        'TFLOP/s'
    """
    return _find(_load("hardware", Hardware), "hardware", name)


def link(name: str) -> Link:
    """The link of that name: rates one way, per device.

    Raises:
        ValueError: no such link; the error lists those there are.

    Example:
        >>> link("NVLink 4").line_rate, link("NVLink 4").achievable
        (450000000000, 367610000000)
    """
    return _find(_load("links", Link), "link", name)


def model(name: str) -> Model:
    """The model of that name.

    Raises:
        ValueError: no such model; the error lists those there are.

    Example:
        >>> model("Llama 3 405B").kv_heads
        8
    """
    return _find(_load("models", Model), "model", name)


def published_runs(group: str) -> tuple[PublishedRun, ...]:
    """The runs of one published table, in its order.

    Raises:
        ValueError: no such group; the error lists those there are.

    Example:
        >>> [run.tensor for run in published_runs("llama3_405b_table4")]
        [8, 8, 8]
    """
    groups: dict[str, tuple[PublishedRun, ...]] = {}
    for run in _load("published_runs", PublishedRun).values():
        groups[run.group] = (*groups.get(run.group, ()), run)
    return _find(groups, "group", group)


def all_hardware() -> tuple[Hardware, ...]:
    """Every device, in the file's order.

    Example:
        >>> [device.name for device in all_hardware()][:2]
        ['A100 40GB', 'A100 80GB']
    """
    return tuple(_load("hardware", Hardware).values())


def all_links() -> tuple[Link, ...]:
    """Every link, in the file's order.

    Example:
        >>> all(link.line_rate > (link.achievable or 0) for link in all_links())
        True
    """
    return tuple(_load("links", Link).values())


def all_models() -> tuple[Model, ...]:
    """Every model, in the file's order.

    Example:
        >>> len(all_models())
        9
    """
    return tuple(_load("models", Model).values())


def all_runs() -> tuple[PublishedRun, ...]:
    """Every published run, in the file's order.

    Example:
        >>> all_runs()[0].model
        'GPT-1.7B'
    """
    return tuple(_load("published_runs", PublishedRun).values())
