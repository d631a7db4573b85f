"""The chart of a comparison's blocks: each block's ratio, the interval of their mean, and the band of equality."""

from __future__ import annotations

import math
from typing import NamedTuple

from lab.compare.record import MetricResult
from lab.report import numbers
from lab.report.chart import NARROW, WIDE, Chart, Key
from lab.report.scales import Linear, Log
from lab.report.svg import Plot, Stop

_ROOM = 1.25
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


class _Mean(NamedTuple):
    """The ratios of the blocks, and that of all blocks with its interval."""

    title: str
    ratios: list[float]
    ratio: float
    low: float
    high: float


def ratio_chart(metric: MetricResult, within: float) -> Chart | None:
    """Draw B ÷ A of each block and of all blocks; None if the starts are not in pairs."""
    if metric.ratio is None or metric.ratio_low is None or metric.ratio_high is None or not metric.log_ratios:
        return None
    ratios = [math.exp(value) for value in metric.log_ratios]
    mean = _Mean(metric.title, ratios, metric.ratio, metric.ratio_low, metric.ratio_high)
    reach = max(abs(math.log(v)) for v in (*ratios, mean.low, mean.high, 1 + within)) * _ROOM
    x, y = Linear(0.0, len(ratios) + 2.0), Log(math.exp(-reach), math.exp(reach))
    return Chart(
        name="blocks",
        label=f"{metric.title}: the ratio B to A of each block, and of all blocks with its interval",
        drawings=[_draw(Plot(size, x, y), x, y, mean, within) for size in (WIDE, NARROW)],
        legend=[
            Key("dot ratio", "each block"),
            Key("line interval", f"all blocks, {metric.confidence * 100:.4g}% interval"),
            Key("line equal", f"equal within {numbers.share(within)}"),
        ],
        stops=_stops(x, mean),
    )


def _draw(plot: Plot, x: Linear, y: Log, mean: _Mean, within: float) -> str:
    size, ratios = plot.size, mean.ratios
    top, bottom = plot.py(1 + within), plot.py(1 / (1 + within))
    plot.add(
        f'<rect class="band same" x="{size.left}" y="{top:.1f}" width="{plot.inner_width}" '
        f'height="{bottom - top:.1f}"/>'
    )
    every = max(1, math.ceil(len(ratios) / (10 if size.name == "wide" else 5)))
    names = [(float(i), str(i)) for i in range(1, len(ratios) + 1) if i % every == 0 or i == 1]
    plot.grid([*names, (len(ratios) + 1.0, "all")], [(tick, _tick(tick)) for tick in _ticks(y)])
    for bound in (1 + within, 1 / (1 + within)):
        plot.line([(x.low, bound), (x.high, bound)], "equal")
    for i, ratio in enumerate(ratios, start=1):
        plot.add(f'<circle class="dot ratio" cx="{plot.px(i):.1f}" cy="{plot.py(ratio):.1f}" r="4"/>')
    last = len(ratios) + 1.0
    low, high, at = plot.py(mean.low), plot.py(mean.high), plot.px(last)
    plot.add(f'<path class="line interval" d="M{at:.1f} {low:.1f}L{at:.1f} {high:.1f}"/>')
    for end in (low, high):
        plot.add(f'<path class="line interval" d="M{at - 6:.1f} {end:.1f}L{at + 6:.1f} {end:.1f}"/>')
    plot.diamond(last, mean.ratio, "estimate", 6)
    return plot.markup(f"{mean.title}, B to A, by block")


def _ticks(y: Log) -> list[float]:
    """Return ratios at round percentages around 1, or powers of two if the range is over 2.2."""
    if y.high > 2.2:
        power = math.ceil(math.log2(y.high))
        every = max(1, math.ceil(power / 4))
        return [2.0**i for i in range(-power, power + 1, every) if y.low <= 2.0**i <= y.high]
    step = next(step for step in _STEPS if (y.high - 1) / step <= 4)
    count = int((y.high - 1) / step)
    return [t for t in (1 + i * step for i in range(-count, count + 1)) if y.low <= t <= y.high]


def _tick(ratio: float) -> str:
    if ratio >= 2:
        return f"×{ratio:.3g}"
    percent = round((ratio - 1) * 100)
    return "equal" if percent == 0 else f"{'+' if percent > 0 else '−'}{abs(percent)}%"


def _stops(x: Linear, mean: _Mean) -> list[Stop]:
    stops = [
        Stop(x.at(i), f"Block {i}", (("block", "B to A", numbers.ratio(ratio)),))
        for i, ratio in enumerate(mean.ratios, 1)
    ]
    span = f"{numbers.ratio(mean.low)} to {numbers.ratio(mean.high)}"
    all_blocks = (("block", "B to A", numbers.ratio(mean.ratio)), ("interval", "interval", span))
    return [*stops, Stop(x.at(len(mean.ratios) + 1), "All blocks", all_blocks)]
