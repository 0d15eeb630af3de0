"""A tape of operations that keeps what the way back needs, and scales that weigh what it keeps.

Tensors are lists, one array a device; the scales stand on the first device.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .network import Network, all_gather, all_reduce, reduce_scatter

Arrays = list[np.ndarray]  # one a device


class Sample(NamedTuple):
    """Bytes that the first device holds at one moment of a step."""

    phase: str
    activations: int
    gradients: int


@dataclass
class Meter:
    """Weighs what the first device holds; an array kept twice weighs once."""

    phase: str = "forward"
    activations: int = 0
    gradients: int = 0
    history: list[Sample] = field(default_factory=list)
    uses: Counter = field(default_factory=Counter)

    def hold(self, saved: Sequence[Arrays]) -> None:
        """Weigh what an operation keeps."""
        for arrays in saved:
            self.uses[id(arrays[0])] += 1
            self.activations += arrays[0].nbytes if self.uses[id(arrays[0])] == 1 else 0
        self.note()

    def release(self, saved: Sequence[Arrays]) -> None:
        """Take off the scales what is no longer needed."""
        for arrays in saved:
            self.uses[id(arrays[0])] -= 1
            self.activations -= 0 if self.uses[id(arrays[0])] else arrays[0].nbytes
        self.note()

    def note(self) -> None:
        """Remember this moment."""
        self.history.append(Sample(self.phase, self.activations, self.gradients))


class Value(NamedTuple):
    """A tensor on the tape: an array a device, and its number there."""

    arrays: Arrays
    key: int


class Kept(NamedTuple):
    """One operation on the tape: whose gradients it gives, from whose, and what it kept."""

    inputs: tuple[int, ...]
    output: int
    backward: Callable
    saved: tuple[Arrays, ...]


@dataclass
class Tape:
    """Operations in the order in which they ran; backward reads it from the end."""

    network: Network
    meter: Meter
    sequence: bool = False
    entries: list[Kept] = field(default_factory=list)
    keys: int = 0

    def value(self, arrays: Arrays) -> Value:
        """A new tensor."""
        self.keys += 1
        return Value(arrays, self.keys)

    def record(
        self, arrays: Arrays, inputs: Sequence[Value], backward: Callable, *saved: Arrays
    ) -> Value:
        """A new tensor, and how to come back from its gradient with what was saved."""
        out = self.value(arrays)
        self.entries.append(Kept(tuple(x.key for x in inputs), out.key, backward, saved))
        self.meter.hold(saved)
        return out

    def backward(self, upstream: Arrays, wanted: Value) -> Arrays:
        """The gradient by ``wanted`` from that by the last output."""
        gradients = {self.entries[-1].output: upstream}
        while self.entries:
            entry = self.entries.pop()
            given = entry.backward(gradients.pop(entry.output), *entry.saved)
            for key, arrays in zip(entry.inputs, given, strict=True):
                gradients[key] = add(gradients[key], arrays) if key in gradients else arrays
            self.meter.release(entry.saved)
        return gradients[wanted.key]

    def enter(self, xs: Arrays) -> Arrays:
        """What the tensor group's products read: all tokens."""
        return all_gather(self.network, xs) if self.sequence else xs

    def leave(self, partials: Arrays) -> Arrays:
        """The sum of the group's products, all tokens or this device's."""
        return (reduce_scatter if self.sequence else all_reduce)(self.network, partials)


def each(function: Callable, *arguments: Arrays) -> Arrays:
    """A function of the devices' arrays, device by device."""
    return [function(*of_device) for of_device in zip(*arguments, strict=True)]


def add(xs: Arrays, ys: Arrays) -> Arrays:
    """The sum, device by device."""
    return each(np.add, xs, ys)
