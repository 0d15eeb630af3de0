"""Memory time over compute time of a pass over the weights: a chain with assumptions to drop."""

import sympy as sp

from . import assumptions as assume
from .assumptions import Assumption, Given, Proposition
from .premises import Premise, _points
from .proof import Derivation, Quotient
from .symbols import B_m, F, L, N, T, a, b, d, g, s

own_cache = sp.Symbol("own_cache", nonnegative=True)
moved = sp.Symbol("moved", nonnegative=True)

NO_CACHE = Assumption(
    "no cache",
    "tokens bring no keys and values of earlier tokens from memory",
    "each reads those of its sequence of $s$ tokens",
    own_cache,
    sp.Integer(0),
    s * g / (6 * d * a),
)
FREE_ACTIVATIONS = Assumption(
    "free activations",
    "only weights pass between memory and arithmetic",
    "each product reads its input and writes its output too",
    moved,
    sp.Integer(0),
    3 / (2 * d),
)


def _ratio(given: Given) -> Derivation:
    read = given(1 + T * own_cache + T * moved)
    work = given(1 + assume.scores)
    return Derivation(
        "seconds of memory over seconds of arithmetic",
        Quotient([N, read, b, 1 / B_m], [2, N, work, T, 1 / F]),
        opening="$N$ weights read, $2N$ FLOPs a token, $N = 12Ld^2$",
    ).equals(
        b * F / (2 * B_m) * given(1 / T + own_cache + moved) / work,
        "strike $N$",
    )


ROOFLINE = Proposition(
    id="roofline",
    title="What it takes to be bound by compute does not depend on the model",
    chapter="prerequisites/roofline",
    assumptions=(NO_CACHE, FREE_ACTIVATIONS, assume.WEIGHTS_ONLY),
    chain=_ratio,
    formula=b * F / (2 * B_m) * (1 / T + own_cache + moved) / (1 + assume.scores),
    free_of=(N,),
    written="{:.3f}",
)


def _flops(phase: str):
    def count(L: int, T: int, d: int) -> int:
        import numpy as np

        from .counting_simulation import make_weights, train_step

        tally = train_step(make_weights(d, a=2, layers=L), np.arange(T) % 8, a=2).tally
        return sum(tally.total(phase, part) for part in ("attention", "mlp"))

    return count


def _moved(L: int, T: int, d: int) -> int:
    import numpy as np

    from .counting_simulation import make_weights

    matrices = [w for name, w in make_weights(d, a=2, layers=L).items() if "." in name]
    inputs = [np.ones((T, w.shape[0])) for w in matrices]
    return sum(x.size + (x @ w).size for x, w in zip(inputs, matrices, strict=True))


def _cached(L: int, s: int, d: int, a: int, g: int) -> int:
    import numpy as np

    from .counting_simulation import make_weights

    weights = make_weights(d, a=a, g=g, layers=L)
    kept = [w for name, w in weights.items() if name.endswith((".key", ".value"))]
    return sum((np.ones((s, d)) @ w).size for w in kept)


_SIZES = _points(L, T, d)((1, 3, 4), (2, 2, 6), (3, 5, 8), (2, 7, 10))

FORWARD = Premise(
    "forward-flops",
    "$24d^2$ FLOPs a token and layer forward, $2N$",
    24 * L * d**2 * T,
    "a training step in NumPy whose matrix product counts what it does",
    _flops("forward"),
    _SIZES,
)
BACKWARD = Premise(
    "backward-flops",
    "$48d^2$ backward, $4N$",
    48 * L * d**2 * T,
    "a training step in NumPy whose matrix product counts what it does",
    _flops("backward"),
    _SIZES,
)
MOVED = Premise(
    "moved",
    "six products read and write $18d$ elements a token and layer",
    18 * L * d * T,
    "a small model's products, the elements of their inputs and outputs added up",
    _moved,
    _SIZES,
)
CACHED = Premise(
    "cached",
    "keys and values are $2Lsd\\,g/a$ elements a sequence",
    2 * L * s * d * g / a,
    "the keys and values of a small model, their elements added up",
    _cached,
    _points(L, s, d, a, g)((1, 3, 8, 4, 2), (2, 5, 8, 8, 2), (3, 4, 12, 6, 6), (2, 7, 16, 4, 1)),
)
