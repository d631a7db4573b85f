"""The charts of a suite's page: of a group its latencies and its ratios to the baseline, of a sweep latency by rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lab.rates.charts import Marks
from lab.rates.charts import latency_chart as rate_chart
from lab.rates.points import Point
from lab.report import numbers
from lab.report.chart import Chart, Key
from lab.report.percentile_chart import samples_chart
from lab.report.scales import Log
from lab.report.svg import Plot, Size, Stop
from lab.report.tables import slug
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
    chart = samples_chart(
        [(str(case.case), f"side-{letter}", case.sample) for letter, case in zip(LETTERS, shown, strict=False)]
    )
    if chart is None:
        return None
    label = f"Latency by percentile, {name}, both axes logarithmic. The table below has the figures."
    return replace(chart, name=f"latency-{slug(name)}", label=label)


def ratio_chart(name: str, ratios: Sequence[Ratio]) -> Chart | None:
    """Draw each ratio to the baseline as a point with its interval, a row each; None without any."""
    if not ratios:
        return None
    values = [v for r in ratios for v in (r.low, r.high, 1.0)]
    x = Log(min(values) / 1.06, max(values) * 1.06)
    height = _ROW * len(ratios) + 50
    sizes = (Size("wide", 1040, height, left=300), Size("narrow", 360, height + _ROW, left=138, right=14))
    return Chart(
        name=f"ratios-{slug(name)}",
        label=f"Ratios to the baseline, {name}: each with its 95% interval",
        drawings=[_draw(Plot(size, x, Log(0.5, 1.0)), x, ratios) for size in sizes],
        legend=[Key("line interval", "ratio to the baseline with its 95% interval")],
        stops=[_stop(x, ratio) for ratio in sorted(ratios, key=lambda r: r.value)],
    )


def sweep_charts(cases: Sequence[CaseFigures]) -> list[Chart]:
    """Draw latency against the offered rate, a chart for each sweep with two measured rates or more."""
    sweeps: dict[str, list[CaseFigures]] = {}
    for case in cases:
        if case.case.rate_per_s is not None and case.starts:
            sweeps.setdefault(case.case.experiment, []).append(case)
    charts = []
    for name, points in sweeps.items():
        chart = rate_chart([_point(case) for case in points], Marks()) if len(points) > 1 else None
        if chart is not None:
            label = f"{name}: latency against the offered rate, both axes logarithmic. The table below has the figures."
            charts.append(replace(chart, name=f"rates-{slug(name)}", label=label))
    return charts


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


def _draw(plot: Plot, x: Log, ratios: Sequence[Ratio]) -> str:
    size = plot.size
    ticks = [tick for tick in _TICKS if x.low <= tick <= x.high]
    room = 64 if size.name == "wide" else 52
    kept: list[float] = [1.0]
    for tick in sorted(ticks, key=lambda t: abs(x.at(t) - x.at(1.0))):
        if all(abs(plot.px(tick) - plot.px(other)) > room for other in kept):
            kept.append(tick)
    plot.grid([(tick, "equal" if tick == 1 else numbers.ratio(tick)) for tick in sorted(kept)], [])
    for row, ratio in enumerate(ratios):
        y = size.top + _ROW * (row + 0.7)
        label = (
            f"{_short(ratio.case, 24)}, {TITLES[ratio.metric]}"
            if size.name == "wide"
            else f"{_short(ratio.case, 14)} {ratio.metric}"
        )
        plot.text(size.left - 12, y + 4, label, "tick", "end")
        low, high = plot.px(ratio.low), plot.px(ratio.high)
        plot.add(f'<path class="line interval" d="M{low:.1f} {y:.1f}L{high:.1f} {y:.1f}"/>')
        at = plot.px(ratio.value)
        plot.add(
            f'<path class="mark estimate" d="M{at:.1f} {y - 6:.1f}L{at + 6:.1f} {y:.1f}L{at:.1f} {y + 6:.1f}'
            f'L{at - 6:.1f} {y:.1f}Z"/>'
        )
    return plot.markup("Ratios to the baseline")


def _short(name: str, letters: int) -> str:
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def _stop(x: Log, ratio: Ratio) -> Stop:
    title = f"{ratio.case} ÷ {ratio.baseline}, {TITLES[ratio.metric]}"
    lines = (
        ("interval", "ratio", numbers.ratio(ratio.value)),
        ("interval", "interval", ratio.interval),
        ("interval", "starts each", str(ratio.rounds)),
    )
    return Stop(x.at(ratio.value), title, lines)


def group_cases(cases: Mapping[str, CaseFigures], baseline: str, others: Sequence[str]) -> list[CaseFigures]:
    """Return the cases of a group, the baseline first."""
    return [cases[name] for name in (baseline, *others)]
