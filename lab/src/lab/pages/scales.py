"""Scales of charts: from values to positions 0…1, with ticks that people read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol


class Scale(Protocol):
    """A map from values to 0…1; values outside are clamped."""

    def at(self, value: float) -> float:
        """Return the position of a value."""
        ...

    def ticks(self) -> list[float]:
        """Return the values to label, ascending."""
        ...


@dataclass(frozen=True)
class Linear:
    """Even steps from ``low`` to ``high``.

    ``wanted`` is about how many ticks; ``binary`` makes them round in KiB, MiB and GiB.
    """

    low: float
    high: float
    wanted: int = 5
    binary: bool = False

    def at(self, value: float) -> float:
        """Return the position of a value."""
        return _clamped((value - self.low) / (self.high - self.low) if self.high > self.low else 0.0)

    def ticks(self) -> list[float]:
        """Return multiples of 1, 2 or 5 times a power of ten, or of a power of two."""
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        raw = span / self.wanted
        if self.binary:
            step = 2.0 ** max(0, math.ceil(math.log2(raw) - 1e-9))
        else:
            power = 10.0 ** math.floor(math.log10(raw))
            step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(i * step, 12) for i in range(first, last + 1)]


@dataclass(frozen=True)
class Log:
    """Equal ratios from ``low`` (over 0) to ``high``."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Return the position of a value; 0 and less lie at the low end."""
        if value <= self.low:
            return 0.0
        return _clamped(math.log(value / self.low) / math.log(self.high / self.low))

    def ticks(self) -> list[float]:
        """Return the powers of ten. If there are few, add three times each, or twice and five times each."""
        decades = math.log10(self.high / self.low)
        steps = (1,) if decades > 3.5 else (1, 3) if decades > 2.2 else (1, 2, 5)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found = [float(f"{m}e{power}") for power in powers for m in steps]
        return [tick for tick in found if self.low * 0.999 <= tick <= self.high * 1.001]


def log_around(low: float, high: float) -> Log:
    """Return a logarithmic scale that holds both values with some room, over at least half a decade."""
    low, high = max(low, 1e-6), max(high, 1e-6)
    low, high = low / 1.15, high * 1.15
    if high / low < 10**0.5:
        middle = math.sqrt(low * high)
        low, high = middle / 10**0.25, middle * 10**0.25
    return Log(low, high)


def linear_to(high: float) -> Linear:
    """Return a linear scale from 0 to a little over ``high``."""
    return Linear(0.0, high * 1.08 if high > 0 else 1.0)


def _clamped(position: float) -> float:
    return min(1.0, max(0.0, position))
