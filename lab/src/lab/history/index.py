"""The rows of all runs, cached and brought up to date with the run directories whenever they are read.

A row is made from a run.json, again when its modification time or size has changed, and goes with its directory. The
cache is one JSON file: 10,000 rows are read and written in a tenth of a second each. A damaged one, or one of another
version of the lab, is made again.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from lab.errors import InputError, did_you_mean
from lab.paths import Checkout
from lab.report import numbers
from lab.whole_file import write_whole

VERSION = 7
RUN_ID = re.compile(r"\d{8}T\d{6}Z(-\d+)?")


class RunRow(NamedTuple):
    """One run. Rates are a second, latencies in ms, CPU in µs a request; None is unknown.

    `lower_bounds` names the columns of latency that are at least this long, as unanswered requests count as the
    longest. If requests were refused or failed, latencies are those of served ones. `state` is valid, suspect, invalid,
    incomplete or unreadable; `disturbed` says whether the machine was not fit to measure; `note` says what was
    overridden, or what is wrong. `setup` are the overrides, `machine` is the hash of the facts of machine and software.
    """

    name: str
    mtime_ns: int
    size: int
    experiment: str
    run_id: str
    state: str
    service: str | None = None
    engine: str | None = None
    runtime: str | None = None
    offered: float | None = None
    achieved: float | None = None
    requests: int | None = None
    p50: float | None = None
    p99: float | None = None
    p999: float | None = None
    max: float | None = None
    lower_bounds: str = ""
    cpu: float | None = None
    source: str | None = None
    setup: str = ""
    machine: str | None = None
    disturbed: bool = False
    note: str = ""

    def latency(self, column: str) -> str:
        """Return a latency as readers see it; `column` is p50, p99, p999 or max."""
        return numbers.latency(getattr(self, column), lower_bound=column in self.lower_bounds.split())


PERCENTILES = {"p50": "50", "p99": "99", "p999": "99.9", "max": "100"}
"""The percentile in each column of latency."""


@dataclass(frozen=True)
class Filter:
    """A filter of runs; None accepts all. `since` is a date (2026-11-20) or an age (7d, 12h)."""

    name: str | None = None
    service: str | None = None
    runtime: str | None = None
    since: str | None = None
    valid: bool = False

    def matches(self, rows: list[RunRow], now: datetime | None = None) -> list[RunRow]:
        """Return the rows that it accepts. Raises InputError for an invalid `since`."""
        first = "" if self.since is None else since_run_id(self.since, now or datetime.now(UTC))
        patterns = (self.name or "*", self.service or "*", self.runtime or "*")
        return [
            row
            for row in rows
            if row.run_id >= first
            and (row.state == "valid" or not self.valid)
            and all(map(fnmatchcase, (row.experiment, row.service or "", row.runtime or ""), patterns))
        ]


def since_run_id(text: str, now: datetime) -> str:
    """Return the first run id of that time: ids are times, so they compare as text. Raises InputError."""
    age = re.fullmatch(r"(\d{1,6})([dh])", text)
    if age is not None:
        moment = now - timedelta(**{"days" if age[2] == "d" else "hours": int(age[1])})
        return moment.strftime("%Y%m%dT%H%M%SZ")
    with contextlib.suppress(ValueError):
        return datetime.strptime(text, "%Y-%m-%d").strftime("%Y%m%d")
    raise InputError(f"SINCE={text}: neither a date such as 2026-11-20 nor an age such as 7d or 12h")


class History:
    """The runs of one checkout as they are now; `read` is how many run.json were read for that."""

    def __init__(self, checkout: Checkout) -> None:
        results, cache = checkout.results, checkout.cache / "history.json"
        known = {row.name: row for row in _cached(cache)}
        found = dict(_manifests(results))
        kept = [row for name, row in known.items() if found.get(name) == (row.mtime_ns, row.size)]
        new = found.keys() - {row.name for row in kept}
        self.read = len(new)
        of_all = [*kept, *(_row(results, name, *found[name]) for name in new)]
        self._rows = sorted(sorted(of_all, key=lambda row: row.experiment), key=lambda row: row.run_id, reverse=True)
        if new or len(kept) < len(known):
            cache.parent.mkdir(parents=True, exist_ok=True)
            write_whole(cache, json.dumps({"version": VERSION, "rows": self._rows}))

    def rows(self, wanted: Filter | None = None) -> list[RunRow]:
        """Return the runs, newest first. Raises InputError."""
        return self._rows if wanted is None else wanted.matches(self._rows)

    def require(self, name: str) -> None:
        """Raise InputError if no run is of an experiment of this name, or of this pattern."""
        if not self.rows(Filter(name=name)):
            known = {row.experiment for row in self._rows}
            raise InputError(f"no run of an experiment {name!r}{did_you_mean(name, known)}")


def _cached(path: Path) -> list[RunRow]:
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["version"] == VERSION:
            return [RunRow(*row) for row in document["rows"]]
    return []


def _manifests(results: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    """Return name, modification time and size of every run.json; three times as fast as a glob."""
    with contextlib.suppress(FileNotFoundError), os.scandir(results) as experiments:
        for experiment in experiments:
            if not experiment.is_dir():
                continue
            with os.scandir(experiment.path) as runs:
                for run in runs:
                    if RUN_ID.fullmatch(run.name):
                        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                            status = os.stat(f"{run.path}/run.json")  # noqa: PTH116 - a Path for each takes as long
                            yield f"{experiment.name}/{run.name}", (status.st_mtime_ns, status.st_size)


def _row(results: Path, name: str, mtime_ns: int, size: int) -> RunRow:
    from lab.machine.fingerprint import machine_digest  # noqa: PLC0415
    from lab.manifest import Distribution, Manifest, ManifestError  # noqa: PLC0415 - pydantic takes longer than the whole list

    experiment, _, run_id = name.partition("/")
    try:
        manifest = Manifest.read(results / name / "run.json")
    except ManifestError as error:
        return RunRow(name, mtime_ns, size, experiment, run_id, "unreadable", note=error.message)
    notes = [f"{key}={value}" for key, value in manifest.experiment.overrides.items()]
    if manifest.summary is not None and manifest.summary.headline_ms is manifest.summary.served_ms:
        notes.append("latency of served requests")
    state: str = "unknown" if manifest.validity is None else manifest.validity.state
    if not manifest.complete:
        state = "incomplete"
        last = manifest.phases[-1] if manifest.phases else None
        notes.insert(0, "nothing began" if last is None else f"{last.name} was {_ending(last.outcome)}")
    service = manifest.experiment.resolved.service
    git, summary = manifest.environment.git, manifest.summary
    latency = summary.headline_ms if summary is not None else Distribution(count=0)
    percentiles = latency.percentiles
    return RunRow(
        name=name,
        mtime_ns=mtime_ns,
        size=size,
        experiment=experiment,
        run_id=run_id,
        state=state,
        service=service.brief,
        engine=None if service.foreign else service.parameter("engine"),
        runtime=manifest.runtime,
        offered=summary.rate_offered_per_s if summary is not None else None,
        achieved=summary.rate_achieved_per_s if summary is not None else None,
        requests=summary.requests if summary is not None else None,
        p50=percentiles.get("50"),
        p99=percentiles.get("99"),
        p999=percentiles.get("99.9"),
        max=percentiles.get("100"),
        lower_bounds=" ".join(column for column, p in PERCENTILES.items() if p in latency.lower_bounds),
        cpu=summary.service_cpu_us_per_request if summary is not None else None,
        source=None if git is None else git.commit[:12] + ("+" if git.dirty else ""),
        setup=json.dumps(manifest.experiment.overrides, sort_keys=True),
        machine=machine_digest(manifest.environment),
        disturbed=manifest.validity is not None and bool(manifest.validity.unfit),
        note=", ".join(notes),
    )


def _ending(outcome: str) -> str:
    return {"failed": "the phase that failed", "interrupted": "interrupted"}.get(outcome, "the last phase it ended")


def references(results: Path) -> dict[str, set[str]]:
    """Return the runs that are referred to, each with its referrer: suites, searches, comparisons, tags.

    Any JSON file without a run.json beside it counts, so that a new kind of answer need not be known here.
    """
    found: dict[str, set[str]] = {}
    name = re.compile(r"[\w.-]+/\d{8}T\d{6}Z(?:-\d+)?")
    for path in [*results.glob("*/*/*.json"), results / "tags.json"]:
        if path.name == "run.json" or (path.parent / "run.json").exists() or not path.is_file():
            continue
        with contextlib.suppress(OSError, UnicodeDecodeError):
            for run in name.findall(path.read_text(encoding="utf-8")):
                found.setdefault(run, set()).add(path.relative_to(results).as_posix())
    return found


def read_tags(results: Path) -> dict[str, str]:
    """Return the tagged runs by tag. Raises InputError for a file that `lab tag` did not write."""
    path = results / "tags.json"
    if not path.exists():
        return {}
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return {str(tag): str(run) for tag, run in document.items()}
    except (ValueError, AttributeError) as error:
        raise InputError(
            f"{path}: not the tags of runs: {error}", "Repair it, or delete it together with all tags"
        ) from error
