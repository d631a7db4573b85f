"""Whether a measured series is steady: change points by PELT (Killick et al., JASA 107, 2012) and its two halves.

The penalty, 15 ln n, is that of warmup_stats (Barrett et al., OOPSLA 2017); `jump` is 1, because the library's default
of 5 looks at every fifth second only. A segment has at least three seconds, so that one odd second is no change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

SECONDS_MIN = 10
SEGMENT_MIN = 3
PENALTY = 15.0
RATIO_MIN = 1.10
"""A change of level by less does not count."""


@dataclass(frozen=True)
class Change:
    """A change of level: at which second, and the medians before and after it."""

    second: int
    before: float
    after: float

    @property
    def ratio(self) -> float:
        """The larger level over the smaller one."""
        low, high = sorted((self.before, self.after))
        return high / low if low > 0 else math.inf

    def counts(self, size_min: float) -> bool:
        """Whether the change is large enough to count: more than 10%, and more than `size_min`."""
        return abs(self.after - self.before) > size_min and self.ratio > RATIO_MIN


def changes(values: NDArray[np.float64]) -> list[Change]:
    """Return the changes of level of a positive series; none for one shorter than ten seconds."""
    if len(values) < SECONDS_MIN:
        return []
    import ruptures  # noqa: PLC0415 - it brings scipy, which takes a second to load

    logs = np.log(np.maximum(values, 1e-9))
    noise = float(np.median(np.abs(np.diff(logs)))) / 0.6745 / math.sqrt(2)
    scaled = logs / max(noise, 0.005)
    found = ruptures.Pelt(model="l2", min_size=SEGMENT_MIN, jump=1).fit(scaled[:, None])
    ends = [0, *found.predict(pen=PENALTY * math.log(len(values)))]
    medians = [float(np.median(values[a:b])) for a, b in pairwise(ends)]
    return [Change(ends[i + 1], medians[i], medians[i + 1]) for i in range(len(medians) - 1)]


def steady_from(values: NDArray[np.float64], size_min: float) -> int | None:
    """Return the second from which on a series keeps its level; None if it does not do so for ten seconds."""
    last = max((change.second for change in changes(values) if change.counts(size_min)), default=0)
    return last if len(values) - last >= SECONDS_MIN else None


def halves(values: NDArray[np.float64]) -> Change | None:
    """Return the medians of the two halves; None for a series shorter than ten seconds."""
    if len(values) < SECONDS_MIN:
        return None
    middle = len(values) // 2
    return Change(middle, float(np.median(values[:middle])), float(np.median(values[middle:])))
