"""The belief about the highest rate that holds a limit: a probability for each rate, updated by each step.

This is probabilistic bisection on the logarithm of the rate (R. Waeber, P. Frazier, S. Henderson, *Bisection Search
with Noisy Responses*, SIAM J. Control Optim. 51, 2013): query the median, update by Bayes' rule. A step far below the
threshold nearly always holds, one far above nearly always fails, and near it both happen, because no two starts of a
JVM are alike. The width of that region is not known beforehand. So the likelihood of a step is a logistic curve around
the threshold whose width has a prior too (A. Watson, D. Pelli, *QUEST*, Perception & Psychophysics 33, 1983), and one
step in ten may have any outcome (`LAPSE`): a burst of the host.
"""

from __future__ import annotations

import numpy as np

RESOLUTION = 0.002
"""Distance of two rates of the grid, as a share of the rate."""
WIDTHS = (0.005, 0.01, 0.02)
"""Possible widths of the threshold on the logarithm of the rate; steps 3 widths away are sure."""
LAPSE = 0.1
"""Probability that a step's outcome is meaningless."""


class Belief:
    """A posterior over the threshold, flat on the logarithm of the rate at first. Rates are requests a second."""

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
