"""Checks of the load generator: whether it caused part of the latencies, and whether it could apply the load.

The load generator reports each latency as it was and *net*, without its own delays. A percentile is *moved* if the two
differ by more than 10% and by more than 100 µs. A constant offset below that, a kernel's wake-up, is only stated.
"""

from __future__ import annotations

from lab.analysis.checks import load
from lab.analysis.checks.check_input import CheckInput
from lab.analysis.percentiles import label
from lab.manifest import Check, Measurement, Summary
from lab.units import format_duration

MOVED_SHARE = 0.10
MOVED_MS = 0.1
OFFSET_MIN_MS = 0.01
STOP_SHARE_VISIBLE = 0.001
"""A stop of this share of the run shows in p99.9."""
CPU_SHARE_MAX = 0.90
JUDGED = ("50", "99")
UNKNOWN_ERROR = "the load generator's own error is unknown"
"""Beginning of the finding for any generator but the lab's own."""


def moved_ms(measurement: Measurement, percentile: str) -> float | None:
    """Return by how much the generator moved a percentile; None if it did not, or reports nothing about it."""
    pair = _gross_and_net_ms(measurement, percentile)
    if pair is None:
        return None
    moved = pair[0] - pair[1]
    return moved if moved > MOVED_MS and moved > MOVED_SHARE * pair[1] else None


def _gross_and_net_ms(measurement: Measurement, percentile: str) -> tuple[float, float] | None:
    """Return a percentile of the answered requests with and without the generator's delays; None if one is unknown."""
    gross, net = measurement.answered_ms or measurement.latency_ms, measurement.net_latency_ms
    if net is None or percentile not in net.percentiles or percentile not in gross.percentiles:
        return None
    return gross.percentiles[percentile], net.percentiles[percentile]


def own_error(known: CheckInput) -> Check:
    """Check which percentiles the generator moved, and whether one of its stops shows in the tail."""
    name = "generator's error"
    repetitions = known.summary.repetitions
    if any(r.net_latency_ms is None for r in repetitions):
        detail = f"{UNKNOWN_ERROR}: it does not report it. {_beside_the_labs_own(known.summary)}"
        return Check(name=name, outcome="unknown", detail=detail)
    reasons = [reason for r in repetitions for reason in _reasons(r, several=len(repetitions) > 1)]
    if reasons:
        return Check(name=name, outcome="warn", detail="; ".join(reasons))
    offset_ms = max((_difference_ms(r, "50") for r in repetitions), default=0.0)
    moved = [p for p in ("99.9", "99.99", "99.999", "100") if any(moved_ms(r, p) is not None for r in repetitions)]
    parts = [f"it adds {format_duration(offset_ms / 1e3)} to the median" if offset_ms >= OFFSET_MIN_MS else ""]
    parts.append(f"it moved {', '.join(label(p) for p in moved)}: see the net values" if moved else "")
    detail = "; ".join(part for part in parts if part) or "it moved no percentile"
    return Check(name=name, outcome="note" if moved else "pass", detail=f"the load generator: {detail}")


def _beside_the_labs_own(summary: Summary) -> str:
    """Say what the lab's own load generator measured at the same load, beside the other one."""
    own = summary.reference_generator
    pairs = [
        f"{label(p)} {format_duration(own.headline_ms.percentiles[p] / 1e3)} against "
        f"{format_duration(summary.headline_ms.percentiles[p] / 1e3)}"
        for p in JUDGED
        if own is not None and p in own.headline_ms.percentiles and p in summary.headline_ms.percentiles
    ]
    if not pairs:
        return "A run with the lab's own at the same load shows its size"
    return f"The lab's own, in one more repetition at the same load, shows its size: {', '.join(pairs)}"


def _reasons(r: Measurement, *, several: bool) -> list[str]:
    where = f" of {r.source}" if several else ""
    reasons = []
    for percentile in JUDGED:
        pair = _gross_and_net_ms(r, percentile)
        if pair is not None and moved_ms(r, percentile) is not None:
            gross, net = pair
            reasons.append(
                f"the load generator moved {label(percentile)}{where}: it is {format_duration(gross / 1e3)}, and "
                f"{format_duration(net / 1e3)} without the generator's own delays"
            )
    stop = max(r.generator_stops, key=lambda stop: stop.length_us, default=None)
    long = stop is not None and r.elapsed_s and stop.length_us / 1e6 >= STOP_SHARE_VISIBLE * r.elapsed_s
    if stop is not None and long and any(moved_ms(r, p) is not None for p in ("99", "99.9")):
        reasons.append(
            f"the load generator stood still for {format_duration(stop.length_us / 1e6)} in second "
            f"{int(stop.at_s)}{where}, which shows in the tail"
        )
    return reasons


def _difference_ms(r: Measurement, percentile: str) -> float:
    pair = _gross_and_net_ms(r, percentile)
    return 0.0 if pair is None else pair[0] - pair[1]


def schedule(known: CheckInput) -> Check:
    """Check whether the load generator kept its schedule, by its own verdict."""
    own, failure = known.summary.kept_schedule, known.summary.failure
    if failure:
        return Check(name="schedule", outcome="fail", detail=f"the load generator failed: {failure}")
    if late := _missed_start(known.summary):
        return Check(name="schedule", outcome="fail", detail=late)
    if own is None:
        return Check(
            name="schedule", outcome="unknown", detail="the load generator does not say if it kept its schedule"
        )
    if own.verdict:
        return Check(name="schedule", outcome="pass", detail="the load generator says that it kept its schedule")
    if own_error(known).outcome == "warn":
        return Check(name="schedule", outcome="note", detail="the load generator did not keep its schedule either")
    reasons = "; ".join(own.reasons) or "it gives no reason"
    return Check(name="schedule", outcome="warn", detail=f"the load generator did not keep its schedule: {reasons}")


def _missed_start(summary: Summary) -> str:
    """Name the generator that missed the common start by most; empty if none missed it."""
    missed = [
        (part.start_missed_by_us, part.part, r.source)
        for r in summary.repetitions
        for part in r.generators
        if part.start_missed_by_us
    ]
    if not missed:
        return ""
    late_us, part, source = max(missed)
    where = f" of {source}" if len(summary.repetitions) > 1 else ""
    return (
        f"generator {part} missed the common start{where} by {format_duration(late_us / 1e6)}, so the load was not the "
        "one asked for: are the nodes' clocks synchronised?"
    )


def cpu(known: CheckInput) -> Check:
    """Check whether the generator ran out of CPU, by its busiest thread: one thread can use one CPU at most.

    A busy generator that moved neither judged percentile and applied the whole load was no bottleneck.
    """
    name = "generator CPU"
    shares = [share for r in known.summary.repetitions if (share := _busiest_share(known, r)) is not None]
    if not shares:
        return Check(name=name, outcome="unknown", detail="the load generator's CPU time is not known")
    share = max(shares)
    detail = f"the load generator's busiest thread used {share:.0%} of a CPU"
    if share > CPU_SHARE_MAX:
        applied = not any(load.is_saturated(r) for r in known.summary.repetitions)
        if applied and own_error(known).outcome in ("pass", "note"):
            return Check(name=name, outcome="note", detail=f"{detail}, but its delays moved neither p50 nor p99")
        return Check(name=name, outcome="warn", detail=f"{detail}: it may have been the bottleneck")
    return Check(name=name, outcome="pass", detail=detail)


def _busiest_share(known: CheckInput, r: Measurement) -> float | None:
    if r.busiest_loop_share is not None:
        return r.busiest_loop_share
    plan = known.manifest.environment.cpu_plan
    if r.generator_cpu_s is None or not r.elapsed_s or plan is None or not plan.loadgen:
        return None
    threads = max((window.threads or 1 for window in known.conditions.windows), default=1)
    return r.generator_cpu_s / r.elapsed_s / min(threads, len(plan.loadgen))
