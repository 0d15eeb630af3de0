"""Ring collectives: what they cost in closed form, and the same ones run chunk by chunk.

The closed forms take numbers or symbols. The simulation moves real arrays between
virtual devices over a :class:`Network`, which counts whatever it carries; it knows none
of the closed forms, so each can be held against the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .checks import non_negative, positive, whole

if TYPE_CHECKING:
    import numpy as np


def ring_reduce_scatter_elements(p: Any, n: Any) -> Any:
    r"""Elements that each device sends in a ring reduce-scatter: $\frac{p-1}{p}\,n$.

    Args:
        p: devices, a count.
        n: elements of the array that each device starts with, a count. Where p does
            not divide n this is the mean over the devices.

    Raises:
        ValueError: p is not a whole number of at least 1, or n is negative.

    Source: Patarasuk and Yuan, *Bandwidth optimal all-reduce algorithms for clusters of
    workstations*, J. Parallel Distrib. Comput. 69 (2009).

    Example:
        >>> ring_reduce_scatter_elements(4, 1000)
        750.0
    """
    whole(p=p)
    non_negative(n=n)
    return (p - 1) * n / p


def ring_all_gather_elements(p: Any, n: Any) -> Any:
    r"""Elements that each device sends in a ring all-gather: $\frac{p-1}{p}\,n$.

    Args and errors as :func:`ring_reduce_scatter_elements`, n being the elements of the
    gathered array.

    Example:
        >>> ring_all_gather_elements(4, 1000)
        750.0
    """
    return ring_reduce_scatter_elements(p, n)


def ring_all_reduce_elements(p: Any, n: Any) -> Any:
    r"""Elements that each device sends in a ring all-reduce: $\frac{2(p-1)}{p}\,n$.

    A reduce-scatter, then an all-gather; args and errors as
    :func:`ring_reduce_scatter_elements`.

    Example:
        >>> ring_all_reduce_elements(4, 1000)
        1500.0
        >>> from bytesperflop.symbols import n, p
        >>> ring_all_reduce_elements(p, n).limit(p, "oo")
        2*n
    """
    return ring_reduce_scatter_elements(p, n) + ring_all_gather_elements(p, n)


def ring_reduce_scatter_messages(p: Any) -> Any:
    r"""Messages that each device sends in a ring reduce-scatter: $p-1$.

    Raises:
        ValueError: p is not a whole number of at least 1.

    Example:
        >>> ring_reduce_scatter_messages(4)
        3
    """
    whole(p=p)
    return p - 1


def ring_all_gather_messages(p: Any) -> Any:
    r"""Messages that each device sends in a ring all-gather: $p-1$.

    Raises:
        ValueError: p is not a whole number of at least 1.

    Example:
        >>> ring_all_gather_messages(4)
        3
    """
    return ring_reduce_scatter_messages(p)


def ring_all_reduce_messages(p: Any) -> Any:
    r"""Messages that each device sends in a ring all-reduce: $2(p-1)$.

    Raises:
        ValueError: p is not a whole number of at least 1.

    Example:
        >>> ring_all_reduce_messages(4)
        6
    """
    return ring_reduce_scatter_messages(p) + ring_all_gather_messages(p)


def transfer_time(elements: Any, messages: Any, b: Any, B: Any, alpha: Any) -> Any:
    r"""Seconds that one device sends for, in the alpha-beta model.

    $\alpha\cdot\text{messages} + \frac bB\cdot\text{elements}$: each message costs its
    latency, each byte its share of the bandwidth, and all devices send at once.

    Args:
        elements, messages: what the device sends, counts.
        b: bytes per element.
        B: one-way send bandwidth, byte/s.
        alpha: latency of one message, s.

    Raises:
        ValueError: a negative count or latency, or b or B not above 0.

    Example:
        >>> transfer_time(1500, 6, b=4, B=1000, alpha=1)
        12.0
    """
    non_negative(elements=elements, messages=messages, alpha=alpha)
    positive(b=b, B=B)
    return messages * alpha + elements * b / B


def ring_reduce_scatter_time(p: Any, n: Any, b: Any, B: Any, alpha: Any) -> Any:
    r"""Seconds of a ring reduce-scatter: $(p-1)\,\alpha + \frac{p-1}{p}\frac{nb}{B}$.

    Args and errors as :func:`ring_reduce_scatter_elements` and :func:`transfer_time`.

    Example:
        >>> ring_reduce_scatter_time(4, 1000, b=4, B=1000, alpha=1)
        6.0
    """
    sent = ring_reduce_scatter_elements(p, n)
    return transfer_time(sent, ring_reduce_scatter_messages(p), b, B, alpha)


def ring_all_gather_time(p: Any, n: Any, b: Any, B: Any, alpha: Any) -> Any:
    r"""Seconds of a ring all-gather: $(p-1)\,\alpha + \frac{p-1}{p}\frac{nb}{B}$.

    Args and errors as :func:`ring_all_gather_elements` and :func:`transfer_time`.

    Example:
        >>> ring_all_gather_time(4, 1000, b=4, B=1000, alpha=1)
        6.0
    """
    sent = ring_all_gather_elements(p, n)
    return transfer_time(sent, ring_all_gather_messages(p), b, B, alpha)


def ring_all_reduce_time(p: Any, n: Any, b: Any, B: Any, alpha: Any) -> Any:
    r"""Seconds of a ring all-reduce: $2(p-1)\,\alpha + \frac{2(p-1)}{p}\frac{nb}{B}$.

    Args and errors as :func:`ring_all_reduce_elements` and :func:`transfer_time`.

    Example:
        >>> ring_all_reduce_time(4, 1000, b=4, B=1000, alpha=1)
        12.0
    """
    sent = ring_all_reduce_elements(p, n)
    return transfer_time(sent, ring_all_reduce_messages(p), b, B, alpha)


class Call(NamedTuple):
    """One collective that ran: its name and the elements of the whole array."""

    name: str
    elements: int


class Network:
    """The wire between virtual devices: it carries arrays and counts what it carries.

    Attributes:
        devices: how many devices it joins.
        elements: elements sent so far, by device.
        messages: messages sent so far, by device.
        calls: the collectives begun so far, in order.

    Raises:
        ValueError: devices is not a whole number of at least 1.

    Example:
        >>> import numpy as np
        >>> network = Network(2)
        >>> network.send(0, 1, np.array([3, 4]))
        array([3, 4])
        >>> network.elements, network.messages
        ([2, 0], [1, 0])
    """

    def __init__(self, devices: int) -> None:
        whole(devices=devices)
        self.devices = devices
        self.elements = [0] * devices
        self.messages = [0] * devices
        self.calls: list[Call] = []

    def send(self, source: int, destination: int, chunk: np.ndarray) -> np.ndarray:
        """Carry a chunk from one device to another: what arrives is a copy.

        Raises:
            ValueError: source and destination are not two different devices.
        """
        if source == destination or not {source, destination} <= set(range(self.devices)):
            raise ValueError(
                f"source = {source!r}, destination = {destination!r}: must be two different "
                f"devices among the {self.devices}"
            )
        self.elements[source] += chunk.size
        self.messages[source] += 1
        return chunk.copy()


def reduce_scatter(network: Network, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Sum the devices' arrays; device r keeps chunk r of the sum (along the first axis).

    A ring of ``p - 1`` steps: each device sends one chunk to the next, which adds its
    own. Chunks are as even as whole rows allow, the larger ones first.

    Args:
        network: joins the p devices and counts.
        arrays: one array a device, all of one shape and type.

    Raises:
        ValueError: the arrays are not one a device, or differ in shape or type.

    Example:
        >>> import numpy as np
        >>> reduce_scatter(Network(2), [np.array([1, 2]), np.array([10, 20])])
        [array([11]), array([22])]
    """
    import numpy as np

    _same(network, arrays)
    network.calls.append(Call("reduce_scatter", arrays[0].size))
    chunks = [np.array_split(array.copy(), network.devices) for array in arrays]
    _reduce_around(network, chunks)
    return [chunks[device][device] for device in range(network.devices)]


def all_gather(network: Network, chunks: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Give every device all chunks, joined along the first axis in the devices' order.

    A ring of ``p - 1`` steps: each device passes on the chunk that it has just received.

    Args:
        network: joins the p devices and counts.
        chunks: one a device; their first axes may differ.

    Raises:
        ValueError: the chunks are not one a device.

    Example:
        >>> import numpy as np
        >>> all_gather(Network(2), [np.array([11]), np.array([22])])
        [array([11, 22]), array([11, 22])]
    """
    import numpy as np

    _one_each(network, chunks)
    network.calls.append(Call("all_gather", sum(chunk.size for chunk in chunks)))
    held = [[np.empty_like(chunk) for chunk in chunks] for _ in chunks]
    for device, chunk in enumerate(chunks):
        held[device][device][...] = chunk
    _gather_around(network, held)
    return [np.concatenate(row) for row in held]


def all_reduce(network: Network, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Sum the devices' arrays; every device gets the whole sum.

    The two rings in turn, 2 (p - 1) steps: reduce-scatter, then all-gather of the sums.

    Args:
        network: joins the p devices and counts.
        arrays: one array a device, all of one shape and type; they are left as they are.

    Raises:
        ValueError: the arrays are not one a device, or differ in shape or type.

    Example:
        >>> import numpy as np
        >>> network = Network(2)
        >>> all_reduce(network, [np.array([1, 2]), np.array([10, 20])])
        [array([11, 22]), array([11, 22])]
        >>> network.elements, network.calls
        ([2, 2], [Call(name='all_reduce', elements=2)])
    """
    import numpy as np

    _same(network, arrays)
    network.calls.append(Call("all_reduce", arrays[0].size))
    sums = [array.flatten() for array in arrays]
    chunks = [np.array_split(total, network.devices) for total in sums]
    _reduce_around(network, chunks)
    _gather_around(network, chunks)
    return [total.reshape(arrays[0].shape) for total in sums]


def _one_each(network: Network, arrays: Sequence[np.ndarray]) -> None:
    if len(arrays) != network.devices:
        raise ValueError(f"{len(arrays)} arrays: must be one for each of {network.devices} devices")


def _same(network: Network, arrays: Sequence[np.ndarray]) -> None:
    _one_each(network, arrays)
    kinds = {(array.shape, array.dtype.name) for array in arrays}
    if len(kinds) > 1:
        raise ValueError(f"arrays of {sorted(kinds)}: must be of one shape and type")


def _reduce_around(network: Network, chunks: list[list[np.ndarray]]) -> None:
    """``chunks[device][i]``: chunk i starts at device i + 1 and is complete at device i."""
    p = network.devices
    for step in range(p - 1):
        moving = [(device, (device - 1 - step) % p) for device in range(p)]
        arriving = [network.send(r, (r + 1) % p, chunks[r][i]) for r, i in moving]
        for (r, i), chunk in zip(moving, arriving, strict=True):
            chunks[(r + 1) % p][i] += chunk


def _gather_around(network: Network, chunks: list[list[np.ndarray]]) -> None:
    """``chunks[device][i]``: chunk i is complete at device i and overwrites the others."""
    p = network.devices
    for step in range(p - 1):
        moving = [(device, (device - step) % p) for device in range(p)]
        arriving = [network.send(r, (r + 1) % p, chunks[r][i]) for r, i in moving]
        for (r, i), chunk in zip(moving, arriving, strict=True):
            chunks[(r + 1) % p][i][...] = chunk
