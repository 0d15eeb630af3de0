"""What no collective can do without, and the two ways to call its speed a bandwidth."""

from typing import Any

from .checks import positive, whole
from .collectives import ring_all_gather_elements, ring_all_reduce_elements
from .premises import Premise
from .symbols import p


def fewest_transmissions(p: int, complete: int) -> int:
    """Fewest transmissions until so many of p devices know all p values, by trying them all.

    At first each device knows its own value. A transmission adds all that its sender knows to
    what its receiver knows: it is as good as any sum could be.

    Args:
        p: devices; the search has up to ``2**(p*(p - 1))`` states.
        complete: how many must know everything.

    Raises:
        ValueError: not whole numbers of at least 1, or more complete devices than devices.

    Example:
        >>> fewest_transmissions(3, complete=1), fewest_transmissions(3, complete=3)
        (2, 4)
    """
    whole(p=p, complete=complete)
    if complete > p:
        raise ValueError(f"complete = {complete}: must be at most p = {p}")
    everything = 2**p - 1
    states, sent = {tuple(1 << r for r in range(p))}, 0
    while not any(state.count(everything) >= complete for state in states):
        states = {
            (*state[:to], state[to] | state[source], *state[to + 1 :])
            for state in states
            for source in range(p)
            for to in range(p)
        }
        sent += 1
    return sent


def algorithm_bandwidth(n: Any, b: Any, seconds: Any) -> Any:
    r"""Bytes of the array over seconds, $nb/t$, byte/s: it falls as devices are added.

    Raises:
        ValueError: an argument that is not a positive finite number.

    Example:
        >>> algorithm_bandwidth(1000, 4, 2)
        2000.0
    """
    positive(n=n, b=b, seconds=seconds)
    return n * b / seconds


def bus_bandwidth(collective: str, p: Any, n: Any, b: Any, seconds: Any) -> Any:
    r"""Bytes that one device has to send, over seconds, byte/s: comparable with a link's rate.

    The algorithm bandwidth times $2(p-1)/p$ for an all-reduce, $(p-1)/p$ for a reduce-scatter,
    an all-gather or an all-to-all, 1 for a broadcast.

    Args:
        collective: 'all_reduce', 'reduce_scatter', 'all_gather', 'all_to_all' or 'broadcast'.
        p: devices.
        n: elements of the whole array, the gathered one for an all-gather.
        b: bytes per element.
        seconds: what it took.

    Raises:
        ValueError: an unknown collective, or an argument out of range.

    Source: NVIDIA nccl-tests, doc/PERFORMANCE.md.

    Example:
        >>> bus_bandwidth("all_reduce", 8, 1000, 4, 2)
        3500.0
    """
    part = ring_all_gather_elements
    shares = {"reduce_scatter": part, "all_gather": part, "all_to_all": part}
    shares |= {"all_reduce": ring_all_reduce_elements, "broadcast": lambda p, n: n}
    if collective not in shares:
        raise ValueError(f"collective = {collective!r}: must be one of {', '.join(sorted(shares))}")
    whole(p=p)
    return shares[collective](p, algorithm_bandwidth(n, b, seconds))


_FEW = tuple({p: devices} for devices in (1, 2, 3, 4))

FIRST_COMPLETE = Premise(
    "first-complete",
    "$p-1$ transmissions before any device has the sum",
    p - 1,
    "every order of transmissions, tried out",
    lambda p: fewest_transmissions(p, complete=1),
    _FEW,
)
ALL_COMPLETE = Premise(
    "all-complete",
    "$2(p-1)$ transmissions before all devices have it",
    2 * (p - 1),
    "every order of transmissions, tried out",
    lambda p: fewest_transmissions(p, complete=p),
    _FEW,
)
