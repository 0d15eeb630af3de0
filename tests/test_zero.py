"""ZeRO: the shards against an unsharded Adam written apart, counts against closed forms."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bytesperflop import ratios, zero_rules
from bytesperflop import symbols as sym
from bytesperflop.assumptions import BANDWIDTH_BOUND
from bytesperflop.memory import state_bytes
from bytesperflop.network import Call, Network
from bytesperflop.zero import passes, sent_elements, tokens_to_gather, zero_ratio
from bytesperflop.zero_simulation import Zero

DEPTH, WIDTH = 3, 5
N = DEPTH * WIDTH**2


def problem(steps, k, rows=7):
    draw = np.random.default_rng(steps + 10 * k).normal
    layers = [draw(size=(WIDTH, WIDTH)) / WIDTH**0.5 for _ in range(DEPTH)]
    batches = [[draw(size=(2, rows, WIDTH)) for _ in range(k)] for _ in range(steps)]
    return layers, batches


def loss(flat, batch):
    total = 0
    for x, y in batch:
        for w in flat.reshape(DEPTH, WIDTH, WIDTH):
            x = np.tanh(x @ w)
        total = total + 0.5 * ((x - y) ** 2).sum()
    return total


def unsharded(layers, batches, rate=1e-2):
    """Textbook Adam on one flat vector, its gradient by complex step from the loss alone."""
    w = np.concatenate([layer.ravel() for layer in layers])
    m, v = np.zeros(N), np.zeros(N)
    for step, batch in enumerate(batches, 1):
        nudges = np.eye(N) * 1e-30j
        g = np.array([loss(w + nudge, batch).imag / 1e-30 for nudge in nudges])
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        w = w - rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    return w.reshape(DEPTH, WIDTH, WIDTH)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("p_d", [1, 2, 4, 7])
@pytest.mark.parametrize(
    ("stage", "reshard"), [(0, True), (1, True), (2, True), (3, True), (3, False)]
)
def test_every_stage_trains_as_one_device_does(stage, reshard, p_d, k):
    """Also where chunks and slices are uneven, as 25 elements and 7 rows over 4 are."""
    layers, batches = problem(steps=3, k=k)
    model = Zero(Network(p_d), layers, stage, reshard)
    for batch in batches:
        model.step([x for x, _ in batch], [y for _, y in batch])
    np.testing.assert_allclose(model.weights(), unsharded(layers, batches), rtol=0, atol=1e-12)
    assert sum(model.network.elements) == 3 * p_d * sent_elements(N, p_d, stage, k, reshard)
    held = sum(replica.bytes() for replica in model.replicas)
    assert held == p_d * state_bytes(N, stage, p_d)


def test_training_moves_the_weights_by_more_than_the_tolerance():
    layers, batches = problem(steps=1, k=1)
    assert abs(unsharded(layers, batches) - layers).max() > 1e-3


@pytest.mark.parametrize("premise", [*zero_rules.SENT, *zero_rules.HELD], ids=lambda x: x.id)
def test_counts_and_no_mutant_of_them(premise):
    assert premise.verify() == 4
    attack = premise.attack()
    assert attack.tried > 5
    assert not attack.survivors


def calls(stage, k=1):
    model = Zero(Network(2), [np.eye(4), np.eye(4)], stage)
    model.step([np.ones((2, 4))] * k, [np.zeros((2, 4))] * k)
    return [call.name for call in model.network.calls]


def test_what_each_stage_gathers_and_when():
    """Stages 1 and 2 gather updated parameters, after the optimiser; stage 3 never then."""
    assert calls(0) == ["all_reduce"] * 2
    assert calls(1) == ["reduce_scatter", "all_gather"] * 2
    assert calls(2) == ["reduce_scatter"] * 2 + ["all_gather"] * 2
    forward, back = ["all_gather"] * 2, ["all_gather", "reduce_scatter"] * 2
    assert calls(3) == forward + back
    assert calls(3, k=2) == (forward + back) * 2
    assert calls(1, k=5) == calls(1)
    assert calls(2, k=5) == ["reduce_scatter"] * 10 + ["all_gather"] * 2


def test_stage_3_has_one_layer_whole_or_all_of_them():
    for reshard, most in ((True, 16), (False, 48)):
        model = Zero(Network(4), [np.eye(4)] * 3, stage=3, reshard=reshard)
        model.step([np.ones((4, 4))], [np.ones((4, 4))])
        assert model.peak == most
        assert model.network.calls[0] == Call("all_gather", 16)


def test_the_ratios_of_the_book():
    b, F, B, T, k = sym.b, sym.F, sym.B, sym.T, sym.k
    assert zero_ratio(b, F, B, T) == b * F / (2 * B * T) == zero_rules.ZERO.result()
    assert zero_ratio(b, F, B, T, stage=2) == ratios.data_parallel(b, F, B, T)
    assert sp.cancel(zero_ratio(b, F, B, T, k=k) - zero_ratio(b, F, B, T / k)) == 0
    assert zero_ratio(b, F, B, tokens_to_gather(b, F, B)) == 1
    assert tokens_to_gather(b, F, B) == ratios.compute_bound_dimension(b, F, B)


def test_each_assumption_of_the_proposition_gives_the_formula():
    rule = zero_rules.ZERO
    for dropped in (None, *rule.assumptions):
        values = {x.symbol: x.actual if x is dropped else x.ideal for x in rule.assumptions}
        result = rule.result([dropped] if dropped else [])
        assert sp.cancel(result - rule.formula.subs(values)) == 0
    exact = rule.result([BANDWIDTH_BOUND, zero_rules.MANY_SHARES])
    assert exact.free_symbols >= {sym.N, sym.L, sym.p_d, sym.alpha}
    bytes_only = exact.subs(sym.alpha, 0)
    sent = sent_elements(sym.N, sym.p_d, 3) * sym.b / sym.B
    assert sp.cancel(bytes_only - sent / (6 * sym.N * sym.T / sym.F)) == 0


@settings(deadline=None)
@given(st.integers(2, 512), st.integers(1, 64))
def test_accumulation_multiplies_what_sharding_reduced(p_d, k):
    once = [sent_elements(1000, p_d, stage) for stage in range(4)]
    often = [sent_elements(1000, p_d, stage, k) for stage in range(4)]
    assert often[:2] == once[:2]
    assert often[3] == k * once[3]
    assert once[0] <= often[2] < often[3]
    assert sent_elements(1000, p_d, 3, k, reshard=False) * 3 == 2 * often[3]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: passes(4), "stage = 4: must be 0, 1, 2 or 3"),
        (lambda: passes(2, k=0), "k = 0"),
        (lambda: sent_elements(10, 0, 1), "p_d = 0"),
        (lambda: zero_ratio(2, 1, 0, 1), "B = 0"),
        (lambda: tokens_to_gather(2, 1, 1, alpha=-1), "alpha = -1"),
        (lambda: Network(0), "devices = 0"),
        (lambda: Zero(Network(1), [np.eye(2)], stage=-1), "stage = -1"),
        (lambda: Zero(Network(1), [np.eye(2), np.eye(3)], stage=1), "square and of one width"),
        (lambda: Zero(Network(1), [np.eye(2)], 1).step([], []), "0 microbatches"),
    ],
)
def test_refusals(wrong, said):
    with pytest.raises(ValueError, match=said):
        wrong()
