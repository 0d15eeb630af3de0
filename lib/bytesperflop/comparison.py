"""Schedules side by side: the same stages, run in any order, and what none of the others beats."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from .schedules import plan
from .timeline import Timeline, simulate


def run(
    name: str,
    p: int,
    m: int,
    times: tuple[Any, Any, Any] = (1, 1, 1),
    v: int = 2,
    delay: Any = 0,
    transfer: Any = 0,
) -> Timeline:
    """A schedule on p equal stages, whatever it makes of a stage.

    Args:
        name, p, m, v: as :func:`.schedules.plan`.
        times: of a forward, an input gradient and a weight gradient of a whole stage. A
            chunk takes its share; a backward in one piece takes the last two.
        delay, transfer: as :func:`.timeline.simulate`.

    Raises:
        ValueError: as those two.

    Example:
        >>> [run(name, 4, 8).makespan for name in ("1f1b", "interleaved", "zb-h1", "zb-v")]
        [33, Fraction(57, 2), 27, Fraction(51, 2)]
    """
    schedule = plan(name, p, m, v)
    kinds = {operation.kind for order in schedule.orders for operation in order}
    forward, input_gradient, weight_gradient = (_share(x, schedule.chunks) for x in times)
    durations = {"F": forward, "B": input_gradient + weight_gradient}
    if "W" in kinds:
        durations = {"F": forward, "I": input_gradient, "W": weight_gradient}
    return simulate(
        schedule.orders, m, durations, delay, placement=schedule.placement, transfer=transfer
    )


def _share(time: Any, chunks: int) -> Any:
    """The time of a chunk; whole numbers stay exact, and whole where they divide."""
    if not isinstance(time, int):
        return time / chunks
    share = Fraction(time, chunks)
    return share.numerator if share.denominator == 1 else share


def stages_held(timeline: Timeline) -> Fraction:
    """The most activations that any device holds, in those of one microbatch in one stage.

    Example:
        >>> [str(stages_held(run(name, 4, 8))) for name in ("gpipe", "1f1b", "interleaved")]
        ['8', '4', '11/2']
    """
    devices = len(timeline.orders)
    chunks = len(timeline.placement) // devices
    return Fraction(max(timeline.peak_in_flight(x) for x in range(devices)), chunks)


def pareto_front(points: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The points that no other is at most as large as in both coordinates, in order.

    Example:
        >>> pareto_front([(1, 5), (2, 3), (2, 4), (3, 3), (4, 1)])
        [(1, 5), (2, 3), (4, 1)]
    """
    front: list[tuple[Any, Any]] = []
    for point in sorted(set(points)):
        if not front or point[1] < front[-1][1]:
            front.append(point)
    return front
