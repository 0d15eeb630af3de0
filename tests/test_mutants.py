"""Mutants: what is changed, that each differs from the original, and that all are caught."""

import os
import subprocess
import sys

import pytest
import sympy as sp

from bytesperflop import sympy_engine, z3_engine
from bytesperflop.induction import induct
from bytesperflop.mutants import Attack, attack, mutate, mutate_side
from bytesperflop.proof import Derivation, Quotient
from bytesperflop.propositions import PROPOSITIONS
from bytesperflop.symbols import F, L, N, T, b, d, m, p, p_d, tau
from bytesperflop.sympy_engine import value

IDS = sorted(PROPOSITIONS)


def sides(proof):
    return [proof.start, *(step.right for step in proof.steps)]


def values_of(expression):
    return [changed for _, changed in mutate(expression)]


@pytest.mark.parametrize(
    ("expression", "mutants"),
    [
        (2 * N, [3 * N, 2 * N**2, -2 * N]),
        (N, [N**2, -N]),
        (N / T, [N**2 / T, T / T, N / N, N / T**2, -N / T]),
        (12 * L * d**2, [13 * L * d**2, 12 * L * d**3, 12 * L**2 * d**2, -12 * L * d**2]),
        (p - 1, [p, p**2 - 1, -p - 1, p + 1, -p + 1]),
        (sp.sqrt(N), [sp.sqrt(N**2), N ** sp.Rational(3, 2), -sp.sqrt(N)]),
        (1 / N, [1 / N**2, -1 / N]),
        (sp.Integer(4), [5, -4]),
        (sp.Max(tau, 2), [sp.Max(tau, 3), sp.Max(tau**2, 2), -sp.Max(tau, 2)]),
    ],
    ids=str,
)
def test_each_coefficient_exponent_sign_and_symbol(expression, mutants):
    assert set(mutants) <= set(values_of(expression))


def test_a_symbol_is_exchanged_for_another_of_the_same_expression():
    assert b * b in values_of(b * F)
    assert F * F in values_of(b * F)
    assert not any(x.free_symbols - {b, F} for x in values_of(b * F))


def test_a_quotient_is_changed_factor_by_factor_those_that_cancel_included():
    quotient = Quotient([2, N, b], [6, N, T])
    found = {changed for _, changed in mutate_side(quotient)}
    for mutant in [
        Quotient([3, N, b], [6, N, T]),
        Quotient([-2, N, b], [6, N, T]),
        Quotient([2, N**2, b], [6, N, T]),
        Quotient([2, N, b], [7, N, T]),
        Quotient([2, N, b], [6, N**2, T]),
        Quotient([2, T, b], [6, N, T]),
        Quotient([2, N, b], [6, N, N]),
    ]:
        assert mutant in found
    assert quotient not in found


@pytest.mark.parametrize("id", IDS)
def test_every_mutant_is_another_claim(id):
    for side in sides(PROPOSITIONS[id].proof()):
        changed = list(mutate_side(side))
        assert len(changed) >= 2
        assert len({mutant for _, mutant in changed}) == len(changed)
        for label, mutant in changed:
            assert label.strip()
            assert sp.cancel(sp.together(value(mutant) - value(side))) != 0, label


@pytest.mark.parametrize("id", IDS)
def test_every_mutant_of_the_propositions_is_caught_by_both_engines(id):
    proof = PROPOSITIONS[id].proof()
    result = attack(proof)
    assert result.survivors == []
    assert result.tried == result.caught == result.by["SymPy"] == result.by["Z3"]
    assert result.tried == len(list(mutate_side(proof.start))) + sum(
        len(list(mutate_side(step.right))) for step in proof.steps
    )


def test_there_are_two_hundred_mutants_of_the_propositions_alone():
    counts = [len(list(mutate_side(s))) for x in PROPOSITIONS.values() for s in sides(x.proof())]
    assert sum(counts) >= 200


def test_mutants_of_an_induction_are_caught_and_those_of_a_limit_that_are_another_limit():
    i = sp.Symbol("i", integer=True, nonnegative=True)
    limit = Derivation("l", Quotient([p_d - 1, N], [p_d])).tends_to(N, "many", p_d, bound=N)
    gauss = induct("sum", i * (i + 1) / 2, lambda C, n: C(n - 1) + n if n != 0 else 0, [i])
    assert attack(gauss).tried > 10
    assert attack(gauss).survivors == []
    # p/p and (p + 1)/p tend to 1 as well, and are as near: a limit says no more
    assert attack(limit).tried > 10
    assert sorted(attack(limit).survivors) == ["start: -(-1) for -1", "start: 0 for -1"]


def test_a_bound_that_is_not_tight_has_survivors_and_names_them():
    """p/m ≤ p is true; so is p/m ≤ 2p, and the attack must say that nobody caught it."""
    loose = Derivation("loose", Quotient([p], [m])).at_most(2 * p, "room to spare")
    result = attack(loose)
    assert any("3 for 2" in label for label in result.survivors)
    assert result.caught == result.tried - len(result.survivors)
    assert "3 for 2" in str(result)


def test_an_engine_that_never_objects_catches_nothing(monkeypatch):
    proof = PROPOSITIONS["data"].proof()
    monkeypatch.setattr(z3_engine, "prove", lambda *_: (True, "anything goes", None))
    result = attack(proof)
    assert result.by["Z3"] == 0
    assert result.by["SymPy"] == result.tried
    monkeypatch.setattr(sympy_engine, "prove", lambda *_: (True, "anything goes", None))
    blind = attack(proof)
    assert blind.caught == 0
    assert len(blind.survivors) == blind.tried == result.tried


def test_attacks_add_up():
    one, two = (attack(PROPOSITIONS[x].proof()) for x in ("data", "tensor"))
    both = one + two
    assert both.tried == one.tried + two.tried
    assert both.by["Z3"] == one.by["Z3"] + two.by["Z3"]
    lost = Attack("lost")
    lost.add("a label", [])
    lost.add("another", ["SymPy"])
    assert (lost.tried, lost.caught, (both + lost).survivors) == (2, 1, ["a label"])
    assert str(lost) == "lost: 1 of 2 mutants caught (SymPy 1); survivors: a label"


def test_mutants_are_the_same_in_every_run():
    code = (
        "from bytesperflop.mutants import mutate_side\n"
        "from bytesperflop.propositions import PROPOSITIONS\n"
        "for x in PROPOSITIONS.values():\n"
        "    proof = x.proof()\n"
        "    for side in [proof.start, *(s.right for s in proof.steps)]:\n"
        "        for label, mutant in mutate_side(side):\n"
        "            print(x.id, label, mutant)\n"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert runs[0].count("\n") >= 200
