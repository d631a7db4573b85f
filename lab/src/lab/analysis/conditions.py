"""What else went on while a run was measured: steal, other load, pressure; from the timeline and the profile."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.analysis.timeline import Timeline, TimelineError, read_timeline
from lab.manifest import Manifest

Window = tuple[float, float]
"""Start and end, in seconds since the epoch."""


@dataclass(frozen=True)
class Conditions:
    """Means over the unprofiled measurements; ``None`` is unknown. Shares are of the whole machine, 0…1."""

    steal_share: float | None = None
    other_load_share: float | None = None
    memory_pressure_share: float | None = None
    involuntary_switches_per_s: float | None = None
    cpu_samples: int | None = None
    timeline_problem: str | None = None


def observe(run_dir: Path, manifest: Manifest) -> Conditions:
    """Read the conditions of the run in ``run_dir``. What cannot be read is unknown, and said to be damaged."""
    samples = profile_samples(run_dir).get("cpu")
    path = run_dir / "timeline.csv"
    if not path.is_file():
        return Conditions(cpu_samples=samples)
    try:
        timeline = read_timeline(path)
    except TimelineError as error:
        return Conditions(cpu_samples=samples, timeline_problem=str(error).replace(f"{run_dir}/", ""))
    windows = measured_windows(manifest)
    return Conditions(
        steal_share=_mean(timeline, "host_steal_share", windows),
        other_load_share=_other_load(timeline, windows, manifest),
        memory_pressure_share=_mean(timeline, "host_pressure_memory_some_share", windows),
        involuntary_switches_per_s=_mean(timeline, "service_switches_involuntary_per_s", windows),
        cpu_samples=samples,
    )


def measured_windows(manifest: Manifest) -> list[Window]:
    """Return when the unprofiled repetitions were measured."""
    return [
        (phase.start.timestamp(), phase.end.timestamp())
        for phase in manifest.phases
        if phase.name == "measure" and phase.outcome == "ok"
    ]


def profile_samples(run_dir: Path) -> dict[str, int]:
    """Return the number of samples by event, from ``profile/profile.json``; empty where that cannot be read."""
    try:
        document = json.loads((run_dir / "profile" / "profile.json").read_text(encoding="utf-8"))
        return {str(name): int(event["samples"]) for name, event in document["events"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _mean(timeline: Timeline, column: str, windows: list[Window]) -> float | None:
    seen = [mean for start, end in windows if (mean := timeline.mean(column, start, end)) is not None]
    return float(np.mean(seen)) if seen else None


def _other_load(timeline: Timeline, windows: list[Window], manifest: Manifest) -> float | None:
    cpu = manifest.environment.cpu
    busy = _mean(timeline, "host_cpu_share", windows)
    service = _mean(timeline, "service_cpu_cores", windows)
    loadgen = _mean(timeline, "loadgen_cpu_cores", windows)
    if cpu is None or busy is None or service is None or loadgen is None:
        return None
    steal = _mean(timeline, "host_steal_share", windows) or 0.0
    return max(0.0, busy - steal - (service + loadgen) / cpu.logical)
