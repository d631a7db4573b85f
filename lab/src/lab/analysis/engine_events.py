"""What the storage engine did in the background, read from the lines of service.log that its event log writes.

docs/contracts.md describes the lines. One that is cut off or damaged is left out: the service may have been killed.
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

    `level` is the level written to and `from_level` the lowest one read, of a compaction; `bytes_in` and `bytes_out`
    are bytes read and written, `tables_in` tables read, `writes` the writes that had to wait. What does not apply is 0.
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
    """Return the events of a service's log in the order of their starts; none where there is no log."""
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
