"""Norm, attention and MLP of a small transformer layer, forward and backward by hand.

Activations have shape (tokens, width). A block's weights may be a device's share of them:
its output and the gradients by its input are then partial sums. Everything is analytic,
so complex arrays go through it too (for derivatives by complex step).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Weights = dict[str, np.ndarray]
Saved = tuple[np.ndarray, ...]


def norm(x: np.ndarray) -> Saved:
    r"""Each token to mean 0 and variance 1, $(x-\bar x)/\sigma$, and its $1/\sigma$.

    Example:
        >>> norm(np.array([[1.0, 3.0]]))[0].round(4)
        array([[-1.,  1.]])
    """
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = ((centred**2).mean(axis=-1, keepdims=True) + 1e-5) ** -0.5
    return centred * scale, scale


def norm_backward(upstream: np.ndarray, saved: Saved) -> np.ndarray:
    """Gradient by the input of :func:`norm`, from that by its output."""
    normed, scale = saved
    along = (upstream * normed).mean(axis=-1, keepdims=True) * normed
    return (upstream - upstream.mean(axis=-1, keepdims=True) - along) * scale


def attention(h: np.ndarray, weights: Weights) -> tuple[np.ndarray, Saved]:
    """Causal attention of one sequence with the heads in ``weights``; what backward needs.

    Args:
        h: shape (T, d).
        weights: ``q`` (d, a, e), ``k`` and ``v`` (d, g, e), ``o`` (a, e, d); g divides a.
    """
    q, k, v = (np.einsum("td,dae->tae", h, weights[name]) for name in "qkv")
    k, v = (np.repeat(heads, q.shape[1] // k.shape[1], axis=1) for heads in (k, v))
    scores = np.einsum("iae,jae->aij", q, k) / q.shape[2] ** 0.5
    scores = np.exp(scores - scores.real.max(axis=-1, keepdims=True)) * np.tri(len(h))
    shares = scores / scores.sum(axis=-1, keepdims=True)
    mixed = np.einsum("aij,jae->iae", shares, v)
    return np.einsum("tae,aed->td", mixed, weights["o"]), (q, k, v, shares, mixed)


def attention_backward(
    upstream: np.ndarray, h: np.ndarray, weights: Weights, saved: Saved
) -> tuple[list[np.ndarray], Weights]:
    """Gradients of :func:`attention`: by h through q, k and v apart, and by each weight."""
    q, k, v, shares, mixed = saved
    of_mixed = np.einsum("td,aed->tae", upstream, weights["o"])
    of_shares = np.einsum("iae,jae->aij", of_mixed, v)
    of_scores = shares * (of_shares - (of_shares * shares).sum(axis=-1, keepdims=True))
    of_scores = of_scores / q.shape[2] ** 0.5
    by_head = {
        "q": np.einsum("aij,jae->iae", of_scores, k),
        "k": np.einsum("aij,iae->jae", of_scores, q),
        "v": np.einsum("aij,iae->jae", shares, of_mixed),
    }
    for name in "kv":  # query heads of a group share one key-value head
        groups = weights[name].shape[1]
        by_head[name] = by_head[name].reshape(len(h), groups, -1, q.shape[2]).sum(axis=2)
    gradients = {name: np.einsum("td,tae->dae", h, by_head[name]) for name in "qkv"}
    gradients["o"] = np.einsum("tae,td->aed", mixed, upstream)
    return [np.einsum("tae,dae->td", by_head[name], weights[name]) for name in "qkv"], gradients


def mlp(h: np.ndarray, weights: Weights) -> tuple[np.ndarray, Saved]:
    r"""$\mathrm{silu}(h U)D$, or gated $(\mathrm{silu}(h G)\odot hU)D$; what backward needs.

    Args:
        h: shape (T, d).
        weights: ``up`` (d, d_ff), ``down`` (d_ff, d) and, if gated, ``gate`` (d, d_ff).
    """
    up = h @ weights["up"]
    gate = h @ weights["gate"] if "gate" in weights else up
    sigmoid = 1 / (1 + np.exp(-gate))
    hidden = gate * sigmoid * (up if "gate" in weights else 1)
    return hidden @ weights["down"], (up, gate, sigmoid, hidden)


def mlp_backward(
    upstream: np.ndarray, h: np.ndarray, weights: Weights, saved: Saved
) -> tuple[list[np.ndarray], Weights]:
    """Gradients of :func:`mlp`: by h through up (and gate) apart, and by each weight."""
    up, gate, sigmoid, hidden = saved
    of_hidden = upstream @ weights["down"].T
    of_silu = sigmoid * (1 + gate * (1 - sigmoid))
    if "gate" in weights:
        inner = {"up": of_hidden * gate * sigmoid, "gate": of_hidden * up * of_silu}
    else:
        inner = {"up": of_hidden * of_silu}
    gradients = {name: h.T @ inner[name] for name in inner} | {"down": hidden.T @ upstream}
    return [inner[name] @ weights[name].T for name in inner], gradients


class Block(NamedTuple):
    """A block of a layer: its forward, and its backward by hand."""

    forward: Callable[[np.ndarray, Weights], tuple[np.ndarray, Saved]]
    backward: Callable[[np.ndarray, np.ndarray, Weights, Saved], tuple[list[np.ndarray], Weights]]


BLOCKS = (Block(attention, attention_backward), Block(mlp, mlp_backward))
