"""The timeline: sums of columns, rates of counters over restarts, and what is known about an interval."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from lab.analysis.timeline import RowsError, Timeline, read_timeline

T0 = datetime(2026, 11, 21, 9, 0, tzinfo=UTC).timestamp()


def timeline(**columns: list[float]) -> Timeline:
    length = len(next(iter(columns.values())))
    return Timeline(T0 + np.arange(length, dtype=float), {k: np.array(v, dtype=float) for k, v in columns.items()})


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "timeline.csv"
    path.write_text(text)
    return path


def test_rows_are_read_with_empty_cells_as_unknown(tmp_path: Path) -> None:
    read = read_timeline(
        write(tmp_path, "time,t_s,x\n2026-11-21T09:00:00.000Z,0,\n2026-11-21T09:00:01.500Z,1.5,2.25\n")
    )
    assert list(read.time_s - T0) == [0, 1.5]
    assert math.isnan(read.columns["x"][0])
    assert read.columns["x"][1] == 2.25


def test_columns_with_labels_are_summed_by_pattern() -> None:
    line = Timeline(
        np.array([T0]),
        {'gc_s{gc="young"}': np.array([1.0]), 'gc_s{gc="old"}': np.array([0.5]), "gc_s_other": np.array([9.0])},
    )
    column = line.column(r"gc_s(\{.*\})?")
    assert column is not None
    assert column[0] == 1.5
    assert line.column("absent") is None


def test_a_restart_of_a_counter_is_unknown_not_a_fall() -> None:
    rates = timeline(c=[0, 5, 15, 2, 4]).rate("c")
    assert rates is not None
    assert [None if math.isnan(r) else r for r in rates] == [None, 5, 10, None, 2]


def test_the_increase_of_a_counter_covers_the_whole_interval() -> None:
    line = timeline(c=[10.0 * i for i in range(20)])
    assert line.increase("c", T0 + 2.5, T0 + 12.5) == pytest.approx(100)
    assert line.increase("c", T0 + 2, T0 + 12) == pytest.approx(100)


def test_a_restart_right_outside_the_interval_does_not_matter() -> None:
    line = timeline(c=[50, 60, 0, 10, 20, 30, 40, 0, 5])
    assert line.increase("c", T0 + 2.1, T0 + 6.9) == pytest.approx(48)


@pytest.mark.parametrize("window", [(2.0, 6.0), (0.0, 60.0), (7.5, 7.9), (30.0, 40.0)])
def test_an_increase_without_evidence_is_unknown(window: tuple[float, float]) -> None:
    line = timeline(c=[0, 10, 20, 30, 0, 10, 20, 30, 40])
    assert line.increase("c", T0 + window[0], T0 + window[1]) is None
    assert line.increase("absent", T0, T0 + 5) is None


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    read = read_timeline(write(tmp_path, "time,x\n2026-11-21T09:00:00Z,1\n2026-11-21T09:0"))
    assert len(read.time_s) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: its columns do not begin with time"),
        ("seconds,x\n1,2\n", ":1: its columns do not begin with time"),
        ("time,x\n2026-11-21T09:00:00Z,1,5\n", ":2: 3 cells under 2 columns"),
        ("time,x\nyesterday,1\n", ":2: Invalid isoformat"),
        ("time,x\n2026-11-21T09:00:00Z,1\n2026-11-21T09:00:01Z,fast\n", ":3: could not convert"),
    ],
)
def test_damage_is_named_by_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RowsError) as error:
        read_timeline(write(tmp_path, text))
    assert message in error.value.message
