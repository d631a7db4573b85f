"""The search itself: grow the rate until the limit is broken, then bisect. It does not know about runs.

It repeats what the reports did by hand (report C: 100,000/s, then lower until the latency fits) with rules that
tolerate noise: no single outcome decides, and the answer has an interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from lab.search.belief import Belief

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
