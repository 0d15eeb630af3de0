"""The two counting rules, any assumptions dropped, against arrays and multiplications counted."""

from itertools import chain, combinations

import pytest
import sympy as sp

from bytesperflop import symbols as S
from bytesperflop.assumptions import NO_RECOMPUTE, WEIGHTS_ONLY
from bytesperflop.counting_rules import (
    EVERY_GRADIENT,
    FLOP_RULE,
    FOUR_D,
    FULL_HEADS,
    LAYERS_ONLY,
    PARAMETER_RULE,
    PLAIN_MLP,
)
from bytesperflop.counting_simulation import make_weights, train_step
from bytesperflop.mutants import attack, mutate
from bytesperflop.proof import FalseStep

SHAPES = ((12, 6, 2, 20, 2, 5, 7), (8, 4, 1, 12, 3, 7, 5), (6, 3, 3, 16, 1, 4, 9))
POINTS = [dict(zip((S.d, S.a, S.g, S.d_ff, S.L, S.V, S.s), shape, strict=True)) for shape in SHAPES]


def subsets(proposition):
    every = proposition.assumptions
    parts = (combinations(every, size) for size in range(len(every) + 1))
    return [pytest.param(x, id=", ".join(map(str, x)) or "none") for x in chain(*parts)]


def inside(weights):
    """Elements of the layers' arrays."""
    return sum(array.size for name, array in weights.items() if "." in name)


def parameters_counted(dropped, d, a, g, d_ff, L, V, s):
    """Elements of the arrays of a model of which only the dropped assumptions are untrue."""
    weights = make_weights(
        d,
        a,
        g if FULL_HEADS in dropped else a,
        d_ff if FOUR_D in dropped else 4 * d,
        gated=PLAIN_MLP in dropped,
        layers=L,
        V=V,
    )
    whole = sum(array.size for array in weights.values())
    return sp.Rational(whole if LAYERS_ONLY in dropped else inside(weights), L * d**2)


def flops_counted(dropped, d, a, g, d_ff, L, V, s):
    """FLOPs of a step a token and parameter, parts left out that an assumption leaves out."""
    weights = make_weights(d, a, layers=L, V=V)
    step = train_step(
        weights,
        [i % V for i in range(s)],
        a,
        recompute=NO_RECOMPUTE in dropped,
        frozen_embedding=EVERY_GRADIENT in dropped,
    )
    parts = ["attention", "mlp"]
    parts += ["scores"] if WEIGHTS_ONLY in dropped else []
    parts += ["head"] if LAYERS_ONLY in dropped else []
    whole = sum(array.size for array in weights.values())
    size = whole if LAYERS_ONLY in dropped else inside(weights)
    return sp.Rational(sum(step.tally.total(part=part) for part in parts), s * size)


RULES = [(PARAMETER_RULE, parameters_counted), (FLOP_RULE, flops_counted)]
CASES = [
    pytest.param(rule, count, *subset.values, id=f"{rule.id}: {subset.id}")
    for rule, count in RULES
    for subset in subsets(rule)
]


@pytest.mark.parametrize(("rule", "count", "dropped"), CASES)
def test_a_rule_without_any_of_its_assumptions_is_what_a_model_counts(rule, count, dropped):
    result = rule.result(dropped)
    counts = [count(dropped, **{x.name: y for x, y in point.items()}) for point in POINTS]
    assert counts == [result.subs(point) for point in POINTS]
    for label, wrong in mutate(result):
        assert counts != [wrong.subs(point) for point in POINTS], label


@pytest.mark.parametrize("rule", [PARAMETER_RULE, FLOP_RULE], ids=lambda rule: rule.id)
def test_no_mutant_of_a_rules_chain_survives(rule):
    for dropped in [(), rule.assumptions]:
        attacked = attack(rule.proof(dropped))
        assert attacked.tried > 10
        assert not attacked.survivors


def test_the_rules_as_the_page_states_them():
    assert PARAMETER_RULE.result() == 12
    assert FLOP_RULE.result() == 6
    assert PARAMETER_RULE.proof().cancelled == FLOP_RULE.proof().cancelled == (S.L, S.d)
    with pytest.raises(FalseStep):
        FLOP_RULE.proof().equals(sp.Integer(4), "a backward pass of one product")


def test_what_comes_back_is_named():
    back = {x.name: set(FLOP_RULE.without(x).returns) for x in FLOP_RULE.assumptions}
    assert back == {
        "weights only": {S.s, S.d},
        "no recomputation": set(),
        "layers only": {S.V, S.L, S.d},
        "every gradient": {S.L},
    }
    assert set(PARAMETER_RULE.without(FULL_HEADS).returns) == {S.g, S.a}


def test_cases_15_and_16_a_gated_mlp_of_8d_over_3_keeps_twelve_and_one_of_4d_makes_sixteen():
    gated = PARAMETER_RULE.result([PLAIN_MLP, FOUR_D])
    assert gated.subs(S.d_ff, sp.Rational(8, 3) * S.d) == 12
    assert PARAMETER_RULE.result([PLAIN_MLP]) == 16
    assert PARAMETER_RULE.result([FULL_HEADS]).subs(S.g, S.a / 8) == 10 + sp.Rational(1, 4)


def test_numbers_are_written_as_the_rule_counts_them():
    point = {S.L: 2, S.d: 8, S.a: 4, S.g: 1, S.d_ff: 12, S.V: 5}
    cells = [row[-1] for row in PARAMETER_RULE.breakdown(point).rows]
    assert cells == ["12.000", "10.500", "7.000", "16.000", "12.625"]


@pytest.mark.parametrize(
    ("expression", "unit"),
    [
        (S.N, "1"),
        (S.b, "byte"),
        (S.alpha, "s"),
        (S.F / S.B, "1/byte"),
        (S.b / S.alpha, "byte/s"),
        (S.b**2 / S.alpha**2, "byte^2/s^2"),
        (1 / (S.b * S.alpha), "1/byte s"),
    ],
)
def test_units_are_written_as_the_dimension_says(expression, unit):
    assert S.unit(expression) == unit
