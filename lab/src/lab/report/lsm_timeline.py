"""The LSM timeline: memtables filling, the amplifications, and flushes, compactions, stalls and slow syncs as bars.

It shares its axis with the latency over time above it. A bar is as long as its event took, and its height shows the
bytes it wrote, relative to the largest event. With more than 1,000 events, the shortest are left out.
"""

from __future__ import annotations

import math

from lab.analysis.engine_events import EngineEvent
from lab.experiment import tenant
from lab.pages.document import Block, Paragraph
from lab.pages.plot import Chart
from lab.pages.scales import Linear, linear_to
from lab.report import numbers
from lab.report.data import ReportData
from lab.report.profile_words import event_title
from lab.report.time_charts import Axis, phase_bands, seconds, size_tick

EVENTS_MAX = 1_000
SEARCHED = "Find events, such as “L0 → L1” or “stall”:"
LANE = 26
FILL = 84
AMPLIFICATION = 76
GAP = 20
_LONE_LANES = {"flush": "flush", "stall": "stalls", "wal_sync": "syncs"}
_AMPLIFICATIONS = {"write": "side-a", "read": "side-b", "space": "side-c"}
"""Amplifications since the start of the service, each with the class of its line; docs/storage.md defines them."""
_KINDS = {
    "flush": ("flush", "flush"),
    "compaction": ("compaction", "compaction"),
    "stall": ("stall", "stall (writes stopped)"),
    "wal_sync": ("sync", "slow WAL sync"),
}
"""Kinds of events, each with the class of its bars and its name in the legend."""


Points = list[tuple[float, float | None]]
"""Values by seconds on the axis."""


def lsm_timeline(data: ReportData, axis: Axis) -> list[Block] | None:
    """Draw the background work of the engine; None if its log has no event within the axis."""
    events = [e for e in data.engine_events if e.end_s >= axis.start_s and e.start_s <= axis.end_s]
    if not events:
        return None
    left_out = max(0, len(events) - EVENTS_MAX)
    if left_out:
        longest = sorted(events, key=lambda event: -event.length_s)[:EVENTS_MAX]
        events = sorted(longest, key=lambda event: event.start_s)
    note = "A bar is as long as its event took and as high as the bytes that it wrote, compared with the largest."
    note += f" The {left_out:,} shortest events are not drawn." if left_out else ""
    return [_draw(data, axis, events), Paragraph(note, "note")]


def _lane(event: EngineEvent) -> str:
    return f"L{event.from_level} → L{event.level}" if event.kind == "compaction" else _LONE_LANES[event.kind]


def _lanes(events: list[EngineEvent]) -> list[str]:
    compactions = sorted({(e.level, e.from_level) for e in events if e.kind == "compaction"})
    kinds = {event.kind for event in events}
    return [
        *([_LONE_LANES["flush"]] if "flush" in kinds else []),
        *(f"L{source} → L{target}" for target, source in compactions),
        *(_LONE_LANES[kind] for kind in ("stall", "wal_sync") if kind in kinds),
    ]


def _gauge(data: ReportData, axis: Axis, name: str) -> Points:
    """Return the values of a gauge of the service within the axis; none if it has no such gauge."""
    values = None if data.timeline is None else data.timeline.column(name)
    if values is None or data.timeline is None:
        return []
    rows = zip(data.timeline.time_s.tolist(), values.tolist(), strict=True)
    return [
        (at - axis.start_s, None if math.isnan(value) else value)
        for at, value in rows
        if axis.start_s <= at <= axis.end_s
    ]


def _draw(data: ReportData, axis: Axis, events: list[EngineEvent]) -> Chart:
    """Stack strips of the gauges and lanes of bars, all of fixed heights in pixels."""
    strips = _strips(data, axis)
    lanes = _lanes(events)
    above = sum(space + strip.height for space, strip in strips)
    label = "Memtables, amplifications, flushes, compactions by level and stalls over time"
    height = above + LANE * len(lanes)
    chart = Chart("lsm-time", label, axis.scale(), Linear(0, 1), height, height, searched=SEARCHED)
    phase_bands(chart, axis)
    chart.grid(axis.ticks(), str, (), even=True)
    top = 0
    for space, strip in strips:
        chart.inset(strip, top + space)
        top += space + strip.height
    floors = {name: above + LANE * row for row, name in enumerate(lanes, 1)}
    for name, floor in floors.items():
        chart.add(f'<line class="grid" x2="100%" y1="{floor}" y2="{floor}"/>')
        chart.text("0", str(floor - 7), name, css="tick", anchor="end", by=(-8, 0))
    for kind, (css, name) in _KINDS.items():
        if any(event.kind == kind for event in events):
            chart.key(f"block {css}", name)
    largest = max((event.bytes_out for event in events), default=0) or 1
    for event in events:
        start, end = (100 * chart.x.at(moment - axis.start_s) for moment in (event.start_s, event.end_s))
        tall = 12.0 if event.bytes_out == 0 else 4 + (LANE - 8) * event.bytes_out / largest
        chart.add(
            f'<rect class="block {_KINDS[event.kind][0]}" data-stop="{_mark(chart, event, axis)}" x="{start:.2f}%" '
            f'y="{floors[_lane(event)] - tall:.1f}" style="width:max(1.5px,{end - start:.2f}%)" height="{tall:.1f}"/>'
        )
    return chart


def _strips(data: ReportData, axis: Axis) -> list[tuple[int, Chart]]:
    """Return the charts of memtables and of amplifications, each with the space above it, if the service has them."""
    strips = []
    if fill := _gauge(data, axis, tenant.metric("memtable_bytes")):
        high = linear_to(max((value for _, value in fill if value is not None), default=0.0)).high
        strip = Chart("", "", axis.scale(), Linear(0.0, high, 2, binary=True), FILL, title=seconds)
        strip.grid([], size_tick)
        strip.area(fill, "activity")
        strip.line(fill, "activity", "memtables", numbers.size)
        strips.append((0, strip))
    found = {name: _gauge(data, axis, tenant.metric(f"{name}_amplification")) for name in _AMPLIFICATIONS}
    values = [value for points in found.values() for _, value in points if value is not None]
    if values:
        strip = Chart("", "", axis.scale(), linear_to(max(values)), AMPLIFICATION - GAP, title=seconds)
        strip.grid([], lambda tick: f"{tick:g}×", Linear(0, strip.y.ticks()[-1], 2).ticks())
        for name, points in found.items():
            if any(value is not None for _, value in points):
                strip.line(points, _AMPLIFICATIONS[name], f"{name} amplification", "{:.2f}".format)
        strips.append((GAP, strip))
    return strips


def _mark(chart: Chart, event: EngineEvent, axis: Axis) -> int:
    """Let a pointer read an event off its bar."""
    counts = [
        ("tables", event.tables_in, numbers.count),
        ("read", event.bytes_in, numbers.size),
        ("written", event.bytes_out, numbers.size),
        ("writes that waited", event.writes, numbers.count),
    ]
    lines = [("took", numbers.latency(event.length_s * 1e3)), *((name, show(n)) for name, n, show in counts if n)]
    start = event.start_s - axis.start_s
    return chart.mark(start + event.length_s / 2, f"{start:,.2f} s · {event_title(event)}", lines)
