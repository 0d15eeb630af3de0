"""Closed forms of parameters and FLOPs against a step that really multiplies, and counts."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from bytesperflop import catalog, counting, counting_simulation
from bytesperflop import symbols as S
from bytesperflop.counting_simulation import Tally, make_weights, train_step

TOKENS = [1, 4, 2, 6, 0, 3]


def layer_size(weights, layer=0, names=None):
    """Elements of one layer's arrays as allocated."""
    return sum(
        array.size
        for name, array in weights.items()
        if name.startswith(f"{layer}.") and (names is None or name.split(".")[1] in names)
    )


shapes = st.builds(
    lambda g, groups, head, d_ff, gated: dict(
        d=g * groups * head, a=g * groups, g=g, d_ff=d_ff, gated=gated
    ),
    st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 9), st.booleans(),
)  # fmt: skip


# Is the simulation a real training step?


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("options", [{}, {"skip_masked": True}, {"recompute": True}])
def test_gradients_are_the_derivatives_of_the_loss(gated, tied, options):
    weights = make_weights(12, a=4, g=2, d_ff=10, gated=gated, layers=2, V=7, tied=tied)
    step = train_step(weights, TOKENS, a=4, g=2, **options)
    rng = np.random.default_rng(1)
    for name, array in weights.items():
        for place in rng.integers(0, array.shape, size=(3, 2)):
            nudged = {key: value.astype(complex) for key, value in weights.items()}
            nudged[name][tuple(place)] += 1e-30j
            slope = train_step(nudged, TOKENS, a=4, g=2, **options).loss.imag / 1e-30
            assert step.gradients[name][tuple(place)] == pytest.approx(slope, rel=1e-10, abs=1e-13)


def test_skipping_or_recomputing_changes_the_count_and_no_number():
    weights = make_weights(12, a=4, g=2, layers=2, V=7)
    plain = train_step(weights, TOKENS, a=4, g=2)
    for options in ({"skip_masked": True}, {"recompute": True}):
        other = train_step(weights, TOKENS, a=4, g=2, **options)
        assert other.tally.total() != plain.tally.total()
        for name, gradient in plain.gradients.items():
            np.testing.assert_allclose(other.gradients[name], gradient, rtol=1e-12, atol=1e-15)


def test_grouped_queries_are_full_heads_with_keys_and_values_repeated():
    d, a, g = 12, 6, 2
    grouped = make_weights(d, a, g, V=7)
    full = dict(grouped)
    for name in ("0.key", "0.value"):
        heads = grouped[name].reshape(d, g, d // a)
        full[name] = np.repeat(heads, a // g, axis=1).reshape(d, d)
    first, second = train_step(grouped, TOKENS, a, g), train_step(full, TOKENS, a)
    assert first.loss == pytest.approx(second.loss, rel=1e-12)
    for name in ("0.key", "0.value"):
        assert np.all(first.gradients[name])  # every head is used
        summed = second.gradients[name].reshape(d, g, a // g, d // a).sum(axis=2).reshape(d, -1)
        np.testing.assert_allclose(first.gradients[name], summed, rtol=1e-10, atol=1e-15)


class Forgetful(Tally):
    """A tally that leaves one multiplication out: nothing computed, nothing counted."""

    def __init__(self, forgotten):
        super().__init__()
        self.forgotten, self.calls = forgotten, 0

    def matmul(self, x, y, part):
        self.calls += 1
        if self.calls - 1 == self.forgotten:
            return np.zeros((x.shape[0], y.shape[1]))
        return super().matmul(x, y, part)


def test_every_multiplication_left_out_is_seen_in_the_numbers_and_in_the_count(monkeypatch):
    weights = make_weights(4, a=2, g=1, gated=True, V=7)
    whole = train_step(weights, TOKENS, a=2, g=1)
    forgotten = 0
    while True:
        tally = Forgetful(forgotten)
        monkeypatch.setattr(counting_simulation, "Tally", lambda tally=tally: tally)
        step = train_step(weights, TOKENS, a=2, g=1)
        if forgotten == tally.calls:
            break
        assert step.tally.total() < whole.tally.total()
        assert any(
            not np.allclose(step.gradients[name], gradient)
            for name, gradient in whole.gradients.items()
        )
        forgotten += 1
    assert forgotten == 36  # 12 forward, 24 backward


# Parameters


@given(shapes)
def test_layer_parameters_are_the_sizes_of_the_arrays(shape):
    weights = make_weights(**shape)
    items = counting.layer_parameters(**shape)
    assert {f"0.{name}": size for name, size in items.items()} == {
        name: array.size for name, array in weights.items() if name.startswith("0.")
    }


@given(st.integers(1, 6), st.integers(1, 6))
def test_twelve_d_squared_is_four_of_attention_and_eight_of_mlp(d, layers):
    weights = make_weights(d, layers=layers)
    assert sum(counting.attention_parameters(d).values()) == 4 * d**2
    assert sum(counting.mlp_parameters(d).values()) == 8 * d**2
    size = sum(layer_size(weights, layer) for layer in range(layers))
    assert counting.parameters_rule(layers, d) == size
    for wrong in (11 * layers * d**2, 13 * layers * d**2, 12 * layers * (d + 1) ** 2):
        assert wrong != size


def test_numbers_and_symbols_give_the_same():
    values = {S.d: 24, S.a: 6, S.g: 2, S.d_ff: 40}
    for name, size in counting.layer_parameters(S.d, S.a, S.g, S.d_ff, gated=True).items():
        assert size.subs(values) == counting.layer_parameters(24, 6, 2, 40, True)[name]


def test_case_15_grouped_queries_shrink_keys_and_values_and_leave_the_query_alone():
    weights = make_weights(16, a=8, g=2)
    assert layer_size(weights, names=("query", "output")) == 2 * 16**2
    assert layer_size(weights, names=("key", "value")) == 2 * 16**2 * 2 // 8
    step = train_step(weights, TOKENS, a=8, g=2)
    per_token = step.tally.total("forward", "attention") / len(TOKENS)
    assert per_token == 4 * 16**2 + 4 * 16**2 * 2 / 8  # twice the parameters
    attention = sum(counting.attention_parameters(S.d, S.a, S.g).values())
    assert sp.simplify(attention - (2 * S.d**2 + 2 * S.d**2 * S.g / S.a)) == 0
    assert attention.subs({S.d: 16, S.a: 8, S.g: 2}) != 4 * 16**2 * 2 / 8  # all four shrunk


def test_case_16_a_gated_mlp_makes_32_of_24_only_at_full_width():
    def forward(d, d_ff, gated):
        step = train_step(make_weights(d, d_ff=d_ff, gated=gated), TOKENS)
        matrices = step.tally.total("forward", "attention") + step.tally.total("forward", "mlp")
        return matrices / len(TOKENS) / d**2

    assert forward(6, 24, gated=False) == 24
    assert forward(6, 24, gated=True) == 32
    assert forward(6, 16, gated=True) == 24  # 16 = 8·6/3
    third = counting.layer_parameters(S.d, d_ff=sp.Rational(8, 3) * S.d, gated=True)
    assert counting.forward_flops(sum(third.values())) == 24 * S.d**2


def test_case_17_llama_2_70b_has_neither_70_nor_78_billion():
    llama = catalog.model("Llama 2 70B")
    d, items = llama.width, counting.model_parameters(llama)
    per_layer = sp.Rational(items["attention"] + items["mlp"], llama.layers * d**2)
    assert per_layer == sp.Rational(51, 4)  # 12.75
    assert round((items["attention"] + items["mlp"]) / 1e9, 1) == 68.5
    assert round(sum(items.values()) / 1e9, 1) == 69.0
    full_heads = counting.layer_parameters(d, llama.heads, None, llama.mlp_width, True)
    assert round(llama.layers * sum(full_heads.values()) / 1e9) == 78  # K and V not shrunk


def test_case_18_the_head_multiplies_and_the_look_up_does_not():
    d, V, layers = 8, 11, 2
    for tied in (False, True):
        weights = make_weights(d, layers=layers, V=V, tied=tied)
        N = sum(array.size for array in weights.values())
        tally = train_step(weights, TOKENS).tally
        matrices = (tally.total() - tally.total(part="scores")) / len(TOKENS)
        assert matrices == counting.embedding_rule(N, d, V, tied=tied)
        assert matrices != counting.embedding_rule(N, d, V, tied=not tied)
        assert tally.total(part="head") / len(TOKENS) == counting.head_flops(d, V)
    assert counting.embedding_rule(1000, d, V, tied=True, positions=5) == 6 * (1000 - 5 * d)


# FLOPs


@given(shapes)
def test_two_n_forward_and_four_n_backward(shape):
    weights = make_weights(**shape)
    tally = train_step(weights, TOKENS, shape["a"], shape["g"]).tally
    N, tokens = layer_size(weights), len(TOKENS)
    forward, backward = (
        sum(tally.total(phase, part) for part in ("attention", "mlp")) / tokens
        for phase in ("forward", "backward")
    )
    assert forward == counting.forward_flops(N)
    assert backward == counting.backward_flops(N)
    assert forward + backward == counting.training_flops(N)
    assert forward not in (N, 3 * N)
    assert backward not in (2 * N, 3 * N)


def test_full_recomputation_makes_eight_n():
    weights = make_weights(8, layers=3)
    tally = train_step(weights, TOKENS, recompute=True).tally
    N = sum(layer_size(weights, layer) for layer in range(3))
    counted = (tally.total(part="attention") + tally.total(part="mlp")) / len(TOKENS)
    assert counted == counting.training_flops(N, recompute=True) == 8 * N
    assert tally.total("recompute", "head") == 0


@given(shapes, st.integers(1, 9))
def test_scores_and_values_add_twelve_s_d(shape, s):
    weights = make_weights(**shape)
    tally = train_step(weights, [i % 8 for i in range(s)], shape["a"], shape["g"]).tally
    counted = tally.total(part="scores") / s
    assert counted == counting.score_flops(s, shape["d"])
    assert tally.total("backward", "scores") == 2 * tally.total("forward", "scores")
    for wrong in (4, 8, 24):
        assert counted != wrong * s * shape["d"]


def test_score_factor_is_all_flops_over_those_of_the_matrices():
    d, s = 4, len(TOKENS)
    tally = train_step(make_weights(d), TOKENS).tally
    matrices = tally.total(part="attention") + tally.total(part="mlp")
    assert sp.Rational(matrices + tally.total(part="scores"), matrices) == counting.score_factor(
        s, d
    )
    assert counting.score_factor(s, d) == 1 + sp.Rational(s, 6 * d)
    assert counting.score_factor(S.s, S.d, causal=True) == 1 + S.s / (12 * S.d)


@pytest.mark.parametrize("s", [1, 2, 5, 16])
def test_case_2_a_causal_mask_halves_only_the_term_in_s_squared(s):
    d, tokens = 6, [i % 8 for i in range(s)]
    weights = make_weights(d, a=3, g=1)
    full = train_step(weights, tokens, a=3, g=1).tally
    skipped = train_step(weights, tokens, a=3, g=1, skip_masked=True).tally
    for part in ("attention", "mlp", "head"):
        assert skipped.total(part=part) == full.total(part=part)
    assert skipped.total(part="scores") * 2 * s == full.total(part="scores") * (s + 1)
    rule = s * counting.score_flops(s, d, causal=True)
    assert skipped.total(part="scores") == pytest.approx(rule, rel=1 / s)
    assert skipped.total(part="scores") - rule == 6 * s * d  # the diagonal's other half


def test_a_frozen_embedding_saves_the_first_layers_input_gradient():
    weights, d = make_weights(8, layers=2), 8
    trained = train_step(weights, TOKENS).tally.total()
    step = train_step(weights, TOKENS, frozen_embedding=True)
    assert (trained - step.tally.total()) / len(TOKENS) == 6 * d**2
    assert "embedding" not in step.gradients


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("recompute", [False, True])
def test_model_flops_are_those_of_a_step(tied, recompute):
    shape = catalog.Model(
        name="small", layers=2, width=12, heads=6, kv_heads=2, head_size=2, mlp_width=10,
        gated=True, vocabulary=9, tied=tied, positions=0, sequence=len(TOKENS), biases=False,
        vectors_per_norm=0, norms_per_layer=0, norms_outside=0, published_parameters=1,
        sources={},
    )  # fmt: skip
    weights = make_weights(12, 6, 2, 10, gated=True, layers=2, V=9, tied=tied)
    tally = train_step(weights, TOKENS, 6, 2, recompute=recompute).tally
    counted = {part: tally.total(part=part) / len(TOKENS) for part in ("scores", "head")}
    counted["matrices"] = (tally.total(part="attention") + tally.total(part="mlp")) / len(TOKENS)
    assert counting.model_flops(shape, recompute=recompute) == counted | {"embedding": 0}
    sizes = counting.model_parameters(shape)
    assert sum(sizes.values()) == sum(array.size for array in weights.values())


@pytest.mark.parametrize("model", catalog.all_models(), ids=lambda model: model.name)
def test_what_the_rule_leaves_out_adds_up(model):
    items = counting.model_parameters(model)
    exact = sum(items.values())
    rule = counting.parameters_rule(model.layers, model.width)
    assert counting.rule_error(model) == sp.Rational(rule, exact) - 1


def test_the_rule_misses_gpt_3_by_less_than_half_a_percent():
    error = counting.rule_error(catalog.model("GPT-3 175B"))
    assert -0.005 < error < 0


# Utilisation


def test_case_20_the_sparse_peak_halves_utilisation():
    device, run = catalog.hardware("H100 SXM"), catalog.published_runs("llama3_405b_table4")[0]
    flops = sum(counting.model_flops(catalog.model("Llama 3 405B")).values())
    tokens_per_second = run.flops_per_device / flops
    dense = counting.utilisation(flops, tokens_per_second, device.peak_flops)
    sparse = counting.utilisation(flops, tokens_per_second, 1979 * 10**12)
    assert dense == pytest.approx(run.mfu, abs=0.006)  # 43 %, as published
    assert sparse == pytest.approx(dense / 2, rel=1e-3)


def test_case_21_full_recomputation_makes_hfu_four_thirds_of_mfu_in_the_layers_only():
    model = catalog.model("Llama 3 8B")
    useful = counting.model_flops(model)
    hardware = counting.model_flops(model, recompute=True)
    layers = ("matrices", "scores")
    assert sum(hardware[k] for k in layers) * 3 == sum(useful[k] for k in layers) * 4
    assert hardware["head"] == useful["head"]
    assert 1.2 < sum(hardware.values()) / sum(useful.values()) < 4 / 3


def test_palm_utilisation_from_its_tokens_per_second():
    """46.2 % with scores, 45.7 % without, from 38.79 tokens a second and chip."""
    (run,) = catalog.published_runs("palm")
    model, device = catalog.model(run.model), catalog.hardware(run.hardware)
    flops = counting.model_flops(model)
    rate, peak = run.tokens_per_second, device.peak_flops
    assert counting.utilisation(sum(flops.values()), rate, peak) == pytest.approx(0.462, abs=5e-4)
    without = sum(flops.values()) - flops["scores"]
    assert counting.utilisation(without, rate, peak) == pytest.approx(0.457, abs=5e-4)


# Arguments


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: counting.parameters_rule(0, 8), "L = 0: must be a whole number of at least 1"),
        (lambda: counting.parameters_rule(2, 8.5), "d = 8.5: must be a whole number"),
        (lambda: counting.attention_parameters(10, 4), "a = 4: must divide d = 10"),
        (lambda: counting.attention_parameters(12, 4, 3), "g = 3: must divide a = 4"),
        (lambda: counting.mlp_parameters(8, -1), "d_ff = -1: must be"),
        (lambda: counting.training_flops(float("nan")), "N = nan: must be a finite number"),
        (lambda: counting.score_flops(0, 8), "s = 0: must be"),
        (
            lambda: counting.embedding_rule(10, 8, 4, tied=False),
            "N less what is looked up = -22: must be",
        ),
        (lambda: counting.utilisation(1, 1, 0), "peak_flops = 0: must be"),
        (lambda: make_weights(12, a=5), "a must divide d"),
    ],
)
def test_arguments_are_refused_with_what_is_allowed(call, message):
    with pytest.raises(ValueError, match=message):
        call()
