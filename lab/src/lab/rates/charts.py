"""Two charts over the offered rate: latency by percentile, and the served rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.analysis.percentiles import label as of_percentile
from lab.pages.plot import Chart
from lab.pages.scales import Log, linear_to, log_around
from lab.rates.points import SHOWN, Point
from lab.report import numbers

LINES = {"50": "p50", "99": "p99", "99.9": "max"}
"""The class that draws each percentile."""


@dataclass(frozen=True)
class Marks:
    """Marks besides the curves: a limit of latency, and the interval of the answer."""

    limit_ms: float | None = None
    interval: tuple[float, float] | None = None


def latency_chart(points: Sequence[Point], marks: Marks, name: str = "latency-by-rate", of: str = "") -> Chart | None:
    """Draw the percentiles against the offered rate; None without any latency."""
    shown = _by_rate(points)
    values = [v for p in shown for name in SHOWN if (v := p.percentiles_ms.get(name)) is not None]
    values += [v for p in shown for name in SHOWN if (v := p.published_ms.get(name)) is not None]
    if not values:
        return None
    x = _x(shown, marks)
    y = log_around(min([*values, marks.limit_ms or values[0]]), max([*values, marks.limit_ms or values[0]]))
    label = "Latency against the offered rate, both axes logarithmic. The table below has the figures."
    chart = Chart(name, label if not of else f"{of}: {label[:1].lower()}{label[1:]}", x, y, title=_per_s)
    if marks.interval is not None:
        chart.band(max(marks.interval[0], x.low), min(marks.interval[1], x.high), "same", "90% interval")
    chart.grid([(tick, _per_s(tick)) for tick in x.ticks()], numbers.latency_tick)
    for percentile, css in LINES.items():
        if any(percentile in p.percentiles_ms for p in shown):
            chart.line(
                [(float(p.rate_per_s), p.percentiles_ms.get(percentile)) for p in shown], css, of_percentile(percentile)
            )
        for point in shown:
            if (value := point.percentiles_ms.get(percentile)) is not None:
                chart.dot(point.rate_per_s, value, css)
    for point in shown:
        if (value := point.published_ms.get("99")) is not None:
            chart.diamond(chart.across(point.rate_per_s), chart.down(value), "reference")
            chart.key("mark reference", "published p99, on other hardware")
    if marks.limit_ms is not None:
        limit = f"limit, {numbers.latency(marks.limit_ms)}"
        chart.line([(x.low, marks.limit_ms), (x.high, marks.limit_ms)], "offered", limit)
    return _read(chart, shown)


def served_chart(points: Sequence[Point]) -> Chart | None:
    """Draw the served rate against the offered rate; None if it is not known."""
    shown = [point for point in _by_rate(points) if point.served_per_s is not None]
    if not shown:
        return None
    x, y = _x(shown, Marks()), linear_to(max(float(point.rate_per_s) for point in shown))
    label = "Served requests a second against offered ones. The table below has the figures."
    chart = Chart("served-by-rate", label, x, y, title=_per_s)
    chart.grid([(tick, _per_s(tick)) for tick in x.ticks()], numbers.rate)
    chart.line([(float(p.rate_per_s), p.served_per_s) for p in shown], "rate", "served")
    chart.line([(float(p.rate_per_s), float(p.rate_per_s)) for p in shown], "offered", "offered")
    for point in shown:
        chart.dot(point.rate_per_s, point.served_per_s or 0.0, "rate")
    return _read(chart, shown)


def _read(chart: Chart, points: Sequence[Point]) -> Chart:
    for point in points:
        lines = [(of_percentile(name), point.latency(name)) for name in LINES if name in point.percentiles_ms]
        lines.append(("served", f"{numbers.rate(point.served_per_s)}/s"))
        if "99" in point.published_ms:
            lines.append(("published p99", numbers.latency(point.published_ms["99"])))
        chart.read(point.rate_per_s, *lines)
    return chart


def _per_s(rate: float) -> str:
    return f"{numbers.rate(rate)}/s"


def _by_rate(points: Sequence[Point]) -> list[Point]:
    return sorted((point for point in points if point.counted), key=lambda point: point.rate_per_s)


def _x(points: Sequence[Point], marks: Marks) -> Log:
    rates = [float(point.rate_per_s) for point in points] + list(marks.interval or ())
    return log_around(min(rates), max(rates))
