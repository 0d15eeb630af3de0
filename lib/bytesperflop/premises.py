"""Premises: what the algebra starts from, each counted by a run that never saw the formula."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from .decision import ProofError
from .mutants import Attack, mutate
from .symbols import L, T, c, d, m, n, p, p_d, s, t, tau


class FalsePremise(ProofError):
    """A premise that a count contradicts."""


@dataclass(frozen=True)
class Premise:
    """``claim`` is what the algebra assumes; ``count`` runs and counts, at each of ``points``."""

    id: str
    says: str
    claim: sp.Expr
    counted_by: str
    count: Callable[..., int | Fraction]
    points: tuple[dict[sp.Symbol, int], ...]

    def verify(self, claim: sp.Expr | None = None) -> int:
        """Compare the claim with the count at every point; the number of points.

        Raises:
            FalsePremise: the two differ; the error names the point and both values.
        """
        claim = self.claim if claim is None else claim
        for point, counted in zip(self.points, self._counts(), strict=True):
            claimed = claim.subs(point)
            if claimed != counted:
                at = ", ".join(f"{x} = {y}" for x, y in point.items())
                raise FalsePremise(
                    f"{self.id}: claimed {claim} = {claimed}, counted {counted} at {at}"
                )
        return len(self.points)

    def _counts(self) -> list[sp.Expr]:
        if self.id not in _COUNTED:
            counts = [self.count(**{x.name: y for x, y in at.items()}) for at in self.points]
            _COUNTED[self.id] = [sp.sympify(count) for count in counts]
        return _COUNTED[self.id]

    def attack(self) -> Attack:
        """Verify every mutant of the claim; the count must contradict it."""
        result = Attack(self.id)
        for label, changed in mutate(self.claim):
            try:
                self.verify(changed)
                result.add(f"premise {self.id}: {label}", [])
            except FalsePremise:
                result.add(f"premise {self.id}: {label}", ["measurement"])
        return result


_COUNTED: dict[str, list[sp.Expr]] = {}


def _points(*symbols: sp.Symbol):
    return lambda *rows: tuple(dict(zip(symbols, row, strict=True)) for row in rows)


def _parameters(d: int, L: int) -> int:
    from .counting_simulation import make_weights

    weights = make_weights(d, a=2, layers=L)
    return sum(w.size for name, w in weights.items() if name not in ("embedding", "head"))


def _flops(d: int, L: int, s: int) -> int:
    import numpy as np

    from .counting_simulation import make_weights, train_step

    tally = train_step(make_weights(d, a=2, layers=L), np.arange(s) % 8, a=2).tally
    return (tally.total() - tally.total(part="head")) // s


def _ring(counter: str) -> Callable[..., int]:
    def count(p_d: int, n: int) -> int:
        import numpy as np

        from .network import Network, all_reduce

        network = Network(p_d)
        all_reduce(network, [np.arange(n) + device for device in range(p_d)])
        sent = set(getattr(network, counter))
        return sent.pop() if len(sent) == 1 else -1

    return count


def _gradient(d: int, p_d: int) -> int:
    import numpy as np

    from .data_split import data_parallel_gradient
    from .network import Network

    draw = np.random.default_rng(0).normal
    network, weights = Network(p_d), [draw(size=(d, 4 * d)), draw(size=(4 * d, d))]
    rows = draw(size=(2 * p_d, d))
    data_parallel_gradient(network, weights, rows, rows, microbatches=2)
    return sum(call.elements for call in network.calls)


def _tensor(**options: Any) -> Callable[..., int]:
    def count(L: int, T: int, d: int, t: int) -> int:
        import numpy as np

        from .network import Network
        from .tensor_split import random_layer, step

        layers = [random_layer(d, a=4, g=4, d_ff=4 * d, seed=i) for i in range(L)]
        network, ones = Network(t), np.ones((T, d))
        step(network, layers, ones, ones, **options)
        return sum(call.elements for call in network.calls)

    return count


def _makespan(p: int, m: int, tau: int) -> Fraction:
    from .schedules import schedule
    from .timeline import simulate

    durations = {"F": Fraction(tau, 3), "B": Fraction(2 * tau, 3)}
    return simulate(schedule("gpipe", p, m), m, durations).makespan


def _boundary(p: int, m: int, c: int) -> int:
    from .schedules import schedule
    from .timeline import simulate

    free, held = (simulate(schedule("gpipe", p, m), m, {"F": 3, "B": 5}, x) for x in (0, c))
    return held.makespan - free.makespan


PARAMETERS = Premise(
    "parameters",
    "$12Ld^2$ parameters in $L$ layers",
    12 * L * d**2,
    "the arrays of a small model, their elements added up",
    _parameters,
    _points(d, L)((4, 1), (6, 2), (10, 3), (8, 5)),
)
TRAINING_FLOPS = Premise(
    "training-flops",
    "$6N + 12sdL$ FLOPs a token, $N = 12Ld^2$",
    6 * (12 * L * d**2) + 12 * s * d * L,
    "a training step in NumPy whose matrix product counts what it does",
    _flops,
    _points(d, L, s)((4, 1, 2), (6, 2, 5), (10, 3, 4), (8, 2, 7)),
)
RING_ELEMENTS = Premise(
    "ring-elements",
    "a ring all-reduce sends $2n(p_d-1)/p_d$ elements a device",
    2 * (p_d - 1) * n / p_d,
    "a ring run chunk by chunk over a wire that counts",
    _ring("elements"),
    _points(p_d, n)((2, 8), (3, 12), (5, 20), (8, 8), (16, 48)),
)
RING_MESSAGES = Premise(
    "ring-messages",
    "a ring all-reduce sends $2(p_d-1)$ messages a device",
    2 * (p_d - 1),
    "a ring run chunk by chunk over a wire that counts",
    _ring("messages"),
    _points(p_d, n)((2, 8), (3, 12), (5, 20), (8, 8), (16, 48)),
)
GRADIENT = Premise(
    "gradient",
    "one all-reduce of $N$ elements a step (here $N = 8d^2$)",
    8 * d**2,
    "a two-layer network trained on replicas over a wire that counts",
    _gradient,
    _points(d, p_d)((2, 2), (3, 4), (5, 3)),
)


def _activations(id: str, says: str, units: int, **options: Any) -> Premise:
    """``units`` collectives of Td elements a layer, counted in a step with ``options``."""
    return Premise(
        id,
        says,
        units * L * T * d,
        "transformer layers split over devices on real arrays; their calls listed",
        _tensor(**options),
        _points(L, T, d, t)((1, 3, 8, 2), (2, 5, 8, 4), (3, 2, 12, 2)),
    )


FOUR_ALL_REDUCES = _activations(
    "four-all-reduces", "four all-reduces of $Td$ elements a layer, forward and backward", 4
)
UNFUSED_QKV = _activations(
    "unfused-qkv", "six where queries, keys and values reduce their gradients apart", 6, fused=False
)
RECOMPUTED = _activations(
    "recomputed", "six where every layer's forward pass runs again", 6, recompute="all"
)
RECOMPUTED_AS_NEEDED = _activations(
    "recomputed-as-needed", "five where the repeat stops at what is used", 5, recompute="needed"
)
SEQUENCE_PARALLEL = _activations(
    "sequence-parallel",
    "eight reduce-scatters or all-gathers where tokens are split between the blocks",
    8,
    sequence=True,
)
GATHERED_AGAIN = _activations(
    "gathered-again",
    "ten where the backward pass gathers its inputs again",
    10,
    sequence=True,
    keep_gathered=False,
)
MAKESPAN = Premise(
    "makespan",
    "the schedule lasts $(m+p-1)\\tau$",
    (m + p - 1) * tau,
    "GPipe's operations run by their dependencies",
    _makespan,
    _points(p, m, tau)((1, 1, 2), (2, 3, 1), (4, 8, 3), (5, 2, 1), (8, 32, 2)),
)
BOUNDARY_DELAY = Premise(
    "boundary-delay",
    "GPipe pays a boundary's delay $2(p-1)$ times a step",
    2 * (p - 1) * c,
    "GPipe's operations run with and without the delay",
    _boundary,
    _points(p, m, c)((2, 3, 1), (4, 8, 2), (5, 2, 3)),
)

PREMISES = {
    x.id: x
    for x in (
        PARAMETERS,
        TRAINING_FLOPS,
        RING_ELEMENTS,
        RING_MESSAGES,
        GRADIENT,
        FOUR_ALL_REDUCES,
        UNFUSED_QKV,
        RECOMPUTED,
        RECOMPUTED_AS_NEEDED,
        SEQUENCE_PARALLEL,
        GATHERED_AGAIN,
        MAKESPAN,
        BOUNDARY_DELAY,
    )
}
