"""Checks of the load: that it was the one asked for, and that the latencies are those of the service."""

from __future__ import annotations

from lab.analysis.known import Known
from lab.analysis.percentiles import REPORTED, label, samples_needed, supported
from lab.manifest import Check, CheckOutcome, Measurement

RATE_SHORTFALL_MAX = 0.01
SEND_LAG_SHARE_MAX = 0.10
SEND_LAG_FLOOR_US = 100.0
ERROR_SHARE_WARN = 0.001
ERROR_SHARE_FAIL = 0.10
GENERATOR_CPU_SHARE_MAX = 0.90
RATE_SPREAD_MAX = 0.05
LATENCY_SPREAD_MAX = {"50": 0.25, "99": 0.50}


def is_saturated(measurement: Measurement) -> bool:
    """Say whether the offered rate was missed by more than the tolerance."""
    achieved, offered = measurement.rate_achieved_per_s, measurement.rate_offered_per_s
    return achieved is not None and offered > 0 and achieved < offered * (1 - RATE_SHORTFALL_MAX)


def schedule(known: Known) -> Check:
    """Ask whether the load generator kept its schedule, by its own verdict."""
    own = known.summary.kept_schedule
    if own is None:
        return Check(
            name="schedule", outcome="unknown", detail="the load generator does not say if it kept its schedule"
        )
    if not own.verdict:
        reasons = "; ".join(own.reasons) or "it gives no reason"
        if send_lag(known).outcome == "warn" and all("late" in reason for reason in own.reasons):
            return Check(name="schedule", outcome="note", detail="the load generator says the same of its send lag")
        return Check(name="schedule", outcome="warn", detail=f"the load generator did not keep its schedule: {reasons}")
    return Check(name="schedule", outcome="pass", detail="the load generator says that it kept its schedule")


def send_lag(known: Known) -> Check:
    """Compare the generator's own error with what it measured."""
    lag = known.summary.send_lag_us
    p99 = None if lag is None else lag.percentiles.get("99")
    if lag is not None and p99 is None and lag.count < known.summary.requests / 10:
        return Check(
            name="send lag",
            outcome="note",
            detail=f"only {lag.count:,} of {known.summary.requests:,} requests were due while their connection was "
            "free: the others waited for the service, not for the load generator",
        )
    if p99 is None:
        return Check(name="send lag", outcome="unknown", detail="the load generator does not report its send lag")
    gap_us = 1e6 / known.summary.rate_offered_per_s if known.summary.rate_offered_per_s else None
    p50_ms = known.summary.latency_ms.percentiles.get("50")
    if p50_ms and p99 > max(SEND_LAG_SHARE_MAX * p50_ms * 1e3, SEND_LAG_FLOOR_US):
        return Check(
            name="send lag",
            outcome="warn",
            detail=f"requests were sent late: p99 of the send lag is {_time(p99)}, {p99 / p50_ms / 1e3:.0%} of "
            f"the p50 latency ({_time(p50_ms * 1e3)}), so latencies hold delays of the load generator's own",
        )
    if p50_ms and p99 > SEND_LAG_SHARE_MAX * p50_ms * 1e3:
        return Check(
            name="send lag",
            outcome="note",
            detail=f"p99 of the send lag is {_time(p99)}, {p99 / p50_ms / 1e3:.0%} of the p50 latency "
            f"({_time(p50_ms * 1e3)}): the time that a kernel takes to wake a process, in every hundredth latency",
        )
    if gap_us and p99 > SEND_LAG_SHARE_MAX * gap_us:
        return Check(
            name="send lag",
            outcome="note",
            detail=f"p99 of the send lag is {_time(p99)}: small beside the latencies, but over 10% of the "
            f"{_time(gap_us)} between two requests, so sends bunched a little",
        )
    return Check(name="send lag", outcome="pass", detail=f"p99 of the send lag is {_time(p99)}")


def _time(us: float) -> str:
    amount, unit = (us, "µs") if us < 1e3 else (us / 1e3, "ms") if us < 1e6 else (us / 1e6, "s")
    return f"{amount:.3g} {unit}" if amount < 1000 else f"{amount:,.0f} {unit}"


def generator_cpu(known: Known) -> Check:
    """Ask whether the generator ran out of CPU."""
    shares = [share for r in known.summary.repetitions if (share := _generator_share(known, r)) is not None]
    if not shares:
        return Check(name="generator CPU", outcome="unknown", detail="the load generator's CPU time is not known")
    share = max(shares)
    if share > GENERATOR_CPU_SHARE_MAX:
        return Check(
            name="generator CPU",
            outcome="warn",
            detail=f"the load generator used {share:.0%} of its CPUs: it may have been the bottleneck",
        )
    return Check(name="generator CPU", outcome="pass", detail=f"the load generator used {share:.0%} of its CPUs")


def _generator_share(known: Known, repetition: Measurement) -> float | None:
    plan = known.manifest.environment.cpu_plan
    if repetition.generator_cpu_s is None or not repetition.elapsed_s or plan is None or not plan.loadgen:
        return None
    return repetition.generator_cpu_s / repetition.elapsed_s / len(plan.loadgen)


def errors(known: Known) -> Check:
    """Count what went wrong."""
    errors, requests = known.summary.errors, known.summary.requests
    if not errors.total:
        return Check(name="errors", outcome="pass", detail="no errors")
    kinds = ", ".join(f"{getattr(errors, kind):,} {word}" for kind, word in _ERROR_WORDS if getattr(errors, kind))
    share = errors.total / max(requests, 1)
    detail = f"{errors.total:,} errors in {requests:,} requests ({share:.2%}): {kinds}"
    outcome: CheckOutcome = "note"
    if share >= ERROR_SHARE_FAIL:
        outcome = "fail"
        detail += "; the latencies are in good part those of refusals"
    elif share >= ERROR_SHARE_WARN:
        outcome = "warn"
    return Check(name="errors", outcome=outcome, detail=detail)


_ERROR_WORDS = (
    ("connect", "connections failed"),
    ("read", "reads failed"),
    ("write", "writes failed"),
    ("timeout", "timed out"),
    ("status", "answers outside 2xx and 3xx"),
)


def samples(known: Known) -> Check:
    """Ask whether there are enough latencies for a p99."""
    count = known.summary.latency_ms.count
    if not supported(count, "99"):
        return Check(
            name="samples",
            outcome="warn",
            detail=f"{count:,} latencies are too few for a p99 (at least {samples_needed('99'):,})",
        )
    too_far = [label(p) for p in REPORTED if not supported(count, p)]
    missing = f", too few for {', '.join(too_far)}" if too_far else ""
    return Check(name="samples", outcome="pass", detail=f"{count:,} latencies{missing}")


def unfinished(known: Known) -> Check:
    """Count requests without an answer."""
    left = known.summary.unfinished
    if left is None:
        return Check(
            name="unfinished", outcome="unknown", detail="requests without an answer at the end are not reported"
        )
    if not left.count:
        return Check(name="unfinished", outcome="pass", detail="every request was answered")
    waited = f", the oldest after {left.oldest_us / 1e3:,.1f} ms" if left.oldest_us is not None else ""
    share = left.count / max(left.count + known.summary.requests, 1)
    detail = f"{left.count:,} requests had no answer when the load ended{waited}; they are not among the latencies"
    outcome: CheckOutcome = "warn" if share > RATE_SHORTFALL_MAX and not is_saturated(known.summary) else "note"
    return Check(name="unfinished", outcome=outcome, detail=detail)


def repetitions(known: Known) -> Check:
    """Ask whether the repetitions are complete and agree."""
    summary = known.summary
    wanted = known.manifest.experiment.resolved.get("repeat")
    if isinstance(wanted, int) and len(summary.repetitions) < wanted:
        return Check(
            name="repetitions", outcome="warn", detail=f"only {len(summary.repetitions)} of {wanted} repetitions"
        )
    if summary.agreement is None:
        return Check(
            name="repetitions",
            outcome="note",
            detail="one repetition: the spread between two starts of the service is not known",
        )
    spreads = summary.agreement.latency_spread
    far = [f"{label(p)} by {spreads[p]:.0%}" for p, limit in LATENCY_SPREAD_MAX.items() if spreads.get(p, 0.0) > limit]
    if (summary.agreement.rate_spread or 0.0) > RATE_SPREAD_MAX:
        far.insert(0, f"the achieved rate by {summary.agreement.rate_spread:.1%}")
    if far:
        return Check(name="repetitions", outcome="warn", detail=f"the repetitions lie apart: {', '.join(far)}")
    return Check(name="repetitions", outcome="pass", detail=f"{len(summary.repetitions)} repetitions agree")
