"""Collectives message by message, timed by clocks, against NumPy's sums and the closed forms."""

import subprocess
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bytesperflop import collective_costs as costs
from bytesperflop import ratios
from bytesperflop.assumptions import BANDWIDTH_BOUND
from bytesperflop.collective_bounds import (
    ALL_COMPLETE,
    FIRST_COMPLETE,
    algorithm_bandwidth,
    bus_bandwidth,
    fewest_transmissions,
)
from bytesperflop.collective_propositions import (
    ADDED_ON_DEVICES,
    ALL_REDUCE,
    BOTH_WAYS,
    EVEN_CHUNKS,
)
from bytesperflop.collectives import (
    ring_all_gather_time,
    ring_all_reduce_elements,
    ring_all_reduce_time,
    ring_reduce_scatter_time,
)
from bytesperflop.mutants import attack
from bytesperflop.network import Network, all_gather, all_reduce, reduce_scatter
from bytesperflop.network_clock import Clock, Group
from bytesperflop.node_collectives import (
    all_to_all,
    hierarchical_all_reduce,
    many_ring_all_reduce,
)
from bytesperflop.symbols import B, alpha, b, dimension, n, p
from bytesperflop.tree_collectives import (
    doubling_all_reduce,
    halving_all_reduce,
    pipelined_broadcast,
    tree_all_reduce,
    tree_broadcast,
)

LATENCY, PER_ELEMENT = Fraction(17, 10), Fraction(3, 7)
RATES = {"b": Fraction(3), "B": 7, "alpha": LATENCY}
ALL_REDUCES = {
    all_reduce: costs.ring_all_reduce,
    tree_all_reduce: costs.tree_all_reduce,
    doubling_all_reduce: costs.doubling_all_reduce,
    halving_all_reduce: costs.halving_all_reduce,
}
devices_ = st.integers(1, 17)


def uniform(devices: int) -> Clock:
    return Clock(devices, lambda source, to, elements: LATENCY + elements * PER_ELEMENT)


def whole_arrays(devices: int, shape) -> list[np.ndarray]:
    """Whole numbers, whose sums are exact whatever the order."""
    generator = np.random.default_rng(devices)
    return [generator.integers(-1000, 1000, shape) for _ in range(devices)]


def summed(collective, devices: int, shape, *more) -> Clock:
    clock, arrays = uniform(devices), whole_arrays(devices, shape)
    before = [array.copy() for array in arrays]
    results = collective(clock, arrays, *more)
    for result, array, was in zip(results, arrays, before, strict=True):
        np.testing.assert_array_equal(result, np.sum(before, axis=0))
        np.testing.assert_array_equal(array, was)
    return clock


def largest_power(devices: int) -> int:
    return max(2**k for k in range(10) if 2**k <= devices)


def agrees(clock: Clock, cost: costs.Cost) -> bool:
    """The most elements and messages of a device, and the last clock, are the closed form's."""
    counted = max(clock.elements), max(clock.messages), max(clock.now)
    return counted == (*cost[:2], cost.time(**RATES))


@pytest.mark.parametrize("collective", ALL_REDUCES)
@pytest.mark.parametrize("devices", range(1, 18))
@pytest.mark.parametrize("multiple", [1, 3])
def test_all_reduces_cost_their_closed_form(collective, devices, multiple):
    size = multiple * devices * largest_power(devices)
    clock = summed(collective, devices, size)
    assert agrees(clock, ALL_REDUCES[collective](devices, Fraction(size)))


@pytest.mark.parametrize("collective", ALL_REDUCES)
@given(devices=devices_, size=st.integers(0, 70))
def test_uneven_chunks_sum_right_and_cost_no_more_than_rounded_up(collective, devices, size):
    clock = summed(collective, devices, size)
    unit = {all_reduce: devices, halving_all_reduce: largest_power(devices)}.get(collective, 1)
    above = Fraction(-(-size // unit) * unit)
    exact, bound = (ALL_REDUCES[collective](devices, Fraction(x)) for x in (size, above))
    assert exact.time(**RATES) <= max(clock.now) <= bound.time(**RATES)
    assert exact.elements <= max(clock.elements) <= bound.elements
    assert max(clock.messages) == exact.messages
    if collective is all_reduce:  # the largest chunk goes all the way round
        assert max(clock.now) == bound.time(**RATES)


@given(rounds=st.integers(0, 4), size=st.integers(0, 70))
def test_uneven_halves_take_as_long_as_the_larger(rounds, size):
    clock = summed(halving_all_reduce, 2**rounds, size)
    halves = sum(-(-size // 2**k) for k in range(1, rounds + 1))
    assert max(clock.now) == 2 * (rounds * LATENCY + halves * PER_ELEMENT)


@given(devices=devices_, size=st.integers(0, 70))
def test_doubling_and_halving_fold_what_is_beyond_a_power_of_two(devices, size):
    extra = devices - largest_power(devices)
    for collective in (doubling_all_reduce, halving_all_reduce):
        clock = summed(collective, devices, size)
        assert clock.elements[devices - extra :] == [size] * extra
        assert clock.messages[devices - extra :] == [1] * extra


@pytest.mark.parametrize("collective", ALL_REDUCES)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.float32])
def test_shape_and_type_are_kept_and_devices_agree(collective, dtype):
    draw = np.random.default_rng(2).normal
    arrays = [draw(size=(3, 5)).astype(dtype) for _ in range(6)]
    results = collective(Network(6), arrays)
    for result in results:
        assert (result.shape, result.dtype) == ((3, 5), dtype)
        np.testing.assert_allclose(result, np.sum(arrays, axis=0), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(result, results[0])
    results[0][...] = 0
    assert results[1].any()  # no two devices share memory


@given(devices=devices_, size=st.integers(0, 40))
def test_tree_broadcast(devices, size):
    clock, array = uniform(devices), np.arange(size)
    for got in tree_broadcast(clock, array):
        np.testing.assert_array_equal(got, array)
    assert sum(clock.messages) == devices - 1
    assert agrees(clock, costs.tree_broadcast(devices, size))


@given(devices=st.integers(2, 12), m=st.integers(1, 9), multiple=st.integers(0, 5))
def test_pipelined_broadcast(devices, m, multiple):
    clock, array = uniform(devices), np.arange(m * multiple)
    for got in pipelined_broadcast(clock, array, m):
        np.testing.assert_array_equal(got, array)
    assert agrees(clock, costs.pipelined_broadcast(devices, Fraction(array.size), m))


@given(devices=st.integers(1, 9), m=st.integers(1, 9), size=st.integers(0, 40))
def test_pipelined_broadcast_of_uneven_chunks(devices, m, size):
    clock, array = uniform(devices), np.arange(size)
    for got in pipelined_broadcast(clock, array, m):
        np.testing.assert_array_equal(got, array)
    if devices > 1:
        above = costs.pipelined_broadcast(devices, Fraction(-(-size // m) * m), m)
        assert max(clock.now) <= above.time(**RATES)
        assert max(clock.elements) == size


@given(devices=st.integers(3, 60), size=st.integers(1, 10**7), latency=st.integers(1, 10**4))
def test_best_chunks_is_a_minimum(devices, size, latency):
    def seconds(m):
        return costs.pipelined_broadcast(devices, size, m).time(2, 9, latency)

    best = costs.best_chunks(devices, size, 2, 9, latency)
    low = max(1, int(best))
    least = min(seconds(low), seconds(low + 1))
    for m in {1, max(1, low // 2), max(1, low - 1), low + 2, 2 * low, 10 * low}:
        assert least <= seconds(m) * (1 + 1e-12)


@given(devices=devices_, size=st.integers(0, 60))
def test_all_to_all_transposes(devices, size):
    clock, arrays = uniform(devices), whole_arrays(devices, size)
    got = all_to_all(clock, arrays)
    chunks = [np.array_split(array, devices) for array in arrays]
    for r, row in enumerate(got):
        np.testing.assert_array_equal(row, np.concatenate([chunks[s][r] for s in range(devices)]))
    above = Fraction(-(-size // devices) * devices)
    assert max(clock.now) <= costs.all_to_all(devices, above).time(**RATES)
    assert clock.messages == [devices - 1] * devices
    if size % devices == 0:
        assert agrees(clock, costs.all_to_all(devices, above))
        assert set(clock.elements) == {max(clock.elements)}


@given(devices=st.integers(1, 9), size=st.integers(0, 40))
def test_rings_take_as_long_as_their_largest_chunk_going_round(devices, size):
    above = Fraction(-(-size // devices) * devices)
    clock = uniform(devices)
    parts = reduce_scatter(clock, whole_arrays(devices, size))
    assert max(clock.now) == ring_reduce_scatter_time(devices, above, **RATES)
    clock = uniform(devices)
    all_gather(clock, parts)
    assert max(clock.now) == ring_all_gather_time(devices, above, **RATES)


def test_point_to_point():
    clock = uniform(2)
    clock.send(1, 0, np.arange(5))
    assert agrees(clock, costs.point_to_point(5))
    assert clock.now == [costs.point_to_point(5).time(**RATES)] * 2


# Nodes


def two_links(k: int, g: int, inside, outside) -> tuple[Clock, Counter]:
    crossed: Counter = Counter()

    def seconds(source, to, elements):
        across = source // g != to // g
        crossed[source] += across * elements
        bandwidth, latency = outside if across else inside
        return latency + Fraction(2 * elements) / bandwidth

    return Clock(k * g, seconds), crossed


@given(k=st.integers(1, 4), g=st.integers(1, 5), multiple=st.integers(1, 3))
def test_hierarchical_all_reduce_costs_its_closed_form(k, g, multiple):
    size, inside, outside = k * g * multiple, (90, Fraction(1, 3)), (10, Fraction(5, 2))
    clock, crossed = two_links(k, g, inside, outside)
    arrays = whole_arrays(k * g, size)
    for result in hierarchical_all_reduce(clock, arrays, g):
        np.testing.assert_array_equal(result, np.sum(arrays, axis=0))
    stated = costs.hierarchical_all_reduce_time(k, g, Fraction(size), 2, inside, outside)
    assert clock.now == [stated] * (k * g)
    assert clock.messages == [2 * (g - 1) + 2 * (k - 1)] * (k * g)
    assert clock.elements == [ring_all_reduce_elements(k * g, Fraction(size))] * (k * g)
    assert all(crossed[r] == 2 * Fraction(k - 1, k) * size / g for r in range(k * g))


@given(k=st.integers(1, 4), g=st.integers(1, 4), shape=st.tuples(*[st.integers(0, 7)] * 2))
def test_nodes_sum_any_shape(k, g, shape):
    summed(hierarchical_all_reduce, k * g, shape, g)
    summed(many_ring_all_reduce, k * g, shape, g)


@pytest.mark.parametrize(("k", "g"), [(2, 2), (3, 4), (4, 2), (2, 8)])
def test_many_rings_load_each_link_as_the_ratio_says(k, g):
    """Each device sends 1/g of its volume across nodes, so that its rate is the lesser of two."""
    size, (inside, outside) = k * g * g * 2, (900, 100)
    clock, crossed = two_links(k, g, (inside, 0), (outside, 0))
    arrays = whole_arrays(k * g, size)
    for result in many_ring_all_reduce(clock, arrays, g):
        np.testing.assert_array_equal(result, np.sum(arrays, axis=0))
    sent = clock.elements[0]
    assert sent == ring_all_reduce_elements(k * g, size)
    assert [crossed[r] * g for r in range(k * g)] == [sent] * (k * g)
    busiest = max(Fraction(crossed[0], outside), Fraction(sent - crossed[0], inside))
    assert float(sent / busiest) == pytest.approx(ratios.bandwidth_across_nodes(inside, outside, g))


def test_one_ring_through_all_nodes_waits_for_the_slow_link_at_every_step():
    inside, outside = (90, Fraction(1, 3)), (10, Fraction(5, 2))
    clock, _ = two_links(3, 4, inside, outside)
    all_reduce(clock, whole_arrays(12, 24))
    assert max(clock.now) == ring_all_reduce_time(12, Fraction(24), 2, *outside)


@given(k=st.integers(2, 40), g=st.integers(2, 16), size=st.integers(1, 10**9))
def test_three_rings_beat_one_and_lose_to_many_only_in_bytes(k, g, size):
    inside, outside = (Fraction(9), 0), (Fraction(1), 0)
    hierarchy = costs.hierarchical_all_reduce_time(k, g, Fraction(size), 1, inside, outside)
    assert hierarchy < ring_all_reduce_time(k * g, Fraction(size), 1, 1, 0)
    shared = ratios.bandwidth_across_nodes(inside[0], outside[0], g)
    many = ring_all_reduce_time(k * g, Fraction(size), 1, shared, 0)
    assert many < 2 * hierarchy
    assert hierarchy < 2 * many


# Crossovers


@pytest.mark.parametrize("devices", [4, 8, 16, 64, 1024])
@pytest.mark.parametrize(
    ("crossover", "rival"),
    [
        (costs.ring_crossover, costs.ring_all_reduce),
        (costs.halving_crossover, costs.halving_all_reduce),
    ],
)
def test_at_the_crossover_times_are_equal_and_change_places(devices, crossover, rival):
    size = Fraction(crossover(devices, Fraction(3), 7, LATENCY))
    gap = [
        rival(devices, x).time(**RATES) - costs.doubling_all_reduce(devices, x).time(**RATES)
        for x in (size / 2, size, 2 * size)
    ]
    assert gap[0] > 0 == gap[1] > gap[2]


def test_crossover_is_met_by_the_clock():
    """Four devices, counted: the ring is slower just below, faster just above."""
    cross = costs.ring_crossover(4, Fraction(3), 7, LATENCY)
    for size, faster in ((int(cross) // 4 * 4, False), (int(cross) // 4 * 4 + 8, True)):
        ring, doubling = summed(all_reduce, 4, size), summed(doubling_all_reduce, 4, size)
        assert (max(ring.now) < max(doubling.now)) is faster


@given(rounds=st.integers(1, 12), size=st.integers(0, 10**9))
def test_a_ring_never_beats_halving_on_a_power_of_two(rounds, size):
    ring, halving = (
        f(2**rounds, Fraction(size)).time(**RATES)
        for f in (costs.ring_all_reduce, costs.halving_all_reduce)
    )
    assert (halving == ring) if rounds == 1 else (halving < ring)


def test_beyond_a_power_of_two_a_ring_beats_halving_when_large():
    for devices in (3, 5, 6, 12, 100):
        ring, halving = (
            [f(devices, Fraction(size)).time(**RATES) for size in (1, 10**6)]
            for f in (costs.ring_all_reduce, costs.halving_all_reduce)
        )
        assert ring[1] < halving[1]
        assert devices == 3 or ring[0] > halving[0]


# The bound


def test_fewest_transmissions_by_trying_all():
    assert (FIRST_COMPLETE.verify(), ALL_COMPLETE.verify()) == (4, 4)
    assert not (FIRST_COMPLETE.attack() + ALL_COMPLETE.attack()).survivors


@given(devices=st.integers(1, 4), data=st.data())
def test_each_further_device_takes_one_transmission(devices, data):
    complete = data.draw(st.integers(1, devices))
    assert fewest_transmissions(devices, complete) == devices - 1 + complete - 1


@pytest.mark.parametrize("collective", ALL_REDUCES)
@settings(max_examples=40)
@given(devices=devices_, size=st.integers(0, 60))
def test_nothing_sends_less_than_the_bound(collective, devices, size):
    sent = summed(collective, devices, size).elements
    assert sum(sent) >= 2 * (devices - 1) * size
    assert max(sent) >= Fraction(2 * (devices - 1) * size, devices)


def test_the_ring_meets_the_bound_on_each_device():
    assert set(summed(all_reduce, 6, 36).elements) == {Fraction(2 * 5 * 36, 6)}


# The proposition and its assumptions


def ratio(clock: Clock, size: int):
    """The clock's time over that of one message of all elements, without latency."""
    return max(clock.now) / (size * PER_ELEMENT)


def test_the_proposition_and_each_assumption_dropped_are_what_the_clock_shows():
    assert not attack(ALL_REDUCE.proof()).survivors
    at = {p: 6, b: 3, B: 7, alpha: sp.Rational(17, 10)}

    def free(source, to, elements):
        return elements * PER_ELEMENT

    def stated(size, *dropped):
        return ALL_REDUCE.result(dropped).subs({**at, n: size})

    def shown(size, clock):
        all_reduce(clock, [np.ones(size)] * 6)
        return ratio(clock, size)

    assert shown(36, Clock(6, free)) == stated(36)
    assert shown(36, uniform(6)) == stated(36, BANDWIDTH_BOUND)
    assert shown(37, Clock(6, free)) == stated(37, EVEN_CHUNKS)  # one element too many: the worst
    assert shown(36, OneWay(6, free)) == stated(36, BOTH_WAYS)
    assert stated(36, ADDED_ON_DEVICES) == 1


class OneWay(Clock):
    """Devices that can't send while they receive: of a ring's step, even senders go first."""

    def exchange(self, messages):
        arrived = {}
        for parity in (0, 1):
            part = [message for message in messages if message[0] % 2 == parity]
            arrived |= dict(zip([m[0] for m in part], super().exchange(part), strict=True))
        return [arrived[source] for source, _, _ in messages]


# Bandwidths


@given(devices=st.integers(2, 300), size=st.integers(1, 10**9))
def test_bus_bandwidth_of_each_collective_is_the_links(devices, size):
    size, link = Fraction(size), Fraction(7)
    took = {
        "all_reduce": ring_all_reduce_time(devices, size, 2, link, 0),
        "all_gather": ring_all_gather_time(devices, size, 2, link, 0),
        "reduce_scatter": ring_reduce_scatter_time(devices, size, 2, link, 0),
        "all_to_all": costs.all_to_all(devices, size).time(2, link, 0),
        "broadcast": costs.point_to_point(size).time(2, link, 0),
    }
    for collective, seconds in took.items():
        assert bus_bandwidth(collective, devices, size, 2, seconds) == link
        assert algorithm_bandwidth(size, 2, seconds) >= link / 2


# Planted falsehoods


@pytest.mark.parametrize(
    ("collective", "planted"),
    [
        (tree_all_reduce, lambda p, n, r: costs.Cost(r * n, r, r * n, r)),  # only up
        (tree_all_reduce, lambda p, n, r: costs.Cost(2 * r * n, 2 * r, 2 * r * n, 2 * r)),
        (doubling_all_reduce, lambda p, n, r: costs.Cost(r * n / 2, r, r * n / 2, r)),
        (doubling_all_reduce, lambda p, n, r: costs.Cost(r * n, r, r * n, r + 1)),
        (halving_all_reduce, lambda p, n, r: costs.Cost(2 * n, 2 * r, 2 * n, 2 * r)),
        (
            halving_all_reduce,
            lambda p, n, r: costs.Cost(2 * n * (p - 1) / p, r, 2 * n * (p - 1) / p, r),
        ),
        (all_reduce, lambda p, n, r: costs.Cost(2 * n * (p - 1) / p, p - 1, 2 * n, p - 1)),
    ],
)
def test_the_clock_catches_a_planted_cost(collective, planted):
    rounds = {4: 2, 8: 3}
    assert not all(
        agrees(summed(collective, devices, 64), planted(devices, Fraction(64), r))
        for devices, r in rounds.items()
    )


def test_a_lost_message_is_seen_in_the_sum():
    class Lossy(Network):
        def send(self, source, destination, chunk):
            arrived = super().send(source, destination, chunk)
            return arrived * 0 if sum(self.messages) == 3 else arrived

    for collective in (tree_all_reduce, doubling_all_reduce, halving_all_reduce):
        results = collective(Lossy(8), whole_arrays(8, 64))
        assert any((got != np.sum(whole_arrays(8, 64), axis=0)).any() for got in results)


# Closed forms with symbols, clocks, refusals


def test_closed_forms_take_symbols():
    assert dimension(costs.tree_broadcast(p, n).time(b, B, alpha)) == (0, 1)
    for cost in (costs.ring_all_reduce, costs.all_to_all, costs.doubling_all_reduce):
        assert dimension(cost(p, n).time(b, B, alpha)) == (0, 1)
    values = {p: 8, n: 96, b: 3, B: 7, alpha: sp.Rational(17, 10)}
    for cost in (*ALL_REDUCES.values(), costs.all_to_all, costs.tree_broadcast):
        stated = cost(p, n).time(b, B, alpha).subs(values)
        assert sp.simplify(stated - sp.Rational(cost(8, Fraction(96)).time(**RATES))) == 0
    for crossover in (costs.ring_crossover, costs.halving_crossover):
        stated = crossover(p, b, B, alpha).subs(values)
        assert sp.simplify(stated - sp.Rational(crossover(8, Fraction(3), 7, LATENCY))) == 0


def test_a_clock_sends_and_receives_at_once_but_not_twice_one_way():
    clock = uniform(3)
    clock.exchange([(0, 1, np.ones(4)), (1, 0, np.ones(9))])
    assert clock.now[:2] == [LATENCY + 9 * PER_ELEMENT] * 2
    assert clock.now[2] == 0
    with pytest.raises(ValueError, match="a device sends twice"):
        clock.exchange([(0, 1, np.ones(1)), (0, 2, np.ones(1))])
    with pytest.raises(ValueError, match="a device receives twice"):
        clock.exchange([(0, 1, np.ones(1)), (2, 1, np.ones(1))])


def test_groups_that_share_no_device_run_at_once():
    clock = uniform(8)
    for members in ([0, 2, 4, 6], [1, 3, 5, 7]):
        all_reduce(Group(clock, members), whole_arrays(4, 8))
    assert clock.now == [ring_all_reduce_time(4, Fraction(8), **RATES)] * 8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Group(Network(3), [0, 0]), r"members = \[0, 0\]: must be different devices"),
        (lambda: Group(Network(3), [0, 3]), r"members = \[0, 3\]: must be different devices"),
        (lambda: Group(Network(3), [0, 1]).send(0, 2, np.ones(1)), "destination = 2: must be two"),
        (lambda: hierarchical_all_reduce(Network(6), [np.ones(1)] * 6, 4), "size = 4: must divide"),
        (lambda: many_ring_all_reduce(Network(6), [np.ones(1)] * 6, 0), "size = 0: must be"),
        (lambda: pipelined_broadcast(Network(2), np.ones(1), 0), "m = 0: must be"),
        (lambda: all_to_all(Network(2), [np.ones(1)]), "1 arrays: must be one for each"),
        (lambda: halving_all_reduce(Network(2), [np.ones(1), np.ones(2)]), "of one shape"),
        (lambda: costs.ring_crossover(6, 2, 1, 1), "p = 6: must be a power of two"),
        (lambda: costs.halving_crossover(2, 2, 1, 1), "p = 2: must be a whole number of at least"),
        (lambda: costs.tree_broadcast(0, 1), "p = 0: must be"),
        (lambda: costs.doubling_all_reduce(2, -1), "n = -1: must be"),
        (lambda: costs.pipelined_broadcast(1, 5, 1), "p = 1: must be"),
        (lambda: bus_bandwidth("gather", 2, 1, 1, 1), "collective = 'gather': must be one of"),
        (lambda: fewest_transmissions(2, 3), "complete = 3: must be at most p = 2"),
        (lambda: algorithm_bandwidth(1, 1, 0), "seconds = 0: must be"),
    ],
)
def test_arguments_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_modules_need_no_arrays_to_be_imported():
    names = "collective_costs collective_bounds network_clock tree_collectives node_collectives"
    imports = "\n".join(f"import bytesperflop.{name}" for name in names.split())
    script = f"import sys\n{imports}\nsys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
