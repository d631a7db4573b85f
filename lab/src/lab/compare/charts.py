"""The chart of ratios, of a comparison and of a suite: a row for each metric, with its blocks and their mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lab.compare.record import MetricResult
from lab.pages.plot import Chart
from lab.pages.scales import Log
from lab.report import numbers

CHARTED = ("p50", "p99", "typical-p99", "throughput", "cpu")
"""Metrics that a chart of several sides shows; the tables have all."""
_ROW = 30
_ROOM = 1.06
_FACTORS = (1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
_NAME_MAX, _NEAR_MAX = 43, 18
"""Letters of a row's name, and of the one in a narrow chart."""


@dataclass(frozen=True)
class RatioRow:
    """A row: the metric of side B against A; `side` is B's name, empty if all rows are of one side."""

    side: str
    metric: MetricResult

    @property
    def title(self) -> str:
        """The heading of its values."""
        return f"{self.side}, {self.metric.title}" if self.side else self.metric.heading

    def name(self, title: str, letters: int) -> str:
        """Return its name with this word for the metric; the name of the side is cut to what is left."""
        room = letters - len(title)
        side = self.side if len(self.side) <= room else f"{self.side[: room - 1]}…"
        return f"{side}, {title}" if side else title


def ratio_chart(name: str, label: str, rows: Sequence[RatioRow], within: float, sample: str = "block") -> Chart | None:
    """Draw B ÷ A of each metric that has a ratio: each block's, and their mean with its interval; None without any."""
    found = [(row, row.metric.ratio, row.metric.ratio_low, row.metric.ratio_high) for row in rows]
    shown = [(row, mean, low, high) for row, mean, low, high in found if mean and low and high]
    if not shown:
        return None
    each = [math.exp(value) for row, *_ in shown for value in row.metric.log_ratios]
    values = [1 / (1 + within), 1 + within, *each, *(bound for _, *bounds in shown for bound in bounds)]
    x, height = Log(min(values) / _ROOM, max(values) * _ROOM), _ROW * len(shown)
    chart = Chart(name, label, x, Log(0.5, 1.0), height, height, left=300, near=138)
    chart.band(1 / (1 + within), 1 + within, "same", f"within {numbers.share(within)}")
    ticks = {one for factor in _FACTORS for one in (factor, 1 / factor) if x.low <= one <= x.high}
    chart.grid([(tick, _tick(tick)) for tick in sorted(ticks, key=_importance)], str, ())
    if each:
        chart.key("dot ratio", f"each {sample}")
    chart.key("line interval", f"all {sample}s, {shown[0][0].metric.confidence * 100:.4g}% interval")
    for at, (row, mean, low, high) in enumerate(shown):
        metric, y = row.metric, f"{_ROW * (at + 0.5):g}"
        chart.text(
            "0",
            y,
            row.name(row.metric.title if row.side else row.metric.heading, _NAME_MAX),
            css="tick roomy",
            anchor="end",
            by=(-12, 4),
        )
        chart.text("0", y, row.name(row.metric.name, _NEAR_MAX), css="tick near", anchor="end", by=(-12, 4))
        for value in metric.log_ratios:
            chart.add(f'<circle class="dot ratio" cx="{chart.across(math.exp(value))}" cy="{y}" r="3"/>')
        ends = f'x1="{chart.across(low)}" x2="{chart.across(high)}"'
        chart.add(f'<line class="line interval" {ends} y1="{y}" y2="{y}"/>')
        chart.diamond(chart.across(mean), y, "estimate", 6)
        lines = [("ratio", numbers.ratio(mean)), ("interval", f"{numbers.ratio(low)} to {numbers.ratio(high)}")]
        chart.read(mean, *lines, (f"{sample}s", str(metric.blocks)), title=row.title)
    return chart


def _importance(tick: float) -> tuple[bool, float]:
    """Return the order in which ticks get room: 1 first, then round factors from the outside."""
    return tick != 1, -abs(math.log(tick))


def _tick(ratio: float) -> str:
    if ratio >= 2:
        return f"×{ratio:.3g}"
    percent = round((ratio - 1) * 100)
    return "equal" if percent == 0 else f"{'+' if percent > 0 else '−'}{abs(percent)}%"
