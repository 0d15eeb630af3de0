r"""Tensor parallelism on real small transformer layers, cut by columns and then by rows.

A layer is a dictionary of weights: ``q`` (d, a, e), ``k`` and ``v`` (d, g, e), ``o``
(a, e, d), ``up`` and, in a gated MLP, ``gate`` (d, d_ff), ``down`` (d_ff, d), with e the
width of a head. On activations x of shape (T, d), one causal sequence, it computes

    y = x + attention(norm(x)),    z = y + mlp(norm(y)),

where norm has no learned parameters. Each of the network's devices holds some heads and
some of the MLP's width: its ``attention`` and ``mlp`` are partial sums. On a network of
one device the layer is whole.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .checks import whole
from .network import Network, all_gather, all_reduce, reduce_scatter
from .transformer_blocks import BLOCKS, norm, norm_backward

Layer = dict[str, np.ndarray]
Arrays = list[np.ndarray]  # one a device

CUT_AXIS = {"q": 1, "k": 1, "v": 1, "o": 0, "up": 1, "gate": 1, "down": 0}


def random_layer(d: int, a: int, g: int, d_ff: int, gated: bool = False, seed: int = 0) -> Layer:
    """A layer of random weights whose heads are ``d/a`` wide.

    Raises:
        ValueError: a does not divide d, or g does not divide a.

    Example:
        >>> sum(weight.size for weight in random_layer(8, a=4, g=4, d_ff=32).values()) == 12 * 8**2
        True
    """
    whole(d=d, a=a, g=g, d_ff=d_ff)
    if d % a or a % g:
        raise ValueError(f"d = {d}, a = {a}, g = {g}: a must divide d, and g must divide a")
    generator = np.random.default_rng(seed)
    e = d // a
    heads = {"q": (d, a, e), "k": (d, g, e), "v": (d, g, e), "o": (a, e, d)}
    mlp = {"up": (d, d_ff), "down": (d_ff, d)} | ({"gate": (d, d_ff)} if gated else {})
    shapes: dict[str, tuple[int, ...]] = {**heads, **mlp}
    return {name: generator.normal(size=shape) / d**0.5 for name, shape in shapes.items()}


def cut(layer: Layer, t: int) -> list[Layer]:
    """Each of t devices' share of a layer: some of the heads and of the MLP's width.

    Raises:
        ValueError: t does not divide the query heads, the key-value heads or the MLP width.

    Example:
        >>> [share["q"].shape for share in cut(random_layer(8, a=4, g=2, d_ff=16), 2)]
        [(8, 2, 2), (8, 2, 2)]
    """
    whole(t=t)
    for name, part in (("q", "query heads"), ("k", "key-value heads"), ("up", "of MLP width")):
        if (size := layer[name].shape[1]) % t:
            raise ValueError(f"t = {t}: must divide the {size} {part}")
    slices = {name: np.split(weight, t, CUT_AXIS[name]) for name, weight in layer.items()}
    return [{name: parts[device] for name, parts in slices.items()} for device in range(t)]


def join(shares: Sequence[Layer]) -> Layer:
    """The whole layer (or its gradient) from the devices' shares: the inverse of :func:`cut`.

    Example:
        >>> layer = random_layer(8, a=4, g=2, d_ff=16)
        >>> all((join(cut(layer, 2))[name] == layer[name]).all() for name in layer)
        True
    """
    names = shares[0]
    return {
        name: np.concatenate([share[name] for share in shares], CUT_AXIS[name]) for name in names
    }


class Step(NamedTuple):
    """A forward and backward pass: all of it whole again, whatever the split."""

    output: np.ndarray
    gradients: list[Layer]
    input_gradient: np.ndarray | None


def step(
    network: Network,
    layers: Sequence[Layer],
    x: np.ndarray,
    output_gradient: np.ndarray,
    *,
    fused: bool = True,
    input_gradient: bool = True,
    recompute: str = "none",
    sequence: bool = False,
    keep_gathered: bool = True,
) -> Step:
    """Forward and backward through a stack of layers, split over the network's devices.

    Args:
        network: joins the t devices and counts what they exchange.
        layers: the whole weights.
        x: activations, shape (T, d).
        output_gradient: gradient of the loss by the output, shape (T, d).
        fused: add up the input gradients of q, k, v (and of up and gate) before they are
            reduced; otherwise reduce each by itself.
        input_gradient: also want the gradient by x. Without it the first layer reduces
            once less, because its norm learns nothing: a learned gain would need its own.
        recompute: ``"none"`` keeps what the backward needs; ``"all"`` runs each layer's
            forward once more instead; ``"needed"`` does so without the last reduction,
            whose result no one uses.
        sequence: between the blocks each device keeps only its share of the tokens
            (sequence parallelism): a reduce-scatter and an all-gather for an all-reduce.
        keep_gathered: keep the gathered tokens for the backward; otherwise gather again.

    Raises:
        ValueError: t does not divide what it cuts, or recompute is none of the three.

    Source: Shoeybi et al., *Megatron-LM* (2019), for the split; Korthikanti et al.,
    *Reducing activation recomputation in large transformer models* (2022), for sequence
    parallelism.

    Example:
        >>> network, x = Network(2), np.arange(24.0).reshape(3, 8) % 7
        >>> done = step(network, [random_layer(8, a=4, g=2, d_ff=16)], x, np.ones((3, 8)))
        >>> network.calls
        [Call(name='all_reduce', elements=24), Call(name='all_reduce', elements=24),
         Call(name='all_reduce', elements=24), Call(name='all_reduce', elements=24)]
    """
    if recompute not in ("none", "all", "needed"):
        raise ValueError(f"recompute = {recompute!r}: must be 'none', 'all' or 'needed'")
    split = _Split(network, fused, sequence, keep_gathered)
    stack = [cut(layer, network.devices) for layer in layers]
    xs = split.spread(x)
    kept: list[tuple[Arrays, list[_Saved]]] = []
    for shares in stack:
        after, saved = split.layer(shares, xs)
        kept.append((xs, saved if recompute == "none" else []))
        xs = after
    gradients = []
    upstream = split.spread(output_gradient)
    for depth in reversed(range(len(stack))):
        inputs, saved = kept[depth]
        if recompute != "none":
            _, saved = split.layer(stack[depth], inputs, reduce_last=recompute == "all")
        wanted = input_gradient or depth > 0
        upstream, by_share = split.layer_backward(stack[depth], saved, upstream, wanted)
        gradients.append(join(by_share))
    by_input = split.whole(upstream) if input_gradient else None
    return Step(split.whole(xs), gradients[::-1], by_input)


class _Saved(NamedTuple):
    """What a block's backward needs, one entry a device."""

    normed: list[tuple[np.ndarray, ...]]
    inputs: Arrays  # empty: gather them again
    inside: list[tuple[np.ndarray, ...]]


@dataclass(frozen=True)
class _Split:
    """How the devices exchange activations around a block; each way is the other's backward."""

    network: Network
    fused: bool
    sequence: bool
    keep_gathered: bool

    def spread(self, x: np.ndarray) -> Arrays:
        t = self.network.devices
        return np.array_split(x, t) if self.sequence else [x] * t

    def whole(self, xs: Arrays) -> np.ndarray:
        return np.concatenate(xs) if self.sequence else xs[0]

    def enter(self, xs: Arrays) -> Arrays:
        return all_gather(self.network, xs) if self.sequence else xs

    def leave(self, partials: Arrays) -> Arrays:
        return (reduce_scatter if self.sequence else all_reduce)(self.network, partials)

    def layer(
        self, shares: list[Layer], xs: Arrays, reduce_last: bool = True
    ) -> tuple[Arrays, list[_Saved]]:
        saved = []
        for block in BLOCKS:
            normed = [norm(x) for x in xs]
            hs = self.enter([h for h, _ in normed])
            partials, inside = _by_device(block.forward, hs, shares)
            saved.append(_Saved(normed, hs if self.keep_gathered else [], inside))
            if reduce_last or block is not BLOCKS[-1]:
                xs = _add(xs, self.leave(partials))
        return xs, saved

    def layer_backward(
        self, shares: list[Layer], saved: list[_Saved], upstream: Arrays, wanted: bool
    ) -> tuple[Arrays, list[Layer]]:
        gradients: list[Layer] = [{} for _ in shares]
        for block, (normed, hs, inside) in zip(BLOCKS[::-1], saved[::-1], strict=True):
            hs = hs or self.enter([h for h, _ in normed])
            outs = self.enter(upstream)
            by_inputs, by_weights = _by_device(block.backward, outs, hs, shares, inside)
            for gradient, by_weight in zip(gradients, by_weights, strict=True):
                gradient |= by_weight
            if wanted or block is not BLOCKS[0]:
                by_norm = map(norm_backward, self.reduced(by_inputs), normed)
                upstream = _add(upstream, by_norm)
        return upstream, gradients

    def reduced(self, by_inputs: list[Arrays]) -> Arrays:
        """Sums over the devices of ``by_inputs[device][projection]``, and over projections."""
        if self.fused:
            return self.leave([_sum(parts) for parts in by_inputs])
        one_by_one = [self.leave(list(parts)) for parts in zip(*by_inputs, strict=True)]
        return [_sum(parts) for parts in zip(*one_by_one, strict=True)]


def _by_device(function: Callable, *arguments: Sequence) -> tuple[list, list]:
    """The two results of a function on each device's arguments, as two lists."""
    first, second = zip(*map(function, *arguments), strict=True)
    return list(first), list(second)


def _add(xs: Arrays, ys: Iterable[np.ndarray]) -> Arrays:
    return [x + y for x, y in zip(xs, ys, strict=True)]


def _sum(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.sum(parts, axis=0)
