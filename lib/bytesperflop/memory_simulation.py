"""A training step of transformer layers whose kept tensors are real arrays, weighed as they are.

Every operation puts on a tape the arrays that its backward pass will read, and the backward
pass reads nothing else: a tensor left out makes the gradients impossible, not only the count
wrong. Nothing here knows a closed form for bytes. The weights are cut over the devices as in
Megatron's tensor parallelism.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .checks import whole
from .memory_tape import Arrays, Meter, Tape, Value, add, each
from .network import Network

Layer = dict[str, Arrays]


@dataclass
class Model:
    """Layers cut over t devices, and the gradients that a step gives them."""

    layers: list[Layer]
    heads: int
    gradients: list[Layer]
    seed: int = 0


def make_model(L: int, d: int, a: int, t: int = 1, dtype: str = "float16", seed: int = 0) -> Model:
    """L layers of width d, a heads and an MLP of 4d, cut over t devices.

    Raises:
        ValueError: a count that is not whole, a does not divide d, or t does not divide a.

    Example:
        >>> model = make_model(L=2, d=8, a=2)
        >>> sum(w[0].nbytes for layer in model.layers for w in layer.values()) == 2 * 12 * 2 * 64
        True
    """
    whole(L=L, d=d, a=a, t=t)
    if d % a or a % t:
        raise ValueError(f"d = {d}, a = {a}, t = {t}: a must divide d, and t must divide a")
    draw = np.random.default_rng(seed).normal
    shapes = {
        "qkv": (d, 3 * d // t),
        "o": (d // t, d),
        "up": (d, 4 * d // t),
        "down": (4 * d // t, d),
    }
    layers = [
        {
            name: [(draw(size=x) / d**0.5).astype(dtype) for _ in range(t)]
            for name, x in shapes.items()
        }
        for _ in range(L)
    ]
    return Model(layers, a // t, [{} for _ in range(L)], seed)


def run_step(
    model: Model,
    x: np.ndarray,
    upstream: np.ndarray,
    sequence: bool = False,
    recompute: str = "none",
) -> tuple[np.ndarray, np.ndarray, Meter]:
    """Forward and backward through the layers: output, gradient by x, and what was held when.

    Args:
        model: from :func:`make_model`; its gradients are filled in.
        x: activations of one sequence, shape (s, d).
        upstream: gradient of the loss by the output, shape (s, d).
        sequence: cut the tokens where the weights are not.
        recompute: ``"none"``, ``"selective"`` or ``"full"``.

    Example:
        >>> x = np.eye(4, 8, dtype="float16")
        >>> _, _, meter = run_step(make_model(L=3, d=8, a=2), x, x)
        >>> max(sample.activations for sample in meter.history) / 4 / 3 == 34 * 8 + 5 * 2 * 4
        True
    """
    t, meter = len(model.layers[0]["o"]), Meter()
    tape = Tape(Network(t), meter, sequence)
    spread = (lambda y: np.array_split(y, t)) if sequence else (lambda y: [y] * t)
    first = value = tape.value(spread(x))
    for depth in range(len(model.layers)):
        layer = _layer_function(model, depth, recompute == "selective", meter)
        value = _checkpoint(tape, layer, value) if recompute == "full" else layer(tape, value)
    join = np.concatenate if sequence else (lambda parts: parts[0])
    meter.phase = "backward"
    by_input = tape.backward(spread(upstream), first)
    return join(value.arrays), join(by_input), meter


def _layer_function(model: Model, depth: int, selective: bool, meter: Meter) -> Callable:
    weights, gradients = model.layers[depth], model.gradients[depth]

    def learn(name: str, arrays: Arrays) -> None:
        gradients[name] = arrays
        meter.gradients += arrays[0].nbytes

    def draw(place: int) -> np.random.Generator:
        return np.random.default_rng((model.seed, depth, place))

    def core(tape: Tape, qkv: Value) -> Value:
        return _attention(tape, qkv, model.heads, draw(0))

    def layer(tape: Tape, x: Value) -> Value:
        qkv = _enter_product(tape, _norm(tape, x), weights["qkv"], lambda g: learn("qkv", g))
        mixed = _checkpoint(tape, core, qkv) if selective else core(tape, qkv)
        y = _leave_product(tape, mixed, weights["o"], lambda g: learn("o", g))
        x = _sum(tape, x, _dropout(tape, y, draw(1)))
        wide = _enter_product(tape, _norm(tape, x), weights["up"], lambda g: learn("up", g))
        y = _leave_product(tape, _gelu(tape, wide), weights["down"], lambda g: learn("down", g))
        return _sum(tape, x, _dropout(tape, y, draw(2)))

    return layer


def _checkpoint(tape: Tape, function: Callable, x: Value) -> Value:
    """Run a function and keep its input only; run it again when the gradient comes back."""
    trial = Tape(tape.network, Meter(), tape.sequence)
    out = function(trial, trial.value(x.arrays))

    def backward(g: Arrays, xs: Arrays) -> list[Arrays]:
        again = Tape(tape.network, tape.meter, tape.sequence)
        start = again.value(xs)
        function(again, start)
        return [again.backward(g, start)]

    return tape.record(out.arrays, [x], backward, x.arrays)


def _sum(tape: Tape, x: Value, y: Value) -> Value:
    return tape.record(add(x.arrays, y.arrays), [x, y], lambda g: [g, g])


def _normalised(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = ((centred**2).mean(axis=-1, keepdims=True) + 1e-3) ** -0.5
    return centred * scale, scale


def _norm(tape: Tape, x: Value) -> Value:
    def one(g: np.ndarray, x: np.ndarray) -> np.ndarray:
        y, scale = _normalised(x)
        along = (g * y).mean(axis=-1, keepdims=True) * y
        return (g - g.mean(axis=-1, keepdims=True) - along) * scale

    out = [_normalised(array)[0] for array in x.arrays]
    return tape.record(out, [x], lambda g, xs: [each(one, g, xs)], x.arrays)


def _enter_product(tape: Tape, x: Value, w: Arrays, learn: Callable) -> Value:
    """All tokens times a matrix cut by columns; keeps this device's tokens, gathers again."""

    def backward(g: Arrays, xs: Arrays) -> list[Arrays]:
        learn(each(lambda h, g: h.T @ g, tape.enter(xs), g))
        return [tape.leave(each(lambda g, w: g @ w.T, g, w))]

    return tape.record(each(np.matmul, tape.enter(x.arrays), w), [x], backward, x.arrays)


def _leave_product(tape: Tape, x: Value, w: Arrays, learn: Callable) -> Value:
    """Times a matrix cut by rows, summed over the group."""

    def backward(g: Arrays, xs: Arrays) -> list[Arrays]:
        g = tape.enter(g)
        learn(each(lambda x, g: x.T @ g, xs, g))
        return [each(lambda g, w: g @ w.T, g, w)]

    return tape.record(tape.leave(each(np.matmul, x.arrays, w)), [x], backward, x.arrays)


def _dropout(tape: Tape, x: Value, generator: np.random.Generator, own: bool = False) -> Value:
    """Half the elements, doubled; ``own``: each device's elements are others than its peers'."""

    def thin(xs: Arrays, masks: Arrays) -> list[Arrays]:
        return [each(lambda x, mask: 2 * x * mask, xs, masks)]

    if own or tape.sequence:
        masks = [generator.random(array.shape) < 0.5 for array in x.arrays]
    else:
        masks = [generator.random(x.arrays[0].shape) < 0.5] * len(x.arrays)
    return tape.record(thin(x.arrays, masks)[0], [x], thin, masks)


def _gelu(tape: Tape, x: Value) -> Value:
    """GELU as x times a sigmoid of 1.702 x."""

    def gate(x: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-1.702 * x))

    def slope(g: np.ndarray, x: np.ndarray) -> np.ndarray:
        return g * gate(x) * (1 + 1.702 * x * (1 - gate(x)))

    out = [array * gate(array) for array in x.arrays]
    return tape.record(out, [x], lambda g, xs: [each(slope, g, xs)], x.arrays)


def _attention(tape: Tape, qkv: Value, heads: int, generator: np.random.Generator) -> Value:
    """Causal attention of one sequence with dropped-out scores; shape (s, d/t) a device."""
    q, k, v = (_third(tape, qkv, heads, i) for i in range(3))
    shares = _dropout(tape, _softmax(tape, _scores(tape, q, k)), generator, own=True)

    def backward(g: Arrays, shares: Arrays, values: Arrays) -> list[Arrays]:
        g = [array.reshape(len(array), heads, -1).swapaxes(0, 1) for array in g]
        of_shares = each(lambda g, v: g @ v.swapaxes(1, 2), g, values)
        return [of_shares, each(lambda m, g: m.swapaxes(1, 2) @ g, shares, g)]

    mixed = [
        x.swapaxes(0, 1).reshape(x.shape[1], -1) for x in each(np.matmul, shares.arrays, v.arrays)
    ]
    return tape.record(mixed, [shares, v], backward, shares.arrays, v.arrays)


def _third(tape: Tape, qkv: Value, heads: int, i: int) -> Value:
    """Queries, keys or values of each head, shape (heads, s, e)."""

    def backward(g: Arrays) -> list[Arrays]:
        wide = [np.zeros((x.shape[1], 3, *x.shape[::2]), x.dtype) for x in g]
        for x, of_head in zip(wide, g, strict=True):
            x[:, i] = of_head.swapaxes(0, 1)
        return [[x.reshape(len(x), -1) for x in wide]]

    parts = [x.reshape(len(x), 3, heads, -1)[:, i].swapaxes(0, 1) for x in qkv.arrays]
    return tape.record(parts, [qkv], backward)


def _scores(tape: Tape, q: Value, k: Value) -> Value:
    root = q.arrays[0].shape[2] ** 0.5

    def backward(g: Arrays, qs: Arrays, ks: Arrays) -> list[Arrays]:
        of_q = each(lambda g, k: g @ k / root, g, ks)
        return [of_q, each(lambda g, q: g.swapaxes(1, 2) @ q / root, g, qs)]

    out = each(lambda q, k: q @ k.swapaxes(1, 2) / root, q.arrays, k.arrays)
    return tape.record(out, [q, k], backward, q.arrays, k.arrays)


def _softmax(tape: Tape, z: Value) -> Value:
    def shares(z: np.ndarray) -> np.ndarray:
        e = np.exp(z - z.real.max(axis=-1, keepdims=True)) * np.tri(z.shape[1], dtype=z.dtype)
        return e / e.sum(axis=-1, keepdims=True)

    def slope(g: np.ndarray, m: np.ndarray) -> np.ndarray:
        return m * (g - (g * m).sum(axis=-1, keepdims=True))

    out = each(shares, z.arrays)
    return tape.record(out, [z], lambda g, ms: [each(slope, g, ms)], out)
