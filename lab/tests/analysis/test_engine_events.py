"""The storage engine's events, read from the service's log."""

from __future__ import annotations

from pathlib import Path

from lab.analysis.engine_events import EngineEvent, read_engine_events

LOG = """\
ready data=127.0.0.1:8080 admin=127.0.0.1:8081
2026-11-21T09:14:35.810+00:00 [lsmlab-compact] [DEBUG] EventLog - {"event":"compaction","start_ms":1795252475000.5,"ms":810.250,"from_level":0,"level":1,"tables_in":5,"bytes_in":900,"bytes":800}
2026-11-21T09:14:34.010+00:00 [lsmlab-flush-0] [DEBUG] EventLog - {"event":"flush","start_ms":1795252474000.0,"ms":10.000,"bytes_in":300,"bytes":200}
2026-11-21T09:14:34.010+00:00 [main] [INFO] Service - EventLog - is no event
2026-11-21T09:14:34.010+00:00 [lsmlab-flush-0] [DEBUG] EventLog - {"event":"holiday","start_ms":1795252474000.0,"ms":10.000}
2026-11-21T09:14:34.010+00:00 [lsmlab-flush-0] [DEBUG] EventLog - {"event":"flush","ms":10.000}
2026-11-21T09:14:34.010+00:00 [lsmlab-flush-0] [DEBUG] EventLog - {"event":"flush","start_ms":17952524
"""  # noqa: E501


def test_events_come_in_the_order_of_their_starts_and_damaged_lines_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "service.log").write_text(LOG)
    flush, compaction = read_engine_events(tmp_path / "service.log")
    assert flush == EngineEvent("flush", 1795252474.0, 0.01, bytes_in=300, bytes_out=200)
    assert compaction == EngineEvent("compaction", 1795252475.0005, 0.81025, 1, 0, 5, 900, 800)
    assert compaction.end_s == 1795252475.81075


def test_without_a_log_there_are_no_events(tmp_path: Path) -> None:
    assert read_engine_events(tmp_path / "service.log") == []
