"""How long the simulations take, as ratios to one NumPy sum of the same size, in one run.

Run: python benchmarks/simulations.py
"""

import statistics
import time
from collections.abc import Callable

import numpy as np

from bytesperflop.network import Network, all_reduce
from bytesperflop.schedules import schedule
from bytesperflop.timeline import simulate

ROUNDS = 5


def median_seconds(run: Callable[[], object]) -> float:
    """The median of a few runs."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print each simulation's time and its ratio to the sum of 64 million elements."""
    arrays = [np.ones(1_000_000, dtype=np.float32) for _ in range(64)]
    orders = schedule("1f1b", 64, 1024)
    runs: dict[str, Callable[[], object]] = {
        "NumPy's sum of 64 arrays of 10^6": lambda: np.sum(arrays, axis=0),
        "ring all-reduce of the same, chunk by chunk": lambda: all_reduce(Network(64), arrays),
        "orders of 1F1B, p = 64, m = 1024": lambda: schedule("1f1b", 64, 1024),
        "their timeline": lambda: simulate(orders, 1024, {"F": 1, "B": 2}),
    }
    base = None
    for name, run in runs.items():
        taken = median_seconds(run)
        base = base or taken
        print(f"{name:46} {1000 * taken:7.0f} ms   {taken / base:6.2f} x")


if __name__ == "__main__":
    main()
