"""Numbers as readers see them: three significant digits and a unit that fits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lab.units import format_bytes, format_duration
from lab.units import significant as significant  # noqa: PLC0414 - for callers of the functions here

if TYPE_CHECKING:  # a list of runs is printed without loading pydantic
    from lab.manifest import Distribution

UNKNOWN = "–"


def latency(ms: float | None, *, lower_bound: bool = False) -> str:
    """Return a latency given in ms: "84.2 µs", "1.23 ms", "12.3 s", as a lower bound "≥ 12.3 s"."""
    if ms is None or not math.isfinite(ms):
        return UNKNOWN
    if lower_bound:
        return f"≥ {latency(ms)}"
    if ms == 0:
        return "0 µs"
    rounded = float(f"{abs(ms):.3g}")
    if rounded < 1:
        return f"{significant(ms * 1e3)} µs"
    if rounded < 1e3:
        return f"{significant(ms)} ms"
    return f"{significant(ms / 1e3)} s"


def percentile(found: Distribution, name: str) -> str:
    """Return a percentile ("50" … "100") of a distribution in ms, the same text in all places."""
    return latency(found.percentiles.get(name), lower_bound=name in found.lower_bounds)


def latency_tick(ms: float) -> str:
    """Return a round latency as the label of an axis: "300 µs", "10 ms"."""
    for factor, unit in ((1e-3, "s"), (1.0, "ms"), (1e3, "µs")):
        if round(ms * factor, 9) >= 1:
            return f"{round(ms * factor, 6):g} {unit}"
    return f"{round(ms * 1e6, 6):g} ns"


def count(value: float | None) -> str:
    """Return a whole number with commas."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def rate(per_s: float | None) -> str:
    """Return a rate a second: whole from 100 up, three digits below."""
    if per_s is None:
        return UNKNOWN
    return f"{per_s:,.0f}" if per_s >= 100 or per_s == int(per_s) else significant(per_s)


def share(value: float | None) -> str:
    """Return a share as per cent: "12.3%", "0.04%"."""
    if value is None:
        return UNKNOWN
    percent = value * 100
    return f"{percent:.1f}%" if percent >= 0.95 or percent == 0 else f"{significant(percent, 2)}%"


def share_down(value: float) -> str:
    """Return a share rounded down, so that one just below a bound is not shown as the bound: 0.98996 is "98.9%"."""
    return f"{math.floor(round(value * 1000, 6)) / 10:.1f}%"  # 1.001 * 1000 is below 1001


def share_up(value: float) -> str:
    """Return a share rounded up, so that one just above a bound is not shown as the bound: 0.99004 is "99.1%"."""
    return f"{math.ceil(round(value * 1000, 6)) / 10:.1f}%"


def share_within(value: float, bounds: tuple[float, float] | None) -> str:
    """Return a share with its confidence interval: "9.7% [9.1, 10.3]"."""
    if bounds is None:
        return share(value)
    low, high = (significant(100 * bound, 2) if 0 < bound < 0.0095 else f"{100 * bound:.1f}" for bound in bounds)
    return f"{share(value)} [{low}, {high}]"


def ratio(value: float | None) -> str:
    """Return a ratio as a change: "+4.1%", "−12.0%", "×2.50" from double up."""
    if value is None:
        return UNKNOWN
    if value >= 2:
        return f"×{significant(value)}"
    change = (value - 1) * 100
    return f"{'+' if change >= 0 else '−'}{abs(change):.1f}%"


def size(amount: float | None) -> str:
    """Return a number of bytes with a binary unit: "1.21 MiB"."""
    return UNKNOWN if amount is None else format_bytes(amount)


def duration(seconds: float | None) -> str:
    """Return a length of time: "350 ms", "12.3 s", "2 min 05 s"."""
    return UNKNOWN if seconds is None else format_duration(seconds)
