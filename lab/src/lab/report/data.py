"""The data of a report, read from the run directory alone; each missing or damaged part is a line of ``gaps``."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from lab.analysis.checks.conditions import profile_samples
from lab.analysis.engine_events import EngineEvent, read_engine_events
from lab.analysis.histogram import HistogramLog
from lab.analysis.outputs import Outputs
from lab.analysis.run_files import RunFiles
from lab.analysis.summary import PROFILED, started_at
from lab.analysis.timeline import Timeline
from lab.experiment import Reference
from lab.json_file import read_object
from lab.manifest import Artifact, Manifest

EVENTS = ("cpu", "alloc", "lock", "wall", "nativemem")
KEEPS_COMPARABLE = frozenset({"repeat", "warmup", "profile", "scale"})
"""Overrides that keep a published figure comparable: the same service under the same load, except for the rate."""
LOAD_WORDS = {
    "rate_per_s": ("rate", "/s"),
    "threads": ("threads", ""),
    "connections": ("connections", ""),
    "duration_s": ("duration", " s"),
}
"""Numbers of a load that a reference may define itself: the word and the unit that a reader sees."""
OWN_FILES = ("run.json", "report.html", "report.md")
"""Files that a report does not list as artifacts: they are written after it, or are the report itself."""


@dataclass(frozen=True)
class Series:
    """One execution of the load generator over time, a value for each interval; times are seconds since the epoch."""

    name: str
    profiled: bool
    start_s: list[float]
    length_s: list[float]
    per_s: list[float]
    errors_per_s: list[float]
    p50_ms: list[float | None]
    p99_ms: list[float | None]
    max_ms: list[float | None]


@dataclass(frozen=True)
class Category:
    """A category of code and its part of an event, measured in ``unit``: samples, bytes allocated or ns waited."""

    name: str
    samples: int
    share: float
    unit: str = "samples"
    bounds: tuple[float, float] | None = None
    """The 95% confidence interval of the share."""


@dataclass(frozen=True)
class Event:
    """The files of one profiled event, by form ("" is the flame graph), and their content."""

    name: str
    samples: int | None
    pages: dict[str, str]
    picture: Path | None
    categories: list[Category]
    groups: list[Category] = field(default_factory=list)
    """The same by group of threads."""


@dataclass(frozen=True)
class ReportData:
    """The run, as a report shows it."""

    run_dir: Path
    manifest: Manifest
    repetitions: list[Outputs]
    profiled: Outputs | None
    series: list[Series]
    timeline: Timeline | None
    machine: Timeline | None
    events: list[Event]
    profile: dict[str, Any]
    tail: dict[str, Any]
    engine_events: list[EngineEvent]
    reference: Reference | None
    artifacts: list[Artifact]
    gaps: list[str] = field(default_factory=list)

    def comparable_reference(self) -> Reference | None:
        """Return the reference if this run was made under the load of the reference."""
        return None if self.reference is None or self.unlike_the_reference() else self.reference

    def unlike_the_reference(self) -> list[str]:
        """Return how this run differs from the published one: "rate 70,000/s there, 20,000/s here"."""
        ours = self.manifest.experiment.resolved.load
        found, compared = [], set()
        for name, (word, unit) in LOAD_WORDS.items():
            there, here = getattr(self.reference, name, None), getattr(ours, name)
            if there is not None:
                compared.add(word)
            if there is not None and there != here:
                found.append(f"{word} {there:,.10g}{unit} there, {here:,.10g}{unit} here")
        changed = sorted(set(self.manifest.experiment.overrides) - KEEPS_COMPARABLE - compared)
        return found + [f"another {name.replace('_', ' ')} was set for this run" for name in changed]


def collect(run_dir: Path, files: RunFiles | None = None) -> ReportData:
    """Read a run directory; ``files`` are its files, if they have been read.

    Raises ``ManifestError`` if ``run.json`` cannot be read; nothing else is required.
    """
    manifest = Manifest.read(run_dir / "run.json")
    files, damaged = files or RunFiles(run_dir), list[str]()
    repetitions = [
        found for source in files.sources if (found := files.noting(damaged, partial(files.outputs, source)))
    ]
    profiled = files.noting(damaged, partial(files.outputs, PROFILED))
    timeline = files.noting(damaged, lambda: files.timeline)
    evidence = files.noting([], lambda: files.evidence)  # the verdict tells if it cannot be read
    gaps = [f"{problem}." for problem in damaged]
    if not repetitions:
        gaps.append("No repetition left a report of the load generator: there are no latencies to show.")
    wanted = manifest.experiment.resolved.profile is not None
    if profiled is None and wanted:
        gaps.append("The profiled repetition left no report of the load generator.")
    everything = [*repetitions, *([profiled] if profiled else [])]
    if not (run_dir / "timeline.csv").is_file():
        gaps.append("There is no timeline.csv: what the service did over time is not known.")
    return ReportData(
        run_dir=run_dir,
        manifest=manifest,
        repetitions=repetitions,
        profiled=profiled,
        series=[series for output in everything if (series := _series(output)) is not None],
        timeline=timeline,
        machine=None if evidence is None else evidence.over_time(),
        events=_events(run_dir, gaps) if wanted or (run_dir / "profile").is_dir() else [],
        profile=read_object(run_dir / "profile" / "profile.json"),
        tail=read_object(run_dir / "profile" / "tail.json"),
        engine_events=read_engine_events(run_dir / "service.log"),
        reference=manifest.experiment.resolved.reference,
        artifacts=[a for a in manifest.artifacts if a.path not in OWN_FILES]
        or Artifact.all_below(run_dir, without=OWN_FILES),
        gaps=gaps,
    )


def _series(output: Outputs) -> Series | None:
    began = started_at(output)
    if began is None:
        return None
    start_s = began.timestamp()
    name = "profiled" if output.source == PROFILED else f"repetition {output.source.rpartition('/')[2]}"
    if output.load.series:
        return _reported_series(name, output, start_s)
    return _logged_series(name, output, output.log, start_s) if output.log is not None else None


def _reported_series(name: str, output: Outputs, start_s: float) -> Series:
    seconds = output.load.series
    at = [second.t_s for second in seconds]
    step = min((b - a for a, b in pairwise(at)), default=1.0)
    end = output.load.elapsed_s or at[-1] + step
    length = [min(after, end) - t if min(after, end) > t else step
              for t, after in zip(at, [*at[1:], at[-1] + step], strict=True)]  # fmt: skip

    def ms(value: float | None) -> float | None:
        return None if value is None else value / 1e3

    return Series(
        name=name,
        profiled=output.source == PROFILED,
        start_s=[start_s + t for t in at],
        length_s=length,
        per_s=[s.requests / d for s, d in zip(seconds, length, strict=True)],
        errors_per_s=[s.errors / d for s, d in zip(seconds, length, strict=True)],
        p50_ms=[ms(s.p50_us) if s.requests else None for s in seconds],
        p99_ms=[ms(s.p99_us) if s.requests else None for s in seconds],
        max_ms=[ms(s.max_us) if s.requests else None for s in seconds],
    )


def _logged_series(name: str, output: Outputs, log: HistogramLog, start_s: float) -> Series:
    intervals = [interval for interval in log.intervals if interval.length_s > 0]

    def percentile(name: str) -> list[float | None]:
        return [i.sample.percentile_ns(name) / 1e6 if i.sample.count else None for i in intervals]

    return Series(
        name=name,
        profiled=output.source == PROFILED,
        start_s=[start_s + i.start_s for i in intervals],
        length_s=[i.length_s for i in intervals],
        per_s=[i.sample.count / i.length_s for i in intervals],
        errors_per_s=[0.0 for _ in intervals],
        p50_ms=percentile("50"),
        p99_ms=percentile("99"),
        max_ms=percentile("100"),
    )


def _events(run_dir: Path, gaps: list[str]) -> list[Event]:
    directory = run_dir / "profile"
    samples = profile_samples(run_dir)
    document = read_object(directory / "categories.json")
    categories, units = _mapping(document.get("events")), _mapping(document.get("units"))
    groups = _mapping(document.get("groups"))
    forms = {
        "": ".html",
        "threads": "-threads.html",
        "heatmap": "-heatmap.html",
        "collapsed": ".collapsed",
        "svg": ".svg",
        "pprof": ".pprof",
    }
    events = []
    for name in EVENTS:
        pages = {form: f"profile/{name}{end}" for form, end in forms.items() if (directory / f"{name}{end}").is_file()}
        picture = directory / f"{name}.png"
        if not pages and not picture.is_file():
            continue
        events.append(
            Event(
                name=name,
                samples=samples.get(name),
                pages=pages,
                picture=picture if picture.is_file() else None,
                categories=_categories(categories.get(name), str(units.get(name, "samples"))),
                groups=_categories(groups.get(name), str(units.get(name, "samples")), "group"),
            )
        )
    if not events:
        gaps.append("There are no flame graphs: nothing was profiled, or the recording was not converted.")
    return events


def _categories(rows: object, unit: str, key: str = "category") -> list[Category]:
    found = []
    for row in rows if isinstance(rows, list) else []:
        try:
            name, low, high = str(row[key]), row.get("share_low"), row.get("share_high")
            bounds = None if low is None or high is None else (float(low), float(high))
            found.append(Category(name, int(row["samples"]), float(row["share"]), unit, bounds))
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
    return sorted(found, key=lambda category: -category.share)


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def local_time(moment: datetime) -> str:
    """Return a moment as "2026-11-21 09:14:33 UTC"."""
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")
