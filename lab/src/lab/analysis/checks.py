"""The verdict: which checks a run passed, and what follows for its figures. docs/method.md gives the reasons.

Each check is a function from what is known of a run to a ``Check``. ``note`` informs, ``warn`` makes the run
*suspect*, ``fail`` makes it *invalid*, ``unknown`` says that the check could not be made. The list at the end is the
order in which a report shows them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab.analysis import conditions
from lab.analysis.conditions import Conditions
from lab.analysis.percentiles import REPORTED, label, samples_needed, supported
from lab.manifest import Check, CheckOutcome, Manifest, Measurement, Summary, Validity

RATE_SHORTFALL_MAX = 0.01
SEND_LAG_SHARE_MAX = 0.10
ERROR_SHARE_WARN = 0.001
ERROR_SHARE_FAIL = 0.10
GENERATOR_CPU_SHARE_MAX = 0.90
STEAL_SHARE_WARN = 0.01
STEAL_SHARE_FAIL = 0.10
OTHER_LOAD_SHARE_MAX = 0.10
PRESSURE_SHARE_MAX = 0.10
RATE_SPREAD_MAX = 0.05
LATENCY_SPREAD_MAX = {"50": 0.25, "99": 0.50}
PROFILE_SAMPLES_MIN = 500

SATURATED = "offered rate not reached"
"""How the finding of a saturated service begins."""


@dataclass(frozen=True)
class Known:
    """What the checks look at."""

    manifest: Manifest
    summary: Summary
    conditions: Conditions


def judge(run_dir: Path, manifest: Manifest) -> Validity:
    """Judge the run in ``run_dir``, whose ``manifest`` has its summary. Reads ``timeline.csv`` and ``profile/``.

    A manifest without a summary is an invalid run: nothing was measured.
    """
    if manifest.summary is None:
        detail = _phase_trouble(manifest) or "the load generator left no report"
        check = Check(name="measured", outcome="fail", detail=f"nothing was measured: {detail}")
        return Validity(state="invalid", reasons=[check.detail], checks=[check])
    known = Known(manifest, manifest.summary, conditions.observe(run_dir, manifest))
    checks = [check(known) for check in CHECKS]
    failed = [check.detail for check in checks if check.outcome == "fail"]
    warned = [check.detail for check in checks if check.outcome == "warn"]
    return Validity(
        state="invalid" if failed else "suspect" if warned else "valid",
        reasons=failed + warned,
        findings=[check.detail for check in checks if check.outcome == "note" and check.detail.startswith(SATURATED)],
        checks=checks,
    )


def is_saturated(measurement: Measurement) -> bool:
    """Say whether the offered rate was missed by more than the tolerance."""
    achieved, offered = measurement.rate_achieved_per_s, measurement.rate_offered_per_s
    return achieved is not None and offered > 0 and achieved < offered * (1 - RATE_SHORTFALL_MAX)


# The run as a whole.


def _completed(known: Known) -> Check:
    trouble = _phase_trouble(known.manifest)
    if trouble is None:
        return Check(name="phases", outcome="pass", detail="every phase ended well")
    return Check(name="phases", outcome="fail", detail=trouble)


def _phase_trouble(manifest: Manifest) -> str | None:
    for phase in manifest.phases:
        if phase.outcome in ("failed", "interrupted"):
            number = f" {phase.repetition}" if phase.repetition is not None else ""
            detail = f": {phase.detail}" if phase.detail else ""
            was = "failed" if phase.outcome == "failed" else "was interrupted"
            return f"the phase {phase.name}{number} {was}{detail}"
    return None


def _outputs(known: Known) -> Check:
    problems = [*known.summary.problems, *(known.summary.profiled.problems if known.summary.profiled else [])]
    if known.conditions.timeline_problem:
        problems.append(known.conditions.timeline_problem)
    if problems:
        return Check(name="outputs", outcome="warn", detail="outputs are damaged: " + "; ".join(problems))
    if known.summary.lacks:
        lacks = ", ".join(known.summary.lacks)
        return Check(name="outputs", outcome="note", detail=f"the load generator does not write {lacks}")
    return Check(name="outputs", outcome="pass", detail="all outputs are there and agree with each other")


# The load.


def _schedule(known: Known) -> Check:
    schedule = known.summary.kept_schedule
    if schedule is None:
        return Check(
            name="schedule", outcome="unknown", detail="the load generator does not say if it kept its schedule"
        )
    if not schedule.verdict:
        reasons = "; ".join(schedule.reasons) or "it gives no reason"
        if _send_lag(known).outcome == "warn" and all("late" in reason for reason in schedule.reasons):
            return Check(name="schedule", outcome="note", detail="the load generator says the same of its send lag")
        return Check(name="schedule", outcome="warn", detail=f"the load generator did not keep its schedule: {reasons}")
    return Check(name="schedule", outcome="pass", detail="the load generator says that it kept its schedule")


def _send_lag(known: Known) -> Check:
    lag = known.summary.send_lag_us
    p99 = None if lag is None else lag.percentiles.get("99")
    if p99 is None:
        return Check(name="send lag", outcome="unknown", detail="the load generator does not report its send lag")
    gap_us = 1e6 / known.summary.rate_offered_per_s if known.summary.rate_offered_per_s else None
    p50_ms = known.summary.latency_ms.percentiles.get("50")
    if p50_ms and p99 > SEND_LAG_SHARE_MAX * p50_ms * 1e3:
        return Check(
            name="send lag",
            outcome="warn",
            detail=f"requests were sent late: p99 of the send lag is {_time(p99)}, {p99 / p50_ms / 1e3:.0%} of "
            f"the p50 latency ({_time(p50_ms * 1e3)}), so latencies hold delays of the load generator's own",
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


def _generator_cpu(known: Known) -> Check:
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


def _rate(known: Known) -> Check:
    summary = known.summary
    if summary.rate_achieved_per_s is None:
        return Check(name="rate", outcome="unknown", detail="the achieved rate is not known")
    offered, achieved = summary.rate_offered_per_s, summary.rate_achieved_per_s
    rates = f"{achieved:,.0f} of {offered:,.0f} requests/s"
    if achieved > offered * (1 + RATE_SHORTFALL_MAX):
        return Check(name="rate", outcome="warn", detail=f"more was sent than offered: {rates}")
    if not any(is_saturated(r) for r in summary.repetitions):
        return Check(name="rate", outcome="pass", detail=f"offered rate reached: {rates}")
    generator = (_schedule(known), _send_lag(known), _generator_cpu(known))
    cleared = all(check.outcome in ("pass", "note") for check in generator)
    if cleared:
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
        detail=f"{SATURATED}: {rates}, and it is not certain that the service was the limit, not the load generator; "
        "latency is dominated by the backlog and grows with the length of the run",
    )


def _errors(known: Known) -> Check:
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


def _samples(known: Known) -> Check:
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


def _unfinished(known: Known) -> Check:
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


def _repetitions(known: Known) -> Check:
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


# The machine.


def _cpu_plan(known: Known) -> Check:
    plan = known.manifest.environment.cpu_plan
    if plan is None:
        return Check(name="CPU plan", outcome="unknown", detail="the CPU plan is not known")
    if not plan.service or not plan.loadgen:
        return Check(name="CPU plan", outcome="warn", detail="service and load generator were not pinned to CPUs")
    if shared := sorted(set(plan.service) & set(plan.loadgen)):
        numbers = ", ".join(map(str, shared))
        return Check(name="CPU plan", outcome="warn", detail=f"service and load generator shared the CPUs {numbers}")
    if set(plan.other) & (set(plan.service) | set(plan.loadgen)):
        return Check(
            name="CPU plan",
            outcome="note",
            detail="service and load generator had CPUs of their own; monitoring shared those of one of them",
        )
    return Check(name="CPU plan", outcome="pass", detail="service, load generator and the rest had CPUs of their own")


def _steal(known: Known) -> Check:
    share = known.conditions.steal_share
    if share is None:
        return Check(name="steal", outcome="unknown", detail="steal time was not observed")
    outcome: CheckOutcome = "fail" if share > STEAL_SHARE_FAIL else "warn" if share > STEAL_SHARE_WARN else "pass"
    taken = "the hypervisor took" if outcome != "pass" else "steal time:"
    return Check(name="steal", outcome=outcome, detail=f"{taken} {share:.2%} of CPU time while measuring")


def _other_load(known: Known) -> Check:
    share = known.conditions.other_load_share
    if share is None:
        return Check(name="other load", outcome="unknown", detail="the CPU time of other processes was not observed")
    if share > OTHER_LOAD_SHARE_MAX:
        return Check(
            name="other load",
            outcome="warn",
            detail=f"other processes used {share:.0%} of the machine's CPU time while measuring",
        )
    return Check(name="other load", outcome="pass", detail=f"other processes used {share:.1%} of CPU time")


def _memory(known: Known) -> Check:
    share = known.conditions.memory_pressure_share
    if share is None:
        return Check(name="memory pressure", outcome="unknown", detail="memory pressure was not observed")
    outcome: CheckOutcome = "warn" if share > PRESSURE_SHARE_MAX else "pass"
    return Check(name="memory pressure", outcome=outcome, detail=f"processes waited for memory {share:.1%} of the time")


def _loopback(known: Known) -> Check:
    if known.manifest.runtime == "local":
        return Check(
            name="network",
            outcome="note",
            detail="the network is loopback: its cost lands on the CPUs of both sides",
        )
    return Check(
        name="network",
        outcome="note",
        detail="the network is a virtual one on this machine: its cost lands on the CPUs of both sides",
    )


def _native_transport(known: Known) -> Check:
    native = known.manifest.environment.native_transport
    if native is None:
        return Check(name="transport", outcome="unknown", detail="the service's transport is not known")
    if not native:
        return Check(
            name="transport", outcome="note", detail="one-nio ran on Java NIO, not on its native epoll transport"
        )
    return Check(name="transport", outcome="pass", detail="one-nio's native epoll transport")


# The profile.


def _profile_engine(known: Known) -> Check:
    engine = known.manifest.environment.profiling_engine
    if known.summary.profiled is None:
        return Check(name="profile", outcome="note", detail="no repetition was profiled")
    samples = known.conditions.cpu_samples
    if samples is not None and samples < PROFILE_SAMPLES_MIN:
        return Check(
            name="profile",
            outcome="note",
            detail=f"the CPU profile rests on {samples:,} samples: shares under {100 / max(samples, 1) ** 0.5:.0f}% "
            "are noise",
        )
    if engine is None:
        return Check(name="profile", outcome="unknown", detail="the profiling engine is not known")
    if engine == "ctimer":
        return Check(
            name="profile",
            outcome="note",
            detail="the CPU profile was sampled by ctimer: one sample a jiffy at most, no kernel frames; "
            "do not compare it with one of perf_events. Latencies do not depend on it",
        )
    return Check(name="profile", outcome="pass", detail=f"profiled by {engine}")


def _profiled_rate(known: Known) -> Check:
    profiled = known.summary.profiled
    if profiled is None or profiled.rate_achieved_per_s is None:
        return Check(name="profiled rate", outcome="unknown", detail="the profiled repetition's rate is not known")
    rates = f"{profiled.rate_achieved_per_s:,.0f} of {profiled.rate_offered_per_s:,.0f} requests/s"
    if is_saturated(profiled) and not is_saturated(known.summary):
        return Check(
            name="profiled rate",
            outcome="note",
            detail=f"while profiled only {rates}: the profile is one of an overloaded service, the latencies are not",
        )
    return Check(name="profiled rate", outcome="pass", detail=f"while profiled {rates}")


def _source(known: Known) -> Check:
    git = known.manifest.environment.git
    if git is None:
        return Check(name="source", outcome="unknown", detail="the commit of the lab is not known")
    if git.dirty:
        return Check(
            name="source",
            outcome="note",
            detail=f"the source differs from commit {git.commit[:12]}: the result cannot be made again from it alone",
        )
    return Check(name="source", outcome="pass", detail=f"commit {git.commit[:12]}, nothing changed")


CHECKS: tuple[Callable[[Known], Check], ...] = (
    _completed,
    _outputs,
    _rate,
    _errors,
    _schedule,
    _send_lag,
    _generator_cpu,
    _samples,
    _unfinished,
    _repetitions,
    _cpu_plan,
    _steal,
    _other_load,
    _memory,
    _loopback,
    _native_transport,
    _profile_engine,
    _profiled_rate,
    _source,
)
