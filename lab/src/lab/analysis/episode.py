"""The bad seconds of a run: their number, and the longest episode of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

COVERAGE_MIN = 0.90
"""A check is *unknown* if its evidence covers less than this share of the measured seconds."""


@dataclass(frozen=True)
class Episode:
    """Successive bad seconds.

    `repetition` counts from 1, `start_s` from the start of its measurement; `worst` is the largest value, `total` the
    sum of value times length.
    """

    repetition: int
    start_s: float
    length_s: float
    worst: float
    total: float

    @property
    def end_s(self) -> float:
        """Seconds from the start of the measurement to the end of the episode."""
        return self.start_s + self.length_s


@dataclass(frozen=True)
class Track:
    """One quantity over one repetition: `at_s` is the start of each interval after the start of the measurement."""

    repetition: int
    duration_s: float
    at_s: NDArray[np.float64]
    length_s: NDArray[np.float64]
    values: NDArray[np.float64]

    def covered_s(self) -> float:
        """Return how long the value is known."""
        return float(self.length_s[np.isfinite(self.values)].sum())


@dataclass(frozen=True)
class BadSeconds:
    """The result of a search for bad seconds over all repetitions."""

    coverage: float
    bad_s: float
    measured_s: float
    longest: Episode | None

    @property
    def share(self) -> float:
        """The share of the known seconds that were bad."""
        return self.bad_s / self.measured_s if self.measured_s else 0.0


def find(tracks: Sequence[Track], limit: float) -> BadSeconds:
    """Find the seconds whose value is over `limit`.

    All known seconds are judged. Coverage alone leaves out one second at either end of each repetition, because rows
    of the evidence and of the load are not aligned.
    """
    wanted = sum(max(track.duration_s - 2.0, 1.0) for track in tracks)
    known = sum(track.covered_s() for track in tracks)
    bad = [episode for track in tracks for episode in episodes(track, limit)]
    return BadSeconds(
        coverage=min(1.0, known / wanted) if wanted else 0.0,
        bad_s=sum(episode.length_s for episode in bad),
        measured_s=known,
        longest=max(bad, key=lambda episode: (episode.length_s, episode.total), default=None),
    )


def episodes(track: Track, limit: float) -> list[Episode]:
    """Return the episodes of seconds whose value is over `limit`, in the order of time."""
    found: list[Episode] = []
    open_since: int | None = None
    bad = np.nan_to_num(track.values, nan=-math.inf) > limit
    for index in range(len(bad) + 1):
        inside = index < len(bad) and bool(bad[index])
        if inside and open_since is None:
            open_since = index
        elif not inside and open_since is not None:
            part = slice(open_since, index)
            found.append(
                Episode(
                    repetition=track.repetition,
                    start_s=float(track.at_s[open_since]),
                    length_s=float(track.length_s[part].sum()),
                    worst=float(track.values[part].max()),
                    total=float((track.values[part] * track.length_s[part]).sum()),
                )
            )
            open_since = None
    return found
