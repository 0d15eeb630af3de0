"""Every proposition with every subset of its assumptions dropped, against a clock that adds up."""

import itertools
from fractions import Fraction

import pytest
import sympy as sp

from bytesperflop import assumptions as assume
from bytesperflop import ratios
from bytesperflop.assumptions import Broken
from bytesperflop.proof import Derivation, FalseStep, Malformed
from bytesperflop.propositions import BUBBLE, DATA, OVERHEAD, PROPOSITIONS, TENSOR
from bytesperflop.symbols import (
    PURE,
    B,
    F,
    L,
    N,
    T,
    alpha,
    b,
    c,
    d,
    delta,
    dimension,
    k,
    m,
    p,
    p_d,
    s,
    t,
    tau,
)
from bytesperflop.sympy_engine import value

PAGE = (DATA, TENSOR, OVERHEAD, BUBBLE)
SUBSETS = [
    (proposition, dropped)
    for proposition in PROPOSITIONS.values()
    for size in range(len(proposition.assumptions) + 1)
    for dropped in itertools.combinations(proposition.assumptions, size)
]
MACHINES = [
    dict(N=1200, L=4, d=10, s=60, b=2, F=7, B=3, T=9, alpha=5, k=4, p_d=5, t=4, p=6, m=7)
    | dict(tau=2, delta=Fraction(1, 3), c=Fraction(1, 5)),
    dict(N=48, L=1, d=2, s=5, b=4, F=Fraction(1, 900), B=11, T=3, alpha=Fraction(1, 7), k=2)
    | dict(p_d=2, t=2, p=3, m=2, tau=Fraction(5, 2), delta=0, c=3),
]


def name(case):
    if isinstance(case, (list, tuple, set)):
        return "+".join(sorted(map(str, case))) or "none"
    return getattr(case, "id", None) or str(case)


def same(one, two):
    return sp.cancel(sp.together(one - two)) == 0


# A clock: seconds added up from the dropped assumptions' words, with no formula of the book


def data_clock(dropped, v):
    share = (v["p_d"] - 1) / v["p_d"] if assume.MANY_REPLICAS in dropped else 1
    latency = 2 * (v["p_d"] - 1) * v["alpha"] if assume.BANDWIDTH_BOUND in dropped else 0
    ring = 2 * share * v["N"] * v["b"] / v["B"] + latency
    rings = v["k"] if assume.ONE_SYNCHRONISATION in dropped else 1
    forward = 2 * v["N"] * v["T"]
    if assume.WEIGHTS_ONLY in dropped:
        forward += forward * v["s"] / (6 * v["d"])
    backward = 2 * forward + (forward if assume.NO_RECOMPUTE in dropped else 0)
    seconds, waited = (forward + backward) / v["F"], rings * ring
    if assume.NO_OVERLAP in dropped:
        waited = max(0, waited - backward / v["F"])
    return waited / seconds


def tensor_clock(dropped, v):
    share = (v["t"] - 1) / v["t"] if assume.MANY_SHARDS in dropped else 1
    latency = 2 * (v["t"] - 1) * v["alpha"] if assume.BANDWIDTH_BOUND in dropped else 0
    ring = 2 * share * v["T"] * v["d"] * v["b"] / v["B"] + latency
    rings = 6 if assume.FUSED_QKV in dropped else 4
    passes = 3
    if assume.NO_RECOMPUTE in dropped:
        rings, passes = rings + 2, 4
    weights = passes * 2 * 12 * v["d"] ** 2 * v["T"]
    work = weights + (
        4 * passes * v["s"] * v["d"] * v["T"] if assume.WEIGHTS_ONLY in dropped else 0
    )
    rate = v["F"] * (v["t"] if assume.WHOLE_LAYER in dropped else 1)
    return v["L"] * rings * ring / (v["L"] * work / rate)


def pipeline_clock(dropped, v):
    """GPipe's last microbatch through a line of stages, of which the last may be slow."""
    times = [v["tau"]] * int(v["p"])
    if assume.EQUAL_STAGES in dropped:
        times[-1] *= 1 + v["delta"]
    delay = v["c"] if assume.FREE_BOUNDARIES in dropped else 0
    length = sum(times) + (v["m"] - 1) * max(times) + 2 * (v["p"] - 1) * delay
    return length - v["m"] * v["tau"], length


def overhead_clock(dropped, v):
    return pipeline_clock(dropped, v)[0] / (v["m"] * v["tau"])


def bubble_clock(dropped, v):
    idle, length = pipeline_clock(dropped, v)
    return idle / length


CLOCKS = {DATA: data_clock, TENSOR: tensor_clock, OVERHEAD: overhead_clock, BUBBLE: bubble_clock}
BOOK = {"N": N, "L": L, "d": d, "s": s, "b": b, "F": F, "B": B, "T": T, "alpha": alpha, "k": k}
BOOK |= {"p_d": p_d, "t": t, "p": p, "m": m, "tau": tau, "delta": delta, "c": c}


@pytest.mark.parametrize(("proposition", "dropped"), SUBSETS, ids=name)
def test_every_subset_reruns_and_agrees_with_the_clock(proposition, dropped):
    proof = proposition.proof(dropped)
    assert all(v.holds for step in proof.steps for v in step.verdicts)
    assert {v.engine for step in proof.steps for v in step.verdicts} == {"SymPy", "Z3"}
    result = value(proof.last)
    assert dimension(result) == PURE
    if proposition in CLOCKS:
        for machine in ({x: Fraction(v) for x, v in row.items()} for row in MACHINES):
            at = {BOOK[x]: sp.Rational(number) for x, number in machine.items()}
            clock = CLOCKS[proposition](dropped, machine)
            assert result.subs(at) == sp.Rational(clock)
            above, below = proof.start.numerator, proof.start.denominator
            assert sp.prod(x.subs(at) for x in above) / sp.prod(x.subs(at) for x in below) == clock
            assert dimension(sp.Mul(*above)) == dimension(sp.Mul(*below))


def test_there_are_some_hundred_and_forty_subsets_of_the_page_s_propositions():
    assert sum(2 ** len(x.assumptions) for x in PAGE) == 136
    assert len(SUBSETS) >= 136


# The propositions as the page states them


@pytest.mark.parametrize(
    ("proposition", "stated", "gone"),
    [
        (DATA, ratios.data_parallel(b, F, B, T), {N}),
        (TENSOR, ratios.tensor_parallel(b, F, B, d), {L, T}),
        (OVERHEAD, ratios.bubble_overhead(p, m), {tau}),
        (BUBBLE, ratios.bubble_fraction(p, m), {tau}),
    ],
    ids=name,
)
def test_with_all_assumptions_the_page_s_formula(proposition, stated, gone):
    proof = proposition.proof()
    assert same(proposition.result(), stated)
    assert set(proof.cancelled) == gone
    assert gone <= proof.start.free_symbols
    assert not gone & proposition.result().free_symbols
    with pytest.raises(FalseStep):
        proof.equals(stated * 2, "a slip")
    with pytest.raises(FalseStep):
        proof.equals(stated + 1, "a slip")


# … and the exact ones, which are what comes of dropping assumptions

EXACT = [
    (DATA, [assume.MANY_REPLICAS], ratios.data_parallel_exact(b, F, B, T, N, p_d)),
    (
        DATA,
        [assume.BANDWIDTH_BOUND, assume.MANY_REPLICAS],
        ratios.data_parallel_exact(b, F, B, T, N, p_d, alpha),
    ),
    (TENSOR, [assume.WHOLE_LAYER, assume.MANY_SHARDS], ratios.tensor_parallel_exact(b, F, B, d, t)),
    (
        TENSOR,
        [assume.WHOLE_LAYER, assume.MANY_SHARDS, assume.BANDWIDTH_BOUND],
        ratios.tensor_parallel_exact(b, F, B, d, t, T, alpha),
    ),
    (DATA, [assume.ONE_SYNCHRONISATION], k * ratios.data_parallel(b, F, B, T)),
    (DATA, [assume.WEIGHTS_ONLY], ratios.data_parallel(b, F, B, T) / (1 + s / (6 * d))),
    (DATA, [assume.NO_RECOMPUTE], ratios.data_parallel(b, F, B, T) * sp.Rational(6, 8)),
    (DATA, [assume.NO_OVERLAP], sp.Max(0, b * F / (B * T) - 2) / 3),
    (TENSOR, [assume.WHOLE_LAYER], t * b * F / (9 * d * B)),
    (TENSOR, [assume.MANY_SHARDS], (t - 1) / t * b * F / (9 * d * B)),
    (TENSOR, [assume.FUSED_QKV], b * F / (6 * d * B)),
    (TENSOR, [assume.NO_RECOMPUTE], b * F / (8 * d * B)),
    (TENSOR, [assume.WEIGHTS_ONLY], b * F / (9 * d * B) / (1 + s / (6 * d))),
    (OVERHEAD, [assume.EQUAL_STAGES], (p - 1) / m + delta),
    (OVERHEAD, [assume.FREE_BOUNDARIES], (p - 1) / m + 2 * (p - 1) * c / (m * tau)),
]


@pytest.mark.parametrize(("proposition", "dropped", "exact"), EXACT, ids=name)
def test_dropping_assumptions_gives_the_exact_form(proposition, dropped, exact):
    result = proposition.result(dropped)
    assert same(result, exact)
    assert not same(result, exact * sp.Rational(9, 8))
    assert not same(result, proposition.result())


@pytest.mark.parametrize(
    ("proposition", "dropped", "back"),
    [
        (DATA, [assume.BANDWIDTH_BOUND], {N, p_d, alpha}),
        (DATA, [assume.MANY_REPLICAS], {p_d}),
        (DATA, [assume.NO_OVERLAP], set()),
        (DATA, [assume.ONE_SYNCHRONISATION], {k}),
        (DATA, [assume.WEIGHTS_ONLY], {s, d}),
        (DATA, [assume.NO_RECOMPUTE], set()),
        (DATA, [assume.BANDWIDTH_BOUND, assume.WEIGHTS_ONLY], {N, p_d, alpha, s, d}),
        (TENSOR, [assume.WHOLE_LAYER], {t}),
        (TENSOR, [assume.MANY_SHARDS], {t}),
        (TENSOR, [assume.BANDWIDTH_BOUND], {T, t, alpha}),
        (TENSOR, [assume.FUSED_QKV], set()),
        (TENSOR, [assume.WEIGHTS_ONLY], {s}),
        (TENSOR, [assume.NO_RECOMPUTE], set()),
        (OVERHEAD, [assume.EQUAL_STAGES], {delta}),
        (OVERHEAD, [assume.FREE_BOUNDARIES], {c, tau}),
        (BUBBLE, [assume.EQUAL_STAGES], {delta}),
        (BUBBLE, [assume.FREE_BOUNDARIES], {c, tau}),
    ],
    ids=name,
)
def test_what_comes_back(proposition, dropped, back):
    broken = proposition.without(*dropped)
    assert isinstance(broken, Broken)
    assert set(broken.returns) == back
    assert list(broken.returns) == sorted(broken.returns, key=str)
    shown = str(broken)
    assert all(str(x) in shown for x in dropped)
    assert ("Back:" in shown) == bool(back)
    assert ("No symbol comes back" in shown) == (not back)


def test_what_comes_back_is_seen_to_be_uncancelled():
    """Latency leaves an N in the denominator, so N cannot be concluded away."""
    proof = DATA.proof([assume.BANDWIDTH_BOUND])
    assert isinstance(proof, Derivation)
    with pytest.raises(FalseStep, match="N is still in"):
        proof.concludes(free_of=[N])
    with pytest.raises(FalseStep, match="tau is still in"):
        OVERHEAD.proof([assume.FREE_BOUNDARIES]).concludes(free_of=[tau])


def test_numbers_at_a_machine():
    machine = {b: 2, F: 400e12, B: 50e9, T: 8192, alpha: 10e-6, p_d: 1024, N: 1e9}
    held, broken = DATA.without(assume.BANDWIDTH_BOUND, assume.MANY_REPLICAS).at(machine)
    assert held == pytest.approx(2 * 400e12 / (3 * 50e9 * 8192))
    ring = 2 * 1023 / 1024 * 1e9 * 2 / 50e9 + 2 * 1023 * 10e-6
    assert broken == pytest.approx(ring / (6 * 1e9 * 8192 / 400e12))
    held, broken = TENSOR.without(assume.WHOLE_LAYER, assume.MANY_SHARDS).at(
        {b: 2, F: 400e12, B: 450e9, d: 12288, t: 8}
    )
    assert broken == pytest.approx(7 * held)
    assert held == pytest.approx(0.0161, abs=5e-5)
    held, broken = BUBBLE.without(assume.EQUAL_STAGES).at({p: 4, m: 8, delta: 0.25})
    assert held == pytest.approx(3 / 11)
    assert broken == pytest.approx(5 / 13)


def test_numbers_need_every_symbol():
    with pytest.raises(Malformed, match=r"data: no value for .*alpha.*p_d"):
        DATA.without(assume.BANDWIDTH_BOUND).at({b: 2, F: 1, B: 1, T: 1, N: 1})


def test_an_assumption_that_is_not_made_cannot_be_dropped():
    with pytest.raises(Malformed, match="tensor: does not assume 'many replicas'; it assumes"):
        TENSOR.proof([assume.MANY_REPLICAS])
    with pytest.raises(Malformed, match="data: does not assume"):
        DATA.without(assume.WHOLE_LAYER)
    with pytest.raises(Malformed, match="at least one assumption to drop"):
        DATA.without()


@pytest.mark.parametrize("proposition", PROPOSITIONS.values(), ids=name)
def test_each_assumption_matters_and_has_a_name_of_its_own(proposition):
    names = [x.name for x in proposition.assumptions]
    assert len(set(names)) == len(names)
    assert len({x.symbol for x in proposition.assumptions}) == len(names)
    for assumption in proposition.assumptions:
        assert assumption.says.strip()
        assert not same(proposition.result([assumption]), proposition.result())


@pytest.mark.parametrize("proposition", PROPOSITIONS.values(), ids=name)
def test_the_order_of_dropping_does_not_matter(proposition):
    one, two = proposition.assumptions[:2]
    assert proposition.result([one, two]) == proposition.result([two, one, two])


@pytest.mark.parametrize("proposition", PAGE, ids=name)
def test_an_assumption_changed_behind_the_chain_s_back_is_caught(proposition):
    """Freeze one premise at another value than the conclusion's: some step must object."""

    def crooked(given):
        honest = proposition.chain(given)
        wrong = honest.start.replace(0, 2 * honest.start.numerator[0])
        chain = Derivation(honest.name, wrong)
        for step in honest.steps:
            chain = chain.equals(step.right, step.reason)
        return chain

    values = {x.symbol: x.ideal for x in proposition.assumptions}
    with pytest.raises(FalseStep):
        crooked(lambda e: sp.sympify(e).subs(values, simultaneous=True))
