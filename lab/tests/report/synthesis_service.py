"""Makes the service's reports in a run: the timings of its stages, and its log with the events of the engine."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lab.manifest import Phase

STAGES_US = {"selector_wait": 20.0, "queue_wait": 45.0, "storage": 5.0, "reply": 10.0, "total": 80.0}
ENGINE_EVENTS: tuple[tuple[float, dict[str, Any]], ...] = (
    (2.5, {"event": "flush", "ms": 810.0, "bytes_in": 23_068_672, "bytes": 32_000_000}),
    (3.3, {"event": "compaction", "ms": 1900.0, "from_level": 0, "level": 1, "tables_in": 5, "bytes_in": 160_000_000,
           "bytes": 148_000_000}),
    (3.0, {"event": "stall", "ms": 38.0, "writes": 12}),
    (3.1, {"event": "wal_sync", "ms": 27.5}),
    (4.9, {"event": "compaction", "ms": 640.0, "from_level": 1, "level": 2, "tables_in": 3, "bytes_in": 96_000_000,
           "bytes": 96_000_000}),
)  # fmt: skip


def stages(requests: float) -> dict[str, float]:
    """Return the service's own timings after this many requests."""
    labels = {stage: f'{{method="get",stage="{stage}"}}' for stage in STAGES_US}
    sums = {f"lsmlab_request_seconds_sum{labels[s]}": requests * us / 1e6 for s, us in STAGES_US.items()}
    return sums | {f"lsmlab_request_seconds_count{labels[s]}": requests for s in STAGES_US}


def make_service_log(path: Path, phases: list[Phase]) -> None:
    """Write service.log: in the middle of each load the flush, what it sets off, and a line that was cut off."""
    lines = ["ready data=127.0.0.1:8080 admin=127.0.0.1:8081"]
    for phase in phases:
        if phase.name in {"measure", "profile"}:
            lines += [engine_event(phase.start + timedelta(seconds=at), **fields) for at, fields in ENGINE_EVENTS]
    lines.append(engine_event(phases[0].start, event="flush", ms=3.0)[:-9])
    path.write_text("\n".join(lines) + "\n")


def engine_event(start: datetime, **fields: Any) -> str:
    """Return a line of the service's log about something of the storage engine."""
    event = {"start_ms": round(start.timestamp() * 1e3, 1), **fields}
    return f"{start.isoformat()} [lsmlab-flush-0] [DEBUG] EventLog - {json.dumps(event, separators=(',', ':'))}"
