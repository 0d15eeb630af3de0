"""The book's ratios: seconds of communication (or idleness) per second of useful compute.

Every function is pure and takes numbers or symbols. The *page's* forms are the
propositions as they are stated; the *exact* forms are what a ring and a clock would show.
"""

import sympy as sp

from .checks import non_negative, not_above, positive, whole


def data_parallel(b, F, B, T):
    r"""Gradient synchronisation over compute, many replicas, no latency.

    $\frac{2Nb/B}{6NT/F} = \frac{bF}{3BT}$

    Args:
        b: bytes per gradient element.
        F: achievable FLOP rate of one device, 1/s.
        B: achievable one-way send bandwidth of one device, byte/s.
        T: tokens that a replica processes per optimiser step.

    Raises:
        ValueError: an argument that is not a positive finite number.

    Example:
        >>> round(data_parallel(b=2, F=400e12, B=50e9, T=8192), 3)
        0.651
    """
    positive(b=b, F=F, B=B, T=T)
    return b * F / (3 * B * T)


def data_parallel_exact(b, F, B, T, N, p_d, alpha=0):
    r"""Gradient synchronisation over compute by a ring of ``p_d`` replicas, with latency.

    $\frac{p_d-1}{p_d}\frac{bF}{3BT} + \frac{(p_d-1)\alpha F}{3NT}$

    Args:
        b, F, B, T: as in :func:`data_parallel`.
        N: parameters that are synchronised (of one device: with t and p, N/(tp)).
        p_d: replicas in the ring.
        alpha: latency of one message, s.

    Raises:
        ValueError: an argument that is not positive, or ``p_d`` not a whole number.

    Example:
        >>> data_parallel_exact(b=2, F=400e12, B=50e9, T=8192, N=1e9, p_d=1)
        0.0
    """
    positive(N=N)
    non_negative(alpha=alpha)
    whole(p_d=p_d)
    return (p_d - 1) * data_parallel(b, F, B, T) / p_d + (p_d - 1) * alpha * F / (3 * N * T)


def latency_balance(p_d, alpha, B, b):
    r"""The size N* at which a ring's latency costs as much as its bytes.

    $N^* = p_d\,\alpha B/b$, a count of parameters.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> round(latency_balance(p_d=1024, alpha=10e-6, B=50e9, b=2))
        256000000
    """
    positive(alpha=alpha, B=B, b=b)
    whole(p_d=p_d)
    return p_d * alpha * B / b


def tokens_to_hide(b, F, B, p_d, alpha=0, N=1):
    r"""Tokens of one backward pass that hide the synchronisation behind it.

    $T \ge (p_d-1)\frac F2\left(\frac{b}{p_dB}+\frac{\alpha}{N}\right)$, which tends to
    $bF/(2B)$ for many replicas and no latency.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> round(tokens_to_hide(b=2, F=400e12, B=50e9, p_d=2))
        4000
    """
    positive(b=b, F=F, B=B, N=N)
    non_negative(alpha=alpha)
    whole(p_d=p_d)
    return (p_d - 1) * F * (b / (p_d * B) + alpha / N) / 2


def tensor_parallel(b, F, B, d):
    r"""Activation exchange over the whole layer's compute at one device's rate.

    $\frac{4L\cdot 2Tdb/B}{6\cdot 12Ld^2T/F} = \frac{bF}{9dB}$

    Args:
        b: bytes per activation element.
        F: achievable FLOP rate of one device, 1/s.
        B: achievable one-way send bandwidth on the tensor axis, byte/s.
        d: width of the model.

    Raises:
        ValueError: an argument that is not a positive finite number.

    Example:
        >>> round(tensor_parallel(b=2, F=400e12, B=450e9, d=12288), 4)
        0.0161
    """
    positive(b=b, F=F, B=B, d=d)
    return b * F / (9 * d * B)


def tensor_parallel_exact(b, F, B, d, t, u=1, alpha=0):
    r"""Activation exchange over compute as a clock sees it: each device does 1/t of the layer.

    $(t-1)\frac{bF}{9dB} + \frac{t(t-1)\alpha F}{9d^2u}$

    Args:
        b, F, B, d: as in :func:`tensor_parallel`.
        t: devices that share a layer.
        u: tokens in flight (they matter only through the latency).
        alpha: latency of one message, s.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> tensor_parallel_exact(2, 400e12, 450e9, 12288, t=2) == tensor_parallel(
        ...     2, 400e12, 450e9, 12288)
        True
    """
    whole(t=t)
    positive(u=u)
    non_negative(alpha=alpha)
    return (t - 1) * tensor_parallel(b, F, B, d) + t * (t - 1) * alpha * F / (9 * d**2 * u)


def tensor_parallel_counted(b, F, B, d, t, all_reduces, flops):
    r"""Activation exchange over compute, for any count of all-reduces and of FLOPs.

    $\frac{r\,(t-1)}{6w}\,\frac{bF}{dB}$, from $r$ all-reduces of $Td$ elements a layer against
    $w\cdot 12d^2$ FLOPs a token, $1/t$ of them on each device

    Over $(t-1)bF/(dB)$ that is 1/9 forward and backward (r = 4, w = 6), 1/6 forward only (2, 2),
    1/6 with three reductions for Q, K, V (6, 6), and recomputed 1/8 by hardware FLOP (6, 8) or
    1/6 by useful FLOP (6, 6).

    Args:
        b, F, B, d, t: as in :func:`tensor_parallel_exact`.
        all_reduces: r, a layer; a reduce-scatter or an all-gather counts one half.
        flops: w, FLOPs per parameter and token.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> from bytesperflop.symbols import B, F, b, d, t
        >>> tensor_parallel_counted(b, F, B, d, t, all_reduces=2, flops=2)
        b*F*(t - 1)/(6*B*d)
    """
    whole(t=t)
    positive(b=b, F=F, B=B, d=d, all_reduces=all_reduces, flops=flops)
    return (t - 1) * (all_reduces * b * F / (6 * flops * d * B))


def tensor_layer_time(b, F, B, d, t):
    r"""Time of a layer on t devices over its time on one: Amdahl's law.

    $\frac{1-k}{t} + k$ with $k = \frac{bF}{9dB}$: what :func:`tensor_parallel` returns is
    the share of the time that no number of devices takes away.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> tensor_layer_time(2, 400e12, 450e9, 12288, t=1)
        1.0
    """
    return (1 + tensor_parallel_exact(b, F, B, d, t)) / t


def tensor_latency_balance(t, alpha, B, b, d):
    r"""Tokens in flight at which an all-reduce's latency costs as much as its bytes.

    $u^* = \frac{t\,\alpha B}{b\,d}$

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> round(tensor_latency_balance(t=8, alpha=3.4e-6, B=450e9, b=2, d=12288))
        498
    """
    positive(alpha=alpha, B=B, b=b, d=d)
    whole(t=t)
    return t * alpha * B / (b * d)


def bandwidth_across_nodes(inside, outside, n):
    r"""One device's bandwidth in ring collectives over whole nodes of n devices.

    $\min\left(\frac{n}{n-1} B_\text{inside},\; n B_\text{outside}\right)$: with one ring for each
    of a node's n adapters, every device sends $1/n$ of its volume through its own adapter.

    Args:
        inside: achievable one-way send bandwidth of one device in the node, byte/s.
        outside: that of its adapter to the network, byte/s.
        n: devices of a node, each with an adapter of its own.

    Raises:
        ValueError: an argument out of range.

    Example:
        >>> bandwidth_across_nodes(inside=450e9, outside=50e9, n=8) / 1e9
        400.0
    """
    positive(inside=inside, outside=outside)
    whole(at_least=2, n=n)
    ways = n * inside / (n - 1), n * outside
    return sp.Min(*ways) if any(isinstance(way, sp.Basic) for way in ways) else min(ways)


def compute_bound_dimension(b, F, B):
    r"""What a device's own share of some dimension must exceed to be bound by compute.

    $\frac{bF}{2B}$. For an MLP's forward pass the dimension is $d_{ff}/t$: an all-reduce of
    $2Tdb$ bytes against $4Td\,d_{ff}/t$ FLOPs. For a backward pass that hides a gradient
    all-reduce it is $T$.

    Raises:
        ValueError: an argument that is not a positive finite number.

    Example:
        >>> round(compute_bound_dimension(b=2, F=400e12, B=450e9))
        889
    """
    positive(b=b, F=F, B=B)
    return b * F / (2 * B)


def bubble_overhead(p, m):
    r"""Idle time over ideal time of a pipeline.

    $(p-1)/m$

    Raises:
        ValueError: ``p`` or ``m`` is not a whole number of at least 1.

    Example:
        >>> bubble_overhead(p=4, m=8)
        0.375
    """
    whole(p=p, m=m)
    return (p - 1) / m


def bubble_fraction(p, m):
    r"""Idle time over total time of a pipeline.

    $(p-1)/(m+p-1)$

    Raises:
        ValueError: ``p`` or ``m`` is not a whole number of at least 1.

    Example:
        >>> from fractions import Fraction
        >>> Fraction(bubble_fraction(p=4, m=8)).limit_denominator(100)
        Fraction(3, 11)
    """
    whole(p=p, m=m)
    return (p - 1) / (m + p - 1)


def boundary_traffic(b, F, B, L, d, p):
    r"""An interior stage's boundary traffic over its compute: why a pipeline's bytes are ignored.

    $\frac{p\,bF}{36LdB}$: 2Td elements sent (activations forward, gradients back) against
    $72(L/p)d^2T$ FLOPs.

    Raises:
        ValueError: an argument out of range, or more stages than layers.

    Example:
        >>> round(boundary_traffic(2, 400e12, 50e9, L=96, d=12288, p=8), 4)
        0.003
    """
    positive(b=b, F=F, B=B, d=d)
    whole(L=L, p=p)
    not_above(p=p, L=L)
    return p * b * F / (36 * L * d * B)
