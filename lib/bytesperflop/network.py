"""Collectives run chunk by chunk on virtual devices, over a wire that counts.

Real arrays move between the devices through :class:`Network`, which counts whatever it
carries and knows no closed form: a message left out changes the count and the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .checks import whole

if TYPE_CHECKING:
    import numpy as np


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

    def exchange(self, messages: Sequence[tuple[int, int, np.ndarray]]) -> list[np.ndarray]:
        """Carry messages (source, destination, chunk) that leave together; what arrives, in order.

        Raises:
            ValueError: a device sends two of them, or receives two.

        Example:
            >>> import numpy as np
            >>> Network(2).exchange([(0, 1, np.array([3])), (1, 0, np.array([4]))])
            [array([3]), array([4])]
        """
        for way, ends in zip(
            ("sends", "receives"), [*zip(*messages, strict=True)][:2], strict=False
        ):
            if len(set(ends)) < len(ends):
                raise ValueError(f"a device {way} twice in one exchange: must be at most once")
        return [self.send(*message) for message in messages]


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

    check_alike(network, arrays)
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

    check_one_each(network, chunks)
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

    check_alike(network, arrays)
    network.calls.append(Call("all_reduce", arrays[0].size))
    sums = [array.flatten() for array in arrays]
    chunks = [np.array_split(total, network.devices) for total in sums]
    _reduce_around(network, chunks)
    _gather_around(network, chunks)
    return [total.reshape(arrays[0].shape) for total in sums]


def check_one_each(network: Network, arrays: Sequence[np.ndarray]) -> None:
    """Refuse arrays that are not one for each device.

    Raises:
        ValueError: as said.

    Example:
        >>> check_one_each(Network(1), [])
        Traceback (most recent call last):
        ValueError: 0 arrays: must be one for each of 1 devices
    """
    if len(arrays) != network.devices:
        raise ValueError(f"{len(arrays)} arrays: must be one for each of {network.devices} devices")


def check_alike(network: Network, arrays: Sequence[np.ndarray]) -> None:
    """Refuse arrays that are not one for each device, all of one shape and type.

    Raises:
        ValueError: as said.

    Example:
        >>> import numpy as np
        >>> check_alike(Network(1), [np.ones(3)])
    """
    check_one_each(network, arrays)
    kinds = {(array.shape, array.dtype.name) for array in arrays}
    if len(kinds) > 1:
        raise ValueError(f"arrays of {sorted(kinds)}: must be of one shape and type")


def _reduce_around(network: Network, chunks: list[list[np.ndarray]]) -> None:
    """``chunks[device][i]``: chunk i starts at device i + 1 and is complete at device i."""
    p = network.devices
    for step in range(p - 1):
        moving = [(device, (device - 1 - step) % p) for device in range(p)]
        arriving = network.exchange([(r, (r + 1) % p, chunks[r][i]) for r, i in moving])
        for (r, i), chunk in zip(moving, arriving, strict=True):
            chunks[(r + 1) % p][i] += chunk


def _gather_around(network: Network, chunks: list[list[np.ndarray]]) -> None:
    """``chunks[device][i]``: chunk i is complete at device i and overwrites the others."""
    p = network.devices
    for step in range(p - 1):
        moving = [(device, (device - step) % p) for device in range(p)]
        arriving = network.exchange([(r, (r + 1) % p, chunks[r][i]) for r, i in moving])
        for (r, i), chunk in zip(moving, arriving, strict=True):
            chunks[(r + 1) % p][i][...] = chunk
