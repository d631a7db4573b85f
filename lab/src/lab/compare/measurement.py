"""The measurements of one side in a block, and of all its blocks: histograms merged, percentiles never averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lab.analysis.histogram import Sample
from lab.analysis.outputs import Outputs, read_outputs
from lab.analysis.percentiles import supported
from lab.compare.record import Window
from lab.errors import RunError


@dataclass(frozen=True)
class Measured:
    """Windows of one side, merged. `None` is unknown.

    `due` is the number of offered requests. `cpu_s` and `allocated_bytes` are what the service used for `requests`.
    """

    sample: Sample
    requests: int
    due: float
    served: float
    elapsed_s: float
    cpu_s: float | None
    allocated_bytes: float | None
    exact: bool = True

    def latency_ms(self, percentile: str) -> float | None:
        """Return a percentile; None if too few requests lie beyond it, or if it is only a lower bound."""
        if not supported(self.sample.requests, percentile) or self.sample.is_lower_bound(percentile):
            return None
        return self.sample.percentile_ns(percentile) / 1e6

    def lower_bound_ms(self, percentile: str) -> float | None:
        """Return what a percentile is at least, if it falls among the requests without a response; else None."""
        if not self.sample.count or not self.sample.is_lower_bound(percentile):
            return None
        return self.sample.percentile_ns(percentile) / 1e6

    @property
    def served_per_s(self) -> float | None:
        """Requests with an expected response, a second."""
        return self.served / self.elapsed_s if self.elapsed_s else None

    @property
    def cpu_us_per_request(self) -> float | None:
        """CPU time of the service."""
        return self.cpu_s / self.requests * 1e6 if self.cpu_s is not None and self.requests else None

    @property
    def allocated_bytes_per_request(self) -> float | None:
        """Bytes that the service's threads allocated."""
        if self.allocated_bytes is None or not self.requests:
            return None
        return self.allocated_bytes / self.requests

    def with_cpu(self, cpu_s: float | None) -> Measured:
        """Return the same with the service's CPU time, which has another source."""
        return replace(self, cpu_s=cpu_s)

    @staticmethod
    def together(parts: Sequence[Measured]) -> Measured:
        """Merge blocks into one population. Raises ValueError for none."""
        if not parts:
            raise ValueError("nothing was measured")
        return Measured(
            sample=Sample.merged(part.sample for part in parts),
            requests=sum(part.requests for part in parts),
            due=sum(part.due for part in parts),
            served=sum(part.served for part in parts),
            elapsed_s=sum(part.elapsed_s for part in parts),
            cpu_s=_sum(part.cpu_s for part in parts),
            allocated_bytes=_sum(part.allocated_bytes for part in parts),
            exact=all(part.exact for part in parts),
        )


@dataclass(frozen=True)
class Metric:
    """A figure by which sides are compared; `value` returns None if it was not measured.

    `percentile` is "50" … "100" for a latency, else empty.
    """

    name: str
    title: str
    unit: str
    value: Callable[[Measured], float | None]
    lower_is_better: bool = True
    percentile: str = ""


THROUGHPUT = Metric("throughput", "served", "requests/s", lambda m: m.served_per_s, lower_is_better=False)
METRICS: tuple[Metric, ...] = (
    Metric("p50", "latency p50", "ms", lambda m: m.latency_ms("50"), percentile="50"),
    Metric("p99", "latency p99", "ms", lambda m: m.latency_ms("99"), percentile="99"),
    Metric("p99.9", "latency p99.9", "ms", lambda m: m.latency_ms("99.9"), percentile="99.9"),
    THROUGHPUT,
    Metric("cpu", "service CPU a request", "µs", lambda m: m.cpu_us_per_request),
    Metric("alloc", "allocated a request", "bytes", lambda m: m.allocated_bytes_per_request),
)


def measured(directory: Path, windows: Sequence[Window], rate_per_s: float) -> Measured:
    """Read the windows of one side from its run directory. RunError if the load generator left no report."""
    return Measured.together([_window(directory, window, rate_per_s) for window in windows])


def of_outputs(outputs: Outputs, rate_per_s: float, window: Window | None = None) -> Measured:
    """Return what one execution of the load generator measured; `rate_per_s` is used if it reports no offered rate."""
    found = outputs.measurement(rate_per_s)
    elapsed_s = found.elapsed_s or 0.0
    per_s = found.rate_achieved_per_s if found.goodput_per_s is None else found.goodput_per_s
    return Measured(
        sample=outputs.sample,
        requests=found.requests,
        due=found.rate_offered_per_s * elapsed_s if found.requests_due is None else float(found.requests_due),
        served=(per_s or 0.0) * elapsed_s,
        elapsed_s=elapsed_s,
        cpu_s=None if window is None else _share(window.service_cpu_s, found.requests, window),
        allocated_bytes=None if window is None else _share(window.allocated_bytes, found.requests, window),
        exact=outputs.exact,
    )


def _window(directory: Path, window: Window, rate_per_s: float) -> Measured:
    outputs = read_outputs(directory, window.source)
    if outputs is None:
        raise RunError(f"{directory / window.source}: the load generator left no report")
    return of_outputs(outputs, rate_per_s, window)


def _share(used: float | None, requests: int, window: Window) -> float | None:
    """Return the part of `used` that belongs to the measured requests: the window's counters span the lead-in too."""
    if used is None or not window.service_requests:
        return None
    return used * requests / window.service_requests


def _sum(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if any(value is None for value in known) else sum(value for value in known if value is not None)
