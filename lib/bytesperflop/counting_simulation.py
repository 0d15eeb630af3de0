"""One training step of a small transformer in NumPy, each multiplication counted as it happens.

Forward, loss and backward are real arithmetic, so a product left out changes the gradients
as well as the count. Nothing here knows a closed form for FLOPs or parameters: both are read
off the arrays. Norms and biases are left out; they multiply no arrays.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from bytesperflop.checks import whole


@dataclass
class Tally:
    """Multiplies arrays, and keeps 2·(elements of the product)·(length contracted) each time."""

    phase: str = "forward"
    flops: Counter = field(default_factory=Counter)

    def matmul(self, x, y, part: str):
        """The product x @ y, its FLOPs added under (phase, part)."""
        product = x @ y
        self.flops[self.phase, part] += 2 * product.size * x.shape[-1]
        return product

    def total(self, phase: str | None = None, part: str | None = None) -> int:
        """FLOPs counted so far, of one phase and one part where named."""
        return sum(
            count
            for (its_phase, its_part), count in self.flops.items()
            if phase in (None, its_phase) and part in (None, its_part)
        )


@dataclass(frozen=True)
class Step:
    """What one training step gave: loss, gradient of every array, tally of FLOPs."""

    loss: Any
    gradients: dict[str, Any]
    tally: Tally


def make_weights(d, a=1, g=None, d_ff=None, gated=False, layers=1, V=8, tied=False, seed=0):
    """Random weight arrays by name; their sizes are the model's parameters.

    Raises:
        ValueError: a count is not whole, ``a`` does not divide ``d`` or ``g`` not ``a``.

    Example:
        >>> sum(w.size for name, w in make_weights(d=8).items() if name.startswith("0."))
        768
    """
    import numpy as np

    g, d_ff = g or a, d_ff or 4 * d
    whole(d=d, a=a, g=g, d_ff=d_ff, layers=layers, V=V)
    if d % a or a % g:
        raise ValueError(f"d = {d}, a = {a}, g = {g}: a must divide d, and g must divide a")
    kv = d // a * g
    shapes = {"query": (d, d), "key": (d, kv), "value": (d, kv), "output": (d, d)}
    shapes |= {"up": (d, d_ff), "down": (d_ff, d)} | ({"gate": (d, d_ff)} if gated else {})
    shapes = {f"{layer}.{name}": shape for layer in range(layers) for name, shape in shapes.items()}
    shapes |= {"embedding": (V, d)} | ({} if tied else {"head": (d, V)})
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape) / shape[0] ** 0.5 for name, shape in shapes.items()}


def train_step(
    weights, tokens, a=1, g=None, skip_masked=False, recompute=False, frozen_embedding=False
) -> Step:
    """Forward and backward over a sequence of token numbers, predicting each next token.

    ``skip_masked``: the masked half of the scores is never computed, instead of computed
    and discarded. ``recompute``: each layer's forward pass runs again before its backward.
    ``frozen_embedding``: the look-up is not trained, so nobody needs the gradient of the
    first layer's input, and no gradient of the embedding is given.

    Example:
        >>> step = train_step(make_weights(d=4, V=8), tokens=[1, 5, 2])
        >>> step.tally.total("forward", "head"), step.tally.total("backward", "head")
        (192, 384)
    """
    import numpy as np

    tally, g, tokens = Tally(), g or a, np.asarray(tokens)
    layers = sum(name.endswith(".query") for name in weights)
    x, kept = weights["embedding"][tokens], []
    for layer in range(layers):
        inputs = x
        x, saved = _layer_forward(tally, weights, layer, x, a, g, skip_masked)
        kept.append(inputs if recompute else saved)
    tied = "head" not in weights
    head = weights["embedding"].T if tied else weights["head"]
    logits = tally.matmul(x, head, "head")
    shares = np.exp(logits - logits.real.max())
    shares = shares / shares.sum(axis=1, keepdims=True)
    rows, targets = np.arange(len(tokens)), np.roll(tokens, -1)
    loss = -np.log(shares[rows, targets]).sum()

    tally.phase = "backward"
    shares[rows, targets] -= 1
    dx, d_head = _linear_backward(tally, x, head, shares, "head")
    gradients = {"embedding": d_head.T} if tied else {"head": d_head}
    for layer in reversed(range(layers)):
        saved = kept[layer]
        if recompute:
            tally.phase = "recompute"
            _, saved = _layer_forward(tally, weights, layer, saved, a, g, skip_masked)
            tally.phase = "backward"
        needed = layer > 0 or not frozen_embedding
        dx = _layer_backward(tally, layer, saved, dx, gradients, skip_masked, needed)
    if not frozen_embedding:
        scattered = np.zeros_like(weights["embedding"], dtype=dx.dtype)
        np.add.at(scattered, tokens, dx)
        gradients["embedding"] = gradients.get("embedding", 0) + scattered
    return Step(loss, gradients, tally)


def _linear_backward(tally, x, w, dy, part):
    """Gradients of the input and of the weight of ``x @ w``: two more products."""
    return tally.matmul(dy, w.T, part), tally.matmul(x.T, dy, part)


def _layer_forward(tally, weights, layer, x, a, g, skip):
    """Attention and MLP, each added to its input; also what the backward pass needs."""
    import numpy as np

    w = {name.split(".")[1]: v for name, v in weights.items() if name.startswith(f"{layer}.")}
    q, k, v = (tally.matmul(x, w[name], "attention") for name in ("query", "key", "value"))
    size = q.shape[1] // a
    heads = []
    for i in range(a):
        own = slice(i * size, (i + 1) * size)
        shared = slice(i * g // a * size, (i * g // a + 1) * size)
        z = _lower(tally, q[:, own], k[:, shared], skip) / size**0.5
        e = np.exp(z - z.real.max()) * np.tri(len(x))
        heads.append((own, shared, e / e.sum(axis=1, keepdims=True)))
    mixed = np.hstack([_apply(tally, m, v[:, shared], skip) for _, shared, m in heads])
    y = x + tally.matmul(mixed, w["output"], "attention")
    up = tally.matmul(y, w["up"], "mlp")
    gate = tally.matmul(y, w["gate"], "mlp") if "gate" in w else up
    act = _silu(gate)[0] * (up if "gate" in w else 1)
    out = y + tally.matmul(act, w["down"], "mlp")
    return out, (w, x, q, k, v, heads, mixed, y, up, gate, act)


def _layer_backward(tally, layer, saved, d_out, gradients, skip, input_needed):
    """Gradients of a layer's weights, stored by name, and of its input, returned where needed."""
    import numpy as np

    w, x, q, k, v, heads, mixed, y, up, gate, act = saved
    grad: dict[str, Any] = {}
    d_act, grad["down"] = _linear_backward(tally, act, w["down"], d_out, "mlp")
    value, slope = _silu(gate)
    dy = d_out
    if "gate" in w:
        dx, grad["gate"] = _linear_backward(tally, y, w["gate"], d_act * up * slope, "mlp")
        dy, d_up = dy + dx, d_act * value
    else:
        d_up = d_act * slope
    dx, grad["up"] = _linear_backward(tally, y, w["up"], d_up, "mlp")
    dy = dy + dx
    d_mixed, grad["output"] = _linear_backward(tally, mixed, w["output"], dy, "attention")
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for own, shared, m in heads:
        dm = _lower(tally, d_mixed[:, own], v[:, shared], skip)
        dz = m * (dm - (dm * m).sum(axis=1, keepdims=True)) / (own.stop - own.start) ** 0.5
        dq[:, own] = _apply(tally, dz, k[:, shared], skip)
        dk[:, shared] += _apply_transposed(tally, dz, q[:, own], skip)
        dv[:, shared] += _apply_transposed(tally, m, d_mixed[:, own], skip)
    for name, projected in (("query", dq), ("key", dk), ("value", dv)):
        grad[name] = tally.matmul(x.T, projected, "attention")
        if input_needed:
            dy = dy + tally.matmul(projected, w[name].T, "attention")
    gradients |= {f"{layer}.{name}": array for name, array in grad.items()}
    return dy if input_needed else None


def _silu(z):
    """z·sigmoid(z) and its derivative."""
    import numpy as np

    gate = 1 / (1 + np.exp(-z))
    return z * gate, gate * (1 + z * (1 - gate))


def _lower(tally, x, y, skip):
    """x @ y.T of which only the lower triangle will be used: row by row where skipped."""
    import numpy as np

    if not skip:
        return tally.matmul(x, y.T, "scores")
    out = np.zeros((len(x), len(y)), dtype=x.dtype)
    for i in range(len(x)):
        out[i, : i + 1] = tally.matmul(x[i : i + 1], y[: i + 1].T, "scores")[0]
    return out


def _apply(tally, m, y, skip):
    """m @ y for a lower-triangular m."""
    import numpy as np

    if not skip:
        return tally.matmul(m, y, "scores")
    rows = range(len(m))
    return np.vstack([tally.matmul(m[i : i + 1, : i + 1], y[: i + 1], "scores") for i in rows])


def _apply_transposed(tally, m, y, skip):
    """m.T @ y for a lower-triangular m."""
    import numpy as np

    if not skip:
        return tally.matmul(m.T, y, "scores")
    rows = range(len(m))
    return np.vstack([tally.matmul(m[i:, i : i + 1].T, y[i:], "scores") for i in rows])
