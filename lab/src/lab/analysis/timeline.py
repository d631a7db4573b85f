"""``timeline.csv``: the metrics of service and host, one row a second over all phases.

Reads the file that ``lab.timeline`` writes (which lists the columns). The first column is ``time`` (RFC 3339, UTC); an
empty cell is a value that was not available at that moment.
"""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lab.errors import InputError


class TimelineError(InputError):
    """A timeline that cannot be read; the message names the file and the line."""


@dataclass(frozen=True)
class Timeline:
    """Columns over time. ``time_s`` are seconds since the epoch, ascending; unknown values are NaN."""

    time_s: NDArray[np.float64]
    columns: dict[str, NDArray[np.float64]]

    def column(self, pattern: str) -> NDArray[np.float64] | None:
        """Return the sum of the columns whose whole name matches the pattern; None if there is none."""
        found = [values for name, values in self.columns.items() if re.fullmatch(pattern, name)]
        return None if not found else np.sum(found, axis=0)

    def rate(self, pattern: str) -> NDArray[np.float64] | None:
        """Return a counter's increase per second, row by row; a restart of its process gives NaN, not a fall."""
        values = self.column(pattern)
        if values is None or len(values) < 2:
            return None
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = np.diff(values) / np.diff(self.time_s)
        rates[~(rates >= 0)] = math.nan
        return np.concatenate([[math.nan], rates])

    def increase(self, pattern: str, start_s: float, end_s: float) -> float | None:
        """Return by how much a counter grew between two moments; None if that is unknown.

        Only rows between the two count, because the counter may restart just outside; the time between them and the
        moments is added in proportion. At least half of the time must be covered.
        """
        values = self.column(pattern)
        if values is None:
            return None
        inside = np.isfinite(values) & (self.time_s >= start_s) & (self.time_s <= end_s)
        times, values = self.time_s[inside], values[inside]
        if len(times) < 2 or np.any(np.diff(values) < 0):
            return None
        covered = float(times[-1] - times[0])
        if covered <= 0 or covered < (end_s - start_s) / 2:
            return None
        return float(values[-1] - values[0]) * (end_s - start_s) / covered

    def interpolated(self, pattern: str, start_s: float, end_s: float) -> float | None:
        """Return the growth of a counter between two moments, which may be closer than rows: it is linear between rows.

        None if the rows around them are more than 2 s away, or if the counter began at zero between them.
        """
        values = self.column(pattern)
        if values is None:
            return None
        near = np.isfinite(values) & (self.time_s >= start_s - 2) & (self.time_s <= end_s + 2)
        times, values = self.time_s[near], values[near]
        if len(times) < 2 or times[0] > start_s or times[-1] < end_s or np.any(np.diff(values) < 0):
            return None
        return float(np.interp(end_s, times, values) - np.interp(start_s, times, values))


def read_timeline(path: Path) -> Timeline:
    """Read ``timeline.csv``. An incomplete last line is left out; other damage raises ``TimelineError``."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TimelineError(f"{path}: cannot be read: {error}") from error
    whole = text if text.endswith("\n") else text[: text.rfind("\n") + 1]
    rows = list(csv.reader(whole.splitlines()))
    if not rows or not rows[0] or rows[0][0] != "time":
        raise TimelineError(f"{path}:1: not a timeline: the first column must be 'time'")
    header, body = rows[0], rows[1:]
    times: list[float] = []
    cells: list[list[float]] = []
    for number, row in enumerate(body, start=2):
        if len(row) != len(header):
            raise TimelineError(f"{path}:{number}: {len(row)} cells under {len(header)} columns")
        try:
            at = datetime.fromisoformat(row[0])
            times.append((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
            cells.append([float(cell) if cell else math.nan for cell in row[1:]])
        except ValueError as error:
            raise TimelineError(f"{path}:{number}: {error}") from error
    table = np.array(cells, dtype=np.float64).reshape(len(body), len(header) - 1)
    order = np.argsort(np.array(times), kind="stable")
    return Timeline(
        np.array(times, dtype=np.float64)[order], {name: table[order, i] for i, name in enumerate(header[1:])}
    )
