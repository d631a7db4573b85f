"""The background work of the storage engine, read from the lines that its event log writes into service.log.

docs/contracts.md describes the lines. Incomplete or damaged ones are left out: the service may have been killed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

MARK = " EventLog - {"
KINDS = ("flush", "compaction", "stall", "wal_sync")


@dataclass(frozen=True)
class EngineEvent:
    """One flush, compaction, stall or slow sync of the WAL. `start_s` is in seconds since the epoch.

    `level` is the level written to and `from_level` the lowest one read, for a compaction; `bytes_in` and `bytes_out`
    are bytes read and written, `tables_in` tables read, `writes` the writes that had to wait. Fields that do not apply
    are 0.
    """

    kind: str
    start_s: float
    length_s: float
    level: int = 0
    from_level: int = 0
    tables_in: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    writes: int = 0

    @property
    def end_s(self) -> float:
        """Seconds since the epoch."""
        return self.start_s + self.length_s


def read_engine_events(log: Path) -> list[EngineEvent]:
    """Return the events of a service's log in the order of their starts; none if there is no log."""
    try:
        with log.open(encoding="utf-8", errors="replace") as lines:
            found = [event for line in lines if MARK in line and (event := _event(line)) is not None]
    except OSError:
        return []
    return sorted(found, key=lambda event: event.start_s)


def _event(line: str) -> EngineEvent | None:
    try:
        fields = json.loads(line[line.index(MARK) + len(MARK) - 1 :])
        whole = {name: int(fields.get(name, 0)) for name in ("level", "from_level", "tables_in", "bytes_in", "writes")}
        event = EngineEvent(
            kind=str(fields["event"]),
            start_s=float(fields["start_ms"]) / 1e3,
            length_s=float(fields["ms"]) / 1e3,
            bytes_out=int(fields.get("bytes", 0)),
            **whole,
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return event if event.kind in KINDS else None
