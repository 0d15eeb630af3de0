"""A network that tells the time, and a group of a network's devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .network import Network

if TYPE_CHECKING:
    import numpy as np


class Clock(Network):
    """A network whose every message takes time; each device has a clock of its own.

    A message begins when both its ends are free and keeps both busy until it is through.
    Messages of one exchange leave together: a device sends one while it receives another.

    Attributes:
        now: the time at each device, in the unit of ``seconds``; the others as in
            :class:`.network.Network`.

    Args:
        devices: how many devices it joins.
        seconds: ``seconds(source, destination, elements)``, what one message takes.

    Example:
        >>> import numpy as np
        >>> clock = Clock(3, lambda source, destination, elements: 10 + elements)
        >>> for source in (0, 1):
        ...     _ = clock.send(source, source + 1, np.zeros(5))
        >>> clock.now
        [15, 30, 30]
    """

    def __init__(self, devices: int, seconds: Callable[[int, int, int], Any]) -> None:
        super().__init__(devices)
        self.seconds = seconds
        self.now: list[Any] = [0] * devices
        self._together: list[Any] | None = None

    def send(self, source: int, destination: int, chunk: np.ndarray) -> np.ndarray:
        """As :meth:`.network.Network.send`; both ends' clocks move on."""
        arrived = super().send(source, destination, chunk)
        start = self._together or list(self.now)
        through = max(start[source], start[destination])
        through += self.seconds(source, destination, chunk.size)
        for end in (source, destination):
            self.now[end] = max(self.now[end], through)
        return arrived

    def exchange(self, messages: Sequence[tuple[int, int, np.ndarray]]) -> list[np.ndarray]:
        """As :meth:`.network.Network.exchange`; no message waits for another one of them."""
        self._together = list(self.now)
        try:
            return super().exchange(messages)
        finally:
            self._together = None


class Group(Network):
    """Some devices of a network, numbered anew from 0; the network carries what they send.

    Args:
        network: which carries, counts and times.
        members: the devices, in the group's order.

    Raises:
        ValueError: members are not different devices of the network.

    Example:
        >>> import numpy as np
        >>> network = Network(4)
        >>> Group(network, [3, 1]).send(0, 1, np.array([7]))
        array([7])
        >>> network.elements
        [0, 0, 0, 1]
    """

    def __init__(self, network: Network, members: Sequence[int]) -> None:
        super().__init__(len(members))
        if len(set(members)) < len(members) or not set(members) <= set(range(network.devices)):
            raise ValueError(
                f"members = {list(members)!r}: must be different devices among {network.devices}"
            )
        self.network, self.members = network, list(members)

    def send(self, source: int, destination: int, chunk: np.ndarray) -> np.ndarray:
        """As :meth:`.network.Network.send`, in the group's numbers."""
        return self.exchange([(source, destination, chunk)])[0]

    def exchange(self, messages: Sequence[tuple[int, int, np.ndarray]]) -> list[np.ndarray]:
        """As :meth:`.network.Network.exchange`, in the group's numbers."""
        for message in messages:
            super().send(*message)
        return self.network.exchange(
            [(self.members[s], self.members[d], x) for s, d, x in messages]
        )
