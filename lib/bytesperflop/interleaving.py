"""Interleaved 1F1B: every device owns several chunks of the model, dealt out in turn."""

from .checks import whole
from .operations import Operation, Order


def round_robin(p: int, v: int) -> list[int]:
    """The device of each of the ``pv`` chunks, dealt out like cards.

    Raises:
        ValueError: p or v is not a whole number of at least 1.

    Example:
        >>> round_robin(p=3, v=2)
        [0, 1, 2, 0, 1, 2]
    """
    whole(p=p, v=v)
    return [chunk % p for chunk in range(p * v)]


def chunks_of(L: int, p: int, v: int) -> int:
    """Layers of one chunk when ``L`` layers are cut into ``pv`` equal chunks.

    $L/(pv)$

    Raises:
        ValueError: an argument is not a whole number of at least 1, p does not divide L, or
            v does not divide the layers of a stage.

    Example:
        >>> chunks_of(L=96, p=8, v=4)
        3
    """
    whole(L=L, p=p, v=v)
    if L % p:
        raise ValueError(f"p = {p}: must divide the layers, L = {L}")
    if (L // p) % v:
        raise ValueError(f"v = {v}: must divide the layers of a stage, L/p = {L // p}")
    return L // (p * v)


def interleaved(p: int, m: int, v: int = 2) -> list[Order]:
    """Microbatches go through a device's chunks in groups of p, one forward, one backward.

    Device r starts with $2(p-r-1)+(v-1)p$ forwards of a chunk, or all ``vm`` if those are
    fewer; from then on a forward and a backward in turn. Forwards take p microbatches through
    its first chunk, the same p through its second, and so on; backwards go from the last
    chunk to the first. Stages in the operations are chunks, from 0 to ``pv - 1``.

    Args:
        p: devices, a count.
        m: microbatches, a multiple of p.
        v: chunks a device, a count.

    Raises:
        ValueError: p, m or v is not a whole number of at least 1, or p does not divide m.

    Source: Narayanan et al., *Efficient large-scale language model training on GPU clusters
    using Megatron-LM* (2021), section 2.2.

    Example:
        >>> [f"{kind}{j} on {chunk}" for kind, chunk, j in interleaved(p=2, m=2, v=2)[1]]
        ... # doctest: +NORMALIZE_WHITESPACE
        ['F0 on 1', 'F1 on 1', 'F0 on 3', 'B0 on 3', 'F1 on 3', 'B1 on 3', 'B0 on 1', 'B1 on 1']
    """
    whole(p=p, m=m, v=v)
    if m % p:
        raise ValueError(f"m = {m}: interleaving needs a multiple of p = {p}")
    turns = [(chunk, group + j) for group in range(0, m, p) for chunk in range(v) for j in range(p)]
    orders: list[Order] = []
    for device in range(p):
        forwards = [Operation("F", chunk * p + device, j) for chunk, j in turns]
        backwards = [Operation("B", (v - 1 - chunk) * p + device, j) for chunk, j in turns]
        ahead = min(v * m, 2 * (p - device - 1) + (v - 1) * p)
        order = forwards[:ahead]
        for backward, forward in zip(backwards, forwards[ahead:], strict=False):
            order += [forward, backward]
        orders.append(order + backwards[v * m - ahead :])
    return orders
