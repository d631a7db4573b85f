"""Two charts over the offered rate: latency by percentile, and the served rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.analysis.percentiles import label
from lab.rates.points import SHOWN, Point
from lab.report import numbers
from lab.report.chart import NARROW, WIDE, Chart, Key
from lab.report.scales import Log, linear_to, log_around
from lab.report.svg import Plot, Stop

LINES = {"50": "p50", "99": "p99", "99.9": "max"}
"""The class that draws each percentile."""


@dataclass(frozen=True)
class Marks:
    """Marks besides the curves: a limit of latency, the interval of the answer."""

    limit_ms: float | None = None
    interval: tuple[float, float] | None = None


def latency_chart(points: Sequence[Point], marks: Marks) -> Chart | None:
    """Draw the percentiles against the offered rate; None without any latency."""
    shown = _by_rate(points)
    values = [v for p in shown for name in SHOWN if (v := p.percentiles_ms.get(name)) is not None]
    values += [v for p in shown for name in SHOWN if (v := p.published_ms.get(name)) is not None]
    if not values:
        return None
    x = _x(shown, marks)
    y = log_around(min([*values, marks.limit_ms or values[0]]), max([*values, marks.limit_ms or values[0]]))
    legend = [Key(f"line {css}", label(name)) for name, css in LINES.items() if _has(shown, name)]
    legend += [Key("mark reference", "published p99, on other hardware")] if _published(shown) else []
    legend += [Key("line offered", f"limit, {numbers.latency(marks.limit_ms)}")] if marks.limit_ms is not None else []
    return Chart(
        name="latency-by-rate",
        label="Latency against the offered rate, both axes logarithmic. The table below has the figures.",
        drawings=[_draw_latency(Plot(size, x, y), x, y, shown, marks) for size in (WIDE, NARROW)],
        legend=legend,
        stops=_stops(x, shown),
    )


def served_chart(points: Sequence[Point]) -> Chart | None:
    """Draw the served rate against the offered rate; None if it is not known."""
    shown = [point for point in _by_rate(points) if point.served_per_s is not None]
    if not shown:
        return None
    x = _x(shown, Marks())
    y = linear_to(max(float(point.rate_per_s) for point in shown))
    return Chart(
        name="served-by-rate",
        label="Served requests a second against offered ones. The table below has the figures.",
        drawings=[_draw_served(Plot(size, x, y), x, shown) for size in (WIDE, NARROW)],
        legend=[Key("line rate", "served"), Key("line offered", "offered")],
        stops=_stops(x, shown),
    )


def _draw_latency(plot: Plot, x: Log, y: Log, points: list[Point], marks: Marks) -> str:
    if marks.interval is not None:
        plot.band(max(marks.interval[0], x.low), min(marks.interval[1], x.high), "same", "90% interval")
    plot.grid(_x_ticks(plot, x), [(tick, numbers.latency_tick(tick)) for tick in y.ticks()])
    if marks.limit_ms is not None:
        plot.line([(x.low, marks.limit_ms), (x.high, marks.limit_ms)], "offered")
    for name, css in LINES.items():
        plot.line([(float(p.rate_per_s), p.percentiles_ms.get(name)) for p in points], css)
        for point in points:
            if (value := point.percentiles_ms.get(name)) is not None:
                _dot(plot, point.rate_per_s, value, css)
    for point in points:
        if (value := point.published_ms.get("99")) is not None:
            plot.diamond(point.rate_per_s, value, "reference")
    return plot.markup("Latency against the offered rate")


def _draw_served(plot: Plot, x: Log, points: list[Point]) -> str:
    plot.grid(_x_ticks(plot, x), [(tick, numbers.rate(tick)) for tick in plot.y.ticks()])
    plot.line([(float(p.rate_per_s), float(p.rate_per_s)) for p in points], "offered")
    plot.line([(float(p.rate_per_s), p.served_per_s) for p in points], "rate")
    for point in points:
        if point.served_per_s is not None:
            _dot(plot, point.rate_per_s, point.served_per_s, "rate")
    return plot.markup("Served against offered requests a second")


def _dot(plot: Plot, x: float, y: float, css: str) -> None:
    plot.add(f'<circle class="dot {css}" cx="{plot.px(x):.1f}" cy="{plot.py(y):.1f}" r="3"/>')


def _by_rate(points: Sequence[Point]) -> list[Point]:
    return sorted((point for point in points if point.counted), key=lambda point: point.rate_per_s)


def _has(points: Sequence[Point], percentile: str) -> bool:
    return any(percentile in point.percentiles_ms for point in points)


def _published(points: Sequence[Point]) -> bool:
    return any("99" in point.published_ms for point in points)


def _x(points: Sequence[Point], marks: Marks) -> Log:
    rates = [float(point.rate_per_s) for point in points] + list(marks.interval or ())
    return log_around(min(rates), max(rates))


def _x_ticks(plot: Plot, x: Log) -> list[tuple[float, str]]:
    """Name the ticks; at most four of them on a narrow drawing."""
    ticks = x.ticks()
    every = 1 if plot.size.name == "wide" else max(1, -(-len(ticks) // 4))
    return [(tick, f"{numbers.rate(tick)}/s" if i % every == 0 else "") for i, tick in enumerate(ticks)]


def _stops(x: Log, points: Sequence[Point]) -> list[Stop]:
    stops = []
    for point in points:
        lines = [(css, label(name), point.latency(name)) for name, css in LINES.items() if name in point.percentiles_ms]
        lines.append(("rate", "served", f"{numbers.rate(point.served_per_s)}/s"))
        if "99" in point.published_ms:
            lines.append(("reference", "published p99", numbers.latency(point.published_ms["99"])))
        stops.append(Stop(x.at(point.rate_per_s), f"{numbers.rate(point.rate_per_s)}/s", tuple(lines)))
    return stops
