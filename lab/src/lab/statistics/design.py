"""The size of a comparison: what a number of blocks can show, and at which numbers one may look at the result.

A test after every block from the fourth to the twentieth calls equal sides different in 21% of cases. So the number of
blocks is fixed beforehand, or the error is spent on three looks, most of it on the last (P. O'Brien, T. Fleming,
Biometrics 35, 1979). Thresholds for t-tests at 6, 12 and 18 blocks: tests/stats/test_simulation.py simulates them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import special

from lab.statistics.difference import quantile_of_t

ALPHA = 0.05
POWER = 0.80


@dataclass(frozen=True)
class Look:
    """One look at the result: the blocks measured by then, and the largest p-value that counts as a difference."""

    blocks: int
    alpha: float


LOOKS_DEFAULT = (Look(6, 0.0005), Look(12, 0.0135), Look(18, 0.0435))


def looks_of(blocks: Sequence[int]) -> tuple[Look, ...]:
    """Return the looks at these counts: one fixed count, or exactly those of `LOOKS_DEFAULT`. Raises ValueError."""
    if len(blocks) == 1:
        return (Look(blocks[0], ALPHA),)
    if tuple(blocks) == tuple(look.blocks for look in LOOKS_DEFAULT):
        return LOOKS_DEFAULT
    raise ValueError("looks are known only for " + "/".join(str(look.blocks) for look in LOOKS_DEFAULT))


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
