"""The profile in sentences: shares beside published ones, and the code that ran in the slowest seconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lab.analysis.engine_events import EngineEvent
from lab.analysis.timeline import Timeline
from lab.experiment.model import PublishedShare
from lab.pages.document import EVENT_NAMES, Row, Table
from lab.prometheus import GC_SECONDS
from lab.report import numbers
from lab.report.data import Event, ReportData
from lab.report.time_charts import Axis, time_axis

METHODS_MAX = 8
PAUSE_SHOWN_S = 0.001
"""A shorter pause is not mentioned beside a slow second."""

_WHOLES = {
    "cpu": "of CPU",
    "alloc": "of allocation",
    "lock": "of the time spent waiting for locks",
    "wall": "of time",
    "nativemem": "of native memory",
}
_PAUSES = (("collections", GC_SECONDS), ("safepoints", r"jvm_safepoint_seconds_total"))


def published_beside_ours(event: Event, shares: Iterable[PublishedShare]) -> list[str]:
    """Return a sentence for each published share of this event.

    The interval of several categories is the sum of theirs, which is at least as wide as the interval of their sum.
    """
    sentences = []
    for published in shares:
        if published.event != event.name or not event.categories:
            continue
        parts = [part for part in event.categories if part.name in published.categories]
        bounds = [part.bounds for part in parts if part.bounds is not None]
        within = None
        if parts and len(bounds) == len(parts):
            within = max(0.0, sum(b[0] for b in bounds)), min(1.0, sum(b[1] for b in bounds))
        ours = numbers.share_within(sum(part.share for part in parts), within)
        what = published.what[:1].upper() + published.what[1:]
        sentences.append(f"{what}: {ours} {_WHOLES[event.name]}; the published report found {_range(published)}.")
    return sentences


def _range(published: PublishedShare) -> str:
    low = f"{100 * published.low:.3g}"
    if published.high is None:
        return f"at least {low}%"
    return f"{low}%" if published.high == published.low else f"{low}–{100 * published.high:.3g}%"


@dataclass(frozen=True)
class Tail:
    """The section about the slowest seconds. `pictures` are (name, path) of differential flame graphs."""

    sentences: list[str]
    lines: Table | None
    seconds: Table | None
    pictures: list[tuple[str, str]]


def tail_of_run(data: ReportData) -> Tail | None:
    """Return the code of the slowest seconds of the profiled repetition; None if nothing was attributed."""
    axis = time_axis(data)
    try:
        return None if axis is None else _tail(data, axis)
    except (AttributeError, KeyError, TypeError, ValueError):
        return Tail(
            ["What the slowest seconds were made of is not known: profile/tail.json is damaged."], None, None, []
        )


def _tail(data: ReportData, axis: Axis) -> Tail | None:
    found = data.tail
    if isinstance(reason := found.get("refused"), str):
        return Tail([f"The slowest seconds cannot be set against the rest: {reason}."], None, None, [])
    events, seconds = found.get("events"), found.get("seconds")
    if not isinstance(events, dict) or not isinstance(seconds, list) or not seconds:
        return None
    least = min(float(second["latency_ms"]) for second in seconds)
    percentile = f"{float(found.get('percentile', 99)):g}th percentile"
    sentences = [
        f"The {len(seconds)} slowest of {found.get('seconds_compared')} seconds of the profiled repetition, whose "
        f"{percentile} of latency was "
        f"{numbers.latency(least)} or more, against the rest of it."
    ]
    rows: list[Row] = []
    pictures: list[tuple[str, str]] = []
    for name, event in events.items():
        title = EVENT_NAMES.get(str(name), str(name))
        marked = [line for line in event["categories"] if line["significant"]]
        marked += [line for line in event["methods"] if line["significant"]][:METHODS_MAX]
        rows += [[title, *_line(name, line)] for line in marked]
        pictures += [
            (f"{title}{', what vanished' if 'reverse' in file else ''}", f"profile/{file}")
            for file in event.get("files", ())
            if file.endswith(".svg") and marked
        ]
    if rows:
        sentences.append("These ran more or less in them than chance explains (p < 0.05 over each whole table).")
    else:
        sentences.append("No category of code and no method ran more or less in them than chance explains.")
    lines = Table(
        "tail-table",
        "What differs in the slowest seconds",
        ("Event", "Category or method", "Slowest, a second", "Rest, a second", "Change"),
        rows,
        (2, 3, 4),
    )
    return Tail(sentences, lines if rows else None, _seconds(data, seconds, axis.start_s), pictures)


def _line(event: str, line: dict[str, Any]) -> Row:
    slowest, rest = float(line["worst_per_s"]), float(line["rest_per_s"])
    change = "only there" if rest == 0 else numbers.ratio(slowest / rest)
    return [str(line["name"]), _amount(event, slowest), _amount(event, rest), change]


def _amount(event: str, per_s: float) -> str:
    if event in ("alloc", "nativemem"):
        return numbers.size(per_s)
    if event == "lock":
        return numbers.latency(per_s / 1e6)
    return f"{per_s:,.1f} samples"


def _seconds(data: ReportData, seconds: list[dict[str, Any]], zero_s: float) -> Table:
    rows: list[Row] = []
    for second in seconds:
        latency_s = float(second["latency_ms"]) / 1e3
        end_s = float(second["start_ms"]) / 1e3 + 1
        start_s = end_s - 1 - min(latency_s, 2.0)
        went_on = [*_engine(data.engine_events, start_s, end_s), *_pauses(data.timeline, start_s, end_s)]
        rows.append(
            [
                f"{end_s - 1 - zero_s:,.0f} s",
                numbers.latency(latency_s * 1e3),
                ("; ".join(went_on) or "nothing that the service reports"),
            ]
        )
    note = "Seconds on the axis of the charts over time; what went on from one latency before the second to its end."
    return Table("tail-seconds", "The slowest seconds", ("Second", "p99", "What went on"), rows, (0, 1), note)


def _engine(events: list[EngineEvent], start_s: float, end_s: float) -> list[str]:
    inside = [event for event in events if event.start_s < end_s and event.end_s > start_s]
    grouped: dict[str, list[float]] = {}
    for event in inside:
        took = min(event.end_s, end_s) - max(event.start_s, start_s)
        grouped.setdefault(event_title(event), []).append(took)
    return [
        f"{f'{len(times)} × ' if len(times) > 1 else ''}{name} {numbers.latency(1e3 * sum(times))}"
        for name, times in grouped.items()
    ]


def event_title(event: EngineEvent) -> str:
    """Return the event's name for readers: "compaction L0 → L1"."""
    if event.kind == "compaction":
        return f"compaction L{event.from_level} → L{event.level}"
    return {"flush": "flush", "stall": "writes stopped", "wal_sync": "slow WAL sync"}[event.kind]


def _pauses(timeline: Timeline | None, start_s: float, end_s: float) -> list[str]:
    sentences: list[str] = []
    if timeline is None:
        return sentences
    for name, pattern in _PAUSES:
        taken = timeline.interpolated(pattern, start_s, end_s)
        if taken is not None and taken >= PAUSE_SHOWN_S:
            sentences.append(f"{name} {numbers.latency(taken * 1e3)}")
    return sentences
