"""The service's own figures of the measured intervals: the stages of a request, and the background work."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lab.analysis.timeline import Timeline
from lab.experiment import tenant
from lab.pages.document import Cell, Row, Table
from lab.prometheus import GC_COUNT, GC_SECONDS
from lab.report import numbers
from lab.report.data import ReportData, Series

_STAGES = (
    ("selector_wait", "Behind other connections, and parsing"),
    ("queue_wait", "In the queue"),
    ("storage", "In the storage engine"),
    ("reply", "Writing the response"),
    ("total", "All together"),
)
Window = tuple[float, float]


def stage_table(data: ReportData) -> Table | None:
    """Mean time of a request by stage, as the service measured it; None if it did not."""
    columns = _columns(data)
    if data.timeline is None or not columns:
        return None
    means = {stage: [_mean_stage_s(data.timeline, stage, windows) for _, windows in columns] for stage, _ in _STAGES}
    most = max((v for stage, _ in _STAGES[:-1] for v in means[stage][:1] if v is not None), default=0.0)
    if most <= 0:
        return None
    rows: list[Row] = []
    for stage, name in _STAGES:
        if any(v is not None for v in means[stage]):
            first, *others = means[stage]
            bar = first / most if first is not None and stage != "total" else None
            rows.append([name, Cell(_time(first), bar=bar), *(_time(v) for v in others)])
    note = (
        "Means by the service's own clock: from the selector's wake-up to the written response. The network, the "
        "kernel's queues and the backlog of requests not yet sent are in the latencies above and not in these."
    )
    names = ["Stage", *(name for name, _ in columns)]
    return Table("stage-table", "A request inside the service", tuple(names), rows, range(1, len(names)), note)


def activity_table(data: ReportData) -> Table | None:
    """List the background work of the service: CPU, collections, flushes, compactions; None without a timeline."""
    columns = _columns(data)
    timeline = data.timeline
    if timeline is None or not columns:
        return None

    def grown(pattern: str, show: Callable[[float], str]) -> list[str]:
        return [_shown(_increase(timeline, pattern, windows), show) for _, windows in columns]

    def per_s(pattern: str, show: Callable[[float], str]) -> list[str]:
        spans = [sum(end - start for start, end in windows) for _, windows in columns]
        totals = [_increase(timeline, pattern, windows) for _, windows in columns]
        return [_shown(None if t is None else t / s, show) for t, s in zip(totals, spans, strict=True)]

    candidates = [
        ("CPUs busy", per_s(r"process_cpu_seconds_total", numbers.significant)),
        ("Collections", grown(GC_COUNT, numbers.count)),
        ("Time in collections, a second", per_s(GC_SECONDS, _time)),
        ("Time in safepoints, a second", per_s(r"jvm_safepoint_seconds_total", _time)),
        ("Flushes", grown(tenant.metric(r"flushes_total"), numbers.count)),
        ("Written by flushes", grown(tenant.metric(r"flush_bytes_total"), numbers.size)),
        ("Compactions", grown(tenant.metric(r"compactions_total"), numbers.count)),
        ("Written by compactions", grown(tenant.metric(r"compaction_bytes_total"), numbers.size)),
        ("Written to the log", grown(tenant.metric(r"wal_bytes_total"), numbers.size)),
        ("Writes held back for", grown(tenant.metric(r"write_stall_seconds_total(\{.*\})?"), numbers.duration)),
        ("Requests rejected", grown(tenant.metric(r"rejected_total(\{.*\})?"), numbers.count)),
    ]
    rows: list[Row] = [
        [name, *(value for value in values)]
        for name, values in candidates
        if any(value != numbers.UNKNOWN for value in values)
    ]
    if not rows:
        return None
    names = ["", *(name for name, _ in columns)]
    return Table("activity-table", "What the service did", tuple(names), rows, range(1, len(names)))


def _columns(data: ReportData) -> list[tuple[str, list[Window]]]:
    parts: list[tuple[str, list[Window]]] = []
    for name, profiled in (("Measured", False), ("While profiled", True)):
        windows = [_window(series) for series in data.series if series.profiled == profiled and series.start_s]
        if windows:
            parts.append((name, windows))
    return parts if parts and parts[0][0] == "Measured" else []


def _window(series: Series) -> Window:
    return series.start_s[0], series.start_s[-1] + series.length_s[-1]


def _increase(timeline: Timeline, pattern: str, windows: Sequence[Window]) -> float | None:
    grown = [timeline.increase(pattern, start, end) for start, end in windows]
    known = [value for value in grown if value is not None]
    return sum(known) if len(known) == len(grown) else None


def _mean_stage_s(timeline: Timeline, stage: str, windows: Sequence[Window]) -> float | None:
    labels = rf'\{{(.*,)?stage="{stage}"(,.*)?\}}'
    total = _increase(timeline, tenant.metric(f"request_seconds_sum{labels}"), windows)
    count = _increase(timeline, tenant.metric(f"request_seconds_count{labels}"), windows)
    return total / count if total is not None and count else None


def _time(seconds: float | None) -> str:
    return numbers.latency(None if seconds is None else seconds * 1e3)


def _shown(value: float | None, show: Callable[[float], str]) -> str:
    return numbers.UNKNOWN if value is None else show(value)
