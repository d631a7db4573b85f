"""The LSM timeline: memtables filling, the amplifications, and flushes, compactions, stalls and slow syncs as bars.

It shares its axis with the latency over time above it. A bar is as long as its event took, and its height shows the
bytes it wrote, relative to the largest event. With more than 1,000 events, the shortest are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from lab.analysis.engine_events import EngineEvent
from lab.report import numbers
from lab.report.chart import Chart, Key
from lab.report.data import ReportData
from lab.report.profile_words import event_title
from lab.report.scales import Linear, linear_to
from lab.report.svg import Plot, Size, Stop
from lab.report.time_charts import Axis, phase_bands, seconds_ticks, size_tick

EVENTS_MAX = 1_000
LANE = 26
FILL = 84
AMPLIFICATION = 76
GAP = 20
SIZES = (Size("wide", 1040, 0, top=22), Size("narrow", 360, 0, left=48, right=10, top=22))
"""The same width as the latency over time, so that the two align; the height depends on the events."""

_LONE_LANES = {"flush": "flush", "stall": "stalls", "wal_sync": "syncs"}
_AMPLIFICATIONS = {"write": "side-a", "read": "side-b", "space": "side-c"}
"""Amplifications since the start of the service, each with the class of its line; docs/storage.md defines them."""
_CLASSES = {"flush": "flush", "compaction": "compaction", "stall": "stall", "wal_sync": "sync"}


Points = list[tuple[float, float | None]]
"""Values by seconds on the axis."""


@dataclass(frozen=True)
class _Gauges:
    """Bytes in memtables, and amplifications by name; empty if the service has none."""

    fill: Points
    amplifications: dict[str, Points]


@dataclass(frozen=True)
class LsmTimeline:
    """The chart, and the number of events that are too many to draw."""

    chart: Chart
    left_out: int


def lsm_timeline(data: ReportData, axis: Axis) -> LsmTimeline | None:
    """Draw the background work of the engine; None if its log has no event within the axis."""
    events = [e for e in data.engine_events if e.end_s >= axis.start_s and e.start_s <= axis.end_s]
    if not events:
        return None
    left_out = max(0, len(events) - EVENTS_MAX)
    if left_out:
        longest = sorted(events, key=lambda event: -event.length_s)[:EVENTS_MAX]
        events = sorted(longest, key=lambda event: event.start_s)
    gauges = _gauges(data, axis)
    lanes = _lanes(events)
    drawings = [_draw(size, axis, events, lanes, gauges) for size in SIZES]
    # The bars' stops come first: a bar's data-stop is its event's place in the list.
    stops = [_event_stop(event, axis) for event in events] + _gauge_stops(gauges, axis)
    legend = [Key("line activity", "memtables")] if gauges.fill else []
    legend += [Key(f"line {_AMPLIFICATIONS[name]}", f"{name} amplification") for name in gauges.amplifications]
    kinds = {event.kind for event in events}
    names = {
        "flush": "flush",
        "compaction": "compaction",
        "stall": "stall (writes stopped)",
        "wal_sync": "slow WAL sync",
    }
    legend += [Key(f"block {_CLASSES[kind]}", name) for kind, name in names.items() if kind in kinds]
    label = "Memtables, amplifications, flushes, compactions by level and stalls over time"
    return LsmTimeline(Chart("lsm-time", label, drawings, legend, stops), left_out)


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


def _gauges(data: ReportData, axis: Axis) -> _Gauges:
    found = {name: _gauge(data, axis, f"lsmlab_{name}_amplification") for name in _AMPLIFICATIONS}
    known = {name: points for name, points in found.items() if any(value is not None for _, value in points)}
    return _Gauges(_gauge(data, axis, "lsmlab_memtable_bytes"), known)


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


def _draw(outline: Size, axis: Axis, events: list[EngineEvent], lanes: list[str], gauges: _Gauges) -> str:
    fill, amplifications = gauges.fill, gauges.amplifications
    fill_height = FILL if fill else 0
    strips = fill_height + (AMPLIFICATION if amplifications else 0)
    height = outline.top + strips + LANE * len(lanes) + outline.bottom
    size = Size(outline.name, outline.width, height, outline.left, outline.right, outline.top, outline.bottom)
    plot = Plot(size, axis.scale(), Linear(0, 1))
    phase_bands(plot, axis)
    plot.grid(seconds_ticks(axis, size), [])
    if fill:
        most = linear_to(max((value for _, value in fill if value is not None), default=0.0))
        upper = _strip(size, axis, size.top, fill_height, most)
        ticks = Linear(most.low, most.high, 2, binary=True).ticks()
        upper.grid([], [(tick, size_tick(tick)) for tick in ticks])
        upper.area(fill, "activity")
        upper.line(fill, "activity")
        plot.add(upper.inner_markup())
    if amplifications:
        values = [value for points in amplifications.values() for _, value in points if value is not None]
        strip = _strip(size, axis, size.top + fill_height + GAP, AMPLIFICATION - GAP, linear_to(max(values)))
        strip.grid([], [(tick, f"{tick:g}×") for tick in Linear(0, strip.y.ticks()[-1], 2).ticks()])
        for name, points in amplifications.items():
            strip.line(points, _AMPLIFICATIONS[name])
        plot.add(strip.inner_markup())
    largest = max((event.bytes_out for event in events), default=0) or 1
    rows = {name: i for i, name in enumerate(lanes)}
    for name, row in rows.items():
        floor = size.top + strips + LANE * (row + 1)
        plot.add(f'<line class="grid" x1="{size.left}" x2="{size.width - size.right}" y1="{floor}" y2="{floor}"/>')
        plot.text(size.left - 8, floor - 7, name, "tick", "end")
    for index, event in enumerate(events):
        floor = size.top + strips + LANE * (rows[_lane(event)] + 1)
        left, right = plot.px(event.start_s - axis.start_s), plot.px(event.end_s - axis.start_s)
        width = max(1.5, right - left)
        tall = 12.0 if event.bytes_out == 0 else 4 + (LANE - 8) * event.bytes_out / largest
        plot.add(
            f'<rect class="block {_CLASSES[event.kind]}" data-stop="{index}" x="{left:.1f}" y="{floor - tall:.1f}" '
            f'width="{width:.1f}" height="{tall:.1f}"/>'
        )
    return plot.markup("LSM timeline")


def _strip(size: Size, axis: Axis, top: int, height: int, scale: Linear) -> Plot:
    """Return a separate plot above the lanes, with the same left and right."""
    inside = Size(size.name, size.width, top + height + 1, size.left, size.right, top, 1)
    return Plot(inside, axis.scale(), scale)


def _event_stop(event: EngineEvent, axis: Axis) -> Stop:
    lines = [("", "took", numbers.latency(event.length_s * 1e3))]
    if event.tables_in:
        lines.append(("", "tables", numbers.count(event.tables_in)))
    if event.bytes_in:
        lines.append(("", "read", numbers.size(event.bytes_in)))
    if event.bytes_out:
        lines.append(("", "written", numbers.size(event.bytes_out)))
    if event.writes:
        lines.append(("", "writes that waited", numbers.count(event.writes)))
    start = event.start_s - axis.start_s
    title = f"{start:,.2f} s · {event_title(event)}"
    return Stop(axis.scale().at(start + event.length_s / 2), title, tuple(lines), on_mark=True)


def _gauge_stops(gauges: _Gauges, axis: Axis) -> list[Stop]:
    """Return a stop for each moment at which a gauge was read: all gauges have the same."""
    lines: dict[float, list[tuple[str, str, str]]] = {
        at: [("activity", "memtables", numbers.size(value))] for at, value in gauges.fill
    }
    for name, points in gauges.amplifications.items():
        for at, value in points:
            shown = "unknown" if value is None else f"{value:.2f}"
            lines.setdefault(at, []).append((_AMPLIFICATIONS[name], f"{name} amplification", shown))
    return [Stop(axis.scale().at(at), f"{at:,.0f} s", tuple(shown)) for at, shown in sorted(lines.items())]
