"""The chart of a comparison's blocks: each block's ratio, the interval of their mean, and the band of equality."""

from __future__ import annotations

import math

from lab.compare.record import MetricResult
from lab.pages.plot import Chart
from lab.pages.scales import Linear, Log
from lab.report import numbers

_ROOM = 1.25
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def ratio_chart(metric: MetricResult, within: float) -> Chart | None:
    """Draw B ÷ A of each block and of all blocks; None if the starts are not in pairs."""
    mean, low, high = metric.ratio, metric.ratio_low, metric.ratio_high
    if mean is None or low is None or high is None or not metric.log_ratios:
        return None
    ratios = [math.exp(value) for value in metric.log_ratios]
    reach = max(abs(math.log(v)) for v in (*ratios, low, high, 1 + within)) * _ROOM
    x, y = Linear(0.0, len(ratios) + 2.0), Log(math.exp(-reach), math.exp(reach))
    label = f"{metric.title}: the ratio B to A of each block, and of all blocks with its interval"
    chart, last = Chart("blocks", label, x, y, title=lambda at: f"Block {at:.0f}"), len(ratios) + 1.0
    chart.level(1 / (1 + within), 1 + within, "same")
    every = max(1, math.ceil(len(ratios) / 10))
    names = [(float(i), str(i)) for i in range(1, len(ratios) + 1) if i % every == 0 or i == 1]
    chart.grid([(last, "all"), *names], _tick, _ticks(y))
    for i, ratio in enumerate(ratios, start=1):
        chart.dot(i, ratio, "ratio", 4)
        chart.read(i, ("B to A", numbers.ratio(ratio)))
    at, upper, lower = chart.across(last), chart.down(high), chart.down(low)
    chart.add(f'<line class="line interval" x1="{at}" x2="{at}" y1="{upper}" y2="{lower}"/>')
    for end in (upper, lower):
        chart.add(f'<svg x="{at}" y="{end}" overflow="visible"><path class="line interval" d="M-6 0H6"/></svg>')
    chart.diamond(at, chart.down(mean), "estimate", 6)
    span = f"{numbers.ratio(low)} to {numbers.ratio(high)}"
    chart.read(last, ("B to A", numbers.ratio(mean)), ("interval", span), title="All blocks")
    chart.key("dot ratio", "each block")
    chart.key("line interval", f"all blocks, {metric.confidence * 100:.4g}% interval")
    for bound in (1 + within, 1 / (1 + within)):
        chart.line([(x.low, bound), (x.high, bound)], "equal", f"equal within {numbers.share(within)}")
    return chart


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
