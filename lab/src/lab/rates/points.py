"""One point of latency against rate."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from lab.analysis.checks import SATURATED
from lab.manifest import Manifest, Summary
from lab.report import numbers

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
    reference, rate = manifest.experiment.resolved.reference, manifest.experiment.resolved.load.rate_per_s
    if reference is not None and reference.rate_per_s not in (None, rate):
        reference = None
    state = "unjudged" if validity is None else validity.state
    saturated = validity is not None and any(finding.startswith(SATURATED) for finding in validity.findings)
    return Point(
        rate_per_s=rate,
        served_per_s=None if summary is None else _served(summary),
        requests=0 if summary is None else summary.requests,
        percentiles_ms={} if summary is None else dict(summary.headline_ms.percentiles),
        run=run,
        lower_bounds=() if summary is None else tuple(summary.headline_ms.lower_bounds),
        remark=state + (", saturated" if saturated else ""),
        good={"valid": True, "invalid": False}.get(state),
        published_per_s=None if reference is None else reference.requests_per_s,
        published_ms={} if reference is None else reference.latency_ms,
    )


def _served(summary: Summary) -> float | None:
    return summary.rate_achieved_per_s if summary.goodput_per_s is None else summary.goodput_per_s
