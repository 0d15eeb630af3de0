"""Collectives in few rounds, message by message: trees, recursive doubling, halving.

Each moves real arrays over a :class:`.network.Network` and knows no closed form;
``collective_costs`` says what they cost. Any number of devices will do. Doubling and halving
need a power of two: the devices beyond the largest one in p hand their arrays to a partner
first, and get the sum from it at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .checks import whole
from .network import Call, Network, check_alike

if TYPE_CHECKING:
    import numpy as np


def tree_broadcast(network: Network, array: np.ndarray) -> list[np.ndarray]:
    """Give every device a copy of device 0's array, down a binomial tree.

    Every device that has the array sends it to one that has not: the holders double each round.

    Example:
        >>> import numpy as np
        >>> network = Network(4)
        >>> tree_broadcast(network, np.array([5]))
        [array([5]), array([5]), array([5]), array([5])]
        >>> network.elements
        [2, 1, 0, 0]
    """
    network.calls.append(Call("tree_broadcast", array.size))
    held = [array.copy()]
    while len(held) < network.devices:
        have = len(held)
        pairs = range(min(have, network.devices - have))
        held += network.exchange([(r, have + r, held[r]) for r in pairs])
    return held


def pipelined_broadcast(network: Network, array: np.ndarray, m: int) -> list[np.ndarray]:
    """Give every device a copy of device 0's array, in m chunks down a chain.

    A device passes chunk i on while it receives chunk i + 1.

    Args:
        network: joins the p devices and counts.
        array: device 0's; cut along its first axis as evenly as whole rows allow.
        m: chunks.

    Raises:
        ValueError: m is not a whole number of at least 1.

    Example:
        >>> import numpy as np
        >>> network = Network(3)
        >>> pipelined_broadcast(network, np.array([5, 6]), m=2)[2]
        array([5, 6])
        >>> network.elements, network.messages
        ([2, 2, 0], [2, 2, 0])
    """
    import numpy as np

    whole(m=m)
    network.calls.append(Call("pipelined_broadcast", array.size))
    held = [np.array_split(array.copy(), m), *([] for _ in range(network.devices - 1))]
    for tick in range(m + network.devices - 2):
        moving = [r for r in range(network.devices - 1) if 0 <= tick - r < m]
        arriving = network.exchange([(r, r + 1, held[r][tick - r]) for r in moving])
        for r, chunk in zip(moving, arriving, strict=True):
            held[r + 1].append(chunk)
    return [np.concatenate(chunks) for chunks in held]


def tree_all_reduce(network: Network, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Sum the devices' arrays up a binomial tree to device 0, and send the sum back down.

    Args:
        network: joins the p devices and counts.
        arrays: one a device, all of one shape and type; they are left as they are.

    Raises:
        ValueError: the arrays are not one a device, or differ in shape or type.

    Example:
        >>> import numpy as np
        >>> tree_all_reduce(Network(3), [np.array([1]), np.array([10]), np.array([100])])
        [array([111]), array([111]), array([111])]
    """
    check_alike(network, arrays)
    network.calls.append(Call("tree_all_reduce", arrays[0].size))
    sums = [array.copy() for array in arrays]
    have = 1 << (network.devices - 1).bit_length()
    while have > 1:
        have //= 2
        pairs = range(min(have, network.devices - have))
        arriving = network.exchange([(have + r, r, sums[have + r]) for r in pairs])
        for r, array in zip(pairs, arriving, strict=True):
            sums[r] += array
    return tree_broadcast(network, sums[0])


def doubling_all_reduce(network: Network, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Sum the devices' arrays by recursive doubling: pairs swap whole arrays.

    Args and errors as :func:`tree_all_reduce`.

    Source: Thakur, Rabenseifner and Gropp, *Optimization of collective communication
    operations in MPICH*, Int. J. High Perform. Comput. Appl. 19 (2005).

    Example:
        >>> import numpy as np
        >>> network = Network(4)
        >>> doubling_all_reduce(network, [np.array([10**r]) for r in range(4)])[3]
        array([1111])
        >>> network.elements, network.messages
        ([2, 2, 2, 2], [2, 2, 2, 2])
    """
    check_alike(network, arrays)
    network.calls.append(Call("doubling_all_reduce", arrays[0].size))
    sums = [array.copy() for array in arrays]
    paired = _fold(network, sums)
    distance = 1
    while distance < paired:
        swapped = network.exchange([(r, r ^ distance, sums[r]) for r in range(paired)])
        for r in range(paired):
            sums[r] += swapped[r ^ distance]
        distance *= 2
    return _unfold(network, sums, paired)


def halving_all_reduce(network: Network, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Sum the devices' arrays by recursive halving, then doubling.

    Pairs split what both hold and swap halves, so that each has half as much to go on with;
    then the same pairs, in the opposite order, give each other what the other lacks.

    Args and errors as :func:`tree_all_reduce`; source as :func:`doubling_all_reduce`.

    Example:
        >>> import numpy as np
        >>> network = Network(4)
        >>> halving_all_reduce(network, [np.arange(4) for _ in range(4)])[1]
        array([ 0,  4,  8, 12])
        >>> network.elements, network.messages
        ([6, 6, 6, 6], [4, 4, 4, 4])
    """
    check_alike(network, arrays)
    network.calls.append(Call("halving_all_reduce", arrays[0].size))
    sums = [array.flatten() for array in arrays]
    paired = _fold(network, sums)
    held = [slice(0, arrays[0].size)] * paired
    rounds, distance = [], 1
    while distance < paired:
        halves = [_halves(held[r], bool(r & distance)) for r in range(paired)]
        sent = network.exchange(
            [(r, r ^ distance, sums[r][other]) for r, (_, other) in enumerate(halves)]
        )
        for r, (kept, _) in enumerate(halves):
            sums[r][kept] += sent[r ^ distance]
        held = [kept for kept, _ in halves]
        rounds.append((distance, halves))
        distance *= 2
    for distance, halves in reversed(rounds):
        sent = network.exchange(
            [(r, r ^ distance, sums[r][kept]) for r, (kept, _) in enumerate(halves)]
        )
        for r, (_, other) in enumerate(halves):
            sums[r][other] = sent[r ^ distance]
    return [total.reshape(arrays[0].shape) for total in _unfold(network, sums, paired)]


def _halves(held: slice, upper: bool) -> tuple[slice, slice]:
    """The half that a device keeps and the one that it gives away; the lower is the larger."""
    middle = held.start + -(-(held.stop - held.start) // 2)
    low, high = slice(held.start, middle), slice(middle, held.stop)
    return (high, low) if upper else (low, high)


def _fold(network: Network, sums: list[np.ndarray]) -> int:
    """Leave the sum to the largest power of two of devices, and say how many they are."""
    paired = 1 << (network.devices.bit_length() - 1)
    extra = range(network.devices - paired)
    arriving = network.exchange([(paired + r, r, sums[paired + r]) for r in extra])
    for r, array in zip(extra, arriving, strict=True):
        sums[r] += array
    return paired


def _unfold(network: Network, sums: list[np.ndarray], paired: int) -> list[np.ndarray]:
    """Hand the sum to the devices that were folded away."""
    extra = range(network.devices - paired)
    return sums[:paired] + network.exchange([(r, paired + r, sums[r]) for r in extra])
