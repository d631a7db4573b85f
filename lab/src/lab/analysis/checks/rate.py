"""Checks whether the offered rate was reached and, if not, which side was at its limit."""

from __future__ import annotations

from lab.analysis.checks import generator, load, machine, seconds, steady
from lab.analysis.checks.check_input import CheckInput
from lab.kubernetes.cluster import cluster_of
from lab.manifest import Check, Measurement, Summary

BACKLOG_SHARE_MIN = 0.25

SATURATED = "offered rate not reached"
"""Beginning of the finding about a saturated service."""


def rate(known: CheckInput) -> Check:
    """Compare the achieved rate with the offered one, and say which side was at its limit."""
    summary = known.summary
    if summary.rate_achieved_per_s is None:
        return Check(name="rate", outcome="unknown", detail="the achieved rate is not known")
    offered, achieved = summary.rate_offered_per_s, summary.rate_achieved_per_s
    rates = _rates(summary)
    if achieved > offered * (1 + load.RATE_SHORTFALL_MAX):
        return Check(name="rate", outcome="warn", detail=f"more was sent than offered: {rates}")
    if not any(load.is_saturated(r) for r in summary.repetitions):
        return _moments(known, rates)
    if not any(load.is_saturated(r) and _has_backlog(r) for r in summary.repetitions):
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


def _moments(known: CheckInput, rates: str) -> Check:
    """Check whether the rate, reached on average, was reached at every moment."""
    windows = [window for window in known.conditions.windows if window.seconds]
    short = [(window.repetition, second) for window in windows for second in steady.short_seconds(window)]
    if not windows:
        detail = f"offered rate reached on average: {rates}; by the second it is not known"
        return Check(name="rate", outcome="unknown", detail=detail)
    if not short:
        detail = f"offered rate reached, at every moment: {rates}"
        return Check(name="rate", outcome="pass", detail=detail)
    repetition, worst = min(short, key=lambda item: item[1].requests / max(item[1].due or 1, 1))
    of = f" of repetition {repetition}" if len(windows) > 1 else ""
    return Check(
        name="rate",
        outcome="note",
        detail=f"{NOT_AT_EVERY_MOMENT}: {rates}. In {len(short)} seconds fewer were answered than were due, in second "
        f"{worst.t_s:.0f}{of} {worst.requests:,} of {worst.due:,}",
    )


NOT_AT_EVERY_MOMENT = "offered rate reached on average, not at every moment"
"""Beginning of the finding about a service that fell behind and caught up."""


def _rates(summary: Summary) -> str:
    """Return the rates behind the verdict: the total, or those of repetitions that missed the offered rate."""
    short = [r for r in summary.repetitions if load.is_saturated(r)]
    offered, times = summary.rate_offered_per_s, len(summary.repetitions)
    if not short or times == 1:
        return f"{summary.rate_achieved_per_s or 0:,.0f} of {offered:,.0f} requests/s"
    each = ", ".join(f"{r.rate_achieved_per_s or 0:,.0f} (repetition {r.source.rpartition('/')[2]})" for r in short)
    return f"in {len(short)} of {times} repetitions, {each} of {offered:,.0f} requests/s"


def _doubts(known: CheckInput) -> list[str]:
    """Name the checks that leave open which side was at its limit."""
    of_generator = (generator.schedule(known), generator.own_error(known), generator.cpu(known))
    if (cluster := cluster_of(known.manifest.environment)) is not None:
        of_machine = cluster.checks(known.longest_s)
    else:
        of_cpus = (machine.cpu_plan, seconds.steal, seconds.foreign_use, seconds.throttling)
        of_disks = (seconds.memory, seconds.page_cache, seconds.foreign_disk)
        of_machine = [look(known) for look in (*of_cpus, *of_disks)]
    of_machine.append(steady.steady(known))
    return [check.name for check in of_generator if check.outcome not in ("pass", "note")] + [
        check.name for check in of_machine if check.outcome in ("warn", "fail")
    ]


def _has_backlog(measurement: Measurement) -> bool:
    """Return whether latencies are those of a backlog that grew all the time.

    A steady shortfall s over T seconds makes requests wait from 0 to s·T, with a mean of s·T÷2. A service that kept up
    and stalled at the end misses the rate as well, but with a far lower mean.
    """
    achieved, mean_ms = measurement.rate_achieved_per_s, measurement.latency_ms.mean
    if achieved is None or mean_ms is None or not measurement.elapsed_s:
        return True
    shortfall = 1 - achieved / measurement.rate_offered_per_s
    return mean_ms / 1e3 >= BACKLOG_SHARE_MIN * shortfall * measurement.elapsed_s
