"""Data parallelism on a real small model: each replica a slice of the batch, one gradient.

The model is a two-layer MLP, ``tanh(x W1) W2``, under half the sum of squared errors, so
that gradients of slices add up to the gradient of the batch.
"""

from collections.abc import Sequence

import numpy as np

from .checks import whole
from .network import Network, all_reduce

Weights = Sequence[np.ndarray]


def loss(weights: Weights, inputs: np.ndarray, targets: np.ndarray) -> float | complex:
    r"""Half the sum of squared errors, $\frac12\sum(\tanh(xW_1)W_2 - y)^2$.

    Args:
        weights: W1 of shape (inputs, hidden) and W2 of shape (hidden, outputs).
        inputs: one row a sample.
        targets: one row a sample.

    Example:
        >>> one = np.ones((1, 1))
        >>> float(loss([0 * one, one], one, one))
        0.5
    """
    first, second = weights
    return 0.5 * ((np.tanh(inputs @ first) @ second - targets) ** 2).sum()


def gradient(weights: Weights, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The gradient of :func:`loss`: one array of N elements, W1's first, then W2's.

    Example:
        >>> one = np.ones((1, 1))
        >>> gradient([0 * one, one], one, one)
        array([-1.,  0.])
    """
    first, second = weights
    hidden = np.tanh(inputs @ first)
    error = hidden @ second - targets
    of_first = inputs.T @ ((error @ second.T) * (1 - hidden**2))
    return np.concatenate([of_first.ravel(), (hidden.T @ error).ravel()])


def data_parallel_gradient(
    network: Network,
    weights: Weights,
    inputs: np.ndarray,
    targets: np.ndarray,
    microbatches: int = 1,
    deferred: bool = True,
) -> list[np.ndarray]:
    """The gradient of the whole batch on every replica, from a slice of the batch on each.

    Each replica goes through its slice in microbatches and adds up their gradients.
    Deferred, the sums are all-reduced once, N elements; otherwise each microbatch's
    gradients are, and k microbatches move k times the volume.

    Args:
        network: joins the replicas and counts.
        weights, inputs, targets: as in :func:`loss`; the batch is cut along its rows.
        microbatches: how many each replica makes of its slice.
        deferred: synchronise once, after the last microbatch.

    Raises:
        ValueError: microbatches is not a whole number of at least 1.

    Example:
        >>> network, one = Network(2), np.ones((4, 1))
        >>> data_parallel_gradient(network, [one[:1], one[:1]], one, one)[1].size
        2
        >>> network.calls
        [Call(name='all_reduce', elements=2)]
    """
    whole(microbatches=microbatches)
    replicas = [
        [gradient(weights, x, y) for x, y in zip(xs, ys, strict=True)]
        for xs, ys in zip(
            _cut_twice(inputs, network.devices, microbatches),
            _cut_twice(targets, network.devices, microbatches),
            strict=True,
        )
    ]
    if deferred:
        return all_reduce(network, [np.sum(parts, axis=0) for parts in replicas])
    synchronised = [all_reduce(network, parts) for parts in zip(*replicas, strict=True)]
    return [np.sum(parts, axis=0) for parts in zip(*synchronised, strict=True)]


def _cut_twice(rows: np.ndarray, replicas: int, microbatches: int) -> list[list[np.ndarray]]:
    return [np.array_split(part, microbatches) for part in np.array_split(rows, replicas)]
