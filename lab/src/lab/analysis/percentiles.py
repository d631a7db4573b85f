"""The percentiles that a sample supports, and their names.

A percentile is the nearest-rank one, like HdrHistogram's: the smallest value that at least p per cent of the sample do
not exceed (Hyndman & Fan 1996, definition 1). It is reported only if at least ``BEYOND_MIN`` samples lie above its
rank; with fewer, single requests decide the figure. The maximum ("100") is always reported: it is one request, and says
so.
"""

from __future__ import annotations

from fractions import Fraction

BEYOND_MIN = 10
"""Samples that must lie beyond a percentile for it to be reported."""

REPORTED = ("50", "75", "90", "99", "99.9", "99.99", "99.999", "100")
"""The percentiles of the load generator's report, by name."""


def supported(count: int, percentile: str) -> bool:
    """Return whether a sample of ``count`` values supports ``percentile`` ("50" … "100"). Exact: no rounding."""
    if count <= 0:
        return False
    beyond = count * (100 - Fraction(percentile)) / 100
    return percentile == "100" or beyond >= BEYOND_MIN


def samples_needed(percentile: str) -> int:
    """Return the smallest sample that supports ``percentile``."""
    if percentile == "100":
        return 1
    needed = BEYOND_MIN * 100 / (100 - Fraction(percentile))
    return -(-needed.numerator // needed.denominator)


def label(percentile: str) -> str:
    """Return the name shown to readers: "p50", "p99.9", "max"."""
    return "max" if percentile == "100" else f"p{percentile}"
