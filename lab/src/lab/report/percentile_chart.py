"""Latency by percentile, as HdrHistogram draws it: x is 1 ÷ (1 − percentile) on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.analysis.histogram import Sample
from lab.analysis.outputs import Outputs
from lab.analysis.percentiles import BEYOND_MIN
from lab.report import numbers
from lab.report.chart import NARROW, WIDE, Chart, Key
from lab.report.data import ReportData
from lab.report.scales import Log, log_around
from lab.report.svg import Plot, Stop

_TICKS = (
    ("50", "50%"), ("75", "75%"), ("90", "90%"), ("99", "99%"), ("99.9", "99.9%"), ("99.99", "99.99%"),
    ("99.999", "99.999%"), ("99.9999", "99.9999%"), ("99.99999", "99.99999%"),
)  # fmt: skip
_NARROW_TICKS = {"50%", "90%", "99%", "99.9%", "99.99%", "99.999%"}
_STOPS = 90
_ORDER = ("merged", "repetition", "profiled", *(f"side-{letter}" for letter in "abcdefghijkl"))
_ROOM_FOR_MAX = 60
_CHARACTER_WIDTH = 7


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
    x, y = Log(1.0, float(right)), log_around(min(values), max(values))
    main_count = max(curve.count for curve in curves if curve.css != "profiled") if curves else 0
    legend = [Key("line merged", next((c.name for c in curves if c.css == "merged"), "all repetitions together"))]
    if any(curve.css == "repetition" for curve in curves):
        legend.append(Key("line repetition", "each repetition"))
    if any(curve.css == "profiled" for curve in curves):
        legend.append(Key("line profiled", "while profiled"))
    if reference:
        other_load = "" if data.comparable_reference() is not None else " and under another load"
        legend.append(Key("mark reference", f"published, on other hardware{other_load}"))
    return Chart(
        name="percentiles",
        label="Latency by percentile, both axes logarithmic. The table of percentiles below has the figures.",
        drawings=[
            _draw(Plot(size, x, y), x, y, curves, reference, few=main_count / BEYOND_MIN) for size in (WIDE, NARROW)
        ],
        legend=legend if any(curve.css == "merged" for curve in curves) else legend[1:],
        stops=_stops(x, curves),
    )


def samples_chart(named: Sequence[tuple[str, str, Sample]]) -> Chart | None:
    """Draw several samples, each with its name and the class of its line; None if one is empty."""
    if not all(sample.count for _, _, sample in named):
        return None
    curves = [_of_sample(name, css, sample) for name, css, sample in named]
    x = Log(1.0, max(100.0, *(float(curve.inverse[-1]) for curve in curves)))
    values = [float(value) for curve in curves for value in (curve.ms[0], curve.ms[-1])]
    y = log_around(min(values), max(values))
    few = min(curve.count for curve in curves) / BEYOND_MIN
    return Chart(
        name="percentiles",
        label="Latency by percentile of both sides, both axes logarithmic. The table of metrics has the figures.",
        drawings=[_draw(Plot(size, x, y), x, y, curves, [], few=few) for size in (WIDE, NARROW)],
        legend=[Key(f"line {css}", name) for name, css, _ in named],
        stops=_stops(x, curves),
    )


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
    if output.served is not None:
        return None
    values, censored = output.load.latency_us, output.load.censored
    percentiles = values.percentiles if censored is None or not censored.count else censored.percentiles_us
    known = sorted((float(p), v) for p, v in percentiles.items() if v is not None)
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


def _draw(plot: Plot, x: Log, y: Log, curves: list[_Curve], reference: list[tuple[float, float]], *, few: float) -> str:
    size = plot.size
    if 1 < few < x.high:
        label = f"fewer than {BEYOND_MIN} requests beyond" if size.name == "wide" else f"< {BEYOND_MIN} requests"
        plot.band(few, x.high, "few", label)
    names = [(100 / (100 - float(p)), name) for p, name in _TICKS if 100 / (100 - float(p)) <= x.high]
    ticks = _spaced(
        plot, [(1.0, "0%"), *((at, name) for at, name in names if size.name == "wide" or name in _NARROW_TICKS)]
    )
    if plot.px(x.high) - plot.px(ticks[-1][0]) > _ROOM_FOR_MAX:
        ticks.append((x.high, "max"))
    plot.grid(ticks, [(tick, numbers.latency_tick(tick)) for tick in y.ticks()])
    for curve in curves:
        plot.line(zip(curve.inverse.tolist(), curve.ms.tolist(), strict=True), curve.css)
    for at, value in reference:
        plot.diamond(at, value, "reference")
    return plot.markup("Latency by percentile")


def _spaced(plot: Plot, ticks: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Leave out the name of a tick that would overlap the one before; its line stays."""
    kept: list[tuple[float, str]] = []
    end = float("-inf")
    right = plot.size.width - plot.size.right
    for at, name in ticks:
        half = len(name) * _CHARACTER_WIDTH / 2
        centre = min(plot.px(at), right - half)
        if centre - half > end + _CHARACTER_WIDTH:
            kept.append((at, name))
            end = centre + half
        else:
            kept.append((at, ""))
    return kept


def _stops(x: Log, curves: list[_Curve]) -> list[Stop]:
    stops = []
    shown = sorted(curves, key=lambda curve: _ORDER.index(curve.css))
    for i in range(_STOPS + 1):
        inverse = float(x.high ** (i / _STOPS))
        lines = tuple(
            (curve.css, curve.name, numbers.latency(value))
            for curve in shown
            if (value := curve.at(inverse)) is not None
        )
        if lines:
            stops.append(Stop(x.at(inverse), _percentile_name(inverse), lines))
    return stops


def _percentile_name(inverse: float) -> str:
    beyond = 100 / inverse
    places = max(0, min(6, 1 - int(np.floor(np.log10(beyond)))))
    return f"{100 - beyond:.{places}f}% · 1 in {inverse:,.0f} slower" if inverse > 1.5 else f"{100 - beyond:.1f}%"
