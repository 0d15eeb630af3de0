"""ZeRO's three stages on real arrays: what a step sends and what each replica holds, counted.

A stack of layers, x → tanh(xW), is trained with Adam under half the sum of squared
errors by replicas that share the optimiser's state (stage 1), the gradients too (2), the
weights too (3). Arithmetic is in double precision; bytes are elements times the width that
their kind has in mixed precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .memory import STATE
from .network import Network, all_gather, all_reduce, reduce_scatter

if TYPE_CHECKING:
    import numpy as np


@dataclass
class Replica:
    """What one replica holds between two operations: flat arrays, one a layer."""

    weights: list[np.ndarray]
    master: list[np.ndarray]
    first: list[np.ndarray]
    second: list[np.ndarray]
    gradients: list[np.ndarray] = field(default_factory=list)

    def elements(self) -> dict[str, int]:
        """Elements held, by the names of ``memory.STATE``."""
        kinds = (self.weights, self.gradients, self.master, self.first, self.second)
        return {
            name: sum(array.size for array in arrays)
            for name, arrays in zip(STATE, kinds, strict=True)
        }

    def bytes(self) -> int:
        """Bytes held, each element at the width its kind has in mixed precision."""
        return sum(STATE[name] * count for name, count in self.elements().items())


@dataclass
class Zero:
    """A model trained by p replicas under one stage of ZeRO.

    Attributes:
        network: joins the replicas and counts.
        layers: the weights to start from, square and of one width.
        stage: 0 (nothing shared) to 3.
        reshard: in stage 3, gather the weights again for the backward pass; otherwise
            keep them from the forward pass.
        rate: Adam's learning rate.
        replicas: what each holds.
        peak: most elements of gathered weights that a replica had at once, in stage 3.

    Raises:
        ValueError: a stage that is not 0 to 3, or weights that are not square and alike.

    Example:
        >>> import numpy as np
        >>> model = Zero(Network(2), [np.eye(4), np.eye(4)], stage=2)
        >>> model.step([np.ones((2, 4))], [np.zeros((2, 4))])
        >>> model.replicas[0].bytes() / 32, model.network.elements
        (9.0, [32, 32])
    """

    network: Network
    layers: Sequence[np.ndarray]
    stage: int
    reshard: bool = True
    rate: float = 1e-2
    steps: int = 0
    peak: int = 0
    replicas: list[Replica] = field(init=False)

    def __post_init__(self) -> None:
        if self.stage not in range(4):
            raise ValueError(f"stage = {self.stage!r}: must be 0, 1, 2 or 3")
        widths = {size for layer in self.layers for size in layer.shape}
        if len(widths) != 1:
            raise ValueError(f"layers: must all be square and of one width, not {sorted(widths)}")
        self.width = widths.pop()
        self.replicas = [
            Replica(
                [self._own(w, r, self.stage == 3) for w in self.layers],
                *([self._own(x, r, self.stage > 0) for x in start] for start in self._start()),
            )
            for r in range(self.network.devices)
        ]

    def _start(self) -> list[list[np.ndarray]]:
        zeros = [0 * layer for layer in self.layers]
        return [list(self.layers), zeros, zeros]

    def _own(self, array: np.ndarray, replica: int, share: bool) -> np.ndarray:
        """A copy of the flat array, or of a replica's chunk of it."""
        import numpy as np

        chunks = np.array_split(array.ravel(), self.network.devices)
        return (chunks[replica] if share else array.ravel()).copy()

    def weights(self) -> list[np.ndarray]:
        """The whole weights, read off the replicas without a wire."""
        import numpy as np

        whole_ones = (
            np.concatenate([r.weights[i] for r in self.replicas])
            if self.stage == 3
            else self.replicas[0].weights[i]
            for i in range(len(self.layers))
        )
        return [w.reshape(self.width, self.width) for w in whole_ones]

    def step(self, inputs: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> None:
        """One Adam step over microbatches, each cut into as many slices as replicas.

        Raises:
            ValueError: no microbatch, or not as many inputs as targets.
        """
        if not inputs or len(inputs) != len(targets):
            raise ValueError(f"inputs: {len(inputs)} microbatches, targets: {len(targets)}")
        for replica in self.replicas:
            replica.gradients = []
        for x, y in zip(inputs, targets, strict=True):
            self._backward(self._slices(x), self._slices(y))
        self._adam()

    def _slices(self, rows: np.ndarray) -> list[np.ndarray]:
        import numpy as np

        return np.array_split(rows, self.network.devices)

    def _gathered(self, i: int) -> list[np.ndarray]:
        """Layer i's whole weights on every replica."""
        flat = [replica.weights[i] for replica in self.replicas]
        if self.stage == 3:
            flat = all_gather(self.network, flat)
        return [w.reshape(self.width, self.width) for w in flat]

    def _backward(self, xs: list[np.ndarray], ys: list[np.ndarray]) -> None:
        """Forward and backward of one microbatch; gradients are added to what is held."""
        import numpy as np

        depth, kept = len(self.layers), [xs]
        held: list[list[np.ndarray]] = []
        for i in range(depth):
            ws = self._gathered(i)
            held = [*held, ws] if not self.reshard else [ws]
            if self.stage == 3:
                self.peak = max(self.peak, sum(w[0].size for w in held))
            kept.append([np.tanh(x @ w) for x, w in zip(kept[-1], ws, strict=True)])
        upstream = [x - y for x, y in zip(kept[-1], ys, strict=True)]
        for i in reversed(range(depth)):
            ws = self._gathered(i) if self.reshard else held.pop()
            inner = [g * (1 - x**2) for g, x in zip(upstream, kept[i + 1], strict=True)]
            gradients = [(x.T @ g).ravel() for x, g in zip(kept[i], inner, strict=True)]
            upstream = [g @ w.T for g, w in zip(inner, ws, strict=True)]
            if self.stage >= 2:
                gradients = reduce_scatter(self.network, gradients)
            self._add(depth - 1 - i, gradients)

    def _add(self, place: int, gradients: list[np.ndarray]) -> None:
        """Gradients are kept in the order in which they come, last layer first."""
        for replica, gradient in zip(self.replicas, gradients, strict=True):
            if place == len(replica.gradients):
                replica.gradients.append(gradient)
            else:
                replica.gradients[place] = replica.gradients[place] + gradient

    def _sums(self, place: int) -> list[np.ndarray]:
        """The gradients of all replicas added up: whole, or each replica's chunk."""
        held = [replica.gradients[place] for replica in self.replicas]
        if self.stage >= 2:
            return held
        return (reduce_scatter if self.stage else all_reduce)(self.network, held)

    def _adam(self) -> None:
        """Adam on what each replica owns; stages 1 and 2 then gather the new weights."""
        self.steps += 1
        for i in range(len(self.layers)):
            sums = self._sums(len(self.layers) - 1 - i)
            for replica, gradient in zip(self.replicas, sums, strict=True):
                adam(replica, i, gradient, self.steps, self.rate)
            new = [replica.master[i] for replica in self.replicas]
            if self.stage in (1, 2):
                new = all_gather(self.network, new)
            for replica, weights in zip(self.replicas, new, strict=True):
                replica.weights[i] = weights.copy()


def adam(replica: Replica, i: int, gradient: np.ndarray, steps: int, rate: float) -> None:
    r"""Kingma and Ba's step on layer i, in place.

    $m \leftarrow 0.9m + 0.1g$, $v \leftarrow 0.999v + 0.001g^2$,
    $w \leftarrow w - \eta\,\hat m/(\sqrt{\hat v} + 10^{-8})$

    Source: Kingma and Ba 2015, arXiv:1412.6980, algorithm 1.
    """
    replica.first[i] = 0.9 * replica.first[i] + 0.1 * gradient
    replica.second[i] = 0.999 * replica.second[i] + 0.001 * gradient**2
    mean = replica.first[i] / (1 - 0.9**steps)
    square = replica.second[i] / (1 - 0.999**steps)
    replica.master[i] = replica.master[i] - rate * mean / (square**0.5 + 1e-8)
