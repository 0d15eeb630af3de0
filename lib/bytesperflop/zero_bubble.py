"""Schedules that split the backward pass, and fill idle time with weight gradients.

Only the input gradient ``I`` is waited for by another stage; the weight gradient ``W`` may
come whenever there is nothing better to do.

Source: Qi et al., *Zero bubble pipeline parallelism* (2024), arXiv:2401.10241.
"""

from .checks import whole
from .operations import Operation, Order


def _late_weights(p: int, m: int, leads: list[int], lags: list[int]) -> list[Order]:
    """Forwards ``lead`` ahead of their input gradients, weight gradients ``lag`` behind."""
    whole(p=p, m=m)
    orders: list[Order] = []
    for stage, (lead, lag) in enumerate(zip(leads, lags, strict=True)):
        order = []
        for turn in range(-lead, m + lag):
            for kind, j in (("I", turn), ("W", turn - lag), ("F", turn + lead)):
                if 0 <= j < m:
                    order.append(Operation(kind, stage, j))
        orders.append(order)
    return orders


def zb_h1(p: int, m: int) -> list[Order]:
    """1F1B with the weight gradients of stage r run r microbatches late: ZB-H1.

    Stage r runs p - r forwards ahead, as in 1F1B, then in turn the input gradient of
    microbatch j, the weight gradient of j - r, the forward of j + p - r.

    Args:
        p: stages, a count.
        m: microbatches, a count.

    Raises:
        ValueError: p or m is not a whole number of at least 1.

    Source: Qi et al., arXiv:2401.10241, section 2.1.

    Example:
        >>> [f"{kind}{microbatch}" for kind, _, microbatch in zb_h1(2, 3)[1]]
        ['F0', 'I0', 'F1', 'I1', 'W0', 'F2', 'I2', 'W1', 'W2']
    """
    whole(p=p, m=m)
    return _late_weights(p, m, [p - stage for stage in range(p)], [*range(p)])


def zb_h2(p: int, m: int) -> list[Order]:
    """Twice as far ahead, and twice as late: ZB-H2.

    Stage r runs 2(p - r) - 1 forwards ahead, and its weight gradients come 2r microbatches
    after their input gradients. Args and errors as :func:`zb_h1`.

    Source: Qi et al., arXiv:2401.10241, section 2.2.

    Example:
        >>> [f"{kind}{microbatch}" for kind, _, microbatch in zb_h2(2, 4)[0]]
        ['F0', 'F1', 'F2', 'I0', 'W0', 'F3', 'I1', 'W1', 'I2', 'W2', 'I3', 'W3']
    """
    whole(p=p, m=m)
    leads = [2 * (p - stage) - 1 for stage in range(p)]
    return _late_weights(p, m, leads, [2 * stage for stage in range(p)])


def v_shape(p: int) -> list[int]:
    """The device of each of 2p chunks that go down the devices and come back up.

    Raises:
        ValueError: p is not a whole number of at least 1.

    Example:
        >>> v_shape(3)
        [0, 1, 2, 2, 1, 0]
    """
    whole(p=p)
    return [*range(p), *reversed(range(p))]


def zb_v(p: int, m: int) -> list[Order]:
    """Two chunks a device, the model laid down the devices and back up: ZB-V.

    Device r owns chunk r, *down*, and chunk 2p - 1 - r, *up*. It runs, each as long as there
    are microbatches,

    1. 2(p - r) - 1 forwards down,
    2. r times a forward up, a forward down,
    3. p - r times forward, input and weight gradient up,
    4. in turn a forward down, both gradients down, a forward up, both gradients up, until
       all forwards are done,
    5. r times the input gradient down, the input gradient up,
    6. p - r times both gradients down, the weight gradients being the oldest ones due,
    7. the weight gradients left, up, then down.

    With fewer than 2p - 1 microbatches it is the order for 2p - 1, those beyond m left out.
    Args and errors as :func:`zb_h1`. Stages in the operations are chunks, from 0 to 2p - 1.

    Source: Qi et al., arXiv:2401.10241.

    Example:
        >>> from collections import Counter
        >>> Counter(kind for kind, chunk, _ in zb_v(p=2, m=3)[0])
        Counter({'F': 6, 'I': 6, 'W': 6})
    """
    whole(p=p, m=m)
    return [_v_order(p, m, device) for device in range(p)]


def _v_order(p: int, m: int, device: int) -> Order:
    """Device r's operations, upper case for the chunk down, lower case for the chunk up."""
    steady = max(0, m - 2 * p + 1) + device  # rounds in which a microbatch still comes down
    script = (
        "F" * (2 * (p - device) - 1)
        + "fF" * device
        + "fiw" * (p - device)
        + "FIWfiw" * steady
        + "IWfiw" * (p - 1 - device)
        + "Ii" * device
        + "IW" * (p - device)
    )
    script += "w" * (script.count("i") - script.count("w"))
    script += "W" * (script.count("I") - script.count("W"))
    seen = dict.fromkeys("FIWfiw", 0)
    order = []
    for letter in script:
        chunk = device if letter.isupper() else 2 * p - 1 - device
        order.append(Operation(letter.upper(), chunk, seen[letter]))
        seen[letter] += 1
    return [operation for operation in order if operation.microbatch < m]
