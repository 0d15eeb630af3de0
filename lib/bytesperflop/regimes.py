"""Two other things to hold: the microbatch size, and the memory of a device.

The corollary's interior optimum belongs to T_g and m held. Hold the microbatch's
tokens u and more replicas leave each with fewer microbatches; hold the memory and
the replicas are capped.
"""

from collections.abc import Sequence
from typing import Any

from bytesperflop.checks import positive
from bytesperflop.optimum import Split, water_fill


def bubble_coefficient(u: Any, T_g: Any) -> Any:
    """Cost of a further stage with one replica, k_u = u/T_g, where u is held.

    With p_d replicas there are m = T_g/(p_d·u) microbatches, and the bubble costs
    (p−1)/m = k_u·p_d(p−1).

    Raises:
        ValueError: an argument that is not a finite number above 0.

    Example:
        >>> bubble_coefficient(u=2048, T_g=4_194_304)
        0.00048828125
    """
    positive(u=u, T_g=T_g)
    return u / T_g


def balance_microbatch(b: Any, F: Any, B: Any) -> Any:
    """Microbatch at which a replica and a stage cost the same: u = bF/(3B) tokens.

    Raises:
        ValueError: an argument that is not a finite number above 0.

    Example:
        >>> round(balance_microbatch(b=2, F=4e14, B=5e10))
        5333
    """
    positive(b=b, F=F, B=B)
    return b * F / (3 * B)


def fixed_microbatch_overhead(k_d: Any, k_t: Any, k_u: Any, P: Any, p_d: Any, t: Any) -> Any:
    """Overhead to first order with u held, where p = P/(p_d·t).

    (k_d − k_u)·p_d + k_t·t + k_u·P/t − k_d − k_t: linear in p_d, so that p_d belongs
    at an end of its range and data and pipeline never mix.

    Example:
        >>> fixed_microbatch_overhead(3, 2, 1, 8, 1, 1)
        7.0
    """
    return (k_d - k_u) * p_d + k_t * t + k_u * P / t - k_d - k_t


def fixed_microbatch_fill(
    k_d: Any, k_t: Any, k_u: Any, P: Any, caps: Sequence[Any] = (None, None, None)
) -> Split:
    """The cheapest split with u held, 1 ≤ x_i ≤ cap_i and at least one microbatch.

    Replicas cheaper than stages (k_d ≤ k_u): p_d as large as it may be, t around
    √(k_d·P/k_t). Stages cheaper: p as large as it may be, t around √(k_u·P/k_t).
    The axis that ends at a cap, D for p_d (at most 1/k_u, one microbatch) or S for
    p, shifts t towards √(k_u·P/k_t) or √((k_u + (k_d−k_u)/S)·P/k_t). At k_d = k_u
    every p_d costs the same and this is one optimum of many.

    Raises:
        ValueError: an argument that is not above 0, or caps that leave no split.

    Example:
        >>> fixed_microbatch_fill(k_d=1 / 16, k_t=1, k_u=1 / 4, P=16)
        Split(p_d=4.0, t=2.0, p=2.0)
        >>> fixed_microbatch_fill(k_d=0.5, k_t=1, k_u=0.25, P=16)
        Split(p_d=1, t=2.0, p=8.0)
    """
    positive(k_d=k_d, k_t=k_t, k_u=k_u, P=P)
    D, t_max, S = (P if cap is None else min(cap, P) for cap in caps)
    D = min(D, 1 / k_u)
    if min(D, t_max, S) < 1 or D * t_max * S < P:
        raise ValueError(f"caps = {tuple(caps)!r}, k_u = {k_u!r}: must admit a split of P = {P}")
    if k_d <= k_u:
        edge, beyond, within = P / D, k_d, k_u
    else:
        edge, beyond, within = P / S, k_u, k_u + (k_d - k_u) / S
    t = _clamp(edge, (beyond * P / k_t) ** 0.5, (within * P / k_t) ** 0.5)
    t = _clamp(t, max(1, P / (D * S)), t_max)
    p_d = min(D, P / t) if k_d <= k_u else max(1, P / (t * S))
    return Split(p_d, t, max(1, P / (t * p_d)))


def fewest_model_ways(N: Any, P: Any, memory: Any, kept: Any = 16, sharded: Any = 0) -> Any:
    """The fewest devices t·p that a replica's weights and optimiser state fit on.

    kept·N/(t·p) + sharded·N/P ≤ memory, so t·p ≥ kept·N/(memory − sharded·N/P). Bytes
    per parameter (kept, sharded over the replicas too): (16, 0) without ZeRO, (4, 12),
    (2, 14), (0, 16) for its stages 1, 2, 3. Since t·p = P/p_d, this is a cap on the
    replicas, p_d ≤ P/(t·p).

    Args:
        N: parameters.
        P: devices.
        memory: bytes of one device that are left beside the activations.
        kept: bytes per parameter that every replica keeps.
        sharded: bytes per parameter that the replicas share.

    Raises:
        ValueError: an argument out of range, or a shared part that fills the memory.

    Example:
        >>> fewest_model_ways(N=175e9, P=1024, memory=70e9)
        40.0
        >>> fewest_model_ways(N=175e9, P=1024, memory=70e9, kept=0, sharded=16)
        1
    """
    positive(N=N, P=P, memory=memory)
    room = memory - sharded * N / P
    if room < 0 or (room == 0 and kept > 0):
        raise ValueError(f"memory = {memory!r}: must exceed {sharded * N / P!r}, the shared part")
    return max(1, kept * N / room) if kept else 1


def memory_release(k: Sequence[Any], ways: Any) -> Any:
    """Devices from which memory no longer moves the optimum: ways·max(1, λ/k_d).

    λ is the level at which tensor and pipeline alone fill ``ways`` devices; with
    both in use, P = ways^(3/2)·√(k_t·k_p)/k_d. Below it p_d = P/ways.

    Raises:
        ValueError: a coefficient that is not above 0, or ways below 1.

    Example:
        >>> memory_release((1 / 1024, 1 / 64, 1 / 64), 16)
        1024.0
    """
    k_d, k_t, k_p = k
    positive(k_d=k_d)
    return ways * max(1, water_fill((k_t, k_p), ways).level / k_d)


def _clamp(value: Any, low: Any, high: Any) -> Any:
    return max(low, min(value, high))
