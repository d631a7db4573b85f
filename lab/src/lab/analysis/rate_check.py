"""Whether the offered rate was reached; where it was not, whose limit that was."""

from __future__ import annotations

from lab.analysis import load_checks, machine_checks
from lab.analysis.known import Known
from lab.manifest import Check, Measurement

BACKLOG_SHARE_MIN = 0.25

SATURATED = "offered rate not reached"
"""How the finding of a saturated service begins."""


def rate(known: Known) -> Check:
    """Compare the achieved rate with the offered one, and say whose limit it was."""
    summary = known.summary
    if summary.rate_achieved_per_s is None:
        return Check(name="rate", outcome="unknown", detail="the achieved rate is not known")
    offered, achieved = summary.rate_offered_per_s, summary.rate_achieved_per_s
    rates = f"{achieved:,.0f} of {offered:,.0f} requests/s"
    if achieved > offered * (1 + load_checks.RATE_SHORTFALL_MAX):
        return Check(name="rate", outcome="warn", detail=f"more was sent than offered: {rates}")
    if not any(load_checks.is_saturated(r) for r in summary.repetitions):
        return Check(name="rate", outcome="pass", detail=f"offered rate reached: {rates}")
    if not any(load_checks.is_saturated(r) and _has_backlog(r) for r in summary.repetitions):
        return Check(
            name="rate",
            outcome="warn",
            detail=f"{SATURATED}: {rates}. The service kept up for most of the time and fell behind at the end; the "
            "requests that still waited then are not among the latencies",
        )
    doubts = _doubts(known)
    if not doubts:
        return Check(
            name="rate",
            outcome="note",
            detail=f"{SATURATED}: {rates}. The service is saturated and the load generator was not the limit: the "
            "achieved rate is its capacity under this load; latency is dominated by the backlog and grows with the "
            "length of the run, so do not read it as the latency of an unsaturated service",
        )
    return Check(
        name="rate",
        outcome="warn",
        detail=f"{SATURATED}: {rates}. It is not certain that this was the service's limit ({', '.join(doubts)}); "
        "latency is dominated by the backlog and grows with the length of the run",
    )


def _doubts(known: Known) -> list[str]:
    """Name the checks that leave open whose limit was reached: the generator's not passed, the machine's warning."""
    generator = (load_checks.schedule(known), load_checks.send_lag(known), load_checks.generator_cpu(known))
    machine = (machine_checks.cpu_plan(known), machine_checks.steal(known), machine_checks.other_load(known))
    return [check.name for check in generator if check.outcome not in ("pass", "note")] + [
        check.name for check in machine if check.outcome in ("warn", "fail")
    ]


def _has_backlog(measurement: Measurement) -> bool:
    """Say whether latencies are those of a backlog that grew all the time.

    A steady shortfall s over T seconds makes requests wait from 0 to s·T, s·T÷2 in the mean. A service that kept up
    and stalled at the end misses the rate as well, with a mean far below that.
    """
    achieved, mean_ms = measurement.rate_achieved_per_s, measurement.latency_ms.mean
    if achieved is None or mean_ms is None or not measurement.elapsed_s:
        return True
    shortfall = 1 - achieved / measurement.rate_offered_per_s
    return mean_ms / 1e3 >= BACKLOG_SHARE_MIN * shortfall * measurement.elapsed_s
