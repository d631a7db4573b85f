"""Charts over time: latency, throughput, and below them the activity of the service and the host.

All charts share one axis, seconds since the service was first started, so that a stall can be followed downwards to the
flush, the compaction or the collection that caused it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.analysis.timeline import Timeline
from lab.manifest import Phase
from lab.prometheus import GC_SECONDS
from lab.report import numbers
from lab.report.chart import Chart, Key
from lab.report.data import ReportData, Series
from lab.report.scales import Linear, linear_to, log_around
from lab.report.svg import Plot, Size, Stop
from lab.report.tables import slug

LATENCY = (Size("wide", 1040, 260, top=22), Size("narrow", 360, 240, left=48, right=10, top=22))
RATE = (Size("wide", 1040, 180, top=22), Size("narrow", 360, 180, left=48, right=10, top=22))
SMALL = (
    Size("wide", 510, 118, left=56, right=10, top=10, bottom=24),
    Size("narrow", 360, 118, left=48, right=10, top=10, bottom=24),
)

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


@dataclass(frozen=True)
class Panel:
    """A small chart of the service's activity."""

    title: str
    unit: str
    chart: Chart


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
    y = log_around(min(known), max(known))

    def draw(size: Size) -> str:
        plot = Plot(size, axis.scale(), y)
        phase_bands(plot, axis)
        plot.grid(seconds_ticks(axis, size), [(t, numbers.latency_tick(t)) for t in y.ticks()])
        for series in data.series:
            at = _at(series, axis)
            for column, css in ((series.max_ms, "max"), (series.p99_ms, "p99"), (series.p50_ms, "p50")):
                plot.line(zip(at, column, strict=True), css + (" dashed" if series.profiled else ""))
        return plot.markup("Latency over time")

    stops = [
        Stop(
            axis.scale().at(at),
            f"{at:,.0f} s · {series.name}",
            (
                ("max", "max", numbers.latency(series.max_ms[i])),
                ("p99", "p99", numbers.latency(series.p99_ms[i])),
                ("p50", "p50", numbers.latency(series.p50_ms[i])),
            ),
        )
        for series in data.series
        for i, at in enumerate(_at(series, axis))
    ]
    legend = [Key("line max", "max"), Key("line p99", "p99"), Key("line p50", "p50")]
    return Chart(
        "latency-time", "Latency of each second over time, logarithmic", [draw(s) for s in LATENCY], legend, stops
    )


def rate_over_time(data: ReportData, axis: Axis) -> Chart | None:
    """Draw responses a second, the offered rate, and errors if there were any."""
    if not data.series:
        return None
    offered = data.manifest.summary.rate_offered_per_s if data.manifest.summary else None
    top = max([v for s in data.series for v in s.per_s] + ([offered] if offered else []))
    y = linear_to(top)
    failed = any(any(s.errors_per_s) for s in data.series)

    def draw(size: Size) -> str:
        plot = Plot(size, axis.scale(), Linear(y.low, y.high, 4))
        phase_bands(plot, axis)
        ticks = Linear(y.low, y.high, 4).ticks()
        plot.grid(seconds_ticks(axis, size), [(t, _short(t)) for t in ticks])
        for series in data.series:
            at = _at(series, axis)
            plot.area(zip(at, series.per_s, strict=True), "rate")
            plot.line(zip(at, series.per_s, strict=True), "rate" + (" dashed" if series.profiled else ""))
            if offered:
                plot.line([(at[0], offered), (at[-1], offered)], "offered")
            if failed:
                plot.line(zip(at, series.errors_per_s, strict=True), "error")
        return plot.markup("Throughput over time")

    legend = [Key("line rate", "answered")]
    legend += [Key("line offered", "offered")] if offered else []
    legend += [Key("line error", "errors")] if failed else []
    stops = [
        Stop(
            axis.scale().at(at),
            f"{at:,.0f} s · {series.name}",
            (("rate", "answered/s", numbers.rate(series.per_s[i])),)
            + ((("error", "errors/s", numbers.rate(series.errors_per_s[i])),) if failed else ()),
        )
        for series in data.series
        for i, at in enumerate(_at(series, axis))
    ]
    return Chart("rate-time", "Requests a second over time", [draw(s) for s in RATE], legend, stops)


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
    _Activity("Queue", "requests waiting", r"lsmlab_queue_depth", False, numbers.count, _plain),
    _Activity("Memtable", "bytes", r"lsmlab_memtable_bytes", False, numbers.size, size_tick),
    _Activity("Flush", "bytes/s written", r"lsmlab_flush_bytes_total", True, numbers.size, size_tick),
    _Activity("Compaction", "bytes/s written", r"lsmlab_compaction_bytes_total", True, numbers.size, size_tick),
    _Activity("SSTables", "tables", r"lsmlab_tables", False, numbers.count, _plain),
    _Activity("Write-ahead log", "bytes/s", r"lsmlab_wal_bytes_total", True, numbers.size, size_tick),
    _Activity(
        "Held-back writes",
        "s stalled a second",
        r"lsmlab_write_stall_seconds_total(\{.*\})?",
        True,
        numbers.significant,
        _plain,
    ),
    _Activity("Rejected", "requests/s", r"lsmlab_rejected_total(\{.*\})?", True, numbers.count, _plain),
    _Activity("Garbage collection", "ms a second", GC_SECONDS, True, _ms, _ms_tick),
    _Activity("Safepoints", "ms a second", r"jvm_safepoint_seconds_total", True, _ms, _ms_tick),
    _Activity("Java heap in use", "bytes", r'jvm_memory_used_bytes\{area="heap"\}', False, numbers.size, size_tick),
    _Activity("Steal", "CPUs taken", r"cpu\d+_steal_s", False, numbers.significant, _plain),
)


def activity(data: ReportData, axis: Axis) -> tuple[list[Panel], list[str]]:
    """Return a panel for each activity that occurred, and the names of those that stayed at zero."""
    panels: list[Panel] = []
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
) -> Panel:
    at = (timeline.time_s[inside] - axis.start_s).tolist()
    shown = [None if math.isnan(v) else v for v in values[inside].tolist()]
    y = linear_to(max(v for v in shown if v is not None))

    def draw(size: Size) -> str:
        plot = Plot(size, axis.scale(), y)
        phase_bands(plot, axis, labels=False)
        ticks = Linear(y.low, y.high, 3, binary=wanted.show is numbers.size).ticks()
        plot.grid(seconds_ticks(axis, size), [(t, wanted.tick(t)) for t in ticks])
        plot.area(zip(at, shown, strict=True), "activity")
        plot.line(zip(at, shown, strict=True), "activity")
        return plot.markup(f"{wanted.title}, {wanted.unit}")

    stops = [
        Stop(axis.scale().at(t), f"{t:,.0f} s", (("activity", wanted.unit, wanted.show(v)),))
        for t, v in zip(at, shown, strict=True)
        if v is not None and 0 <= t <= axis.end_s - axis.start_s
    ]
    name = f"activity-{slug(wanted.title)}"
    return Panel(
        wanted.title, wanted.unit, Chart(name, f"{wanted.title} over time", [draw(s) for s in SMALL], [], stops)
    )


def phase_bands(plot: Plot, axis: Axis, labels: bool = True) -> None:
    """Shade warm-ups, measurements and the profiled repetition."""
    several = sum(phase.name == "measure" for phase in axis.phases) > 1
    for phase in axis.phases:
        css = _band_class(phase.name)
        if css is not None:
            name = f"{phase.name} {phase.repetition}" if several and phase.name == "measure" else phase.name
            start, end = phase.start.timestamp() - axis.start_s, phase.end.timestamp() - axis.start_s
            plot.band(start, end, css, name if labels else "")


def _band_class(name: str) -> str | None:
    if name.startswith("measure"):
        return "measure"
    if name.startswith("profile"):
        return "profile"
    return "warmup" if name.startswith("warm") else None


def _at(series: Series, axis: Axis) -> list[float]:
    """Return the middle of each interval on the axis."""
    return [s + d / 2 - axis.start_s for s, d in zip(series.start_s, series.length_s, strict=True)]


def seconds_ticks(axis: Axis, size: Size) -> list[tuple[float, str]]:
    """Return the labels of the time axis: as many as there is room for."""
    wanted = 10 if size.width > 800 else 5
    ticks: Sequence[float] = Linear(0.0, axis.end_s - axis.start_s, wanted).ticks()
    return [(t, f"{t:,.0f} s") for t in ticks]


def _short(value: float) -> str:
    if value >= 1e6:
        return f"{numbers.significant(value / 1e6, 2)}M"
    return f"{value / 1e3:g}k" if value >= 1e3 else f"{value:g}"
