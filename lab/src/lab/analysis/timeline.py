"""The metrics of service and load generator over time, from ``timeline.csv`` (``lab.timeline`` lists its columns).

Also reads the rows of any CSV file of a run. An empty cell is a value that was not available at that moment.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lab.errors import InputError


class RowsError(InputError):
    """A file of rows that cannot be read; the message names the file and the line."""


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
    """Read ``timeline.csv``; raises ``RowsError`` as ``read_rows`` does."""
    names, table = read_rows(path, ["time"], _moment)
    table = table[np.argsort(table[:, 0], kind="stable")]
    return Timeline(table[:, 0], {name: table[:, i] for i, name in enumerate(names) if i})


def read_rows(
    path: Path, first: Sequence[str], moment: Callable[[str], float] = float
) -> tuple[list[str], NDArray[np.float64]]:
    """Return the names of the columns, which begin with ``first``, and the rows; ``moment`` reads the first cell.

    An incomplete last line is left out; other damage raises ``RowsError``.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RowsError(f"{path}: cannot be read: {error}") from error
    rows = list(csv.reader(text[: text.rfind("\n") + 1].splitlines()))
    if not rows or rows[0][: len(first)] != list(first):
        raise RowsError(f"{path}:1: its columns do not begin with {', '.join(first)}")
    cells = []
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(rows[0]):
            raise RowsError(f"{path}:{number}: {len(row)} cells under {len(rows[0])} columns")
        try:
            cells.append([moment(row[0]), *(float(cell) if cell else math.nan for cell in row[1:])])
        except ValueError as error:
            raise RowsError(f"{path}:{number}: {error}") from error
    return rows[0], np.array(cells, dtype=np.float64).reshape(len(cells), len(rows[0]))


def _moment(text: str) -> float:
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
