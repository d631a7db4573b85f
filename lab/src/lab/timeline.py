"""The timeline: one row a second over all phases, scraped from the service and the load generator.

timeline.csv has the columns

- `time` (RFC 3339, UTC), `t_s` (seconds since the run began); run.json has the phases;
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
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

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
    loadgen_metrics_url: str | None = None


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
        values: dict[str, float] = {}
        for url in (watched.service_metrics_url, watched.loadgen_metrics_url):
            if url is not None:
                values.update(scrape(url))
        row.update({name: f"{value:.10g}" for name, value in values.items()})
        with self._lock:
            self.latest = values
            self._pending.append(row)
            self._columns.update(dict.fromkeys(row))
            self._flush()

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
