"""One point of latency against rate, and where the curve bends."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from lab.analysis.checks import SATURATED
from lab.manifest import Manifest, Summary
from lab.report import numbers

KNEE_POINTS_MIN = 4
SHOWN = ("50", "99", "99.9")


@dataclass(frozen=True)
class Point:
    """A rate, the served part of it, and the latencies in ms by percentile. `run` is `<experiment>/<run id>`.

    Percentiles in `lower_bounds` are at least that long. `remark` is the remark on the page, `good` whether it is good
    news (None: neither). `published` are a reference's latencies. A point that does not count was disturbed.
    """

    rate_per_s: int
    served_per_s: float | None
    requests: int
    percentiles_ms: dict[str, float]
    run: str
    lower_bounds: Collection[str] = ()
    remark: str = ""
    good: bool | None = None
    counted: bool = True
    published_per_s: float | None = None
    published_ms: dict[str, float] = field(default_factory=dict)

    def latency(self, percentile: str) -> str:
        """Return a latency as readers see it."""
        return numbers.latency(self.percentiles_ms.get(percentile), lower_bound=percentile in self.lower_bounds)


def point_of(manifest: Manifest, run: str) -> Point:
    """Return the measurement of a finished run, with its verdict and the published figures for its rate."""
    summary, validity = manifest.summary, manifest.validity
    reference = manifest.experiment.resolved.get("reference")
    reference = reference if isinstance(reference, dict) else {}
    published, per_s = reference.get("latency_ms"), reference.get("requests_per_s")
    load = manifest.experiment.resolved["load"]
    rate = load["rate_per_s"] if isinstance(load, dict) else 0
    same_rate = reference.get("rate_per_s") in (None, rate)
    state = "unjudged" if validity is None else validity.state
    saturated = validity is not None and any(finding.startswith(SATURATED) for finding in validity.findings)
    return Point(
        rate_per_s=rate if isinstance(rate, int) else 0,
        served_per_s=None if summary is None else _served(summary),
        requests=0 if summary is None else summary.requests,
        percentiles_ms={} if summary is None else dict(summary.headline_ms.percentiles),
        run=run,
        lower_bounds=() if summary is None else tuple(summary.headline_ms.lower_bounds),
        remark=state + (", saturated" if saturated else ""),
        good={"valid": True, "invalid": False}.get(state),
        published_per_s=float(per_s) if same_rate and isinstance(per_s, int | float) else None,
        published_ms={k: float(v) for k, v in published.items() if isinstance(v, int | float)}
        if same_rate and isinstance(published, dict)
        else {},
    )


def _served(summary: Summary) -> float | None:
    return summary.rate_achieved_per_s if summary.goodput_per_s is None else summary.goodput_per_s


def knee_per_s(points: Sequence[Point], percentile: str = "99") -> float | None:
    """Return the rate at which latency turns from flat to steep; None if the curve has no such point.

    Used in the plot only; no figure depends on it. Kneedle (V. Satopää et al., ICDCS Workshops 2011) on the logarithm
    of the latency, because a curve that spans milliseconds to seconds would otherwise bend only at its last point.
    """
    by_rate: dict[int, list[float]] = {}
    for point in points:
        value = point.percentiles_ms.get(percentile)
        if point.counted and value is not None and value > 0:
            by_rate.setdefault(point.rate_per_s, []).append(value)
    if len(by_rate) < KNEE_POINTS_MIN:
        return None
    from kneed import KneeLocator  # noqa: PLC0415 - it brings scipy, which takes a second to load

    rates = sorted(by_rate)
    logs = [float(np.log(np.median(by_rate[rate]))) for rate in rates]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # kneed warns if it finds none
        knee = KneeLocator(rates, logs, curve="convex", direction="increasing").knee
    return None if knee is None else float(knee)
