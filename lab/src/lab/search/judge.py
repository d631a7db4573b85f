"""Judges one step from its run directory: whether the service held the limit at this rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.analysis.outputs import measured_sources, read_outputs
from lab.analysis.percentiles import label
from lab.manifest import Check, Manifest, Measurement
from lab.report import numbers
from lab.search.procedure import Holds
from lab.search.slo import Slo

SERVED_SHARE_MIN = 0.99
"""As a share of the offered rate. A refusal (429, 503) is not served."""
BACKLOG_GROWTH_MAX = 0.001
"""Seconds by which the median latency may grow in a second: the share of the offered rate that is not served."""
BACKLOG_SECONDS_MIN = 5
GENERATOR_CHECKS = ("schedule", "generator CPU")
STANDING = ("CPU plan",)
"""A check of the environment with the same result at every step: it disturbs none of them."""


@dataclass(frozen=True)
class Judgement:
    """The outcome of a step, the reason, and what disturbed it: the machine's checks that warned or failed."""

    holds: Holds
    why: str
    disturbed: tuple[str, ...] = ()


def judge(directory: Path, manifest: Manifest, slo: Slo) -> Judgement:
    """Judge a finished run of one repetition."""
    if manifest.summary is None:
        return Judgement("unknown", "nothing was measured")
    checks = manifest.validity.checks if manifest.validity is not None else []
    holds, why = judge_measurement(manifest.summary, slo, medians_ms(directory), checks)
    return Judgement(holds, why, tuple(disturbances(checks)))


def disturbances(checks: Sequence[Check]) -> list[str]:
    """Return how the machine disturbed a step. That a step held or failed is never a reason to repeat it."""
    bad = [check for check in checks if check.environment and check.outcome in ("warn", "fail")]
    return [check.detail for check in bad if check.name not in STANDING]


def judge_measurement(
    m: Measurement, slo: Slo, medians: Sequence[tuple[float, float]], checks: Sequence[Check]
) -> tuple[Holds, str]:
    """Return whether the limit held, and why; `medians` are those of each second: (seconds, milliseconds)."""
    bad = [check for check in checks if check.outcome in ("warn", "fail")]
    generator = [check.detail for check in bad if check.name in GENERATOR_CHECKS]
    answered = m.goodput_per_s if m.goodput_per_s is not None else m.rate_achieved_per_s
    if answered is None:
        return "unknown", "the achieved rate is not known"
    share = answered / m.rate_offered_per_s
    if share < SERVED_SHARE_MIN:
        if generator:
            return "unknown", generator[0]
        return "no", f"{numbers.rate(answered)}/s of {numbers.rate(m.rate_offered_per_s)}/s were served"
    latency = m.headline_ms
    value = latency.percentiles.get(slo.percentile)
    if value is None:
        return "unknown", f"{m.requests:,} requests are too few for {label(slo.percentile)}"
    shown = f"{label(slo.percentile)} is {numbers.percentile(latency, slo.percentile)}"
    is_open = slo.percentile in latency.lower_bounds
    if is_open or value >= slo.limit_ms:
        net = None if m.net_latency_ms is None else m.net_latency_ms.percentiles.get(slo.percentile)
        # The load generator's delays are known of answered requests alone.
        answered = (m.answered_ms or m.latency_ms).percentiles.get(slo.percentile)
        if net is not None and answered is not None and net < slo.limit_ms <= answered:
            return "unknown", f"{shown}, and {numbers.latency(net)} without the load generator's own delays"
        return "no", f"{shown}: too many requests had no response" if is_open else shown
    growth = backlog_growth(medians)
    if growth is not None and growth > BACKLOG_GROWTH_MAX:
        return "no", f"{shown}, but the backlog grows by {growth * 1e3:.1f} ms each second"
    return "yes", shown


def backlog_growth(medians: Sequence[tuple[float, float]]) -> float | None:
    """Return the growth of latency in seconds a second: the lower end of the slope's 95% interval.

    The slope is Theil-Sen's, so that single bad seconds do not matter. Returns None for too few seconds.
    """
    if len(medians) < BACKLOG_SECONDS_MIN:
        return None
    from scipy import stats  # noqa: PLC0415 - it takes a second to load

    fit = stats.theilslopes([ms / 1e3 for _, ms in medians], [s for s, _ in medians], alpha=0.95)
    return float(fit.low_slope)


def medians_ms(directory: Path) -> list[tuple[float, float]]:
    """Return the median latency of each second of a run's only repetition; empty if it is not known."""
    sources = measured_sources(directory)
    if not sources:
        return []
    outputs = read_outputs(directory, sources[0])
    series = [] if outputs is None else outputs.load.series
    return [(second.t_s, second.p50_us / 1e3) for second in series if second.requests and second.p50_us is not None]
