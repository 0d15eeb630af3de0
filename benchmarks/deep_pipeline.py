"""The largest pipeline that must fit: 1F1B with 1,024 stages and 8,192 microbatches.

Sixteen million operations; what is of interest is the memory, which must stay under 4 GB.

Run: python benchmarks/deep_pipeline.py
"""

import resource
import sys
import time

from bytesperflop.schedules import schedule
from bytesperflop.timeline import simulate

STAGES, MICROBATCHES = 1024, 8192


def gigabytes() -> float:
    """The most memory that this process has held so far."""
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def main() -> None:
    """Print seconds and memory after the orders and after the timeline."""
    start = time.perf_counter()
    orders = schedule("1f1b", STAGES, MICROBATCHES)
    print(f"orders    {time.perf_counter() - start:5.0f} s  {gigabytes():.1f} GB")
    timeline = simulate(orders, MICROBATCHES, {"F": 1, "B": 2})
    assert timeline.makespan == 3 * (MICROBATCHES + STAGES - 1)
    print(f"timeline  {time.perf_counter() - start:5.0f} s  {gigabytes():.1f} GB")


if __name__ == "__main__":
    main()
