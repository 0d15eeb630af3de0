"""All-to-all, and all-reduce over nodes, message by message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .checks import whole
from .network import Call, Network, all_gather, all_reduce, check_alike, reduce_scatter
from .network_clock import Group

if TYPE_CHECKING:
    import numpy as np


def all_to_all(network: Network, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Send chunk i of every device's array to device i, which joins what it gets in order.

    In round s device r sends straight to device r + s: ``p - 1`` rounds.

    Args:
        network: joins the p devices and counts.
        arrays: one a device, of one shape and type; cut along the first axis.

    Raises:
        ValueError: the arrays are not one a device, or differ in shape or type.

    Example:
        >>> import numpy as np
        >>> all_to_all(Network(2), [np.array([1, 2]), np.array([10, 20])])
        [array([ 1, 10]), array([ 2, 20])]
    """
    import numpy as np

    check_alike(network, arrays)
    network.calls.append(Call("all_to_all", arrays[0].size))
    p = network.devices
    chunks = [np.array_split(array.copy(), p) for array in arrays]
    got = [{r: chunks[r][r]} for r in range(p)]
    for s in range(1, p):
        moving = [(r, (r + s) % p) for r in range(p)]
        arriving = network.exchange([(r, to, chunks[r][to]) for r, to in moving])
        for (r, to), chunk in zip(moving, arriving, strict=True):
            got[to][r] = chunk
    return [np.concatenate([row[r] for r in range(p)]) for row in got]


def hierarchical_all_reduce(
    network: Network, arrays: Sequence[np.ndarray], size: int
) -> list[np.ndarray]:
    """Sum the devices' arrays in three rings: in the node, across nodes, in the node.

    Reduce-scatter among the devices of a node; all-reduce of each chunk among the devices
    that hold it, one in each node; all-gather in the node.

    Args:
        network: joins the p devices and counts.
        arrays: one a device, all of one shape and type; they are left as they are.
        size: devices of a node; consecutive devices share one.

    Raises:
        ValueError: size is not a whole number that divides p, or the arrays are not one a
            device, or differ in shape or type.

    Example:
        >>> import numpy as np
        >>> network = Network(4)
        >>> hierarchical_all_reduce(network, [np.array([1, 2])] * 4, size=2)[3]
        array([4, 8])
        >>> network.elements, network.messages
        ([3, 3, 3, 3], [4, 4, 4, 4])
    """
    check_alike(network, arrays)
    nodes = _nodes(network, size)
    network.calls.append(Call("hierarchical_all_reduce", arrays[0].size))
    flat = [array.flatten() for array in arrays]
    shares = list(flat)
    for node in nodes:
        parts = reduce_scatter(Group(network, node), [flat[r] for r in node])
        for r, part in zip(node, parts, strict=True):
            shares[r] = part
    for peers in zip(*nodes, strict=True):
        parts = all_reduce(Group(network, peers), [shares[r] for r in peers])
        for r, part in zip(peers, parts, strict=True):
            shares[r] = part
    sums = [
        x for node in nodes for x in all_gather(Group(network, node), [shares[r] for r in node])
    ]
    return [total.reshape(arrays[0].shape) for total in sums]


def many_ring_all_reduce(
    network: Network, arrays: Sequence[np.ndarray], size: int
) -> list[np.ndarray]:
    """Sum the devices' arrays in as many rings as a node has devices, an equal share in each.

    Every ring passes through all devices of a node before it leaves; ring i leaves by device i.

    Args and errors as :func:`hierarchical_all_reduce`.

    Example:
        >>> import numpy as np
        >>> many_ring_all_reduce(Network(4), [np.array([1, 2])] * 4, size=2)[3]
        array([4, 8])
    """
    import numpy as np

    check_alike(network, arrays)
    nodes = _nodes(network, size)
    network.calls.append(Call("many_ring_all_reduce", arrays[0].size))
    sums = [array.flatten() for array in arrays]
    shares = [np.array_split(total, size) for total in sums]
    for i in range(size):
        order = [r for node in nodes for r in (*node[i + 1 :], *node[: i + 1])]
        totals = all_reduce(Group(network, order), [shares[r][i] for r in order])
        for r, total in zip(order, totals, strict=True):
            shares[r][i][...] = total
    return [total.reshape(arrays[0].shape) for total in sums]


def _nodes(network: Network, size: int) -> list[list[int]]:
    whole(size=size)
    if network.devices % size:
        raise ValueError(f"size = {size!r}: must divide the {network.devices} devices")
    return [list(range(r, r + size)) for r in range(0, network.devices, size)]
