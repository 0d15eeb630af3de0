r"""What collectives cost in the alpha-beta model, in closed form.

A message of n elements takes $\alpha + nb/B$, and keeps its sender and its receiver busy for
so long; a device sends and receives at once. ``tree_collectives`` and ``node_collectives`` run
the same collectives message by message, and ``network_clock`` times them.
"""

from typing import Any, NamedTuple

import sympy as sp

from .checks import non_negative, positive, whole
from .collectives import (
    ring_all_gather_time,
    ring_all_reduce_elements,
    ring_all_reduce_messages,
    ring_all_reduce_time,
    ring_reduce_scatter_elements,
    ring_reduce_scatter_messages,
    ring_reduce_scatter_time,
    transfer_time,
)


class Cost(NamedTuple):
    """Counts of one collective: what the busiest device sends, and what has to happen in turn.

    Attributes:
        elements: the most that one device sends.
        messages: the most that one device sends.
        path_elements: elements of the messages on the critical path, one after the other.
        path_messages: messages on it.

    Example:
        >>> tree_broadcast(4, 1000).time(b=4, B=1000, alpha=1)
        10.0
    """

    elements: Any
    messages: Any
    path_elements: Any
    path_messages: Any

    def time(self, b: Any, B: Any, alpha: Any) -> Any:
        """Seconds of the critical path: :func:`.collectives.transfer_time` of what is on it."""
        return transfer_time(self.path_elements, self.path_messages, b, B, alpha)


def point_to_point(n: Any) -> Cost:
    r"""One message: $\alpha + nb/B$.

    Raises:
        ValueError: n is negative.

    Example:
        >>> point_to_point(1000).time(b=4, B=1000, alpha=1)
        5.0
    """
    non_negative(n=n)
    return Cost(n, 1, n, 1)


def ring_all_reduce(p: Any, n: Any) -> Cost:
    r"""Ring all-reduce: $2(p-1)\,\alpha + \frac{2(p-1)}p\frac{nb}B$.

    Args:
        p: devices.
        n: elements, a multiple of p. If it is not, the largest chunk goes all the way round,
            and the critical path is that of n rounded up to the next multiple.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> ring_all_reduce(4, 1000).path_elements
        1500.0
    """
    elements, messages = ring_all_reduce_elements(p, n), ring_all_reduce_messages(p)
    return Cost(elements, messages, elements, messages)


def all_to_all(p: Any, n: Any) -> Cost:
    r"""All-to-all by direct messages: $(p-1)\,\alpha + \frac{p-1}p\frac{nb}B$.

    Args and errors as :func:`ring_all_reduce`; a reduce-scatter costs the same.

    Example:
        >>> all_to_all(4, 1000)[:2]
        (750.0, 3)
    """
    elements, messages = ring_reduce_scatter_elements(p, n), ring_reduce_scatter_messages(p)
    return Cost(elements, messages, elements, messages)


def levels(p: Any) -> Any:
    r"""Rounds in which p devices can all hear of one: $\lceil\log_2 p\rceil$.

    Raises:
        ValueError: p is not a whole number of at least 1.

    Example:
        >>> [levels(p) for p in (1, 2, 3, 8, 9)]
        [0, 1, 2, 3, 4]
    """
    whole(p=p)
    if isinstance(p, sp.Basic) and p.free_symbols:
        return sp.ceiling(sp.log(p, 2))
    return (int(p) - 1).bit_length()


def tree_broadcast(p: Any, n: Any) -> Cost:
    r"""Broadcast down a binomial tree: $\lceil\log_2p\rceil\,(\alpha + \frac{nb}B)$.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> tree_broadcast(5, 1000)[:2]
        (3000, 3)
    """
    non_negative(n=n)
    rounds = levels(p)
    return Cost(rounds * n, rounds, rounds * n, rounds)


def pipelined_broadcast(p: Any, n: Any, m: Any) -> Cost:
    r"""Broadcast down a chain, in m chunks: $(p-2+m)\,(\alpha + \frac{nb}{mB})$.

    Args:
        p: devices, at least 2.
        n: elements, a multiple of m (the path is that of n rounded up to one).
        m: chunks.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> pipelined_broadcast(4, 1000, m=10)
        Cost(elements=1000, messages=10, path_elements=1200.0, path_messages=12)
    """
    whole(at_least=2, p=p)
    whole(m=m)
    non_negative(n=n)
    ticks = p - 2 + m
    return Cost(n, m, ticks * n / m, ticks)


def best_chunks(p: Any, n: Any, b: Any, B: Any, alpha: Any) -> Any:
    r"""Chunks at which :func:`pipelined_broadcast` is shortest: $\sqrt{(p-2)\,nb/(\alpha B)}$.

    A real number; the best whole one is beside it.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> best_chunks(18, 10_000, b=4, B=1000, alpha=0.1)
        80.0
    """
    whole(at_least=2, p=p)
    positive(n=n, b=b, B=B, alpha=alpha)
    square = (p - 2) * n * b / (alpha * B)
    return sp.sqrt(square) if isinstance(square, sp.Basic) else square**0.5


def tree_all_reduce(p: Any, n: Any) -> Cost:
    r"""All-reduce up and down a binomial tree: $2\lceil\log_2p\rceil\,(\alpha+\frac{nb}B)$.

    The busiest device sends $n\lceil\log_2p\rceil$: the root going down.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> tree_all_reduce(8, 1000)
        Cost(elements=3000, messages=3, path_elements=6000, path_messages=6)
    """
    down = tree_broadcast(p, n)
    return Cost(down.elements, down.messages, 2 * down.path_elements, 2 * down.path_messages)


def doubling_all_reduce(p: Any, n: Any) -> Cost:
    r"""All-reduce by recursive doubling: $\log_2p\,(\alpha+\frac{nb}B)$.

    If p is no power of two, $\log_2$ of the largest power in it, and 2 rounds more for the
    devices beyond it. A symbol p is taken for a power of two.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> doubling_all_reduce(8, 1000).path_elements, doubling_all_reduce(9, 1000).path_elements
        (3000, 5000)
    """
    non_negative(n=n)
    rounds, folded = _power_of_two(p)
    sent, path = rounds + folded, rounds + 2 * folded
    return Cost(sent * n, sent, path * n, path)


def halving_all_reduce(p: Any, n: Any) -> Cost:
    r"""All-reduce by recursive halving and doubling: $2\log_2p\,\alpha+\frac{2(p-1)}p\frac{nb}B$.

    If p is no power of two, the largest power in it stands for p, and 2 rounds of the whole
    array are added.

    Args:
        p: devices; a symbol is taken for a power of two.
        n: elements, a multiple of that power (else more, up to n rounded up to one).

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> halving_all_reduce(8, 1000)[2:], halving_all_reduce(9, 1000)[2:]
        ((1750.0, 6), (3750.0, 8))
    """
    non_negative(n=n)
    rounds, folded = _power_of_two(p)
    paired = p if isinstance(rounds, sp.Basic) else 2**rounds
    share = ring_all_reduce_elements(paired, n)
    sent, messages = share + folded * n, 2 * rounds + folded
    return Cost(sent, messages, sent + folded * n, messages + folded)


def _power_of_two(p: Any) -> tuple[Any, int]:
    """Rounds of doubling among the largest power of two in p, and whether any are left over."""
    whole(p=p)
    if isinstance(p, sp.Basic) and p.free_symbols:
        return sp.log(p, 2), 0
    rounds = int(p).bit_length() - 1
    return rounds, int(p != 2**rounds)


def ring_crossover(p: Any, b: Any, B: Any, alpha: Any) -> Any:
    r"""Elements above which a ring beats recursive doubling: $\frac{\alpha B}b\,
    \frac{p\,(2(p-1)-\log_2p)}{p\log_2p-2(p-1)}$.

    Args:
        p: devices, a power of two of at least 4 (two devices swap arrays, and a ring never wins).
        b: bytes per element.
        B: one-way send bandwidth, byte/s.
        alpha: latency of one message, s.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> round(ring_crossover(8, b=2, B=50e9, alpha=10e-6))
        2200000
    """
    rounds = _paired_rounds(p)
    positive(b=b, B=B, alpha=alpha)
    return alpha * B / b * p * (2 * (p - 1) - rounds) / (p * rounds - 2 * (p - 1))


def halving_crossover(p: Any, b: Any, B: Any, alpha: Any) -> Any:
    r"""Elements above which halving beats recursive doubling: $\frac{\alpha B}b\,
    \frac{p\log_2p}{p\log_2p-2(p-1)}$.

    Args and errors as :func:`ring_crossover`.

    Example:
        >>> round(halving_crossover(8, b=2, B=50e9, alpha=10e-6))
        600000
    """
    rounds = _paired_rounds(p)
    positive(b=b, B=B, alpha=alpha)
    return alpha * B / b * p * rounds / (p * rounds - 2 * (p - 1))


def _paired_rounds(p: Any) -> Any:
    whole(at_least=4, p=p)
    rounds, folded = _power_of_two(p)
    if folded:
        raise ValueError(f"p = {p!r}: must be a power of two")
    return rounds


def hierarchical_all_reduce_time(
    h: Any, w: Any, n: Any, b: Any, inside: tuple[Any, Any], outside: tuple[Any, Any]
) -> Any:
    r"""Seconds of an all-reduce in the nodes, then across them, then in the nodes.

    $2(w-1)\,\alpha_i + 2(h-1)\,\alpha_o + \left(\frac{2(w-1)}{w\,B_i}
    + \frac{2(h-1)}{h\,w\,B_o}\right)nb$

    Args:
        h: nodes.
        w: devices of a node, each with an adapter of its own.
        n: elements, a multiple of h w.
        b: bytes per element.
        inside, outside: one-way send bandwidth of one device (byte/s) and latency of a
            message (s), in the node and between nodes.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> hierarchical_all_reduce_time(2, 4, 1000, 4, inside=(1000, 1), outside=(100, 1))
        24.0
    """
    whole(h=h, w=w)
    return (
        ring_reduce_scatter_time(w, n, b, *inside)
        + ring_all_reduce_time(h, n / w, b, *outside)
        + ring_all_gather_time(w, n, b, *inside)
    )
