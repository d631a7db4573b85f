"""The charts of a suite's page: of a group its latencies and its ratios to the baseline, of a sweep latency by rate."""

from __future__ import annotations

from collections.abc import Sequence

from lab.pages.document import slug
from lab.pages.plot import Chart
from lab.pages.scales import Log
from lab.rates.charts import Marks
from lab.rates.charts import latency_chart as latency_by_rate
from lab.rates.points import Point
from lab.report import numbers
from lab.report.percentile_chart import samples_chart
from lab.suite.figures import CaseFigures
from lab.suite.findings import TITLES, Ratio

LETTERS = "abcdefghijkl"
_ROW = 30
_TICKS = (0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def latency_chart(name: str, cases: Sequence[CaseFigures]) -> Chart | None:
    """Draw the merged latencies of up to twelve cases; None if there are none."""
    shown = [case for case in cases if case.starts and case.sample.count][: len(LETTERS)]
    if not shown:
        return None
    named = [(str(case.case), f"side-{letter}", case.sample) for letter, case in zip(LETTERS, shown, strict=False)]
    return samples_chart(named, f"latency-{slug(name)}", f", {name}")


def ratio_chart(name: str, ratios: Sequence[Ratio]) -> Chart | None:
    """Draw each ratio to the baseline as a point with its interval, a row each; None without any."""
    if not ratios:
        return None
    values = [v for r in ratios for v in (r.low, r.high, 1.0)]
    x = Log(min(values) / 1.06, max(values) * 1.06)
    label = f"Ratios to the baseline, {name}: each with its 95% interval"
    height = _ROW * len(ratios)
    chart = Chart(f"ratios-{slug(name)}", label, x, Log(0.5, 1.0), height, height, left=300, near=138)
    ticks = sorted((tick for tick in _TICKS if x.low <= tick <= x.high), key=lambda t: abs(x.at(t) - x.at(1.0)))
    chart.grid([(tick, "equal" if tick == 1 else numbers.ratio(tick)) for tick in ticks], str, ())
    chart.key("line interval", "ratio to the baseline with its 95% interval")
    for row, ratio in enumerate(ratios):
        y = f"{_ROW * (row + 0.5):g}"
        names = (f"{_short(ratio.case, 24)}, {TITLES[ratio.metric]}", f"{_short(ratio.case, 14)} {ratio.metric}")
        for name_shown, css in zip(names, ("tick roomy", "tick near"), strict=True):
            chart.text("0", y, name_shown, css=css, anchor="end", by=(-12, 4))
        ends = f'x1="{chart.across(ratio.low)}" x2="{chart.across(ratio.high)}"'
        chart.add(f'<line class="line interval" {ends} y1="{y}" y2="{y}"/>')
        chart.diamond(chart.across(ratio.value), y, "estimate", 6)
        lines = ("ratio", numbers.ratio(ratio.value)), ("interval", ratio.interval), ("starts each", str(ratio.rounds))
        title = f"{ratio.case} ÷ {ratio.baseline}, {TITLES[ratio.metric]}"
        chart.read(ratio.value, *lines, title=title)
    return chart


def sweep_charts(cases: Sequence[CaseFigures]) -> list[Chart]:
    """Draw latency against the offered rate, a chart for each sweep with two measured rates or more."""
    sweeps: dict[str, list[CaseFigures]] = {}
    for case in cases:
        if case.case.rate_per_s is not None and case.starts:
            sweeps.setdefault(case.case.experiment, []).append(case)
    charts = [
        latency_by_rate([_point(case) for case in points], Marks(), f"rates-{slug(name)}", name)
        for name, points in sweeps.items()
        if len(points) > 1
    ]
    return [chart for chart in charts if chart is not None]


def _point(case: CaseFigures) -> Point:
    """Return the figures of all undisturbed starts at one rate, with the published ones if they are of that rate."""
    offered = round(case.offered_per_s or 0)
    reference = case.experiment.reference
    published = dict(reference.latency_ms) if reference is not None and offered == case.case.rate_per_s else {}
    return Point(
        rate_per_s=offered,
        served_per_s=case.mean("rate"),
        requests=case.latency.count,
        percentiles_ms=dict(case.latency.percentiles),
        lower_bounds=case.latency.lower_bounds,
        run=case.starts[0].run,
        published_ms=published,
    )


def _short(name: str, letters: int) -> str:
    return name if len(name) <= letters else f"{name[: letters - 1]}…"
