"""The timeline: one row a second over all phases, of the host, the service and the load generator.

timeline.csv has the columns

- `time` (RFC 3339, UTC), `t_s` (seconds since the run began); run.json has the phases;
- of the host, over the second before: `host_cpu_share`, `host_cpu<N>_share` (busy, 0…1), `host_steal_share`,
  `host_pressure_<resource>_<kind>_share` (stalled, 0…1), `host_load1`, `host_memory_available_bytes`;
- of the processes `service_` and `loadgen_`: `cpu_cores` (CPU seconds a second), `rss_bytes`, `threads`;
- every sample of the service's and the load generator's own metrics, under its Prometheus name, histogram buckets left
  out. Counters are as scraped; they begin at zero with each start of the service.

A value that was not available is empty. Written rows are not kept in memory. A new column rewrites the file, which
happens when a process is first scraped. One thread writes; the others only set attributes of `Watched`. The writer
yields to everything else on its CPU, such as the load generator; if no time is left for it, seconds are missing.
"""

from __future__ import annotations

import csv
import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from lab.machine.host import CpuTimes, ProcessUse, cpu_times, memory_bytes, pressure, process_use
from lab.process.processes import yield_to_others
from lab.prometheus import scrape
from lab.whole_file import replacing

PERIOD_S = 1.0
FIRST_COLUMNS = ("time", "t_s")
PENDING_MAX = 3_600
"""Rows kept in memory while the file cannot be written, an hour; older ones are lost then."""


@dataclass
class Watched:
    """The current targets of the timeline. Written by the run's main thread; each field is replaced as a whole."""

    service_metrics_url: str | None = None
    service_pid: Callable[[], int | None] = field(default=lambda: None)
    loadgen_metrics_url: str | None = None
    loadgen_pid: Callable[[], int | None] = field(default=lambda: None)


class Timeline:
    """Collects in a thread of its own from `start()` to `stop()`; the file is complete after every row."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.latest: dict[str, float] = {}
        self._pending: deque[dict[str, str]] = deque(maxlen=PENDING_MAX)
        self._columns: dict[str, None] = dict.fromkeys(FIRST_COLUMNS)
        self.problem = ""
        """Why it cannot be written, or ended early, for the user; empty if all is well."""
        self._path: Path | None = None
        self._written_columns = 0
        self._written_bytes = 0
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="timeline", daemon=True)
        self._began = time.monotonic()
        self._host_before: tuple[float, dict[str, CpuTimes], dict[str, float]] | None = None
        self._use_before: dict[str, tuple[float, int, ProcessUse]] = {}

    def start(self) -> None:
        """Begin to collect, at first into memory."""
        self._thread.start()

    def write_to(self, path: Path) -> None:
        """Write the rows so far to a file, and every later row."""
        with self._lock:
            self._path = path
            self._flush()

    def stop(self) -> None:
        """End with a last row. Idempotent."""
        if not self._stopped.is_set():
            self._stopped.set()
            if self._thread.is_alive():
                self._thread.join(5)

    def _run(self) -> None:
        try:
            self._collect_until_stopped()
        except Exception as error:  # it must not end silently, because the verdict depends on it
            self.problem = f"the timeline ended early: {type(error).__name__}: {error}"

    def _collect_until_stopped(self) -> None:
        yield_to_others()
        due = time.monotonic()
        while True:
            self._collect()
            due += PERIOD_S
            now = time.monotonic()
            due = max(due, now)  # if a scrape took longer than a second, skip the seconds that are over
            if self._stopped.wait(due - now):
                self._collect()
                return

    def _collect(self) -> None:
        watched = self.watched
        row: dict[str, str] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "t_s": f"{time.monotonic() - self._began:.3f}",
        }
        values = self._host()
        values.update(self._process("service", watched.service_pid()))
        values.update(self._process("loadgen", watched.loadgen_pid()))
        for url in (watched.service_metrics_url, watched.loadgen_metrics_url):
            if url is not None:
                values.update(scrape(url))
        row.update({name: f"{value:.10g}" for name, value in values.items()})
        with self._lock:
            self.latest = values
            self._pending.append(row)
            self._columns.update(dict.fromkeys(row))
            self._flush()

    def _host(self) -> dict[str, float]:
        now, times, stalls = time.monotonic(), cpu_times(), pressure()
        before, self._host_before = self._host_before, (now, times, stalls)
        values: dict[str, float] = {}
        if before is not None:
            elapsed = max(1e-3, now - before[0])
            for name, at in times.items():
                then = before[1].get(name, at)
                total = at.total - then.total
                if total > 0:
                    values[f"host_{name}_share"] = (at.busy - then.busy) / total
                    if name == "cpu":
                        values["host_steal_share"] = (at.steal - then.steal) / total
            for name, stalled in stalls.items():
                share = (stalled - before[2].get(name, stalled)) / elapsed
                values[f"host_pressure_{name}_share"] = min(1.0, share)
        if hasattr(os, "getloadavg"):
            values["host_load1"] = os.getloadavg()[0]
        memory = memory_bytes()
        if "available" in memory:
            values["host_memory_available_bytes"] = memory["available"]
        return values

    def _process(self, name: str, pid: int | None) -> dict[str, float]:
        use = process_use(pid) if pid is not None else None
        if pid is None or use is None:
            self._use_before.pop(name, None)
            return {}
        now = time.monotonic()
        values: dict[str, float] = {f"{name}_rss_bytes": use.rss_bytes, f"{name}_threads": use.threads}
        before = self._use_before.get(name)
        self._use_before[name] = (now, pid, use)
        if before is not None and before[1] == pid:
            elapsed = max(1e-3, now - before[0])
            values[f"{name}_cpu_cores"] = (use.cpu_s - before[2].cpu_s) / elapsed
        return values

    def _flush(self) -> None:
        """Write the rows that are not in the file yet. On a full disk the newest stay in memory."""
        if self._path is None:
            return
        try:
            self._write(self._path)
        except OSError as error:
            self.problem = f"{self._path.name} cannot be written: {error.strerror}"
        else:
            self.problem = ""

    def _write(self, path: Path) -> None:
        if self._written_bytes:
            os.truncate(path, self._written_bytes)  # without the part of a row that an earlier attempt left
        if self._written_columns == len(self._columns):
            with path.open("a", newline="", encoding="utf-8") as file:
                csv.DictWriter(file, self._columns).writerows(self._pending)
        else:
            with replacing(path) as scratch, scratch.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(self._columns)
                if self._written_bytes:
                    more = [""] * (len(self._columns) - self._written_columns)
                    with path.open(newline="", encoding="utf-8") as before:
                        writer.writerows([*row, *more] for row in itertools.islice(csv.reader(before), 1, None))
                csv.DictWriter(file, self._columns).writerows(self._pending)
        self._written_columns, self._written_bytes = len(self._columns), path.stat().st_size
        self._pending.clear()
