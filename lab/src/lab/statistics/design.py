"""The size of a comparison: what a number of blocks can show.

The number of blocks is fixed beforehand: a test after every block from the fourth to the twentieth calls equal sides
different in 21% of cases (tests/stats/test_simulation.py).
"""

from __future__ import annotations

import math

from scipy import special

from lab.statistics.difference import quantile_of_t

ALPHA = 0.05
POWER = 0.80


def detectable(error: float, freedom: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Return the true difference that a two-sided t-test finds with `power`, in the unit of its standard error.

    By the noncentral t distribution, exact for normal values but for the test's other tail.
    """
    critical = quantile_of_t(1 - alpha / 2, freedom)
    return error * float(special.nctdtrinc(freedom, 1 - power, critical))


def detectable_difference(deviation: float, count: int, alpha: float = ALPHA, power: float = POWER) -> float:
    """Return `detectable` for `count` pairs whose differences have this standard deviation.

    Raises ValueError for fewer than two pairs.
    """
    if count < 2:
        raise ValueError(f"{count} pairs are too few: at least 2")
    return detectable(deviation / math.sqrt(count), count - 1, alpha, power)
