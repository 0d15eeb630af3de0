"""Induction: closed forms proven, and every way to cheat refused."""

import itertools

import pytest
import sympy as sp

from bytesperflop.decision import FalseStep, Malformed, ProofError, UndecidedStep
from bytesperflop.induction import induct
from bytesperflop.symbols import m, tau

i, j, r = sp.symbols("i j r", integer=True, nonnegative=True)
y, slack = sp.Symbol("y", positive=True), sp.Symbol("slack", nonnegative=True)


def total(C, n):
    return C(n - 1) + n if n != 0 else sp.Integer(0)


def finished(C, stage, batch):
    """When a stage has finished a microbatch: after itself and after the stage before."""
    before = [C(stage - 1, batch)] if stage != 0 else []
    before += [C(stage, batch - 1)] if batch != 0 else []
    return sp.Max(0, *before) + tau


def run(recurrence, *shape):
    """The recurrence filled in as a table of numbers; no claim is used."""
    table = {}
    for place in itertools.product(*map(range, shape)):
        table[place] = sp.sympify(recurrence(lambda *at: table[at], *map(sp.Integer, place)))
    return table


# What stands


def test_gauss():
    proof = induct("sum", i * (i + 1) / 2, total, [i])
    assert [step.reason for step in proof.steps] == ["base: $i = 0$", "step to $i + 1$"]
    assert [proof.at(n) for n in range(9)] == [sum(range(n + 1)) for n in range(9)]
    assert all(v.holds for step in proof.steps for v in step.verdicts)
    assert {v.engine for step in proof.steps for v in step.verdicts} == {"SymPy", "Z3"}


@pytest.mark.parametrize(
    ("claim", "summand"),
    [
        (i * (i + 1) * (2 * i + 1) / 6, lambda n: n**2),
        ((i * (i + 1) / 2) ** 2, lambda n: n**3),
        (i / (i + 1), lambda n: 1 / (n * (n + 1))),
        (tau * i, lambda n: tau),
    ],
)
def test_sums(claim, summand):
    proof = induct("sum", claim, lambda C, n: C(n - 1) + summand(n) if n != 0 else 0, [i])
    for n in range(7):
        assert sp.expand(proof.at(n) - sum(summand(sp.Integer(q)) for q in range(1, n + 1))) == 0


def test_the_schedule_s_two_index_recurrence():
    proof = induct("finished", (r + j + 1) * tau, finished, [r, j])
    assert [step.reason for step in proof.steps] == [
        "base: $r = 0, j = 0$",
        "step to $j + 1$ with $r = 0$",
        "step to $r + 1$ with $j = 0$",
        "step to $r + 1, j + 1$",
    ]
    for (stage, batch), value in run(finished, 5, 6).items():
        assert sp.expand(proof.at(stage, batch) - value) == 0


def test_a_start_at_one():
    proof = induct(
        "odd numbers", m**2, lambda C, n: 1 if n == 1 else C(n - 1) + 2 * n - 1, [m], start=1
    )
    assert [proof.at(n) for n in range(1, 6)] == [1, 4, 9, 16, 25]


def test_parameters_of_a_claim():
    send = y + slack
    claim = send * (i + 1) + y
    proof = induct(
        "buckets", claim, lambda S, n: sp.Max(send * (n + 1), S(n - 1) if n != 0 else 0) + y, [i]
    )
    assert proof.at(3) == 4 * send + y


# False claims


@pytest.mark.parametrize(
    "claim",
    [
        i * (i - 1) / 2,
        (i + 1) * (i + 2) / 2,
        i * (i + 1) / 2 + 1,
        i * (i + 1) / 3,
        i**2,
        i * (i + 1) / 2 + i * (i - 1) * (i - 2) * (i - 3) * (i - 4),
    ],
)
def test_a_wrong_sum_is_refused(claim):
    with pytest.raises(FalseStep):
        induct("sum", claim, total, [i])


@pytest.mark.parametrize(
    "claim",
    [
        (r + j) * tau,
        (r + j + 2) * tau,
        (r + 2 * j + 1) * tau,
        (r * j + 1) * tau,
        (r + j + 1) * tau + r * j * tau,
        sp.Max(r, j) * tau + tau,
        r + j + 1,
    ],
)
def test_an_off_by_one_in_the_schedule_is_refused(claim):
    with pytest.raises(FalseStep):
        induct("finished", claim, finished, [r, j])


def no_stage(C, stage, batch):
    return (C(stage, batch - 1) if batch != 0 else 0) + tau


def no_batch(C, stage, batch):
    return (C(stage - 1, batch) if stage != 0 else 0) + tau


def least(C, stage, batch):
    before = [C(stage - 1, batch)] if stage != 0 else []
    before += [C(stage, batch - 1)] if batch != 0 else []
    return sp.Min(*before) + tau if before else tau


def diagonal(C, stage, batch):
    return (C(stage - 1, batch - 1) if stage != 0 and batch != 0 else 0) + tau


def late(C, stage, batch):
    return finished(C, stage, batch) + (tau if stage == 0 else 0)


@pytest.mark.parametrize("recurrence", [no_stage, no_batch, diagonal, late])
def test_a_dropped_edge_is_refused(recurrence):
    with pytest.raises(FalseStep):
        induct("finished", (r + j + 1) * tau, recurrence, [r, j])
    values = run(recurrence, 3, 3)
    assert any(sp.expand(v - (a + b + 1) * tau) != 0 for (a, b), v in values.items())


def test_the_least_is_the_greatest_where_both_are_the_same():
    """On the claim both predecessors end together, so min proves it too, and rightly."""
    induct("finished", (r + j + 1) * tau, least, [r, j])
    assert all(v == (a + b + 1) * tau for (a, b), v in run(least, 4, 4).items())


def test_a_dropped_base_is_refused():
    with pytest.raises(Malformed, match="before the start 0"):
        induct("sum", i * (i + 1) / 2, lambda C, n: C(n - 1) + n, [i])
    with pytest.raises(FalseStep, match="base"):
        induct("sum", i * (i + 1) / 2 + 7, total, [i])


# Recurrences that are none


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda C, n: C(n), "not earlier"),
        (lambda C, n: C(n + 1) - n - 1, "not earlier"),
        (lambda C, n: C(i) + n, "not earlier"),
        (lambda C, n: C(n / 2), "not earlier"),
        (lambda C, n: C(n - sp.Rational(1, 2)), "not earlier"),
        (lambda C, n: C(n - tau), "not earlier"),
    ],
)
def test_a_recurrence_that_asks_for_what_is_not_earlier(ask, message):
    with pytest.raises(Malformed, match=message):
        induct("sum", i * (i + 1) / 2, lambda C, n: ask(C, n) if n != 0 else sp.Integer(0), [i])


def test_a_recurrence_that_trades_one_index_for_another():
    with pytest.raises(Malformed, match="not earlier"):
        induct("swap", r + j, lambda C, a, b: C(a - 1, b + 1) if a != 0 else b, [r, j])
    with pytest.raises(Malformed, match="not earlier"):
        induct("self", r + j, lambda C, a, b: C(a, b), [r, j])


def test_a_step_of_two_needs_what_it_does_not_have():
    """C(n) = C(n − 2) + 2 says nothing of C(1)."""
    with pytest.raises(Malformed, match="before the start 0"):
        induct("even", i, lambda C, n: C(n - 2) + 2 if n != 0 else sp.Integer(0), [i])


@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_branch_behind_the_start_is_found(place):
    def crooked(C, n):
        return sp.Integer(99) if n == place else total(C, n)

    with pytest.raises(FalseStep, match="in numbers"):
        induct("sum", i * (i + 1) / 2, crooked, [i])


def test_a_recurrence_that_must_know_an_order_does_not_answer():
    with pytest.raises(Malformed, match="does not answer"):
        induct("sum", i, lambda C, n: C(n - 1) + 1 if n > 3 else n, [i])


# Ill-formed input


@pytest.mark.parametrize(
    "index",
    [
        sp.Symbol("x"),
        sp.Symbol("x", real=True),
        sp.Symbol("x", positive=True),
        sp.Symbol("x", integer=True),
        sp.Symbol("x", even=True, nonnegative=True),
        sp.Symbol("x", prime=True),
        sp.Symbol("x", integer=True, negative=True),
    ],
    ids=lambda x: str(x.assumptions0),
)
def test_an_index_is_a_plain_whole_number(index):
    with pytest.raises(Malformed):
        induct("sum", index, lambda C, n: C(n - 1) + 1 if n != 0 else sp.Integer(0), [index])


@pytest.mark.parametrize(("index", "start"), [(i, -1), (m, 0), (i, 0.5), (i, sp.Integer(0))])
def test_a_start_that_leaves_indices_out(index, start):
    """m is at least 1: a start at 0 would prove 0 and 2, 3, … and leave out 1."""
    with pytest.raises(Malformed, match="start ="):
        induct("x", index, lambda C, n: start if n == start else C(n - 1) + 1, [index], start)


def test_a_later_start_claims_nothing_before_it():
    with pytest.raises(Malformed, match="before the start 2"):
        induct("x", i, lambda C, n: C(n - 1) + 1, [i], start=2)
    induct("x", i, lambda C, n: 2 if n == 2 else C(n - 1) + 1, [i], start=2)


def test_symbols_and_hypotheses_are_checked():
    bare, stranger = sp.Symbol("bare"), sp.Symbol("stranger", positive=True)
    with pytest.raises(Malformed, match="bare has no assumptions"):
        induct("x", bare * i, lambda C, n: bare * n, [i])
    with pytest.raises(Malformed, match="stranger is unknown"):
        induct("x", i, lambda C, n: n + stranger - stranger / 2, [i])
    with pytest.raises(Malformed, match="is not the book's"):
        induct("x", i, lambda C, n: n, [sp.Symbol("k", integer=True, nonnegative=True)])
    with pytest.raises(Malformed, match="is not a SymPy expression"):
        induct("x", "i", lambda C, n: n, [i])
    with pytest.raises(Malformed, match="is not exact"):
        induct("x", i, lambda C, n: n + sp.Float(0), [i])
    with pytest.raises(Malformed, match="no point found"):
        induct("x", i + 5, total, [i], given=[sp.Eq(tau, 1), sp.Eq(tau, 2)])
    with pytest.raises(Malformed, match="must not contain the index"):
        induct("x", i, lambda C, n: sp.Integer(0), [i], given=[sp.Eq(i, 0)])


def test_hypotheses_are_used_and_shown():
    def capped(C, n):
        return sp.Integer(0) if n == 0 else sp.Max(C(n - 1) + y, n * tau)

    proof = induct("capped", i * y, capped, [i], given=[sp.Eq(y, tau + slack)])
    assert "given $y = " in str(proof)
    with pytest.raises(FalseStep):
        induct("capped", i * y, capped, [i])


def test_an_undecided_step_is_refused():
    with pytest.raises(UndecidedStep):
        induct("powers", 2**i, lambda C, n: 1 if n == 0 else 2 * C(n - 1), [i])
    with pytest.raises(ProofError):
        induct("powers", 2**i + i, lambda C, n: 1 if n == 0 else 2 * C(n - 1), [i])
