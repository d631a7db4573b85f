"""The measurements of one side in a block: histograms merged, percentiles never averaged.

Beside the percentiles of all requests stand those of the *typical second*: the median over the seconds of each second's
percentile. A few stalls decide the former, and say nothing about the latter: they are counted by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from lab.analysis.histogram import Sample
from lab.analysis.outputs import Outputs, measured_sources, read_outputs
from lab.analysis.percentiles import label, supported
from lab.compare.record import Window
from lab.errors import RunError
from lab.manifest import Manifest
from lab.run.load import LEAD_IN_S

PERCENTILES = ("50", "90", "99", "99.9")
STALL = 10.0
"""A second is a stall if its p99 is more than this many times the p99 of the typical second."""
SECOND_MIN_S = 0.5
"""A shorter interval at the end of a log is no second."""


@dataclass(frozen=True)
class Measured:
    """Windows of one side, merged. `None` is unknown.

    `due` is the number of offered requests. `cpu_s`, `allocated_bytes` and `context_switches` are what the service used
    for `requests`, `gc_s` is the time of collections. `seconds_ms` has each second's percentiles, infinite for a second
    without a response; no percentile that the requests of a second are too few for.
    """

    sample: Sample
    requests: int
    due: float
    served: float
    elapsed_s: float
    cpu_s: float | None
    allocated_bytes: float | None
    context_switches: float | None = None
    gc_s: float | None = None
    seconds_ms: Mapping[str, Sequence[float]] = field(default_factory=dict)

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
    def served_share(self) -> float | None:
        """The share of the offered requests that had an expected response; None if none was offered."""
        return self.served / self.due if self.due else None

    @property
    def served_per_s(self) -> float | None:
        """Requests with an expected response, a second."""
        return self.served / self.elapsed_s if self.elapsed_s else None

    def typical_ms(self, percentile: str) -> float | None:
        """Return a percentile of the typical second, infinite if that has no response; None if it is not known."""
        seconds = self.seconds_ms.get(percentile)
        return median(seconds) if seconds else None

    @property
    def stalls_a_minute(self) -> float | None:
        """Stalls, infinite if the typical second is one; None if the seconds are not known."""
        seconds, typical = self.seconds_ms.get("99", ()), self.typical_ms("99")
        if typical is None or typical == math.inf:
            return typical
        return 60 * sum(second > STALL * typical for second in seconds) / len(seconds)

    @property
    def gc_ms_a_minute(self) -> float | None:
        """Time of garbage collections."""
        return None if self.gc_s is None or not self.elapsed_s else self.gc_s * 6e4 / self.elapsed_s

    def per_request(self, used: float | None) -> float | None:
        """Return what one request used."""
        return None if used is None or not self.requests else used / self.requests

    @staticmethod
    def nothing() -> Measured:
        """Return a block of which nothing is known."""
        return Measured(Sample.empty(), 0, 0.0, 0.0, 0.0, None, None)

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
            context_switches=_sum(part.context_switches for part in parts),
            gc_s=_sum(part.gc_s for part in parts),
            seconds_ms={
                percentile: [second for part in parts for second in part.seconds_ms[percentile]]
                for percentile in PERCENTILES
                if all(percentile in part.seconds_ms for part in parts)
            },
        )


@dataclass(frozen=True)
class Metric:
    """A figure by which sides are compared; `value` returns None if it was not measured.

    `percentile` is "50" … "100" for a latency of all requests, else empty. An `amount` may be 0, so it has no ratio.
    """

    name: str
    title: str
    unit: str
    value: Callable[[Measured], float | None]
    lower_is_better: bool = True
    percentile: str = ""
    amount: bool = False


def _of_all(p: str) -> Metric:
    return Metric(label(p), f"latency {label(p)}", "ms", lambda m: m.latency_ms(p), percentile=p)


def _of_typical(p: str) -> Metric:
    return Metric(f"typical-{label(p)}", f"{label(p)} of the typical second", "ms", lambda m: m.typical_ms(p))


THROUGHPUT = Metric("throughput", "requests served", "requests/s", lambda m: m.served_per_s, lower_is_better=False)
METRICS: tuple[Metric, ...] = (
    *(_of_all(p) for p in PERCENTILES),
    *(_of_typical(p) for p in PERCENTILES),
    Metric("stalls", "stalls a minute", "", lambda m: m.stalls_a_minute, amount=True),
    THROUGHPUT,
    Metric("cpu", "service CPU a request", "µs", lambda m: _scaled(m.per_request(m.cpu_s), 1e6)),
    Metric("switches", "context switches a request", "", lambda m: m.per_request(m.context_switches)),
    Metric("alloc", "allocated a request", "bytes", lambda m: m.per_request(m.allocated_bytes)),
    Metric("gc", "garbage collection a minute", "ms", lambda m: m.gc_ms_a_minute, amount=True),
)
LONGEST = _of_all("100")
"""No metric of a comparison: it grows with the number of requests."""


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def measured(directory: Path, windows: Sequence[Window], rate_per_s: float) -> Measured:
    """Read the windows of one side from its run directory. RunError if the load generator left no report."""
    return Measured.together([_window(directory, window, rate_per_s) for window in windows])


def of_run(directory: Path, manifest: Manifest) -> list[Measured]:
    """Return what each repetition of a finished run measured; its manifest has what the service used a request."""
    summary = manifest.summary
    rate_per_s = float(summary.rate_offered_per_s) if summary is not None else 0.0
    repetitions = summary.repetitions if summary is not None else []
    used = {r.source: (r.service_cpu_us_per_request, r.allocated_bytes_per_request) for r in repetitions}
    found = []
    for source in measured_sources(directory):
        outputs = read_outputs(directory, source)
        if outputs is not None:
            part = of_outputs(outputs, rate_per_s)
            cpu_us, allocated = used.get(source, (None, None))
            cpu_s = None if cpu_us is None else cpu_us * part.requests / 1e6
            allocated = None if allocated is None else allocated * part.requests
            found.append(replace(part, cpu_s=cpu_s, allocated_bytes=allocated))
    return found


def of_outputs(outputs: Outputs, rate_per_s: float, window: Window | None = None) -> Measured:
    """Return what one execution of the load generator measured; `rate_per_s` is used if it reports no offered rate."""
    found = outputs.measurement(rate_per_s)
    elapsed_s = found.elapsed_s or 0.0
    per_s = found.rate_achieved_per_s if found.goodput_per_s is None else found.goodput_per_s
    part = Measured(
        sample=outputs.headline,
        requests=found.requests,
        due=found.rate_offered_per_s * elapsed_s if found.requests_due is None else float(found.requests_due),
        served=(per_s or 0.0) * elapsed_s,
        elapsed_s=elapsed_s,
        cpu_s=None,
        allocated_bytes=None,
        seconds_ms=_seconds_ms(outputs, found.rate_offered_per_s),
    )
    if window is None:
        return part
    # A service that does not count its requests got as many a second in the lead-in as afterwards.
    share = found.requests / window.service_requests if window.service_requests else elapsed_s / (elapsed_s + LEAD_IN_S)
    length_s = (window.end - window.start).total_seconds()
    return replace(
        part,
        cpu_s=_part(window.service_cpu_s, share),
        allocated_bytes=_part(window.allocated_bytes, share),
        context_switches=_part(window.context_switches, share),
        gc_s=_part(window.gc_s, elapsed_s / length_s if length_s else None),
    )


def _seconds_ms(outputs: Outputs, rate_per_s: float) -> dict[str, list[float]]:
    seconds = [] if outputs.log is None else [one for one in outputs.log.intervals if one.length_s >= SECOND_MIN_S]
    return {
        percentile: [one.sample.percentile_ns(percentile) / 1e6 if one.sample.count else math.inf for one in seconds]
        for percentile in PERCENTILES
        if seconds and supported(int(rate_per_s), percentile)
    }


def _window(directory: Path, window: Window, rate_per_s: float) -> Measured:
    outputs = read_outputs(directory, window.source)
    if outputs is None:
        raise RunError(f"{directory / window.source}: the load generator left no report")
    return of_outputs(outputs, rate_per_s, window)


def _part(used: float | None, share: float | None) -> float | None:
    """Return the part of `used` that belongs to the measured requests: the window's counters span the lead-in too."""
    return None if used is None or share is None else used * share


def _sum(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if any(value is None for value in known) else sum(value for value in known if value is not None)
