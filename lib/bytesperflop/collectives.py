"""What ring collectives cost in closed form: elements and messages a device, and seconds.

``network`` runs the same collectives chunk by chunk and counts them.
"""

from typing import Any

from .checks import non_negative, positive, whole


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
