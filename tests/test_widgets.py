"""The widgets' specs: their formulas are the book's, their words and limits hold."""

import itertools
import json
import math
import random
import re

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bytesperflop import catalog, counting, optimum, ratios
from bytesperflop.combined import SPLIT
from bytesperflop.counting_rules import FLOP_RULE, PARAMETER_RULE
from bytesperflop.propositions import BUBBLE, DATA, PROPOSITIONS, TENSOR
from bytesperflop.schedules import CHUNKED, SCHEDULES, Operation, plan
from bytesperflop.symbols import L, T, d, tau
from bytesperflop.widgets import counts, data, numbers, pipeline, split_budget, tensor, words
from bytesperflop.widgets.explorer import Explorer
from bytesperflop.widgets.orders import Orders, chunks_on, every_schedule, written
from bytesperflop.widgets.spec import Control, Spec
from bytesperflop.widgets.water_level import water_level

SPECS = {
    spec.id: spec
    for spec in (
        data.data_ratio(),
        tensor.tensor_ratio(),
        counts.counting_rule(),
        pipeline.pipeline_timeline(every_schedule(8, 12)),
        split_budget.budget(),
    )
}
every_spec = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)


def subsets(assumptions):
    sizes = range(len(assumptions) + 1)
    return [x for size in sizes for x in itertools.combinations(assumptions, size)]


def put_in(formula, assumptions, dropped):
    """The formula with each assumption's ideal or actual value; later ones may build on earlier."""
    for one in reversed(assumptions):
        formula = formula.subs(one.symbol, one.actual if one in dropped else one.ideal)
    return formula


def draw(spec, rng):
    """A random point: every control anywhere in its range, one time in eight at an end."""
    values = dict(spec.start)
    for control in spec.controls:
        value = control.low + (control.high - control.low) * rng.random()
        if control.scale != "linear":
            value = control.low * (control.high / control.low) ** rng.random()
        if rng.random() < 1 / 8:
            value = rng.choice([control.low, control.high])
        values[control.symbol.name] = round(value) if control.whole else value
    dropped = [a.name for a in spec.assumptions if rng.random() < 0.5]
    return values, dropped


# The formulas are those that were proven


@pytest.mark.parametrize("proposition", [*PROPOSITIONS.values(), SPLIT], ids=lambda x: x.id)
def test_a_propositions_formula_is_where_its_chain_ends(proposition):
    """With up to two assumptions dropped, and with all of them."""
    every = subsets(proposition.assumptions)
    for dropped in [x for x in every if len(x) <= 2 or x == every[-1]]:
        formula = put_in(proposition.formula, proposition.assumptions, dropped)
        assert sp.cancel(sp.together(formula - proposition.result(dropped))) == 0


@pytest.mark.parametrize(
    ("spec", "name", "proposition", "renamed"),
    [
        ("data-ratio", "now", DATA, {}),
        ("tensor-ratio", "now", TENSOR, {}),
        ("pipeline", "closed", BUBBLE, {tau: sum(sp.symbols("t_F t_B", positive=True))}),
        ("budget", "overhead", SPLIT, {}),
    ],
)
def test_a_widgets_number_is_its_propositions(spec, name, proposition, renamed):
    """Through the whole spec, at random points; the proposition through SymPy alone."""
    spec, rng = SPECS[spec], random.Random(1)
    results = {}
    for _ in range(60):
        values, dropped = draw(spec, rng)
        dropped = [x for x in dropped if x != tensor.INPUTS_KEPT.name]
        if spec.id == "budget":
            values |= {"p_d": rng.randint(1, 999), "t": rng.randint(1, 99), "p": rng.randint(1, 99)}
        used = tuple(x for x in proposition.assumptions if x.name in dropped)
        if used not in results:
            results[used] = proposition.result(used).subs(renamed)
        exact = results[used].subs(
            {x: sp.nsimplify(values[x.name]) for x in results[used].free_symbols}
        )
        assert math.isclose(spec.at(values, dropped)[name], exact, rel_tol=1e-9, abs_tol=1e-12)


def test_the_check_above_sees_a_wrong_coefficient():
    values = SPECS["data-ratio"].start
    stated = DATA.result().subs({x: values[x.name] for x in DATA.result().free_symbols})
    assert not math.isclose(SPECS["data-ratio"].at(values)["eightfold"], stated, rel_tol=1e-9)


@every_spec
def test_what_comes_back_adds_up(spec):
    """Controls marked as in use are those of the formula, whichever assumptions are dropped."""
    described = spec.data()
    uses = {x["name"]: set(x["uses"]) for x in described["switches"]}
    controls = {x.symbol.name for x in spec.controls}
    for dropped in subsets([x.name for x in spec.assumptions]):
        union = set(described["uses"]).union(*(uses[x] for x in dropped))
        assert spec.uses(dropped) & controls <= union & controls


def test_dropped_assumptions_bring_back_what_the_chapter_says():
    for spec, proposition in (("data-ratio", DATA), ("tensor-ratio", TENSOR), ("pipeline", BUBBLE)):
        switches = {x["name"]: x["returns"] for x in SPECS[spec].data()["switches"]}
        for assumption in proposition.assumptions:
            expected = {x.name for x in proposition.without(assumption).returns}
            if "tau" in expected:
                expected = expected - {"tau"} | {"t_F", "t_B"}
            assert set(switches[assumption.name]) == expected


# Each widget's own numbers, against the library's functions


def test_data():
    values = SPECS["data-ratio"].start | {"N": 7e9, "T": 4096, "p_d": 64}
    held = SPECS["data-ratio"].at(values)
    flat = ratios.data_parallel(2, values["F"], values["B"], 4096)
    assert math.isclose(held["now"], flat, rel_tol=1e-14)
    assert SPECS["data-ratio"].at(values | {"N": 1e12})["now"] == held["now"]
    both = SPECS["data-ratio"].at(values, ["bandwidth-bound", "many replicas"])
    exact = ratios.data_parallel_exact(2, values["F"], values["B"], 4096, 7e9, 64, values["alpha"])
    assert math.isclose(both["now"], exact, rel_tol=1e-13)
    assert math.isclose(both["star"], 64 * values["alpha"] * values["B"] / 2, rel_tol=1e-14)


def test_tensor():
    spec = SPECS["tensor-ratio"]
    values = spec.start | {"t": 16, "T": 256}
    rates = 2, values["F"], values["B"], values["d"], 16
    assert math.isclose(
        spec.at(values)["clock"], ratios.tensor_parallel_exact(*rates), rel_tol=1e-14
    )
    late = spec.at(values, ["bandwidth-bound", "whole layer", "asymptotic ring"])
    exact = ratios.tensor_parallel_exact(*rates, u=256, alpha=values["alpha"])
    assert math.isclose(late["now"], exact, rel_tol=1e-13)
    clock = ["whole layer", "asymptotic ring"]
    for dropped, counted in (("no recomputation", (6, 8)), ("fused QKV", (6, 6))):
        expected = ratios.tensor_parallel_counted(*rates, *counted)
        assert math.isclose(spec.at(values, [*clock, dropped])["now"], expected, rel_tol=1e-13)
    kept = spec.at(values, [*clock, tensor.INPUTS_KEPT.name])
    assert math.isclose(kept["now"] / spec.at(values, clock)["now"], 10 / 8, rel_tol=1e-14)


@pytest.mark.parametrize("model", catalog.all_models(), ids=lambda x: x.name)
def test_counting_a_model_of_the_catalogue(model):
    """The itemised count at a model's preset is the library's, less what has no matrix."""
    spec = SPECS["counting"]
    point = spec.presets[0].points.get(model.name)
    if model.heads * model.head_size != model.width:
        assert point is None
        return
    values = spec.start | {k: x for k, x in point.items() if not isinstance(x, bool)}
    dropped = [k for k, x in point.items() if x is False]
    numbers = spec.at(values, dropped)
    items = counting.model_parameters(model)
    whole = sum(items.values()) - items["biases"] - items["norms"] - items["positions"]
    assert math.isclose(numbers["parameters"], whole, rel_tol=1e-13)
    flops = sum(counting.model_flops(model).values())
    assert math.isclose(numbers["flops"], flops, rel_tol=1e-13)


def test_counting_items_add_up_to_the_propositions():
    parameters, flops = (sum(x.values()) for x in counts.items())
    untied = parameters.subs(counts.tied, 0)
    assert sp.simplify(untied - PARAMETER_RULE.formula * L * d**2) == 0
    shape = {x.symbol: x.ideal for x in PARAMETER_RULE.assumptions[:3]}
    rule = FLOP_RULE.formula * untied.subs(shape)
    assert sp.simplify(flops.subs(shape) - rule) == 0


def test_counting_starts_where_the_rule_is_exact():
    start = SPECS["counting"].at(SPECS["counting"].start)
    assert start["rule_error"] == start["flop_error"] == 0
    assert start["factor"] == 6


# The optimum as one expression

coefficient = st.floats(1e-5, 1)
cap = st.integers(0, 12).map(lambda x: 2**x)


@settings(max_examples=300)
@given(st.tuples(*[coefficient] * 3), st.tuples(*[cap] * 3), st.floats(0, 1))
def test_the_water_level_is_the_algorithms(k, caps, share):
    most = math.prod(caps)
    P = max(1, int(most**share))
    values = {"P": P, "cap_d": caps[0], "cap_t": caps[1], "cap_p": caps[2]}
    point = [values.get(x.name, 0) for x in LEVEL_ARGUMENTS]
    point[: len(k)] = k
    level = LEVEL(*point)
    found = [min(c, max(1, level / x)) for c, x in zip(caps, k, strict=True)]
    expected = optimum.water_fill(k, P, caps).degrees
    assert all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(found, expected, strict=True))


LEVEL_ARGUMENTS = sp.symbols("k_d k_t k_p P cap_d cap_t cap_p", positive=True)
LEVEL = sp.lambdify(
    LEVEL_ARGUMENTS,
    water_level(LEVEL_ARGUMENTS[:3], LEVEL_ARGUMENTS[3], LEVEL_ARGUMENTS[4:]),
    modules=["math"],
)


def test_budget_marks_the_least_overhead():
    spec, rng = SPECS["budget"], random.Random(2)
    for _ in range(40):
        values, _ = draw(spec, rng)
        values |= {"cap_d": 65536, "cap_t": 65536, "cap_p": 65536}
        now = spec.at(values)
        k = (
            optimum.data_coefficient(values["b"], values["F"], values["B"], values["T_g"]),
            optimum.tensor_coefficient(values["b"], values["F"], values["d"], values["B_t"]),
            optimum.pipeline_coefficient(values["m"]),
        )
        best = optimum.water_fill(k, values["P"]).degrees
        assert math.isclose(now["least"], optimum.overhead_sum(k, best), rel_tol=1e-9)
        assert math.isclose(now["overhead"], now["least"], rel_tol=1e-9)
        late, latest = optimum.thresholds(sorted(k))
        assert math.isclose(now["late"], late, rel_tol=1e-12)
        assert math.isclose(now["latest"], latest, rel_tol=1e-12)
        two = optimum.water_fill(sorted(k)[:2], values["P"]).degrees
        assert math.isclose(now["two"], optimum.overhead_sum(sorted(k)[:2], two), rel_tol=1e-9)
        assert now["least"] <= now["two"] * (1 + 1e-12) <= now["one"] * (1 + 1e-11)


# Schedules


EVERY = [*SCHEDULES, *CHUNKED]


def unwritten(order):
    """A reading of the short form that shares no code with its writing."""
    kinds = re.sub(r"(\d+)\((\w+)\)", lambda x: x[2] * int(x[1]), order)
    return re.sub(r"(\d+)([A-Za-z])", lambda x: x[2] * int(x[1]), kinds)


@pytest.mark.parametrize("name", EVERY)
def test_orders_survive_being_written(name):
    made = 0
    for stages, microbatches in itertools.product((1, 2, 3, 8, 16), (1, 2, 6, 32)):
        try:
            orders, placement = plan(name, stages, microbatches)
        except ValueError:
            continue
        for device, order in enumerate(orders):
            own = chunks_on(device, placement)
            letters = [x.kind.lower() if x.stage != own[0] else x.kind for x in order]
            assert unwritten(written(order, own)) == "".join(letters)
            made += 1
    assert made > 20


def test_an_order_out_of_turn_is_refused():
    with pytest.raises(ValueError, match="F on stage 0: microbatches must come in order"):
        written([Operation("F", 0, 1), Operation("F", 0, 0)])


def test_the_closed_form_is_what_gpipe_does():
    spec, rng = SPECS["pipeline"], random.Random(3)
    gantt = spec.pictures[0]
    for _ in range(40):
        values, dropped = draw(spec, rng)
        timeline = gantt.timeline(spec, values | {"schedule": "gpipe"}, dropped)
        useful = values["m"] * (values["t_F"] + values["t_B"])
        closed = spec.at(values, dropped)["closed"]
        assert math.isclose(1 - useful / timeline.makespan, closed, rel_tol=1e-9, abs_tol=1e-12)


def late_weights(stages, microbatches):
    """A schedule of three kinds, which needs two microbatches."""
    if microbatches < 2:
        raise ValueError("m = 1: must be at least 2")
    orders = [
        [Operation(kind, stage, j) for kind in "FBX" for j in range(microbatches)]
        for stage in range(stages)
    ]
    return orders, range(stages)


def test_a_new_schedule_appears_by_itself():
    orders = Orders(3, 3, {**every_schedule().schedules, "late": late_weights})
    spec = pipeline.pipeline_timeline(orders)
    described = spec.data()
    assert described["choices"][0]["options"] == [*EVERY, "late"]
    assert "t_X" in [x["name"] for x in described["controls"]]
    gantt = described["pictures"][0]
    late = gantt["schedules"]["late"]
    assert late["refused"][1] == {1: "late: m = 1: must be at least 2"}
    assert late["placement"][1] == [0, 1]
    told = [[gantt["strings"][i] for _, i in device] for device in late["orders"][1]]
    assert told == [["2+1F2+1B2+1X"]] * 2


# Words


@every_spec
def test_the_spec_is_plain_data(spec):
    described = json.loads(json.dumps(spec.data()))
    assert set(described["functions"]) == set(spec.formulas)
    switches = [{k: x for k, x in one.items() if k != "name"} for one in described["switches"]]
    html = json.dumps([switches, *(described[x] for x in ("readout", "question", "title"))])
    assert "$" not in html
    assert "\\\\" not in html
    named = re.findall(r"\{(\w+):\w+\}", json.dumps(described["readout"] + [described["question"]]))
    assert set(named) <= set(spec.formulas)


@every_spec
def test_presets_are_points_of_the_widget(spec):
    for presets in spec.presets:
        assert len(presets.points) >= 3
        for point in presets.points.values():
            values = {k: x for k, x in point.items() if not isinstance(x, bool)}
            spec.refuse(spec.start | values, [k for k, x in point.items() if x is False])


@every_spec
def test_a_slip_is_told_from_the_answer_and_from_other_slips(spec):
    question, at_start = spec.question, spec.at(spec.start)
    values = [at_start[question.answer], *(at_start[x.formula] for x in question.slips)]
    for one, other in itertools.combinations(values, 2):
        assert abs(one - other) > question.tolerance * max(abs(one), abs(other))


@pytest.mark.parametrize(
    ("text", "word"),
    [(r"$\frac12$", "frac"), ("$a", "without its partner"), ("$a!$", "'!'")],
)
def test_mathematics_without_a_plain_form_is_refused(text, word):
    with pytest.raises(ValueError, match=re.escape(word)):
        words.html(text)


def test_sentences_say_what_holds():
    spec = SPECS["data-ratio"]
    held = numbers.readout(spec, spec.start, [])
    dropped = numbers.readout(spec, spec.start, ["bandwidth-bound"])
    assert "has cancelled" in held
    assert "Latency counts" not in held
    assert "has cancelled" not in dropped
    assert "330 million parameters" in dropped


# The widget


def widget(spec="data-ratio"):
    return Explorer(SPECS[spec])


def test_python_moves_the_widget_and_reads_its_numbers():
    one = widget()
    one.values = {"T": 4096}
    assert one.values["T"] == 4096
    assert one.values["N"] == 1e9
    before = one.results["now"]
    one.dropped = ["bandwidth-bound"]
    assert one.results["now"] > before


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"T": 0}, "T = 0: must be a number from 256"),
        ({"T": -5}, "T = -5"),
        ({"T": "many"}, "T = 'many'"),
        ({"T": float("inf")}, "T = inf"),
        ({"T": float("nan")}, "T = nan"),
        ({"T": 1000.5}, "whole number"),
        ({"T": True}, "T = True"),
        ({"T": 1e400}, "T = inf"),
    ],
)
def test_bad_values_are_refused_and_the_last_good_stay(values, word):
    one = widget()
    with pytest.raises(ValueError, match=re.escape(word)):
        one.values = values
    assert one.values == SPECS["data-ratio"].start


def test_more_stages_than_layers_are_refused():
    one = widget("pipeline")
    with pytest.raises(ValueError, match="more stages than layers"):
        one.values = {"p": 8, "L": 4}
    with pytest.raises(ValueError, match="schedule = 'none'"):
        one.values = {"schedule": "none"}


def test_an_unknown_assumption_is_refused():
    one = widget()
    with pytest.raises(ValueError, match="does not assume optimism"):
        one.dropped = ["optimism"]


def test_a_formula_without_javascript_is_refused_when_the_widget_is_made():
    bad = Spec(
        id="bad",
        title="Bad",
        controls=(Control(T, 1, 10, 2),),
        formulas={"area": sp.gamma(T)},
        main="area",
        pictures=(),
        readout=(),
        alt="",
    )
    with pytest.raises(ValueError, match="bad, formula 'area': gamma: has no JavaScript"):
        Explorer(bad)


@every_spec
def test_without_a_script_there_is_a_picture_with_words(spec):
    bundle, _ = Explorer(spec)._repr_mimebundle_()
    html = bundle["text/html"]
    assert bundle["image/png"][:4] == b"\x89PNG"
    assert re.search(r'<img alt="[^"]{60,}"', html)
    assert "data:image/svg+xml,%3Csvg" in html
    assert '<script type="application/vnd.jupyter.widget-view+json">' in html
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert len(html) < 120_000
