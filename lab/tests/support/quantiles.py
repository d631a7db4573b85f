"""Percentiles of an HdrHistogram from all its counts at once: its own methods pass them one by one, in Python."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from hdrh.histogram import HdrHistogram


def values_at(filled: HdrHistogram, names: Iterable[str]) -> dict[str, int]:
    """Return `get_value_at_percentile` of each percentile, by its name."""
    up_to = np.cumsum(np.ctypeslib.as_array(filled.counts))
    ranks = {name: filled.get_target_count_at_percentile(float(name)) for name in names}
    return {name: _value(filled, np.searchsorted(up_to, rank)) for name, rank in ranks.items()}


def spectrum(filled: HdrHistogram, ticks: int) -> list[tuple[int, float, int]]:
    """Return value, percentile and count up to the value of each step of `get_percentile_iterator(ticks)`."""
    counts = np.ctypeslib.as_array(filled.counts)
    hit = np.flatnonzero(counts)
    up_to = np.cumsum(counts[hit])
    reached = 100.0 * up_to / filled.total_count
    steps: list[tuple[int, float, int]] = []
    percentile, at = 0.0, 0
    while not steps or steps[-1][2] < filled.total_count:
        at = max(at, int(np.searchsorted(reached, percentile)))
        steps.append((_value(filled, hit[at]), percentile, int(up_to[at])))
        half_distance = math.pow(2, (math.log(100 / (100.0 - percentile)) / math.log(2)) + 1)
        percentile += 100.0 / (ticks * half_distance)
    return [*steps, (steps[-1][0], 100.0, steps[-1][2])]


def _value(filled: HdrHistogram, index: np.integer) -> int:
    return int(filled.get_highest_equivalent_value(filled.get_value_from_index(int(index))))
