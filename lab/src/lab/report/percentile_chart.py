"""Latency by percentile, as HdrHistogram draws it: x is 1 ÷ (1 − percentile) on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.analysis.histogram import Sample
from lab.analysis.outputs import Outputs
from lab.analysis.percentiles import BEYOND_MIN
from lab.pages.plot import Chart
from lab.pages.scales import Log, log_around
from lab.report import numbers
from lab.report.data import ReportData

_TICKS = ("50", "75", "90", "99", "99.9", "99.99", "99.999", "99.9999", "99.99999")
_STOPS = 90
_ORDER = ("merged", "repetition", "profiled", *(f"side-{letter}" for letter in "abcdefghijkl"))
_ROOM_FOR_MAX = 0.06


@dataclass(frozen=True)
class _Curve:
    name: str
    css: str
    inverse: NDArray[np.float64]
    ms: NDArray[np.float64]
    count: int

    def at(self, inverse: float) -> float | None:
        """Return the latency at x; None beyond the sample."""
        if inverse > self.inverse[-1] * 1.0001:
            return None
        index = int(np.searchsorted(self.inverse, inverse * (1 - 1e-9)))
        return float(self.ms[min(index, len(self.ms) - 1)])


def percentile_chart(data: ReportData) -> Chart | None:
    """Draw all repetitions faintly, their total, the profiled one, and the reference; None without any."""
    curves = _curves(data)
    if not curves:
        return None
    right = max(100.0, *(curve.inverse[-1] for curve in curves))
    reference = [
        (right if name == "100" else 100 / (100 - float(name)), value)
        for name, value in (data.reference.latency_ms.items() if data.reference else ())
        if name.replace(".", "", 1).isdigit() and (name == "100" or 100 / (100 - float(name)) <= right)
    ]
    values = [float(v) for curve in curves for v in (curve.ms[0], curve.ms[-1])] + [v for _, v in reference]
    count = max(curve.count for curve in curves if curve.css != "profiled")
    label = "Latency by percentile, both axes logarithmic. The table of percentiles below has the figures."
    chart = _draw("percentiles", label, Log(1.0, float(right)), values, curves, few=count / BEYOND_MIN)
    for at, value in reference:
        chart.diamond(chart.across(at), chart.down(value), "reference")
    if reference:
        other_load = "" if data.comparable_reference() is not None else " and under another load"
        chart.key("mark reference", f"published, on other hardware{other_load}")
    return chart


def samples_chart(named: Sequence[tuple[str, str, Sample]], name: str = "percentiles", of: str = "") -> Chart | None:
    """Draw several samples, each with its name and the class of its line; None if one is empty."""
    if not all(sample.count for _, _, sample in named):
        return None
    curves = [_of_sample(name, css, sample) for name, css, sample in named]
    x = Log(1.0, max(100.0, *(float(curve.inverse[-1]) for curve in curves)))
    values = [float(value) for curve in curves for value in (curve.ms[0], curve.ms[-1])]
    label = f"Latency by percentile{of}, both axes logarithmic. The table has the figures."
    return _draw(name, label, x, values, curves, few=min(curve.count for curve in curves) / BEYOND_MIN)


def _curves(data: ReportData) -> list[_Curve]:
    single = len(data.repetitions) == 1
    curves = []
    if data.profiled is not None and (curve := _curve("while profiled", "profiled", data.profiled)) is not None:
        curves.append(curve)
    if not single:
        for output in data.repetitions:
            name = f"repetition {output.source.rpartition('/')[2]}"
            if (curve := _curve(name, "repetition", output)) is not None:
                curves.append(curve)
        if data.repetitions and all(output.headline.count for output in data.repetitions):
            merged = Sample.merged(output.headline for output in data.repetitions)
            curves.append(_of_sample("all repetitions together", "merged", merged))
    elif (curve := _curve("measured", "merged", data.repetitions[0])) is not None:
        curves.append(curve)
    return curves


def _curve(name: str, css: str, output: Outputs) -> _Curve | None:
    if output.headline.count:
        return _of_sample(name, css, output.headline)
    if output.served is not None or output.sample.unanswered:
        return None
    values = output.load.latency_us
    known = sorted((float(p), v) for p, v in values.percentiles.items() if v is not None)
    if not known or not values.count:
        return None
    inverse = [float(values.count) if p == 100 else 100 / (100 - p) for p, _ in known]
    return _Curve(name, css, np.array(inverse), np.array([v / 1e3 for _, v in known]), values.count)


def _of_sample(name: str, css: str, sample: Sample) -> _Curve:
    shares, values = sample.curve()
    with np.errstate(divide="ignore"):
        inverse = np.minimum(1 / (1 - shares), float(sample.requests))
    inverse = np.concatenate([[1.0], inverse])
    ms = np.concatenate([[sample.low[0]], values]) / 1e6
    return _Curve(name, css, np.maximum.accumulate(inverse), ms, sample.count)


def _draw(name: str, label: str, x: Log, values: list[float], curves: list[_Curve], *, few: float) -> Chart:
    chart = Chart(name, label, x, log_around(min(values), max(values)), title=_percentile_name)
    if 1 < few < x.high:
        chart.band(few, x.high, "few", f"< {BEYOND_MIN} requests beyond")
    ticks = [(100 / (100 - float(p)), f"{p}%") for p in _TICKS if 100 / (100 - float(p)) <= x.high]
    ends = [(x.high, "max")] if 1 - x.at(max(at for at, _ in ticks)) > _ROOM_FOR_MAX else []
    chart.grid([*ends, (1.0, "0%"), *sorted(ticks, key=lambda tick: tick[1] == "75%")], numbers.latency_tick)
    for curve in curves:
        chart.line(zip(curve.inverse.tolist(), curve.ms.tolist(), strict=True), curve.css)
    for curve in sorted(curves, key=lambda curve: _ORDER.index(curve.css)):
        chart.key(f"line {curve.css}", "each repetition" if curve.css == "repetition" else curve.name)
        for i in range(_STOPS + 1):
            inverse = float(x.high ** (i / _STOPS))
            if (value := curve.at(inverse)) is not None:
                chart.read(inverse, (curve.name, numbers.latency(value)))
    return chart


def _percentile_name(inverse: float) -> str:
    beyond = 100 / inverse
    places = max(0, min(6, 1 - int(np.floor(np.log10(beyond)))))
    return f"{100 - beyond:.{places}f}% · 1 in {inverse:,.0f} slower" if inverse > 1.5 else f"{100 - beyond:.1f}%"
