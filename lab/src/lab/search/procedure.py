"""The search itself: grow the rate until the limit is broken, then bisect. It does not know about runs.

It repeats what the reports did by hand (report C: 100,000/s, then lower until the latency fits) with rules that
tolerate noise: no single outcome decides, and the answer has an interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

RESOLUTION = 0.002
"""Distance of two rates of the grid, as a share of the rate."""
WIDTHS = (0.005, 0.01, 0.02)
"""Possible widths of the threshold on the logarithm of the rate; steps 3 widths away are sure."""
LAPSE = 0.1
"""Probability that a step's outcome is meaningless."""


class Belief:
    """A posterior over the threshold, flat on the logarithm of the rate at first. Rates are requests a second.

    This is probabilistic bisection on the logarithm of the rate (R. Waeber, P. Frazier, S. Henderson, *Bisection
    Search with Noisy Responses*, SIAM J. Control Optim. 51, 2013): query the median, update by Bayes' rule. A step
    far below the threshold nearly always holds, one far above nearly always fails, and near it both happen, because
    no two starts of a JVM are alike. The width of that region is not known beforehand. So the likelihood of a step
    is a logistic curve around the threshold whose width has a prior too (A. Watson, D. Pelli, *QUEST*, Perception &
    Psychophysics 33, 1983), and one step in ten may have any outcome (`LAPSE`): a burst of the host.
    """

    def __init__(self, low_per_s: float, high_per_s: float) -> None:
        if not 0 < low_per_s < high_per_s:
            raise ValueError(f"{low_per_s:g} to {high_per_s:g} is no range of rates")
        count = int(np.ceil(np.log(high_per_s / low_per_s) / RESOLUTION)) + 2
        self._log_rates = np.linspace(np.log(low_per_s), np.log(high_per_s), count)
        self._log_weights = np.zeros((len(WIDTHS), count))

    def update(self, rate_per_s: float, *, holds: bool) -> None:
        """Update by the outcome of a step."""
        distance = self._log_rates[None, :] - np.log(rate_per_s)
        sure = 1 / (1 + np.exp(-np.clip(distance / np.array(WIDTHS)[:, None], -500, 500)))
        likelihood = LAPSE / 2 + (1 - LAPSE) * (sure if holds else 1 - sure)
        self._log_weights += np.log(likelihood)

    def quantile(self, share: float) -> float:
        """Return the rate that exceeds the threshold with this probability."""
        weights = np.exp(self._log_weights - self._log_weights.max()).sum(axis=0)
        below = np.cumsum(weights)
        below /= below[-1]
        return float(np.exp(np.interp(share, below, self._log_rates)))

    @property
    def median(self) -> float:
        """The median of the threshold."""
        return self.quantile(0.5)

    def interval(self, share: float = 0.9) -> tuple[float, float]:
        """Return the central interval of the threshold with this probability."""
        return self.quantile((1 - share) / 2), self.quantile((1 + share) / 2)


GROWTH = 2.0
"""Factor between two steps until the limit is broken."""
WIDTH_MAX = 1.05
"""The search ends when the 90% interval's ends differ by less than this factor."""
STEPS_MAX = 24
DECISIVE_STEPS = 2
"""Steps that must agree at the highest or the lowest possible rate, to end the search there."""

Ended = Literal["found", "lower bound", "upper bound", "undecided", "no answer"]
Holds = Literal["yes", "no", "unknown"]
"""Whether a step held the limit; unknown: the load generator, not the service, was at its limit."""


@dataclass(frozen=True)
class Bounds:
    """Rates in requests a second: the first one to try, the lowest with enough requests, the highest possible."""

    start_per_s: int
    lowest_per_s: int
    highest_per_s: int


@dataclass(frozen=True)
class Outcome:
    """One step: the rate that was offered, and whether the limit held."""

    rate_per_s: int
    holds: Holds


@dataclass(frozen=True)
class Answer:
    """The highest rate that holds the limit.

    `found`: `rate_per_s` with its 90% interval from `low_per_s` to `high_per_s`. `lower bound`: the limit was never
    broken, up to `rate_per_s`, the highest rate that can be sent. `upper bound`: not even the lowest rate with enough
    requests held it. `undecided`: the steps ran out before the interval was narrow; without `high_per_s`, before the
    limit was broken. `no answer`: no step held, and those at the lowest rates cannot tell; `high_per_s` is the lowest
    rate that broke the limit, if one did.
    """

    ended: Ended
    rate_per_s: float | None
    low_per_s: float | None = None
    high_per_s: float | None = None
    outcomes: tuple[Outcome, ...] = field(default=())


def search(probe: Callable[[int], Holds], bounds: Bounds, steps_max: int = STEPS_MAX) -> Answer:
    """Search with `probe`, which makes a step at a rate. It is called at most `steps_max` times."""
    belief = Belief(bounds.lowest_per_s / GROWTH, bounds.highest_per_s * GROWTH)
    outcomes: list[Outcome] = []
    held: list[int] = []
    broken: list[int] = []
    highest = float(bounds.highest_per_s)
    rate = min(max(bounds.start_per_s, bounds.lowest_per_s), bounds.highest_per_s)
    while len(outcomes) < steps_max:
        holds = probe(rate)
        outcomes.append(Outcome(rate, holds))
        if holds == "unknown":
            highest = min(highest, rate)
        else:
            belief.update(rate, holds=holds == "yes")
        held = [step.rate_per_s for step in outcomes if step.holds == "yes"]
        broken = [step.rate_per_s for step in outcomes if step.holds == "no"]
        low, high = belief.interval()
        if held and broken and high / low < WIDTH_MAX:
            return Answer("found", belief.median, low, high, tuple(outcomes))
        if _at_the_top(held, highest, sent=highest == bounds.highest_per_s) and belief.median >= max(held):
            return Answer("lower bound", max(held), max(held), None, tuple(outcomes))
        if broken.count(bounds.lowest_per_s) >= DECISIVE_STEPS and not held:
            return Answer("upper bound", bounds.lowest_per_s, None, bounds.lowest_per_s, tuple(outcomes))
        unknown = [step.rate_per_s for step in outcomes if step.holds == "unknown"]
        if unknown.count(bounds.lowest_per_s) >= DECISIVE_STEPS and not held:
            break
        rate = _next(belief, held, broken, highest, bounds)
    # The belief's median is a rate that was found only between a step that held and one that did not.
    if not held:
        return Answer("no answer", None, None, min(broken, default=None), tuple(outcomes))
    if not broken:
        return Answer("undecided", max(held), max(held), None, tuple(outcomes))
    low, high = belief.interval()
    return Answer("undecided", belief.median, low, high, tuple(outcomes))


def _at_the_top(held: list[int], highest: float, *, sent: bool) -> bool:
    """Return whether steps at the highest rate, or at one just below a rate that could not be sent, have held."""
    near = [rate for rate in held if rate >= (highest if sent else highest / WIDTH_MAX)]
    return len(near) >= DECISIVE_STEPS


def _next(belief: Belief, held: list[int], broken: list[int], highest: float, bounds: Bounds) -> int:
    sendable = highest if highest == bounds.highest_per_s else highest / math.sqrt(WIDTH_MAX)
    if not broken and highest < bounds.highest_per_s:
        wanted = math.sqrt(max(held) * highest) if held else highest / GROWTH
        if held and highest / max(held) < WIDTH_MAX:
            wanted = max(held)
    elif not broken:
        wanted = max(held) * GROWTH
    elif not held:
        wanted = min(broken) / GROWTH
    else:
        wanted = belief.median
    return max(round(min(wanted, sendable)), bounds.lowest_per_s)
