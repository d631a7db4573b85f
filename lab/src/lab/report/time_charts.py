"""Charts over time: latency, throughput, and below them the activity of the service and the host.

All charts share one axis, seconds since the service was first started, so that a stall can be followed downwards to the
flush, the compaction or the collection that caused it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.analysis.timeline import Timeline
from lab.experiment import tenant
from lab.manifest import Phase
from lab.pages.document import Part, slug
from lab.pages.plot import Chart
from lab.pages.scales import Linear, linear_to, log_around
from lab.prometheus import GC_SECONDS
from lab.report import numbers
from lab.report.data import ReportData, Series

_BEFORE_LOAD = ("preflight", "build", "dataset")
_AFTER_LOAD = ("convert", "collect", "analyse", "report", "stop")


@dataclass(frozen=True)
class Axis:
    """The common time axis: seconds since the epoch of its zero and its end, and the phases to shade."""

    start_s: float
    end_s: float
    phases: list[Phase]

    def scale(self) -> Linear:
        """Return the scale, in seconds since the axis's zero."""
        return Linear(0.0, self.end_s - self.start_s, 8)

    def ticks(self) -> list[tuple[float, str]]:
        """Return about ten labels of the axis."""
        return [(t, seconds(t)) for t in Linear(0.0, self.end_s - self.start_s, 10).ticks()]


def time_axis(data: ReportData) -> Axis | None:
    """Return the span from the service's first start to the end of the last load; None if nothing was loaded."""
    phases = [p for p in data.manifest.phases if p.outcome != "skipped" and not p.name.startswith(_BEFORE_LOAD)]
    phases = [p for p in phases if not p.name.startswith(_AFTER_LOAD)]
    starts = [p.start.timestamp() for p in phases] + [s.start_s[0] for s in data.series if s.start_s]
    ends = [p.end.timestamp() for p in phases] + [s.start_s[-1] + s.length_s[-1] for s in data.series if s.start_s]
    if not starts or max(ends) - min(starts) <= 0:
        return None
    return Axis(min(starts), max(ends), phases)


def latency_over_time(data: ReportData, axis: Axis) -> Chart | None:
    """Draw the median, the 99th percentile and the maximum of each interval on a logarithmic scale."""
    known = [v for s in data.series for column in (s.p50_ms, s.max_ms) for v in column if v]
    if not known:
        return None
    label = "Latency of each second over time, logarithmic"
    chart = Chart("latency-time", label, axis.scale(), log_around(min(known), max(known)), 210, title=seconds)
    phase_bands(chart, axis)
    chart.grid(axis.ticks(), numbers.latency_tick, even=True)
    for series in data.series:
        at, dashed = _at(series, axis), " dashed" if series.profiled else ""
        for name, column in (("max", series.max_ms), ("p99", series.p99_ms), ("p50", series.p50_ms)):
            chart.line(zip(at, column, strict=True), name + dashed, name, numbers.latency, series.name)
    return chart


def rate_over_time(data: ReportData, axis: Axis) -> Chart | None:
    """Draw responses a second, the offered rate, and errors if there were any."""
    if not data.series:
        return None
    offered = data.manifest.summary.rate_offered_per_s if data.manifest.summary else None
    top = max([v for s in data.series for v in s.per_s] + ([offered] if offered else []))
    failed = any(any(s.errors_per_s) for s in data.series)
    y = Linear(0.0, linear_to(top).high, 4)
    chart = Chart("rate-time", "Requests a second over time", axis.scale(), y, 128, title=seconds)
    phase_bands(chart, axis)
    chart.grid(axis.ticks(), _short, even=True)
    for series in data.series:
        at, dashed = _at(series, axis), " dashed" if series.profiled else ""
        chart.area(zip(at, series.per_s, strict=True), "rate")
        chart.line(zip(at, series.per_s, strict=True), "rate" + dashed, "answered", _per_s, series.name)
        if offered:
            chart.line([(at[0], offered), (at[-1], offered)], "offered", "offered")
        if failed:
            chart.line(zip(at, series.errors_per_s, strict=True), "error", "errors", _per_s, series.name)
    return chart


def seconds(at: float) -> str:
    """Return a time on the axis."""
    return f"{at:,.0f} s"


def _per_s(rate: float) -> str:
    return f"{numbers.rate(rate)}/s"


@dataclass(frozen=True)
class _Activity:
    title: str
    unit: str
    pattern: str
    counter: bool
    show: Callable[[float], str]
    tick: Callable[[float], str]


def _ms(seconds: float) -> str:
    return numbers.significant(seconds * 1e3)


def _ms_tick(seconds: float) -> str:
    return f"{round(seconds * 1e3, 9):g}"


def size_tick(amount: float) -> str:
    """Return a round number of bytes as the label of an axis: "32 MiB"."""
    return numbers.size(amount).replace(".00", "").replace(".0 ", " ")


def _plain(value: float) -> str:
    return f"{value / 1e3:g}k" if value >= 10_000 else f"{value:g}"


_ACTIVITIES = (
    _Activity("Service CPU", "CPUs busy", r"service_cpu_s", False, numbers.significant, _plain),
    _Activity("Service CPU", "CPUs busy", r"process_cpu_seconds_total", True, numbers.significant, _plain),
    _Activity("Load generator CPU", "CPUs busy", r"loadgen_cpu_s", False, numbers.significant, _plain),
    _Activity("Queue", "requests waiting", tenant.metric(r"queue_depth"), False, numbers.count, _plain),
    _Activity("Memtable", "bytes", tenant.metric(r"memtable_bytes"), False, numbers.size, size_tick),
    _Activity("Flush", "bytes/s written", tenant.metric(r"flush_bytes_total"), True, numbers.size, size_tick),
    _Activity("Compaction", "bytes/s written", tenant.metric(r"compaction_bytes_total"), True, numbers.size, size_tick),
    _Activity("SSTables", "tables", tenant.metric(r"tables"), False, numbers.count, _plain),
    _Activity("Write-ahead log", "bytes/s", tenant.metric(r"wal_bytes_total"), True, numbers.size, size_tick),
    _Activity(
        "Held-back writes",
        "s stalled a second",
        tenant.metric(r"write_stall_seconds_total(\{.*\})?"),
        True,
        numbers.significant,
        _plain,
    ),
    _Activity("Rejected", "requests/s", tenant.metric(r"rejected_total(\{.*\})?"), True, numbers.count, _plain),
    _Activity("Garbage collection", "ms a second", GC_SECONDS, True, _ms, _ms_tick),
    _Activity("Safepoints", "ms a second", r"jvm_safepoint_seconds_total", True, _ms, _ms_tick),
    _Activity("Java heap in use", "bytes", r'jvm_memory_used_bytes\{area="heap"\}', False, numbers.size, size_tick),
    _Activity("Steal", "CPUs taken", r"cpu\d+_steal_s", False, numbers.significant, _plain),
)


def activity(data: ReportData, axis: Axis) -> tuple[list[Part], list[str]]:
    """Return a panel for each activity that occurred, and the names of those that stayed at zero."""
    panels: list[Part] = []
    quiet: list[str] = []
    sources = [source for source in (data.timeline, data.machine) if source is not None]
    for wanted, source in itertools.product(_ACTIVITIES, sources):
        if any(panel.title == wanted.title for panel in panels):
            continue
        values = source.rate(wanted.pattern) if wanted.counter else source.column(wanted.pattern)
        if values is None:
            continue
        inside = (source.time_s >= axis.start_s - 1) & (source.time_s <= axis.end_s + 1)
        seen = values[inside]
        if not np.isfinite(seen).any():
            continue
        if np.nanmax(seen) <= 0:
            quiet.append(wanted.title)
            continue
        panels.append(_panel(wanted, source, inside, values, axis))
    return panels, quiet


def _panel(
    wanted: _Activity, timeline: Timeline, inside: NDArray[np.bool_], values: NDArray[np.float64], axis: Axis
) -> Part:
    at = (timeline.time_s[inside] - axis.start_s).tolist()
    shown = [None if math.isnan(v) else v for v in values[inside].tolist()]
    high = linear_to(max(v for v in shown if v is not None)).high
    y = Linear(0.0, high, 3, binary=wanted.show is numbers.size)
    name = f"activity-{slug(wanted.title)}"
    chart = Chart(name, f"{wanted.title} over time", axis.scale(), y, 84, title=seconds)
    phase_bands(chart, axis, labels=False)
    chart.grid(axis.ticks(), wanted.tick, even=True)
    chart.area(zip(at, shown, strict=True), "activity")
    chart.line(zip(at, shown, strict=True), "activity")
    for t, v in zip(at, shown, strict=True):
        if v is not None and 0 <= t <= axis.end_s - axis.start_s:
            chart.read(t, (wanted.unit, wanted.show(v)))
    return Part(wanted.title, [chart], wanted.unit, "panel")


def phase_bands(chart: Chart, axis: Axis, labels: bool = True) -> None:
    """Shade warm-ups, measurements and the profiled repetition."""
    several = sum(phase.name == "measure" for phase in axis.phases) > 1
    for phase in axis.phases:
        css = _band_class(phase.name)
        if css is not None:
            name = f"{phase.name} {phase.repetition}" if several and phase.name == "measure" else phase.name
            start, end = phase.start.timestamp() - axis.start_s, phase.end.timestamp() - axis.start_s
            chart.band(start, end, css, name if labels else "")


def _band_class(name: str) -> str | None:
    if name.startswith("measure"):
        return "measure"
    if name.startswith("profile"):
        return "profile"
    return "warmup" if name.startswith("warm") else None


def _at(series: Series, axis: Axis) -> list[float]:
    """Return the middle of each interval on the axis."""
    return [s + d / 2 - axis.start_s for s, d in zip(series.start_s, series.length_s, strict=True)]


def _short(value: float) -> str:
    if value >= 1e6:
        return f"{numbers.significant(value / 1e6, 2)}M"
    return f"{value / 1e3:g}k" if value >= 1e3 else f"{value:g}"
