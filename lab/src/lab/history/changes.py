"""Whether an experiment changed over time, by its ratio to a reference experiment that was run beside it.

A machine drifts over days, and the reference drifts with it, so their ratio tells a change of the service from one of
the machine. PELT finds the change points (Killick et al., JASA 107, 2012) on the logarithm of the ratios. A level has
at least three pairs. A change counts if it is larger than what its two levels can show (lab.statistics.detectable).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np

from lab.errors import InputError
from lab.history.index import RunRow
from lab.statistics import detectable, independent

BESIDE = timedelta(hours=1)
"""Runs whose starts are further apart are not beside each other."""
LEVEL_MIN = 3
PENALTY = 6.0
"""Penalty of a change point, times ln n, in units of the noise: tests/history/test_changes.py simulates it."""
FINISHED = ("valid", "suspect", "invalid")
METRICS = {"p50": "p50", "p99": "p99", "p99.9": "p999", "max": "max", "rate": "achieved", "cpu": "cpu"}


@dataclass(frozen=True)
class Pair:
    """A run, the reference run beside it, and the ratio of the metric, run ÷ reference."""

    run: str
    reference: str
    ratio: float


@dataclass(frozen=True)
class LevelChange:
    """A change of level at `run`: the geometric means of the ratios before and after it, and their numbers of pairs.

    `detectable` is the smallest change, as a ratio minus one, that levels like these show in four of five cases.
    """

    run: str
    before: float
    after: float
    pairs_before: int
    pairs_after: int
    detectable: float


def pairs_of(runs: Sequence[RunRow], references: Sequence[RunRow], metric: str) -> list[Pair]:
    """Return each run with the nearest reference run within an hour, oldest first.

    Only finished, undisturbed runs count that were made like the newest one: the same overrides, runtime and machine.
    Reference runs are of that runtime and machine too. InputError for an unknown metric.
    """
    if metric not in METRICS:
        raise InputError(f"METRIC={metric}: is not allowed; allowed: {', '.join(METRICS)}")
    alike = usable(runs)
    place = _place(alike[-1]) if alike else None
    of_runs = _values(alike, METRICS[metric])
    of_references = _values(usable([row for row in references if _place(row) == place]), METRICS[metric])
    times = [started for started, _, _ in of_references]
    found = []
    for started, name, value in of_runs:
        at = bisect_left(times, started)
        near = [one for one in of_references[max(0, at - 1) : at + 1] if abs(one[0] - started) <= BESIDE]
        if near:
            _, reference, theirs = min(near, key=lambda one: abs(one[0] - started))
            found.append(Pair(name, reference, value / theirs))
    return found


def level_changes(pairs: Sequence[Pair]) -> list[LevelChange]:
    """Return the changes of level, oldest first; none for fewer than six pairs."""
    if len(pairs) < 2 * LEVEL_MIN:
        return []
    import ruptures  # noqa: PLC0415 - it brings scipy, which takes a second to load

    logs = np.log([pair.ratio for pair in pairs])
    noise = max(float(np.median(np.abs(np.diff(logs)))) / 0.6745 / math.sqrt(2), 1e-3)
    found = ruptures.Pelt(model="l2", min_size=LEVEL_MIN, jump=1).fit((logs / noise)[:, None])
    ends = [0, *found.predict(pen=PENALTY * math.log(len(logs)))]
    changes = []
    for (start, middle), (_, end) in pairwise(pairwise(ends)):
        before, after = logs[start:middle], logs[middle:end]
        difference = independent(list(before), list(after))
        smallest = detectable(difference.error, difference.freedom) if difference.error else 0.0
        if abs(difference.mean) > smallest:
            levels = math.exp(before.mean()), math.exp(after.mean())
            changes.append(LevelChange(pairs[middle].run, *levels, len(before), len(after), math.expm1(smallest)))
    return changes


def usable(rows: Sequence[RunRow]) -> list[RunRow]:
    """Return the runs that count, oldest first."""
    complete = finished(rows)
    return [row for row in complete if (row.setup, _place(row)) == (complete[-1].setup, _place(complete[-1]))]


def finished(rows: Sequence[RunRow]) -> list[RunRow]:
    """Return the finished, undisturbed runs, oldest first."""
    return sorted((row for row in rows if row.state in FINISHED and not row.disturbed), key=lambda row: row.run_id)


def _place(row: RunRow) -> tuple[str | None, str | None]:
    return row.runtime, row.machine


def _values(rows: Sequence[RunRow], field: str) -> list[tuple[datetime, str, float]]:
    """Return start, name and value of each run that has one."""
    values = [(row, getattr(row, field)) for row in rows]
    return [(_started(row), row.name, float(value)) for row, value in values if value]


def _started(row: RunRow) -> datetime:
    return datetime.strptime(row.run_id[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
