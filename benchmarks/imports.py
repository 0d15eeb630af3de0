"""How long importing the library takes, as a ratio to importing SymPy alone, in one run.

Run: python benchmarks/imports.py
"""

import statistics
import subprocess
import sys
import time

ROUNDS = 15
STATEMENTS = {
    "sympy": "import sympy",
    "bytesperflop": "import bytesperflop",
    "the formula modules": (
        "import bytesperflop.propositions, bytesperflop.ratios, bytesperflop.counting, "
        "bytesperflop.collectives, bytesperflop.optimum, bytesperflop.catalog"
    ),
}


def seconds(statement: str) -> float:
    """One fresh interpreter, start to end."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def main() -> None:
    """Interleave the rounds, so that a busy spell hits all alike; print medians and ratios."""
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for _ in range(ROUNDS):
        for name, statement in STATEMENTS.items():
            times[name].append(seconds(statement))
    base = statistics.median(times["sympy"])
    for name, each in times.items():
        median = statistics.median(each)
        print(f"{name:22} {1000 * median:6.0f} ms   {median / base:5.2f} x sympy")


if __name__ == "__main__":
    main()
