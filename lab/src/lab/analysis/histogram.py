"""Latency samples: read from HdrHistogram logs, merged exactly, and asked for percentiles.

A ``Sample`` holds, for each bucket that was hit, its lowest and highest value and its count, in nanoseconds. Merging
adds counts of equal buckets, so it loses nothing and its order does not matter. Percentiles are HdrHistogram's: the
highest value equivalent to the one at the rank. The logs are decoded by the ``hdrhistogram`` package.

A ``Sample`` also counts the requests without a response. Their latencies are unknown and rank above all others. So a
percentile that falls among them is at least the largest known latency. Every figure of the lab gets its percentiles
here, or from ``outputs.py`` if only the load generator's own percentiles exist.
"""

from __future__ import annotations

import binascii
import itertools
import math
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
from hdrh.codec import HdrCookieException, HdrHistogramSettingsException, HdrLengthException
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from lab.analysis.percentiles import REPORTED, supported
from lab.errors import InputError
from lab.manifest import Distribution

_START_TIME = re.compile(r"#\[StartTime:\s*([\d.]+)")
_BASE_TIME = re.compile(r"#\[BaseTime:\s*([\d.]+)")
_INTERVAL = re.compile(r"(?:Tag=[^,]*,)?(\d+\.?\d*),(\d+\.?\d*),([\d.]+),(\S+)\s*$")
_YEAR_S = 365 * 24 * 3600.0


class HistogramLogError(InputError):
    """A histogram log that cannot be read; the message names the file and the line."""


@dataclass(frozen=True)
class Sample:
    """A set of latencies by bucket: ``low[i] ≤ value ≤ high[i]`` was seen ``counts[i]`` times; ascending, in ns.

    ``unanswered`` is the number of requests without a response, which count as the longest.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    counts: NDArray[np.int64]
    unanswered: int = 0

    @staticmethod
    def empty() -> Sample:
        """Return the sample without a value."""
        nothing = np.zeros(0, dtype=np.int64)
        return Sample(nothing, nothing, nothing)

    @staticmethod
    def of_histogram(histogram: HdrHistogram) -> Sample:
        """Convert an HdrHistogram."""
        counts = np.ctypeslib.as_array(histogram.counts).astype(np.int64)
        index = np.flatnonzero(counts)
        half_magnitude = histogram.sub_bucket_half_count_magnitude
        half = histogram.sub_bucket_half_count
        bucket = (index >> half_magnitude) - 1
        sub_bucket = (index & (half - 1)) + half
        first = bucket < 0
        sub_bucket[first] -= half
        bucket[first] = 0
        shift = bucket + histogram.unit_magnitude
        low = sub_bucket.astype(np.int64) << shift
        return Sample(low, low + (np.int64(1) << shift) - 1, counts[index])

    @staticmethod
    def decoded(text: str) -> Sample:
        """Decode an HdrHistogram, V2, as base64. Raises HistogramLogError."""
        try:
            return Sample.of_histogram(HdrHistogram.decode(text))
        except (
            HdrCookieException,
            HdrHistogramSettingsException,
            HdrLengthException,
            binascii.Error,
            zlib.error,
            ArithmeticError,
            IndexError,
            MemoryError,
            ValueError,
        ) as error:
            raise HistogramLogError(f"the histogram cannot be decoded: {error or type(error).__name__}") from error

    @staticmethod
    def of_spectrum(rows: Iterable[tuple[int, int]]) -> Sample:
        """Rebuild a coarse sample from (value, values up to it) rows, ascending in both.

        Each value counts as the next row's, so its percentiles are upper bounds, exact at the rows.
        """
        values: list[int] = []
        counts: list[int] = []
        seen = 0
        for value, cumulative in rows:
            if cumulative > seen:
                values.append(value)
                counts.append(cumulative - seen)
                seen = cumulative
        high = np.array(values, dtype=np.int64)
        return Sample.merged([Sample(high, high, np.array(counts, dtype=np.int64))])

    @staticmethod
    def merged(samples: Iterable[Sample]) -> Sample:
        """Merge samples into one population; nothing is averaged."""
        samples = list(samples)
        unanswered = sum(sample.unanswered for sample in samples)
        parts = [sample for sample in samples if sample.count]
        if not parts:
            return replace(Sample.empty(), unanswered=unanswered)
        buckets = np.stack(
            [np.concatenate([part.high for part in parts]), np.concatenate([part.low for part in parts])], axis=1
        )
        unique, where = np.unique(buckets, axis=0, return_inverse=True)
        counts = np.zeros(len(unique), dtype=np.int64)
        np.add.at(counts, where.reshape(-1), np.concatenate([part.counts for part in parts]))
        return Sample(unique[:, 1], unique[:, 0], counts, unanswered)

    @property
    def count(self) -> int:
        """Number of values."""
        return int(self.counts.sum())

    @property
    def requests(self) -> int:
        """Number of values and of requests without one."""
        return self.count + self.unanswered

    def between(self, low_ns: float, high_ns: float) -> int:
        """Return the number of values from `low_ns` to below `high_ns`, by the middle of their buckets."""
        middle = (self.low + self.high) / 2
        return int(self.counts[(middle >= low_ns) & (middle < high_ns)].sum())

    def answered(self) -> Sample:
        """Return the values alone."""
        return replace(self, unanswered=0)

    def percentile_ns(self, percentile: str) -> int:
        """Return the nearest-rank percentile ("0" … "100") in ns; the largest value if it is a lower bound.

        Raises ValueError for an empty sample.
        """
        if not self.count:
            raise ValueError("an empty sample has no percentiles")
        rank = min(self._rank(percentile), self.count)
        return int(self.high[np.searchsorted(np.cumsum(self.counts), rank)])

    def is_lower_bound(self, percentile: str) -> bool:
        """Return whether this percentile falls among the requests without a response."""
        return self._rank(percentile) > self.count

    def _rank(self, percentile: str) -> int:
        return max(1, math.ceil(_exact_share(percentile) * self.requests))

    def mean_ns(self) -> float:
        """Return the mean in ns, each value taken at the middle of its bucket. NaN for an empty sample."""
        return float(np.average(self._middle(), weights=self.counts)) if self.count else math.nan

    def stdev_ns(self) -> float:
        """Return the population's standard deviation in ns. NaN for an empty sample."""
        if not self.count:
            return math.nan
        return math.sqrt(float(np.average((self._middle() - self.mean_ns()) ** 2, weights=self.counts)))

    def curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the whole distribution: for each bucket the share of requests at or below it, and its value in ns.

        The last share is below 1 if requests have no response.
        """
        return np.cumsum(self.counts) / max(self.requests, 1), self.high.astype(np.float64)

    def distribution(self, per_ns: float) -> Distribution:
        """Summarise in another unit (``per_ns`` = 1e-6 for ms), with the percentiles that the sample supports."""
        if not self.count:
            return Distribution(count=0, unanswered=self.unanswered)
        reported = [p for p in REPORTED if supported(self.requests, p)]
        return Distribution(
            count=self.count,
            unanswered=self.unanswered,
            mean=self.mean_ns() * per_ns,
            stdev=self.stdev_ns() * per_ns,
            min=int(self.low[0]) * per_ns,
            max=int(self.high[-1]) * per_ns,
            percentiles={p: self.percentile_ns(p) * per_ns for p in reported},
            lower_bounds=[p for p in reported if self.is_lower_bound(p)],
        )

    def _middle(self) -> NDArray[np.float64]:
        return (self.low + self.high) / 2.0


def _exact_share(percentile: str) -> Fraction:
    share = Fraction(percentile) / 100
    if not 0 <= share <= 1:
        raise ValueError(f"no percentile: {percentile!r}; 0 … 100")
    return share


@dataclass(frozen=True)
class Interval:
    """One interval of a log: seconds from the log's start, its length, and its values."""

    start_s: float
    length_s: float
    sample: Sample


@dataclass(frozen=True)
class HistogramLog:
    """A log: its start (None if it does not say), its intervals, and whether its last line is incomplete."""

    started_at: datetime | None
    intervals: list[Interval] = field(default_factory=list)
    truncated: bool = False

    def total(self) -> Sample:
        """Return all intervals together."""
        return Sample.merged(interval.sample for interval in self.intervals)


def read_log(path: Path) -> HistogramLog:
    """Read a histogram log (1.2 and 1.3, V2, values in ns).

    An incomplete last line, cut off by the end of its writer, is left out and marks the log ``truncated``. Damage
    anywhere else, and a file without the format's header or any interval, raise ``HistogramLogError``.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise HistogramLogError(f"{path}: cannot be read: {error}") from error
    cut_off = lines[-1] != ""
    lines = lines if cut_off else lines[:-1]
    leading = itertools.takewhile(lambda line: line.startswith("#"), lines)
    if not any(line.startswith("#[Histogram log format version") for line in leading):
        raise HistogramLogError(f"{path}: not a histogram log: no line '#[Histogram log format version …]' at its top")
    start_s: float | None = None
    base_s: float | None = None
    rows: list[tuple[float, float, Sample]] = []
    truncated = False
    for number, line in enumerate(lines, start=1):
        if match := _START_TIME.match(line):
            start_s = float(match[1])
        elif match := _BASE_TIME.match(line):
            base_s = float(match[1])
        elif not line.startswith(("#", '"')) and line.strip():
            try:
                rows.append(_interval(line))
            except HistogramLogError as error:
                if not (cut_off and number == len(lines)):
                    raise HistogramLogError(f"{path}:{number}: {error}") from error.__cause__
                truncated = True
    if not rows:
        raise HistogramLogError(f"{path}: holds no interval")
    offset_s = _offset_s(rows[0][0], start_s, base_s)
    return HistogramLog(
        started_at=None if start_s is None else datetime.fromtimestamp(start_s, UTC),
        intervals=[Interval(max(0.0, at - offset_s), length, sample) for at, length, sample in rows],
        truncated=truncated,
    )


def _interval(line: str) -> tuple[float, float, Sample]:
    match = _INTERVAL.match(line)
    if match is None:
        raise HistogramLogError("not an interval: start,length,max,histogram expected")
    return float(match[1]), float(match[2]), Sample.decoded(match[4])


def _offset_s(first_s: float, start_s: float | None, base_s: float | None) -> float:
    """Return the number to subtract from a time in the log to get seconds since its start, by the format's own rule.

    Times are relative to the base time if one is given; without one they are absolute, unless they lie more than a year
    before the start time.
    """
    if start_s is None:
        return first_s
    if base_s is not None:
        return start_s - base_s
    return 0.0 if first_s < start_s - _YEAR_S else start_s
