"""The charts of a suite's page: of a group its latencies and its ratios to the baseline, of a sweep latency by rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.compare.charts import CHARTED, RatioRow, ratio_chart
from lab.compare.record import Result
from lab.pages.document import slug
from lab.pages.plot import Chart
from lab.rates.charts import Marks
from lab.rates.charts import latency_chart as latency_by_rate
from lab.rates.points import Point
from lab.report.percentile_chart import samples_chart
from lab.suite.figures import CaseFigures
from lab.suite.findings import WITHIN

LETTERS = "abcdefghijkl"


def latency_chart(name: str, cases: Sequence[CaseFigures]) -> Chart | None:
    """Draw the merged latencies of up to twelve cases; None if there are none."""
    shown = [case for case in cases if case.starts and case.sample.count][: len(LETTERS)]
    if not shown:
        return None
    named = [(str(case.case), f"side-{letter}", case.sample) for letter, case in zip(LETTERS, shown, strict=False)]
    return samples_chart(named, f"latency-{slug(name)}", f", {name}")


def ratios_chart(name: str, results: Mapping[str, Result]) -> Chart | None:
    """Draw the most important ratios of each experiment to the baseline, a row each; None without any."""
    rows = [
        RatioRow(case, metric)
        for case, result in results.items()
        for metric in result.metrics
        if metric.name in CHARTED
    ]
    label = f"Ratios to the baseline, {name}: of each round and of all, with their intervals"
    return ratio_chart(f"ratios-{slug(name)}", label, rows, WITHIN, "round")


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
        served_per_s=case.served_per_s,
        requests=case.latency.count,
        percentiles_ms=dict(case.latency.percentiles),
        lower_bounds=case.latency.lower_bounds,
        run=case.starts[0].run,
        published_ms=published,
    )
