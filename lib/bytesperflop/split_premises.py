"""What *why all three* starts from and ends in, counted: a whole step, and every whole split."""

from fractions import Fraction
from math import prod

import sympy as sp

from .premises import Premise, _points
from .symbols import B as bandwidth
from .symbols import P, b, d, k_d, k_p, k_t, m, p, p_d, t, u


def _lost(p_d: int, t: int, p: int, m: int, u: int, d: int, b: int, B: int) -> Fraction:
    """Lost over ideal time of one step, each of its three parts run on its own simulator.

    One layer a stage; a device does one FLOP a unit of time.
    """
    import numpy as np

    from .counting_simulation import make_weights, train_step
    from .network import Network, all_reduce
    from .schedules import schedule
    from .tensor_split import random_layer, step
    from .timeline import simulate

    def flops(tokens: int) -> int:
        tally = train_step(make_weights(d, a=4, layers=1), np.arange(tokens) % 8, a=4).tally
        return tally.total() - tally.total(part="head")

    weights = 2 * flops(1) - flops(2) // 2  # a token's FLOPs without scores, which grow with s
    group, ones = Network(t), np.ones((u, d))
    step(group, [random_layer(d, a=4, g=4, d_ff=4 * d)], ones, ones)
    work = Fraction(u * weights, t)
    slot = work + Fraction(group.elements[0] * b, B)
    pipeline = simulate(schedule("gpipe", p, m), m, {"F": slot / 3, "B": slot * 2 / 3})
    own = sum(x.size for x in random_layer(d, a=4, g=4, d_ff=4 * d).values()) // t
    replicas = Network(p_d)
    all_reduce(replicas, [np.ones(own)] * p_d)
    return (pipeline.makespan + Fraction(replicas.elements[0] * b, B)) / (m * work) - 1


def _cheapest(k_d: sp.Rational, k_t: sp.Rational, k_p: sp.Rational, P: int) -> sp.Rational:
    splits = [(i, j, P // (i * j)) for i in range(1, P + 1) for j in range(1, P + 1)]
    whole = [split for split in splits if split[0] * split[1] * split[2] == P]
    return min(k_d * (x - 1) + k_t * (y - 1) + k_p * (z - 1) for x, y, z in whole)


_EXCHANGED = b / (9 * d * bandwidth) * (t - 1)
_K_D = b / (3 * bandwidth * p_d * m * u)

WHOLE_STEP = Premise(
    "whole-step",
    "the overhead of a step is $(1+k_t(t-1))(1+(p-1)/m)+k_d(p_d-1)-1$ (here $F=1$)",
    (1 + _EXCHANGED) * (1 + (p - 1) / m) + _K_D * (p_d - 1) - 1,
    "one step of a split, its layers, its pipeline and its gradient ring each simulated",
    _lost,
    _points(p_d, t, p, m, u, d, b, bandwidth)(
        (1, 2, 1, 1, 3, 8, 2, 1),
        (4, 1, 3, 5, 2, 8, 2, 3),
        (8, 4, 2, 4, 3, 8, 2, 1),
        (3, 2, 4, 8, 2, 12, 4, 5),
    ),
)
LEAST = Premise(
    "least-overhead",
    "the least overhead is $3(k_dk_tk_pP)^{1/3}-k_d-k_t-k_p$ where the best degrees are whole",
    3 * sp.root(k_d * k_t * k_p * P, 3) - k_d - k_t - k_p,
    "every whole split tried",
    _cheapest,
    _points(k_d, k_t, k_p, P)(
        *(
            (*(sp.Rational(1, 10 * degree) for degree in best), prod(best))
            for best in ((2, 2, 2), (8, 4, 2), (3, 5, 1), (12, 5, 3))
        )
    ),
)
