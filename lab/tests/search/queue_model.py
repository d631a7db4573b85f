"""A service whose saturation is known: one server, evenly spaced arrivals, exponential service times (D/M/1).

Its sojourn time is exponential with rate μ(1 − σ), where σ solves σ = exp(−μ(1 − σ) ÷ λ) (L. Kleinrock, *Queueing
Systems* I, 6.2, for G/M/1). So the rate at which a percentile reaches a limit is known exactly.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize

from lab.search.procedure import Holds

STEP_S = 10.0


def threshold_per_s(capacity_per_s: float, share: float, limit_s: float) -> float:
    """Return the rate at which the percentile, as a share of 1, is just the limit."""

    def excess(rate: float) -> float:
        sigma = optimize.brentq(lambda s: s - math.exp(-capacity_per_s * (1 - s) / rate), 0, 1 - 1e-9)
        return -math.log(1 - share) / (capacity_per_s * (1 - sigma)) - limit_s

    return float(optimize.brentq(excess, capacity_per_s * 0.05, capacity_per_s * 0.9995))


class QueueModel:
    """Probes the model, with the noise of a shared machine: starts differ, and bursts take the CPU away."""

    def __init__(self, capacity_per_s: float, share: float, limit_s: float, seed: int, *, start_spread: float) -> None:
        self.capacity_per_s, self.share, self.limit_s = capacity_per_s, share, limit_s
        self.start_spread = start_spread
        self._rng = np.random.default_rng(seed)

    def latencies_s(self, rate_per_s: float) -> np.ndarray:
        """Return the sojourn times of one step: Lindley's recursion, written as a running minimum."""
        count = int(rate_per_s * STEP_S)
        capacity = self.capacity_per_s * math.exp(self._rng.normal(0, self.start_spread))
        service = self._rng.exponential(1 / capacity, count)
        if self._rng.random() < 0.1:  # the host takes the CPU for a while
            service[self._rng.integers(count)] += self._rng.uniform(0.02, 0.3)
        steps = service - 1 / rate_per_s
        walk = np.concatenate([[0.0], np.cumsum(steps)])[:-1]
        wait = walk - np.minimum.accumulate(walk)
        return wait + service

    def probe(self, rate_per_s: int) -> Holds:
        """Make a step."""
        return "yes" if np.quantile(self.latencies_s(rate_per_s), self.share) < self.limit_s else "no"
