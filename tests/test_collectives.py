"""The ring collectives, simulated on real arrays, against NumPy and the closed forms."""

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from bytesperflop.collectives import (
    ring_all_gather_elements,
    ring_all_gather_messages,
    ring_all_gather_time,
    ring_all_reduce_elements,
    ring_all_reduce_messages,
    ring_all_reduce_time,
    ring_reduce_scatter_elements,
    ring_reduce_scatter_messages,
    ring_reduce_scatter_time,
    transfer_time,
)
from bytesperflop.network import Call, Network, all_gather, all_reduce, reduce_scatter
from bytesperflop.symbols import B, alpha, b, dimension, n, p


def whole_arrays(devices: int, elements: int) -> list[np.ndarray]:
    """Whole numbers, whose sums are exact whatever the order."""
    generator = np.random.default_rng(devices * 10_007 + elements)
    return [generator.integers(-1000, 1000, elements) for _ in range(devices)]


def run(collective: Callable, devices: int, elements: int) -> Network:
    """Run it on arrays of so many elements and check the numbers; the counts come back."""
    network = Network(devices)
    arrays = whole_arrays(devices, elements)
    total = np.sum(arrays, axis=0)
    if collective is all_gather:
        results = all_gather(network, np.array_split(total, devices))
    else:
        results = collective(network, arrays)
    expected = np.array_split(total, devices) if collective is reduce_scatter else [total] * devices
    for result, right in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, right)
    return network


CLOSED = [
    (all_reduce, ring_all_reduce_elements, ring_all_reduce_messages),
    (reduce_scatter, ring_reduce_scatter_elements, ring_reduce_scatter_messages),
    (all_gather, ring_all_gather_elements, ring_all_gather_messages),
]


@pytest.mark.parametrize(("collective", "elements", "messages"), CLOSED)
@pytest.mark.parametrize("devices", [1, 2, 3, 4, 5, 8, 13, 16])
@pytest.mark.parametrize("multiple", [1, 2, 7])
def test_even_chunks_count_the_closed_form(collective, elements, messages, devices, multiple):
    network = run(collective, devices, multiple * devices)
    assert network.elements == [elements(devices, multiple * devices)] * devices
    assert network.messages == [messages(devices)] * devices
    assert network.calls == [Call(collective.__name__, multiple * devices)]


@pytest.mark.parametrize(("collective", "elements", "messages"), CLOSED)
@given(devices=st.integers(1, 12), size=st.integers(0, 60))
def test_uneven_chunks_stay_within_the_enumerated_bound(
    collective, elements, messages, devices, size
):
    """Each ring keeps one chunk of a device at home, of floor(n/p) or ceil(n/p) elements."""
    network = run(collective, devices, size)
    rings = 2 if collective is all_reduce else 1
    fewest, most = rings * (size - -(-size // devices)), rings * (size - size // devices)
    assert all(fewest <= sent <= most for sent in network.elements)
    assert sum(network.elements) == devices * elements(devices, Fraction(size))
    assert network.messages == [messages(devices)] * devices


def test_uneven_chunks_are_counted_device_by_device():
    """7 elements on 3 devices, chunks of 3, 2, 2: device r keeps chunk r, then chunk r + 1."""
    assert run(reduce_scatter, 3, 7).elements == [7 - 3, 7 - 2, 7 - 2]
    assert run(all_gather, 3, 7).elements == [7 - 2, 7 - 2, 7 - 3]
    assert run(all_reduce, 3, 7).elements == [14 - 5, 14 - 4, 14 - 5]


@pytest.mark.parametrize("shape", [(6,), (5, 4), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.float32])
def test_all_reduce_keeps_shape_and_type_and_leaves_its_arguments(shape, dtype):
    generator = np.random.default_rng(1)
    arrays = [generator.normal(size=shape).astype(dtype) for _ in range(4)]
    before = [array.copy() for array in arrays]
    results = all_reduce(Network(4), arrays)
    for result in results:
        assert (result.shape, result.dtype) == (shape, dtype)
        np.testing.assert_allclose(result, np.sum(before, axis=0), rtol=1e-5)
        np.testing.assert_array_equal(result, results[0])  # replicas agree to the last bit
    for array, was in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, was)


def test_reduce_scatter_leaves_its_arguments_and_splits_rows():
    arrays = [np.arange(12.0).reshape(4, 3) * (r + 1) for r in range(2)]
    top, bottom = reduce_scatter(Network(2), arrays)
    np.testing.assert_array_equal(np.vstack([top, bottom]), np.arange(12.0).reshape(4, 3) * 3)
    assert top.shape == (2, 3)
    assert arrays[0][3, 2] == 11


def test_all_reduce_is_a_reduce_scatter_then_an_all_gather():
    network = Network(5)
    parts = all_gather(network, reduce_scatter(network, whole_arrays(5, 23)))
    np.testing.assert_array_equal(parts[2], np.sum(whole_arrays(5, 23), axis=0))
    assert network.elements == run(all_reduce, 5, 23).elements


def test_one_device_sends_nothing():
    network = run(all_reduce, 1, 9)
    assert (network.elements, network.messages) == ([0], [0])
    assert ring_all_reduce_time(1, 9, b=4, B=1, alpha=1) == 0


def test_64_devices_reduce_a_million_elements():
    arrays = [np.full(10**6, r, dtype=np.float32) for r in range(64)]
    network = Network(64)
    results = all_reduce(network, arrays)
    assert network.elements == [ring_all_reduce_elements(64, 10**6)] * 64
    assert all((result == 63 * 64 // 2).all() for result in results)


def test_a_message_left_out_changes_the_count_and_the_numbers():
    class Lossy(Network):
        def send(self, source, destination, chunk):
            if (source, self.messages[source]) == (1, 0):
                self.messages[source] += 1
                return np.zeros_like(chunk)
            return super().send(source, destination, chunk)

    network = Lossy(4)
    results = all_reduce(network, whole_arrays(4, 8))
    assert (results[0] != np.sum(whole_arrays(4, 8), axis=0)).any()
    assert network.elements[1] < ring_all_reduce_elements(4, 8)


@pytest.mark.parametrize(
    "planted",
    [
        lambda p, n: 2 * n,  # (p - 1)/p forgotten
        lambda p, n: Fraction((p - 1) * n, p),  # half of it: a reduce-scatter
        lambda p, n: Fraction(2 * (p - 1) * n, p + 1),
        lambda p, n: Fraction(2 * p * n, p + 1),
        lambda p, n: Fraction(2 * (p - 1) * n, p**2),
    ],
)
def test_the_count_catches_a_planted_formula(planted):
    counted = {devices: run(all_reduce, devices, 12 * devices).elements[0] for devices in (2, 3, 8)}
    assert any(planted(devices, 12 * devices) != sent for devices, sent in counted.items())


def test_closed_forms_take_symbols_and_stay_exact():
    assert sp.simplify(ring_all_reduce_elements(p, n) - 2 * (p - 1) * n / p) == 0
    assert ring_all_reduce_elements(3, Fraction(10)) == Fraction(40, 3)
    for time_of in (ring_all_reduce_time, ring_reduce_scatter_time, ring_all_gather_time):
        assert dimension(time_of(p, n, b, B, alpha)) == (0, 1)
        assert time_of(p, n, b, B, alpha).subs({p: 4, n: 1000, b: 4, B: 1000, alpha: 1}) == time_of(
            4, Fraction(1000), 4, 1000, 1
        )
    assert ring_all_reduce_time(p, n, b, B, alpha).equals(
        2 * (p - 1) * alpha + 2 * (p - 1) / p * n * b / B
    )


def test_time_from_the_counts_of_the_wire_is_the_closed_form():
    network = run(all_reduce, 8, 8000)
    counted = transfer_time(network.elements[0], network.messages[0], 4, 50_000, Fraction(1, 10))
    assert counted == ring_all_reduce_time(8, 8000, 4, 50_000, Fraction(1, 10))


def test_volume_at_most_doubles_with_devices_while_latency_grows_in_step():
    """Adding workers: bytes go from n at two devices towards 2n; messages grow without end."""
    counts = {devices: run(all_reduce, devices, 1024) for devices in (2, 4, 16, 64)}
    assert counts[2].elements[0] == 1024
    assert counts[64].elements[0] == 2016
    assert [network.messages[0] for network in counts.values()] == [2, 6, 30, 126]


@given(devices=st.integers(1, 200), size=st.integers(1, 10**6), factor=st.integers(2, 9))
def test_laws_of_the_closed_form(devices, size, factor):
    size = Fraction(size)
    sent = ring_all_reduce_elements(devices, size)
    assert sent < ring_all_reduce_elements(devices + 1, size) < 2 * size
    assert ring_all_reduce_elements(devices, factor * size) == factor * sent
    assert ring_all_reduce_time(devices, size, 2 * factor, 7 * factor, 0) == ring_all_reduce_time(
        devices, size, 2, 7, 0
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ring_all_reduce_elements(0, 5), "p = 0: must be a whole number of at least 1"),
        (lambda: ring_all_reduce_messages(2.5), "p = 2.5: must be a whole number of at least 1"),
        (lambda: ring_all_gather_elements(2, -1), "n = -1: must be"),
        (lambda: transfer_time(1, 1, b=0, B=1, alpha=0), "b = 0: must be"),
        (lambda: transfer_time(1, 1, b=1, B=0, alpha=0), "B = 0: must be"),
        (lambda: transfer_time(1, 1, b=1, B=1, alpha=-1), "alpha = -1: must be"),
        (lambda: Network(0), "devices = 0: must be"),
        (lambda: Network(2).send(0, 0, np.ones(1)), "source = 0, destination = 0: must be two"),
        (lambda: Network(2).send(0, 2, np.ones(1)), "source = 0, destination = 2: must be two"),
        (lambda: all_reduce(Network(2), [np.ones(3)]), "1 arrays: must be one for each of 2"),
        (lambda: all_gather(Network(2), [np.ones(3)]), "1 arrays: must be one for each of 2"),
        (lambda: reduce_scatter(Network(2), [np.ones(3), np.ones(4)]), "of one shape and type"),
    ],
)
def test_arguments_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("replicated", [True, False])
def test_gradient_through_an_all_reduce(replicated):
    """One loss that all devices compute alike: dloss/dx_r = dloss/dy, and nothing to reduce.

    Only if each device has its own loss, and their sum is meant, is the gradient of an
    all-reduce an all-reduce: of the devices' own gradients.
    """
    generator = np.random.default_rng(5)
    xs = [generator.normal(size=3).astype(complex) for _ in range(4)]
    of_each = [np.ones(3)] * 4 if replicated else [generator.normal(size=3) for _ in range(4)]

    def losses(arrays):
        ys = all_reduce(Network(4), arrays)
        return [(weight * y**2 / 2).sum() for weight, y in zip(of_each, ys, strict=True)]

    xs[2][1] += 1e-30j
    nudged = [loss.imag / 1e-30 for loss in losses(xs)]
    by_y = [weight * np.sum(xs, axis=0).real for weight in of_each]
    if replicated:
        np.testing.assert_allclose(nudged, [by_y[0][1]] * 4, rtol=1e-12)
    else:
        np.testing.assert_allclose(sum(nudged), all_reduce(Network(4), by_y)[2][1], rtol=1e-12)


def test_closed_forms_and_wire_need_no_arrays_to_be_imported():
    modules = "bytesperflop.collectives, bytesperflop.network"
    script = f"import sys, {modules}; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
