"""The theorems of the optimum, decided by Z3 over the reals."""

import sympy as sp
import z3


def refuted(*claims):
    """Whether the claims contradict each other; anything undecided is an error."""
    solver = z3.Solver()
    solver.set("rlimit", 20_000_000)
    solver.add(*claims)
    answer = solver.check()
    assert answer != z3.unknown, solver.reason_unknown()
    return answer == z3.unsat


r = z3.Reals("r1 r2 r3")
excess = z3.Reals("e1 e2 e3")
level = z3.Real("level")
# r_i = rival's degree over the optimum's; e_i = k_i·(optimum's degree) − level. An axis is
# between its bounds (e = 0), at 1 (e > 0, a rival can only be larger) or at its cap.
RIVAL = [*(x > 0 for x in r), z3.Product(*r) == 1, level > 0, *(level + e > 0 for e in excess)]
FILLED = [
    z3.Or(e == 0, z3.And(e > 0, x >= 1), z3.And(e < 0, x <= 1))
    for e, x in zip(excess, r, strict=True)
]
DEARER = z3.Sum([(level + e) * (x - 1) for e, x in zip(excess, r, strict=True)])


def test_z3_no_rival_is_cheaper_in_any_regime():
    assert refuted(*RIVAL, *FILLED, DEARER < 0)


def test_z3_no_other_split_is_as_cheap():
    assert refuted(*RIVAL, *FILLED, DEARER <= 0, z3.Or([x != 1 for x in r]))


def test_z3_refuses_the_theorem_without_its_conditions():
    assert not refuted(*RIVAL, DEARER < 0)  # not filled to one level
    assert not refuted(*RIVAL[:3], *RIVAL[4:], *FILLED, DEARER < 0)  # not the same product
    assert not refuted(*RIVAL, *FILLED, level > 100 * DEARER)  # no fixed margin


def test_z3_the_theorem_as_stated_without_caps():
    k, x, y = z3.Reals("k1 k2 k3"), z3.Reals("x1 x2 x3"), z3.Reals("y1 y2 y3")
    filled = [
        z3.Or(z3.And(k_i * x_i == level, x_i >= 1), z3.And(x_i == 1, k_i >= level))
        for k_i, x_i in zip(k, x, strict=True)
    ]
    cost = [z3.Sum([k_i * d_i for k_i, d_i in zip(k, d, strict=True)]) for d in (x, y)]
    same = z3.Product(*x) == z3.Product(*y)
    signs = [*(k_i > 0 for k_i in k), level > 0, *(y_i >= 1 for y_i in y)]
    assert refuted(*signs, *filled, same, cost[1] < cost[0])


def test_the_identity_behind_it():
    r1, r2 = sp.symbols("r1 r2", positive=True)
    together = r1 + r2 + 1 / (r1 * r2) - 3
    assert sp.cancel(together - ((r1 - 1) * (1 - r2) + (1 - r1 * r2) ** 2 / (r1 * r2))) == 0
    assert sp.cancel(together - ((r1 - 1) * (1 - r2) + (1 + r1 * r2) ** 2 / (r1 * r2))) != 0
    a, b, c = z3.Reals("a b c")
    straddle = z3.Or([z3.And(p >= 1, q <= 1) for p in (a, b, c) for q in (a, b, c)])
    assert refuted(a > 0, b > 0, c > 0, a * b * c == 1, z3.Not(straddle))


# Rounding to powers of two


def rounding_cases():
    """z_i = 2^(−fractional part), and the cube root of 2: one degree rounded up, or two."""
    z, c = z3.Reals("z1 z2 z3"), z3.Real("c")
    common = [c > 0, c**3 == 2, *(z3.And(z_i > 0, z_i <= 1, 2 * z_i >= 1) for z_i in z)]
    one = [*common, 2 * z3.Product(*z) == 1, z[0] <= z[1], z[0] <= z[2]]
    two = [*common, 4 * z3.Product(*z) == 1, z[0] <= z[2], z[1] <= z[2]]
    return z, c, (one, z[0]), (two, z[0] + z[1])


def test_z3_the_rounding_factors():
    z, c, *cases = rounding_cases()
    for where, gained in cases:
        assert refuted(*where, 3 * (c - 1) * gained > 3 - z3.Sum(z))
        assert refuted(*where, z3.Sum(z) + gained > c**5)
    one, gained = cases[0]
    assert not refuted(*one, 3 * (c - 1) * gained > (3 - z3.Sum(z)) * 99 / 100)
    assert not refuted(*one, z3.Sum(z) + gained > c**5 * 99 / 100)
