"""The conditions during each measured second, from machine.csv, the load generator's reports, and the profile."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lab.analysis.episode import Track
from lab.analysis.evidence import Evidence, LoadUse, Role, read_uses, shares
from lab.analysis.histogram import Sample
from lab.analysis.load import Load, LoadError, Second
from lab.analysis.run_files import RunFiles
from lab.analysis.timeline import Timeline
from lab.experiment import tenant
from lab.manifest import Manifest

START_S = 3.0
"""The first seconds of a measurement: by then the code is compiled, and under a reading load the store at rest."""
KINDS = (("flush", "flushes"), ("compaction", "compactions"))
"""Words in the names of the metrics: one, and several."""
ROLES: tuple[Role, ...] = ("service", "loadgen")


@dataclass(frozen=True)
class Window:
    """One unprofiled measurement: `repetition` counts from 1, `start_s` is in seconds since the epoch."""

    repetition: int
    start_s: float
    duration_s: float
    seconds: list[Second] = field(default_factory=list)
    threads: int | None = None
    """Threads of the load generator that compete for its CPUs: its event loops, if it has any."""


@dataclass(frozen=True)
class Conditions:
    """The evidence about the measured seconds. `tracks` has each quantity by name; a missing one was not observed.

    `foreign <role>`, `steal <role>`, `run delay <role>` and `throttled <role>` are in CPUs; `unpinned <role>` is
    over 0 if its CPU set was not the plan's; `memory`, `memory
    stall` (the part of it that PSI sees), `foreign disk` and `uncached reads` are shares of time. There is a `foreign
    disk` only if responses wait for the disk, and there are `uncached reads` only if the load writes nothing.
    """

    windows: list[Window] = field(default_factory=list)
    tracks: dict[str, list[Track]] = field(default_factory=dict)
    clock_step_s: float | None = None
    others: dict[str, float] | None = None
    """Processes that are neither measured nor the lab's, in CPUs on average over the loads, the largest first."""
    compacted_at_start: list[int] | None = None
    """The repetitions in which flush or compaction wrote in the first seconds of the measurement."""
    cpu_samples: int | None = None
    at_delayed_ack: float | None = None
    """The share of latencies at the time of a delayed ACK, if they cluster there; None if latencies are not known."""
    problems: list[str] = field(default_factory=list)


def observe(files: RunFiles, manifest: Manifest) -> Conditions:
    """Read the conditions of a run. A file that cannot be read makes them unknown, with a note."""
    problems: list[str] = []
    processes = files.directory / "processes.jsonl"
    timeline = files.noting(problems, lambda: files.timeline)
    evidence = files.noting(problems, lambda: files.evidence)
    uses = files.noting(problems, lambda: read_uses(processes) if processes.is_file() else None) or []
    windows = measured_windows(files, manifest)
    return Conditions(
        windows=windows,
        tracks={} if evidence is None else _tracks(evidence, windows, manifest),
        clock_step_s=None if evidence is None or not len(evidence.end_s) else float(evidence.clock_steps().max()),
        others=_others(uses, windows),
        compacted_at_start=None if timeline is None else _compacted_at_start(timeline, windows),
        at_delayed_ack=_at_delayed_ack(files, manifest),
        cpu_samples=profile_samples(files.directory).get("cpu"),
        problems=problems,
    )


DELAYED_ACK_NS = (39.5e6, 48e6)
"""Linux sends a delayed ACK after 40 ms, at the next tick of the kernel's timer, or later on a busy machine."""
BELOW_NS, BELOW_MAX = (30e6, 39.5e6), 0.05
ABOVE_NS, ABOVE_MAX = (50e6, 60e6), 0.60
"""Latencies just below and above a cluster, and their highest number as a share of it."""
CLUSTER_MIN = 10
"""Fewer latencies are no cluster: on a busy machine any of them may take that long."""


def delayed_ack_share(sample: Sample) -> float:
    """Return the share of latencies that cluster at 40 ms; 0 if they do not.

    A timer has a sharp lower edge: the times of a service that computes or reads spread to both sides of it.
    """
    cluster = sample.between(*DELAYED_ACK_NS)
    if cluster < CLUSTER_MIN:
        return 0.0
    if sample.between(*BELOW_NS) > BELOW_MAX * cluster or sample.between(*ABOVE_NS) > ABOVE_MAX * cluster:
        return 0.0
    return cluster / sample.count


def _at_delayed_ack(files: RunFiles, manifest: Manifest) -> float | None:
    """Return the share over all repetitions; the histograms are not read if no latency is that long."""
    if manifest.summary is None or manifest.summary.latency_ms.max is None:
        return None
    if manifest.summary.latency_ms.max * 1e6 < DELAYED_ACK_NS[0]:
        return 0.0
    return delayed_ack_share(Sample.merged(output.sample for output in files.repetitions))


def measured_windows(files: RunFiles, manifest: Manifest) -> list[Window]:
    """Return when the unprofiled repetitions were measured: by their reports, or else by their phases."""
    phases = {
        phase.repetition or 1: phase for phase in manifest.phases if phase.name == "measure" and phase.outcome == "ok"
    }
    windows = []
    for source in files.sources:
        number = int(source.rpartition("/")[2])
        load, phase = _load(files, source), phases.get(number)
        if load is not None and load.started_at is not None and load.elapsed_s:
            start_s = load.started_at.timestamp()
            windows.append(Window(number, start_s, load.elapsed_s, load.series, load.event_loops or load.threads))
        elif phase is not None:
            windows.append(Window(number, phase.start.timestamp(), phase.duration_s))
    return windows


def _others(uses: list[LoadUse], windows: list[Window]) -> dict[str, float] | None:
    """Return the use during the loads of all measurements; None if one was not observed."""
    of_windows = [
        next((use for use in uses if use.holds(window.start_s, window.start_s + window.duration_s)), None)
        for window in windows
    ]
    known = [use for use in of_windows if use is not None]
    return shares(known) if known and len(known) == len(windows) else None


def _load(files: RunFiles, source: str) -> Load | None:
    try:
        outputs = files.outputs(source)
    except LoadError:
        return None  # the summary says so
    return None if outputs is None else outputs.load


def profile_samples(run_dir: Path) -> dict[str, int]:
    """Return the number of samples by event, from ``profile/profile.json``; empty if it cannot be read."""
    try:
        document = json.loads((run_dir / "profile" / "profile.json").read_text(encoding="utf-8"))
        return {str(name): int(event["samples"]) for name, event in document["events"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _compacted_at_start(timeline: Timeline, windows: list[Window]) -> list[int]:
    def grew(pattern: str, window: Window) -> bool:
        values = timeline.column(pattern)
        if values is None:
            return False
        first = values[(timeline.time_s >= window.start_s) & (timeline.time_s <= window.start_s + START_S)]
        first = first[np.isfinite(first)]
        return len(first) > 1 and bool(first[-1] > first[0])

    def ran(count: str, seconds: str, window: Window) -> bool:
        """Return whether a job that ended later began by then. Its bytes are counted only when it finishes a table."""
        ended, took_s = timeline.column(count), timeline.column(seconds)
        if ended is None or took_s is None:
            return False
        inside = (timeline.time_s >= window.start_s) & (timeline.time_s <= window.start_s + window.duration_s)
        known = inside & np.isfinite(ended) & np.isfinite(took_s)
        at_s, number = timeline.time_s[known][1:], np.diff(ended[known])
        mean_s = np.diff(took_s[known]) / np.maximum(number, 1)
        return bool(np.any((number > 0) & (at_s - mean_s < window.start_s + START_S)))

    kinds = [tuple(map(tenant.metric, (f"{a}_bytes_total", f"{b}_total", f"{a}_seconds_total"))) for a, b in KINDS]
    return [
        window.repetition
        for window in windows
        if any(grew(written, window) or ran(count, seconds, window) for written, count, seconds in kinds)
    ]


def waits_for_disk(manifest: Manifest) -> bool:
    """Return whether the response to a PUT waits until its record is on the disk."""
    return bool(manifest.experiment.resolved.service.parameter("durability") == "power")


def writes(manifest: Manifest) -> bool:
    """Return whether the load may write: as its script declares."""
    return manifest.experiment.writes is not False


def _tracks(evidence: Evidence, windows: list[Window], manifest: Manifest) -> dict[str, list[Track]]:
    plan = manifest.environment.cpu_plan
    tracks: dict[str, list[Track]] = {}
    for window in windows:
        rows = evidence.within(window.start_s, window.start_s + window.duration_s)
        values: dict[str, NDArray[np.float64]] = {
            "memory": rows.memory(),
            "memory stall": rows.per_s("memory_stall_s"),
        }
        if waits_for_disk(manifest):
            values["foreign disk"] = rows.foreign_disk()
        if not writes(manifest):
            values["uncached reads"] = rows.uncached_reads()
        for role in ROLES:
            if plan is not None:
                values[f"foreign {role}"] = rows.foreign(role, plan)
                values[f"steal {role}"] = rows.steal(getattr(plan, role))
            values[f"run delay {role}"] = rows.per_s(f"{role}_run_delay_s")
            values[f"unpinned {role}"] = rows.per_s(f"{role}_unpinned_s")
            values[f"throttled {role}"] = rows.per_s(f"{role}_throttled_s")
        values["jit"] = rows.per_s("service_jit_s")
        for name, of_rows in values.items():
            at_s = rows.end_s - rows.interval_s - window.start_s
            track = Track(window.repetition, window.duration_s, at_s, rows.interval_s, of_rows)
            tracks.setdefault(name, []).append(track)
    return tracks
