"""Bytes that training holds on a device: the parameters' state, and what a backward pass needs.

Mixed precision: 2-byte weights and activations, Adam in fp32. Everything is a closed form,
numbers or symbols in and the same out; `bytesperflop.memory_simulation` and
`bytesperflop.zero` count again without them.
"""

from typing import Any, NamedTuple

import sympy as sp

from .checks import not_above, positive, whole

STATE = {
    "weights": 2,
    "gradients": 2,
    "fp32 weights": 4,
    "first moment": 4,
    "second moment": 4,
}
OPTIMISER = ("fp32 weights", "first moment", "second moment")
SHARDED: tuple[tuple[str, ...], ...] = (
    (),
    OPTIMISER,
    ("gradients", *OPTIMISER),
    ("weights", "gradients", *OPTIMISER),
)
RECOMPUTE = ("none", "selective", "full")


class Kept(NamedTuple):
    """One kind of tensor that a layer keeps: bytes a token, and whether a tensor group cuts it."""

    bytes: Any
    cut: bool


def state_items(stage: int = 0, p_d: Any = 1, gradient: Any = 2) -> dict[str, Any]:
    r"""Bytes a parameter on one device, itemised; ZeRO's stage s shares some of the items.

    Stage 1 divides the optimiser's 12 bytes by ``p_d``, stage 2 the gradients' too, stage 3
    the weights' too: $16$, $4+12/p_d$, $2+14/p_d$, $16/p_d$ in all.

    Args:
        stage: 0 (nothing shared) to 3.
        p_d: replicas.
        gradient: bytes of one gradient element: 2, or 4 where it is summed in fp32.

    Raises:
        ValueError: a stage that is not 0 to 3, replicas that are not a whole number of at
            least 1, a gradient of no bytes.

    Source: Rajbhandari et al. 2020, arXiv:1910.02054, section 5.

    Example:
        >>> state_items()
        {'weights': 2, 'gradients': 2, 'fp32 weights': 4, 'first moment': 4, 'second moment': 4}
        >>> state_items(stage=2, p_d=4)["gradients"]
        1/2
    """
    if stage not in range(len(SHARDED)):
        raise ValueError(f"stage = {stage!r}: must be 0, 1, 2 or 3")
    whole(p_d=p_d)
    positive(gradient=gradient)
    items = STATE | {"gradients": gradient}
    shared = SHARDED[stage]
    return {
        name: sp.sympify(size) / p_d if name in shared else size for name, size in items.items()
    }


def state_bytes(N: Any, stage: int = 0, p_d: Any = 1, gradient: Any = 2) -> Any:
    """Bytes of weights, gradients and optimiser that one of ``p_d`` replicas holds: 16N and less.

    ``N`` counts the parameters of one device's share of the model (N/(tp) where it is cut).

    Raises:
        ValueError: as :func:`state_items`, or an ``N`` that is not above 0.

    Example:
        >>> from bytesperflop.symbols import N, p_d
        >>> [sp.expand(state_bytes(N, stage, p_d) / N) for stage in range(4)]
        [16, 4 + 12/p_d, 2 + 14/p_d, 16/p_d]
    """
    positive(N=N)
    return N * sum(state_items(stage, p_d, gradient).values())


def activation_items(s: Any, d: Any, a: Any) -> dict[str, Kept]:
    """What one layer keeps for its backward pass, bytes a token; in all 34d + 5as.

    Two bytes an element, one for each element of a dropout mask; an MLP of width 4d with
    GELU, as many key-value as query heads, no fused attention. The dropped-out scores are
    kept beside the scores.

    Raises:
        ValueError: a count that is not whole and positive.

    Source: Korthikanti et al. 2022, arXiv:2205.05198, section 4.1.

    Example:
        >>> from bytesperflop.symbols import a, d, s
        >>> sum(item.bytes for item in activation_items(s, d, a).values())
        34*d + 5*s*a
    """
    whole(s=s, d=d, a=a)
    return {
        "norm inputs": Kept(4 * d, False),
        "input of Q, K, V": Kept(2 * d, False),
        "queries and keys": Kept(4 * d, True),
        "softmax output": Kept(2 * a * s, True),
        "its dropout mask": Kept(a * s, True),
        "softmax after dropout": Kept(2 * a * s, True),
        "values": Kept(2 * d, True),
        "input of output projection": Kept(2 * d, True),
        "input of MLP": Kept(2 * d, False),
        "input of GELU": Kept(8 * d, True),
        "output of GELU": Kept(8 * d, True),
        "dropout masks of both blocks": Kept(2 * d, False),
    }


SCORES = ("softmax output", "its dropout mask", "softmax after dropout")


def activation_bytes(
    s: Any, d: Any, a: Any, t: Any = 1, sequence: bool = False, recompute: str = "none"
) -> Any:
    r"""Bytes that one device keeps of one layer's activations, a token.

    On one device $34d + 5as$, or $34d$ with selective recomputation; tensor parallel
    $(10 + 24/t)d + 5as/t$, or $(10 + 24/t)d$; with sequence parallelism too
    $(34d + 5as)/t$, or $34d/t$.

    Full recomputation keeps the layer's input, $2d$ (or $2d/t$ with sequence parallelism).

    Args:
        s, d, a: sequence length, width, query heads.
        t: tensor degree.
        sequence: whether the tokens are cut where the weights are not.
        recompute: ``"none"``, ``"selective"`` (scores only) or ``"full"``.

    Raises:
        ValueError: a count that is not whole and positive, or a recompute that is none of
            the three.

    Source: Korthikanti et al. 2022, arXiv:2205.05198, Table 2.

    Example:
        >>> activation_bytes(s=512, d=1024, a=16) == 34 * 1024 + 5 * 16 * 512
        True
        >>> from bytesperflop.symbols import a, d, s, t
        >>> activation_bytes(s, d, a, t, sequence=True, recompute="selective")
        34*d/t
    """
    whole(t=t)
    if recompute not in RECOMPUTE:
        raise ValueError(f"recompute = {recompute!r}: must be one of {', '.join(RECOMPUTE)}")
    items = activation_items(s, d, a)
    if recompute == "full":
        items = {"input of the layer": Kept(2 * d, False)}
    if recompute == "selective":
        items = {name: item for name, item in items.items() if name not in SCORES}
    cut = sum(item.bytes for item in items.values() if item.cut or sequence)
    whole_ones = sum(item.bytes for item in items.values() if not (item.cut or sequence))
    return whole_ones + cut / t


def layers_in_flight(L: Any, p: Any = 1, v: Any = 1) -> Any:
    r"""Layers' worth of one microbatch that the first stage of a 1F1B pipeline keeps.

    $L$: p microbatches of L/p layers. Interleaved, v ≥ 2 chunks a stage and more
    microbatches than stages, $L\left(1+\frac{p-1}{pv}\right)$.

    Raises:
        ValueError: a count that is not whole and positive, or more chunks than layers.

    Source: Korthikanti et al. 2022, arXiv:2205.05198, section 4.2.3.

    Example:
        >>> layers_in_flight(96, p=8), layers_in_flight(96, p=8, v=3)
        (96, 124)
    """
    whole(L=L, p=p, v=v)
    not_above(**{"v p": v * p, "L": L})
    return L if v == 1 else L + sp.sympify(L * (p - 1)) / (p * v)
