"""Data parallelism on a real model: replicas against the whole batch, and what it moves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bytesperflop import data_split
from bytesperflop.collectives import ring_all_reduce_elements
from bytesperflop.data_split import data_parallel_gradient, gradient, loss
from bytesperflop.network import Call, Network

D, HIDDEN, OUT = 5, 7, 3
N = D * HIDDEN + HIDDEN * OUT


def model_and_batch(rows):
    generator = np.random.default_rng(rows)
    weights = [generator.normal(size=(D, HIDDEN)), generator.normal(size=(HIDDEN, OUT))]
    return weights, generator.normal(size=(rows, D)), generator.normal(size=(rows, OUT))


def complex_step(weights, inputs, targets):
    """The derivative by each weight from the loss alone: Im loss(w + ih) / h."""
    slopes = []
    for number, weight in enumerate(weights):
        for index in np.ndindex(weight.shape):
            moved = [w.astype(complex) for w in weights]
            moved[number][index] += 1e-30j
            slopes.append(loss(moved, inputs, targets).imag / 1e-30)
    return np.array(slopes)


def test_gradient_is_the_complex_step():
    problem = model_and_batch(6)
    np.testing.assert_allclose(gradient(*problem), complex_step(*problem), rtol=1e-12, atol=1e-12)


@given(replicas=st.integers(1, 6), microbatches=st.integers(1, 4), deferred=st.booleans())
def test_replicas_have_the_gradient_of_the_batch_and_count_n(replicas, microbatches, deferred):
    """Also where slices are uneven: the errors are summed, not averaged slice by slice."""
    weights, inputs, targets = model_and_batch(25)
    network = Network(replicas)
    results = data_parallel_gradient(network, weights, inputs, targets, microbatches, deferred)
    for result in results:
        np.testing.assert_allclose(
            result, gradient(weights, inputs, targets), rtol=1e-12, atol=1e-12
        )
        np.testing.assert_array_equal(result, results[0])
    synchronisations = 1 if deferred else microbatches
    assert network.calls == [Call("all_reduce", N)] * synchronisations
    assert sum(network.elements) == 2 * (replicas - 1) * N * synchronisations


def test_synchronising_each_of_k_microbatches_moves_k_times_the_volume():
    problem = model_and_batch(32)
    sent = {}
    for k in (1, 2, 4, 8):
        for deferred in (True, False):
            network = Network(4)
            data_parallel_gradient(network, *problem, k, deferred)
            sent[k, deferred] = network.elements[0]
    assert sent[1, True] == ring_all_reduce_elements(4, N)
    assert [sent[k, True] for k in (1, 2, 4, 8)] == [sent[1, True]] * 4
    assert [sent[k, False] for k in (1, 2, 4, 8)] == [k * sent[1, True] for k in (1, 2, 4, 8)]


def test_what_is_reduced_does_not_depend_on_the_batch():
    for rows in (4, 40, 400):
        network = Network(4)
        data_parallel_gradient(network, *model_and_batch(rows))
        assert network.calls == [Call("all_reduce", N)]


def test_a_synchronisation_left_out_changes_the_count_and_the_numbers(monkeypatch):
    monkeypatch.setattr(data_split, "all_reduce", lambda network, arrays: arrays)
    problem = model_and_batch(8)
    network = Network(2)
    results = data_parallel_gradient(network, *problem)
    assert not np.allclose(results[0], gradient(*problem))
    assert network.elements == [0, 0]


def test_microbatches_are_checked():
    with pytest.raises(ValueError, match="microbatches = 0: must be a whole number"):
        data_parallel_gradient(Network(2), *model_and_batch(8), microbatches=0)
