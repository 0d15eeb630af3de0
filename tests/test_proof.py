"""The kernel refuses what is not proven, and says why; each error has its own message."""

import dataclasses
import re

import pytest
import sympy as sp

from bytesperflop import decision, sympy_engine, z3_engine
from bytesperflop.proof import (
    Derivation,
    FalseStep,
    Malformed,
    ProofError,
    Quotient,
    UndecidedStep,
)
from bytesperflop.symbols import B, F, L, N, T, alpha, b, d, m, p, p_d, tau

ZERO, ONE, TWO = sp.Integer(0), sp.Integer(1), sp.Integer(2)
x, y, z = sp.symbols("x y z", positive=True)
r, w = sp.symbols("r w", real=True)


def chain(start, given=()):
    return Derivation("chain", start, given=given, also=(x, y, z, r, w))


def data():
    return Derivation("data", Quotient(2 * N * b / B, 6 * N * T / F))


# What stands


def test_both_engines_decide_the_page_s_first_proposition():
    proof = data().equals(b * F / (3 * B * T), "N cancels").concludes(free_of=[N])
    assert [(v.engine, v.holds) for v in proof.steps[0].verdicts] == [("SymPy", True), ("Z3", True)]
    assert proof.cancelled == (N,)


def test_z3_is_here():
    import z3

    assert z3.get_version() >= (4, 8, 0, 0)


def test_equalities_and_bounds_chain():
    proof = (
        chain(Quotient(p - 1, m + p - 1))
        .equals(1 - m / (m + p - 1), "split the fraction")
        .at_most(1 - m / (m + p), "a larger denominator takes away less")
        .equals(p / (m + p), "one fraction")
        .at_most(ONE, "a part of the whole")
    )
    assert proof.relation == "≤"
    assert [step.relation for step in proof.steps] == ["=", "≤", "=", "≤"]


def test_a_limit_from_either_side_of_a_chain():
    proof = (
        chain(2 * (p_d - 1) * N / p_d)
        .equals(2 * N * (1 - 1 / p_d), "divide")
        .tends_to(2 * N, "many replicas", p_d, bound=2 * N)
        .concludes(free_of=[p_d])
    )
    assert proof.relation == "→"
    assert r"p_{d} \to \infty" in proof.steps[-1].reason


# A false step


FALSE = [
    (data(), b * F / (2 * B * T)),
    (data(), b * F / (3 * B * T**2)),
    (data(), -b * F / (3 * B * T)),
    (data(), b * F / (3 * B * d)),
    (data(), N * b * F / (3 * B * T)),
    (chain(p / m), (p - 1) / m),
    (chain(sp.Max(x, y)), sp.Min(x, y)),
    (chain(sp.Max(r, w) ** 2), sp.Max(r**2, w**2)),
    (chain(r * sp.Max(x, y)), sp.Max(r * x, r * y)),
    (chain(-sp.Max(x, y)), sp.Max(-x, -y)),
    (chain(sp.sqrt(x + y)), sp.sqrt(x) + sp.sqrt(y)),
    (chain(sp.sqrt(r**2)), r),
    (chain(sp.sqrt(r) * sp.sqrt(w)), sp.sqrt(r * w)),
    (chain(alpha), 2 * alpha),
]


def evaluates(side, point):
    """A side in numbers by SymPy's substitution into each factor as written, not by an engine."""
    if isinstance(side, Quotient):
        above, below = (
            sp.prod([f.subs(point) for f in part]) for part in (side.numerator, side.denominator)
        )
        return above / below
    return side.subs(point)


@pytest.mark.parametrize(("start", "wrong"), FALSE, ids=lambda x: str(getattr(x, "start", x)))
def test_a_false_step_is_refused_with_numbers_that_refute_it(start, wrong):
    with pytest.raises(FalseStep, match="a slip") as caught:
        start.equals(wrong, "a slip")
    message, point = str(caught.value), caught.value.counterexample
    assert str(start.start) in message
    assert str(wrong) in message
    assert all(f"{symbol} = {number}" in message for symbol, number in point.items())
    left, right = (evaluates(side, point) for side in (start.start, wrong))
    assert abs(sp.N(left - right, 30)) > sp.Float("1e-15")
    assert all(number > 0 or not symbol.is_positive for symbol, number in point.items())
    assert all(number.is_integer for symbol, number in point.items() if symbol.is_integer)


@pytest.mark.parametrize(
    ("start", "relation", "wrong"),
    [
        (chain(p), "at_most", p - 1),
        (chain(p), "at_least", TWO),
        (chain(alpha), "at_least", sp.Rational(1, 10**6)),
        (chain(x**2), "at_least", x),
        (chain(x**2), "at_most", x),
        (chain((x + y) / 2), "at_least", sp.sqrt(x * y) * sp.Rational(101, 100)),
        (chain(sp.Max(x, y)), "at_most", x),
        (chain(x, [sp.Ge(x, y), sp.Ge(y, z), sp.Ge(z, 2)]), "at_least", sp.Integer(3)),
        (chain(x, [sp.Ge(x, y), sp.Ge(x, z)]), "at_least", y + z),
        (chain(x - y, [sp.Ge(y, x), sp.Ge(x, y)]), "at_least", ONE),
    ],
)
def test_a_false_bound_is_refused_within_its_hypotheses(start, relation, wrong):
    with pytest.raises(FalseStep) as caught:
        getattr(start, relation)(wrong, "a slip")
    point = caught.value.counterexample
    gap = sp.N(evaluates(start.start, point) - wrong.subs(point), 30)
    assert gap > 0 if relation == "at_most" else gap < 0
    assert all(h.subs(point) is sp.true for h in start.given)


def test_a_counterexample_between_whole_numbers_is_none():
    with pytest.raises(UndecidedStep) as caught:  # true for whole numbers, negative at 3/2
        chain((m - 1) * (m - 2)).at_least(ZERO, "no whole number lies between 1 and 2")
    assert "not decided by SymPy" in str(caught.value)
    verdicts = decision.decide("≥", (m - 1) * (m - 2), ZERO)
    assert [v.holds for v in verdicts] == [None, None]


def test_a_sum_of_roots_that_is_zero_is_not_taken_for_a_counterexample():
    with pytest.raises(UndecidedStep, match="equality not decided"):
        chain(sp.sqrt(x + 2 * sp.sqrt(x) + 1)).equals(sp.sqrt(x) + 1, "a square")


# An undecided step


@pytest.mark.parametrize(
    "side",
    [sp.exp(x), sp.log(1 + x), x**y, abs(r), sp.pi * x, sp.floor(x), sp.Function("f")(x)],
    ids=str,
)
def test_what_an_engine_cannot_read_is_undecided_even_when_both_sides_agree(side):
    with pytest.raises(UndecidedStep, match="the same") as caught:
        chain(side).equals(side, "the same")
    assert not isinstance(caught.value, FalseStep)
    assert str(side) in str(caught.value)


def test_a_true_bound_without_a_certificate_is_undecided():
    with pytest.raises(UndecidedStep, match="not decided by SymPy"):
        chain((x + y) / 2).at_least(sp.sqrt(x * y), "means")


@pytest.mark.parametrize("factor", [m - 1, r, x - y, alpha, 1 / m - 1])
def test_a_denominator_that_can_vanish_is_refused_by_each_engine(factor):
    quotient = Quotient([factor, x], [factor])
    with pytest.raises(UndecidedStep, match="denominator"):
        chain(quotient).equals(x, "strike what both have")
    for engine in (sympy_engine, z3_engine):
        holds, how, _ = engine.prove("=", quotient, x)
        assert holds is None
        assert "denominator" in how


@pytest.mark.parametrize(
    ("factor", "given"),
    [
        (m - 1, [sp.Ge(m, 2)]),
        (x - y, [sp.Gt(x, y)]),
        (x - y, [sp.Le(y + 1, x)]),
        (m + p - 1, []),
        (1 + r**2, []),
        (1 + alpha, []),
        (sp.Max(x, 1), []),
    ],
)
def test_a_denominator_that_cannot_vanish_may_be_struck_out(factor, given):
    chain(Quotient([factor, x], [factor]), given).equals(x, "strike what both have")
    assert sympy_engine.prove("=", Quotient([factor, x], [factor]), x, given)[0] is True


# What is not well formed


@pytest.mark.parametrize("side", ["2*N", 2, 0.5, None, [N], sp.Eq(N, 1), sp.Matrix([N])], ids=str)
def test_not_sympy(side):
    with pytest.raises(Malformed, match="is not a SymPy expression"):
        chain(side)
    with pytest.raises(Malformed, match="is not a SymPy expression"):
        chain(N).equals(side, "so")
    with pytest.raises(Malformed, match="is not a SymPy expression"):
        chain(N).at_most(side, "so")
    with pytest.raises(Malformed, match="is not a SymPy expression"):
        chain(1 / m).tends_to(side, "so", m, bound=1)


@pytest.mark.parametrize("factor", ["N", 0.5, None, Quotient(N, T), sp.Eq(N, 1)], ids=str)
def test_a_quotient_takes_expressions_only(factor):
    with pytest.raises(ValueError, match="is not a SymPy expression"):
        Quotient([factor], [N])


@pytest.mark.parametrize(
    "side",
    [
        sp.oo,
        -sp.oo,
        sp.nan,
        sp.zoo,
        sp.I * N,
        N + sp.Float(1),
        N * (1 + sp.Float("1e-30")),
        sp.sqrt(-2) * x,
        Quotient([0], [0]),
        Quotient([N], [0]),
        Quotient([N, sp.oo], [T]),
        Quotient([N], [sp.Float(2)]),
        Quotient([sp.I, sp.I], [T]),
    ],
    ids=str,
)
def test_not_exact_finite_and_real(side):
    with pytest.raises(Malformed, match="is not exact, finite and real"):
        chain(side)
    with pytest.raises(Malformed, match="is not exact, finite and real"):
        chain(N).equals(side, "so")


def test_unknown_symbols():
    stranger = sp.Symbol("stranger", positive=True)
    with pytest.raises(Malformed, match="symbol stranger is unknown: list it in 'also'"):
        Derivation("d", stranger)
    with pytest.raises(Malformed, match="stranger is unknown"):
        Derivation("d", N, given=[sp.Ge(N, stranger)])
    with pytest.raises(Malformed, match="stranger is unknown"):
        chain(N).equals(N + stranger, "so")
    with pytest.raises(Malformed, match="stranger is unknown"):
        chain(N).at_most(N + x, "more", certificate=x + stranger)
    with pytest.raises(Malformed, match="stranger is unknown"):
        chain(1 / m).tends_to(ZERO, "so", m, bound=stranger)
    Derivation("d", stranger, also=[stranger])


@pytest.mark.parametrize("signs", [{}, {"positive": True}, {"real": True}])
def test_a_symbol_that_only_looks_like_the_book_s(signs):
    twin = sp.Symbol("N", **signs)
    for also in [(), (twin,)]:
        with pytest.raises(Malformed, match=re.escape("use bytesperflop.symbols.N")):
            Derivation("d", twin, also=also)


@pytest.mark.parametrize(
    "signs", [{}, {"integer": None}, {"extended_positive": True}, {"extended_real": True}]
)
def test_symbols_without_assumptions(signs):
    bare = sp.Symbol("bare", **signs)
    with pytest.raises(Malformed, match="symbol bare has no assumptions"):
        Derivation("d", bare, also=[bare])


@pytest.mark.parametrize("reason", ["", "  ", None, 3])
def test_a_step_needs_a_reason(reason):
    with pytest.raises(Malformed, match="a step needs a reason in words"):
        chain(N).equals(N, reason)


@pytest.mark.parametrize("name", ["", " "])
def test_a_derivation_needs_a_name(name):
    with pytest.raises(Malformed, match="name: a derivation needs one"):
        Derivation(name, N)


def test_relations_that_do_not_chain():
    below = chain(p).at_most(p + 1, "more")
    with pytest.raises(Malformed, match="≥ does not chain after ≤"):
        below.at_least(p, "less")
    with pytest.raises(Malformed, match="→ does not chain after ≤"):
        below.tends_to(ZERO, "so", p, bound=1)
    above = chain(p).at_least(ONE, "one or more")
    with pytest.raises(Malformed, match="≤ does not chain after ≥"):
        above.at_most(TWO, "less than two")
    limit = chain(1 / p).tends_to(ZERO, "so", p, bound=1)
    with pytest.raises(Malformed, match="≤ does not chain after →"):
        limit.at_most(ONE, "nothing is less than one")


def test_an_empty_chain_concludes_nothing():
    with pytest.raises(Malformed, match="an empty chain concludes nothing"):
        data().concludes(free_of=[N])


def test_free_of():
    step = data().equals(b * F / (3 * B * T), "N cancels")
    with pytest.raises(Malformed, match="L was not there at the start, so it can't cancel"):
        step.concludes(free_of=[L])
    with pytest.raises(FalseStep, match="T is still in"):
        step.concludes(free_of=[N, T])
    assert step.concludes(free_of=iter([N])).cancelled == (N,)
    struck = data().equals(Quotient([N, b, F], [3, N, B, T]), "not struck out yet")
    with pytest.raises(FalseStep, match="N is still in"):
        struck.concludes(free_of=[N])


def test_the_expected_end_is_decided_too():
    step = data().equals(b * F / (3 * B * T), "N cancels")
    assert len(step.concludes(b * F / (3 * B * T)).steps) == 1
    assert len(step.concludes((b / 3) * (F / B) / T + x - x).steps) == 1
    assert step.concludes(Quotient(b * F, 3 * B * T)).steps[-1].reason == "the result as stated"
    with pytest.raises(FalseStep, match="the result as stated"):
        step.concludes(b * F / (2 * B * T))
    with pytest.raises(UndecidedStep, match="denominator"):
        step.concludes(Quotient([b, F, m - 1], [3, B, T, m - 1]))


# Hypotheses


@pytest.mark.parametrize(
    "given",
    [
        [sp.Ge(p, 3), sp.Le(p, 2)],
        [sp.Eq(x, 1), sp.Eq(x, 2)],
        [sp.Gt(x, y), sp.Gt(y, x)],
        [sp.Le(x**2 + y**2, 2 * x * y - 1)],
        [sp.Eq(2 * m, 2 * x), sp.Eq(2 * x, 3)],
    ],
)
def test_contradictory_hypotheses_prove_nothing(given):
    with pytest.raises(Malformed, match="no point found that satisfies"):
        chain(ZERO, given)


@pytest.mark.parametrize("given", [["p > 1"], [p], [sp.Ne(p, 2)], [sp.false], [sp.Eq(x, -1)]])
def test_a_hypothesis_is_a_relation(given):
    with pytest.raises(Malformed, match="is not a relation of SymPy"):
        chain(p, given)


@pytest.mark.parametrize("bound", [sp.Float(0.5), sp.oo, sp.I])
def test_a_hypothesis_is_exact_finite_and_real(bound):
    with pytest.raises(Malformed, match="is not exact"):
        chain(x, [sp.Ge(x, bound, evaluate=False)])


def test_hypotheses_are_used_and_shown():
    proof = chain(x, [sp.Ge(x, y), sp.Ge(y, z), sp.Ge(x, y)]).at_least(z, "by way of y")
    assert "x \\geq y" in str(proof)
    with pytest.raises(FalseStep):
        chain(x, [sp.Ge(x, y)]).at_least(z, "by way of y")
    chain(x, [sp.Eq(x, y), sp.Eq(y, z)]).equals(z, "by way of y")
    chain(x - y, [sp.Ge(x, y), sp.Ge(y, x)]).at_least(ZERO, "each is at least the other")
    assert chain(p, [sp.Ge(p, 1)]).given == ()  # what the symbol says already


# Certificates


def test_means_of_two_and_three():
    two = (sp.sqrt(x) - sp.sqrt(y)) ** 2 / 2
    chain((x + y) / 2).at_least(sp.sqrt(x * y), "means", certificate=two)
    three = (x + y + z) * ((x - y) ** 2 + (y - z) ** 2 + (z - x) ** 2) / 2
    chain(x**3 + y**3 + z**3).at_least(3 * x * y * z, "means", certificate=three)
    roots = three.subs({s: sp.cbrt(s) for s in (x, y, z)}, simultaneous=True) / 3
    chain((x + y + z) / 3).at_least(sp.cbrt(x * y * z), "means", certificate=roots)
    chain(sp.sqrt(x * y)).at_most((x + y) / 2, "means", certificate=two)


@pytest.mark.parametrize(
    "certificate",
    [ZERO, (sp.sqrt(x) - sp.sqrt(y)) ** 2, (sp.sqrt(x) + sp.sqrt(y)) ** 2 / 2, (x - y) ** 2 / 2],
)
def test_a_certificate_of_something_else_is_refused(certificate):
    with pytest.raises(UndecidedStep, match="is not the difference of the sides"):
        chain((x + y) / 2).at_least(sp.sqrt(x * y), "means", certificate=certificate)


def test_a_certificate_that_proves_nothing_is_refused():
    with pytest.raises(UndecidedStep, match="is not the difference"):  # true, wrongly certified
        chain(ZERO).at_most(tau, "a time", certificate=tau**2)
    with pytest.raises(UndecidedStep, match="no certificate found"):
        chain(x**2 + y**2).at_least(2 * x * y, "squares", certificate=x * (x - y) - y * (x - y))
    with pytest.raises(FalseStep):
        chain(r).at_least(ZERO, "no", certificate=r)
    with pytest.raises(Malformed, match="is not a SymPy expression"):
        chain(ZERO).at_most(tau, "a time", certificate=1)


# Limits


def test_limits_at_infinity_and_at_zero():
    chain(Quotient([p_d - 1], [p_d])).tends_to(ONE, "many", p_d, bound=1)
    chain(N / p_d).tends_to(ZERO, "many", p_d, bound=N)
    chain(1 / (1 + tau)).tends_to(ONE, "short", tau, bound=1, to=0)
    chain(1 + alpha * F).tends_to(ONE, "no latency", alpha, bound=F, to=0)
    chain(1 / m).tends_to(Quotient([0], [tau]), "as a quotient", m, bound=1)


@pytest.mark.parametrize("bound", [1, N, 10**6])
@pytest.mark.parametrize("wrong", [ZERO, TWO, ONE + sp.Rational(1, 1000), -ONE])
def test_a_wrong_limit_is_refused_with_numbers(wrong, bound):
    with pytest.raises(FalseStep) as caught:
        chain((p_d - 1) / p_d).tends_to(wrong, "many", p_d, bound=bound)
    point = caught.value.counterexample
    gap = abs(((p_d - 1) / p_d - wrong).subs(point))
    assert gap > (sp.sympify(bound) / p_d).subs(point)


def test_a_bound_that_is_too_small_is_refused():
    for bound in (sp.Rational(99, 100), 0, -1):
        with pytest.raises(FalseStep, match="not within"):
            chain((p_d - 1) / p_d).tends_to(ONE, "many", p_d, bound=bound)
    with pytest.raises(FalseStep, match="not within"):
        chain(1 / (1 + tau)).tends_to(ONE, "short", tau, bound=sp.Rational(1, 2), to=0)
    with pytest.raises(ProofError):  # the limit is right, but it is not as near as that
        chain(sp.sqrt(x + 1) - sp.sqrt(x)).tends_to(ZERO, "long", x, bound=1)


def test_a_limit_that_does_not_exist_is_refused():
    with pytest.raises(FalseStep):
        chain(p_d).tends_to(ZERO, "many", p_d, bound=100)
    with pytest.raises(UndecidedStep, match="denominator"):
        chain(1 / (x - 1)).tends_to(ZERO, "a pole at 1", x, bound=2)


def test_a_hypothesis_may_not_tie_the_variable_of_a_limit():
    for given in ([sp.Eq(N, m**2)], [sp.Eq(m, 5)], [sp.Le(m, 9)]):
        with pytest.raises(Malformed, match="what is given must not contain m"):
            chain(N / m, given).tends_to(ZERO, "no", m, bound=N)


@pytest.mark.parametrize("side", [m, 1 / m, N + m - m / 2])
def test_limit_and_bound_may_not_contain_the_variable(side):
    with pytest.raises(Malformed, match="must not contain m"):
        chain(1 / m).tends_to(side, "no", m, bound=1)
    with pytest.raises(Malformed, match="must not contain m"):
        chain(1 / m).tends_to(ZERO, "no", m, bound=side)


def test_where_a_limit_can_be_taken():
    with pytest.raises(Malformed, match="must be 0 or oo"):
        chain(1 / m).tends_to(ONE, "no", m, bound=1, to=1)
    with pytest.raises(Malformed, match="it can't tend to 0"):
        chain(m).tends_to(ZERO, "no", m, bound=1, to=0)
    with pytest.raises(Malformed, match="a symbol that is not negative"):
        chain(1 / (1 + r**2)).tends_to(ZERO, "no", r, bound=1)
    with pytest.raises(Malformed, match="a symbol that is not negative"):
        chain(1 / m).tends_to(ZERO, "no", 2 * m, bound=1)


# Nothing decided can be changed afterwards


def test_what_is_decided_stays():
    proof = data().equals(b * F / (3 * B * T), "N cancels")
    for thing, field in [
        (proof, "start"),
        (proof, "given"),
        (proof, "steps"),
        (proof.start, "numerator"),
        (proof.steps[0], "right"),
        (proof.steps[0].verdicts[0], "holds"),
    ]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, field, ())
    given = [sp.Ge(x, y)]
    bounded = chain(x, given).at_least(y, "given")
    given.append(sp.Ge(x, z))
    with pytest.raises(FalseStep):
        bounded.at_least(z, "slipped in")
    factors = [N, x]
    quotient = Quotient(factors, [T])
    factors[0] = L
    assert quotient.numerator == (N, x)


def test_engines_that_disagree_do_not_pass(monkeypatch):
    true, wrong = (True, "so it says", None), b * F / (2 * B * T)
    for engine in (sympy_engine, z3_engine):
        with monkeypatch.context() as patch:
            patch.setattr(engine, "prove", lambda *_, **__: true)
            with pytest.raises(ProofError):
                data().equals(wrong, "a slip")
    with monkeypatch.context() as patch:
        patch.setattr(z3_engine, "prove", lambda *_, **__: (None, "tired", None))
        with pytest.raises(UndecidedStep, match="was not decided by Z3"):
            data().equals(b * F / (3 * B * T), "right, but Z3 is tired")


def test_a_module_that_is_missing_for_another_reason_is_not_taken_for_z3(monkeypatch):
    def broken(*_, **__):
        raise ModuleNotFoundError("no module named 'other'", name="other")

    monkeypatch.setattr(z3_engine, "prove", broken)
    with pytest.raises(ModuleNotFoundError, match="other"):
        chain(N).equals(N, "the same")
