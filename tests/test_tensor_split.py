"""Transformer layers cut over devices: equal to the whole, and what they exchange."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bytesperflop import tensor_split
from bytesperflop.collectives import (
    ring_all_reduce_elements,
    ring_reduce_scatter_elements,
)
from bytesperflop.network import Call, Network
from bytesperflop.tensor_split import cut, join, random_layer, step
from bytesperflop.transformer_blocks import BLOCKS

T, D = 6, 8


def problem(layers=2, g=2, gated=False, d_ff=12, tokens=T):
    stack = [random_layer(D, a=4, g=g, d_ff=d_ff, gated=gated, seed=i) for i in range(layers)]
    generator = np.random.default_rng(99)
    return stack, generator.normal(size=(tokens, D)), generator.normal(size=(tokens, D))


def naive(layer, x):
    """One layer, token by token and head by head."""

    def norm(row):
        return (row - row.mean()) / (((row - row.mean()) ** 2).mean() + 1e-5) ** 0.5

    heads, width = layer["q"].shape[1:]
    h = np.array([norm(row) for row in x])
    y = x.astype(np.result_type(x, layer["q"], layer["o"], layer["k"], layer["v"], layer["up"]))
    for head in range(heads):
        group = head * layer["k"].shape[1] // heads
        q, k, v = h @ layer["q"][:, head], h @ layer["k"][:, group], h @ layer["v"][:, group]
        for i in range(len(x)):
            shares = np.exp(k[: i + 1] @ q[i] / width**0.5)
            y[i] = y[i] + (shares / shares.sum()) @ v[: i + 1] @ layer["o"][head]
    h = np.array([norm(row) for row in y])
    up = h @ layer["up"]
    gate = h @ layer["gate"] if "gate" in layer else up
    hidden = gate / (1 + np.exp(-gate)) * (up if "gate" in layer else 1)
    return y + hidden @ layer["down"]


def naive_stack(stack, x):
    for layer in stack:
        x = naive(layer, x)
    return x


def slope(stack, x, output_gradient):
    """Derivative of the loss by the imaginary direction that was put in."""
    return (naive_stack(stack, x) * output_gradient).sum().imag / 1e-30


def nudged(array, index):
    moved = array.astype(complex)
    moved[index] += 1e-30j
    return moved


def assert_equal(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def assert_same_step(one, other):
    assert_equal(one.output, other.output)
    for ours, theirs in zip(one.gradients, other.gradients, strict=True):
        assert ours.keys() == theirs.keys()
        for name, gradient in ours.items():
            assert_equal(gradient, theirs[name])
    assert_equal(one.input_gradient, other.input_gradient)


@pytest.mark.parametrize("gated", [False, True])
def test_the_whole_is_a_naive_forward_and_its_gradients_are_complex_steps(gated):
    stack, x, upstream = problem(gated=gated)
    whole = step(Network(1), stack, x, upstream)
    assert_equal(whole.output, naive_stack(stack, x))
    for depth, layer in enumerate(stack):
        for name, weight in layer.items():
            for index in np.ndindex(weight.shape):
                moved = list(stack)
                moved[depth] = {**layer, name: nudged(weight, index)}
                found = whole.gradients[depth][name][index]
                assert abs(found - slope(moved, x, upstream)) < 1e-12 * max(1, abs(found))
    for index in np.ndindex(x.shape):
        assert_equal(whole.input_gradient[index], slope(stack, nudged(x, index), upstream))


def test_complex_activations_go_through_the_split_too():
    stack, x, upstream = problem()
    moved = step(Network(2), stack, nudged(x, (2, 3)), upstream).output
    assert_equal((moved * upstream).sum().imag / 1e-30, slope(stack, nudged(x, (2, 3)), upstream))


@pytest.mark.parametrize("sequence", [False, True])
@pytest.mark.parametrize("recompute", ["none", "all", "needed"])
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(("t", "g"), [(1, 2), (2, 2), (2, 4), (4, 4)])
def test_the_split_equals_the_whole(t, g, fused, recompute, sequence):
    for gated in (False, True):
        stack, x, upstream = problem(g=g, gated=gated)
        options = {"fused": fused, "recompute": recompute, "sequence": sequence}
        assert_same_step(
            step(Network(t), stack, x, upstream, **options),
            step(Network(1), stack, x, upstream),
        )


def test_sequence_parallel_equals_the_whole_with_uneven_tokens_and_regathering():
    stack, x, upstream = problem(g=4, tokens=7)
    assert_same_step(
        step(Network(4), stack, x, upstream, sequence=True, keep_gathered=False),
        step(Network(1), stack, x, upstream),
    )


def all_reduces(t=2, layers=1, gated=False, **options):
    """The calls of one step, each checked to be an all-reduce of T·d elements."""
    stack, x, upstream = problem(layers=layers, g=4, gated=gated)
    network = Network(t)
    step(network, stack, x, upstream, **options)
    assert set(network.calls) == {Call("all_reduce", T * D)}
    assert network.elements == [len(network.calls) * ring_all_reduce_elements(t, T * D)] * t
    return len(network.calls)


@pytest.mark.parametrize("t", [2, 4])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(
    ("a_layer", "options"),
    [
        (4, {}),
        (4, {"gated": True}),
        (6, {"fused": False}),
        (7, {"fused": False, "gated": True}),
        (6, {"recompute": "all"}),
        (5, {"recompute": "needed"}),
    ],
)
def test_all_reduces_a_layer(a_layer, options, layers, t):
    assert all_reduces(t=t, layers=layers, **options) == a_layer * layers


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_an_input_that_needs_no_gradient_saves_one(layers):
    assert all_reduces(layers=layers, input_gradient=False) == 4 * layers - 1
    assert all_reduces(layers=layers, input_gradient=False, fused=False) == 6 * layers - 3


@pytest.mark.parametrize("block", BLOCKS)
def test_a_toy_of_one_block_shows_one_all_reduce_only_where_its_input_needs_no_gradient(
    monkeypatch, block
):
    monkeypatch.setattr(tensor_split, "BLOCKS", (block,))
    assert all_reduces(input_gradient=False) == 1
    assert all_reduces() == 2


def test_gradients_are_the_same_without_the_input_gradient():
    stack, x, upstream = problem()
    without = step(Network(2), stack, x, upstream, input_gradient=False)
    assert without.input_gradient is None
    assert_same_step(
        without._replace(input_gradient=np.zeros(1)),
        step(Network(2), stack, x, upstream)._replace(input_gradient=np.zeros(1)),
    )


@pytest.mark.parametrize(
    ("units", "options"),
    [
        (8, {"sequence": False}),
        (8, {"sequence": True}),
        (10, {"sequence": True, "keep_gathered": False}),
    ],
)
def test_sequence_parallelism_moves_the_same_volume_if_gathered_inputs_are_kept(units, options):
    """A unit is one reduce-scatter or all-gather of T·d elements; an all-reduce is two."""
    stack, x, upstream = problem(layers=3)
    network = Network(2)
    step(network, stack, x, upstream, **options)
    assert network.elements == [3 * units * ring_reduce_scatter_elements(2, T * D)] * 2


@pytest.mark.parametrize("left_out", range(4))
def test_an_all_reduce_left_out_changes_the_count_and_the_numbers(monkeypatch, left_out):
    calls = []

    def leaky(network, arrays):
        calls.append(arrays)
        real = tensor_split.reduce_scatter, tensor_split.all_gather
        if len(calls) - 1 == left_out:
            return arrays
        return real[1](network, real[0](network, arrays))

    stack, x, upstream = problem(layers=1)
    whole = step(Network(1), stack, x, upstream)
    monkeypatch.setattr(tensor_split, "all_reduce", leaky)
    network = Network(2)
    spoilt = step(network, stack, x, upstream)
    assert len(calls) == 4
    assert network.elements == [3 * ring_all_reduce_elements(2, T * D)] * 2
    with pytest.raises(AssertionError):
        assert_same_step(spoilt, whole)


@given(t=st.sampled_from([1, 2, 4]), gated=st.booleans(), d_ff=st.sampled_from([4, 12, 20]))
def test_cut_and_join_are_inverse(t, gated, d_ff):
    layer = random_layer(D, a=4, g=4, d_ff=d_ff, gated=gated)
    shares = cut(layer, t)
    assert all(
        share[name].size * t == weight.size for share in shares for name, weight in layer.items()
    )
    for name, weight in join(shares).items():
        np.testing.assert_array_equal(weight, layer[name])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: cut(s, 3), "t = 3: must divide the 4 query heads"),
        (lambda s: cut(s, 4), "t = 4: must divide the 2 key-value heads"),
        (lambda s: cut(random_layer(8, 4, 4, 6), 4), "t = 4: must divide the 6 of MLP width"),
        (lambda s: cut(s, 0), "t = 0: must be a whole number of at least 1"),
        (lambda s: random_layer(8, 3, 3, 8), "a must divide d, and g must divide a"),
        (lambda s: random_layer(8, 4, 3, 8), "a must divide d, and g must divide a"),
        (
            lambda s: step(Network(3), [s], np.ones((2, 8)), np.ones((2, 8))),
            "t = 3: must divide the 4 query heads",
        ),
        (
            lambda s: step(Network(2), [s], np.ones((2, 8)), np.ones((2, 8)), recompute="some"),
            "recompute = 'some': must be 'none', 'all' or 'needed'",
        ),
    ],
)
def test_arguments_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call(random_layer(8, a=4, g=2, d_ff=12))
