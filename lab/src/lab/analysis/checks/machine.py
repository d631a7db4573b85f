"""Checks of the machine, of the profile, and of the sources that the run was built from."""

from __future__ import annotations

from lab.analysis.checks.check_input import CheckInput
from lab.analysis.checks.conditions import writes
from lab.analysis.checks.load import is_saturated
from lab.kubernetes.cluster import cluster_of
from lab.manifest import Check

PROFILE_SAMPLES_MIN = 500
CLOCK_STEP_MAX_S = 0.2
CHANGED_SOURCE = "the source differs from commit"
"""Beginning of the finding about uncommitted changes."""
OTHERS_CPUS_P99, OTHERS_CPUS_P99_9 = 0.005, 0.0005
"""CPUs that other processes use on average: half of the share of requests that lie beyond the percentile."""
OTHERS_NAMED_MAX = 3
BESIDE = "beside the run"
"""Beginning of the finding about other processes."""


def cpu_plan(known: CheckInput) -> Check:
    """Check whether both sides had CPUs of their own."""
    plan = known.manifest.environment.cpu_plan
    if plan is None:
        return Check(name="CPU plan", outcome="unknown", detail="the CPU plan is not known", environment=True)
    if not plan.service or not plan.loadgen:
        return Check(
            name="CPU plan",
            outcome="warn",
            detail="service and load generator were not pinned to CPUs",
            environment=True,
        )
    if shared := sorted(set(plan.service) & set(plan.loadgen)):
        numbers = ", ".join(map(str, shared))
        return Check(
            name="CPU plan",
            outcome="warn",
            detail=f"service and load generator shared the CPUs {numbers}",
            environment=True,
        )
    if set(plan.other) & (set(plan.service) | set(plan.loadgen)):
        return Check(
            name="CPU plan",
            outcome="note",
            detail="service and load generator had CPUs of their own; monitoring shared those of one of them",
            environment=True,
        )
    return Check(
        name="CPU plan",
        outcome="pass",
        detail="service, load generator and the rest had CPUs of their own",
        environment=True,
    )


def other_processes(known: CheckInput) -> Check:
    """Name the processes that used CPUs beside the run, too little for a limit of one second and enough for a tail.

    A request that becomes due while another process has the service's CPU waits for it. If others have it for 1% of
    the time, 1% of the requests wait, and p99 may be the length of their time slices. Whether they ran on that CPU,
    and for how long at once, is not known; so the check informs, and an episode of load is left to the check of other
    load.
    """
    name, others = "other processes", known.conditions.others
    if others is None:
        return Check(name=name, outcome="unknown", detail="other processes were not observed", environment=True)
    total = sum(others.values())
    if total < OTHERS_CPUS_P99_9:
        detail = f"others used {total:.2%} of a CPU"
        return Check(name=name, outcome="pass", detail=detail, environment=True)
    largest = list(others.items())[:OTHERS_NAMED_MAX]
    names = ", ".join(f"{process} {share:.2%}" for process, share in largest)
    percentile = "p99" if total >= OTHERS_CPUS_P99 else "p99.9"
    detail = f"other processes used {total:.2%} of a CPU ({names}): {percentile} may be caused by them"
    if percentile == "p99":
        detail = f"{BESIDE}, {detail}"
    return Check(name=name, outcome="note", detail=detail, environment=True)


def clock(known: CheckInput) -> Check:
    """Look for a jump of the wall clock, by which rows of evidence and seconds of load are matched."""
    step_s = known.conditions.clock_step_s
    if step_s is None:
        return Check(name="clock", outcome="unknown", detail="the clock was not observed", environment=True)
    if step_s > CLOCK_STEP_MAX_S:
        detail = f"the wall clock was set by {step_s:.1f} s during the run: evidence and load cannot be matched"
        return Check(name="clock", outcome="warn", detail=detail, environment=True)
    return Check(name="clock", outcome="pass", detail="the wall clock was not set", environment=True)


def background_work(known: CheckInput) -> Check:
    """Check whether the store was at rest when a read-only load was measured from its first second on."""
    name, found = "background work", known.conditions.compacted_at_start
    if found is None:
        return Check(name=name, outcome="unknown", detail="flushes and compactions were not observed")
    if not found:
        return Check(name=name, outcome="pass", detail="no flush or compaction in the first seconds")
    detail = f"flush or compaction was running when repetition {', '.join(map(str, found))} began"
    return Check(name=name, outcome="note" if writes(known.manifest) else "warn", detail=detail)


def loopback(known: CheckInput) -> Check:
    """State where the cost of the network is counted."""
    if known.manifest.runtime == "local":
        return Check(
            name="network",
            outcome="note",
            detail="the network is loopback: its cost lands on the CPUs of both sides",
        )
    if (cluster := cluster_of(known.manifest.environment)) is not None:
        return cluster.network_check()
    return Check(
        name="network",
        outcome="note",
        detail="the network is a virtual one on this machine: its cost lands on the CPUs of both sides",
    )


def native_transport(known: CheckInput) -> Check:
    """State which transport the service used."""
    native = known.manifest.environment.native_transport
    if native is None:
        lacks = known.manifest.experiment.resolved.service.lacks
        if lacks:
            what = " and ".join(lacks)
            return Check(name="transport", outcome="note", detail=f"the service is measured as it is, without {what}")
        return Check(name="transport", outcome="unknown", detail="the service's transport is not known")
    if not native:
        return Check(
            name="transport", outcome="note", detail="one-nio ran on Java NIO, not on its native epoll transport"
        )
    return Check(name="transport", outcome="pass", detail="one-nio's native epoll transport")


def profile_engine(known: CheckInput) -> Check:
    """State which samples the profile is based on."""
    engine = known.manifest.environment.profiling_engine
    if known.summary.profiled is None:
        skipped = [phase.detail for phase in known.manifest.phases if phase.name == "profile" and phase.detail]
        return Check(name="profile", outcome="note", detail=": ".join(["no repetition was profiled", *skipped[:1]]))
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
            detail="the CPU profile was sampled by ctimer: at most one sample per kernel tick, no kernel frames; "
            "do not compare it with one of perf_events. Latencies do not depend on it",
        )
    return Check(name="profile", outcome="pass", detail=f"profiled by {engine}")


def profiled_rate(known: CheckInput) -> Check:
    """Check whether the profiled repetition was like the others."""
    profiled = known.summary.profiled
    if profiled is None or profiled.rate_achieved_per_s is None:
        return Check(name="profiled rate", outcome="unknown", detail="the profiled repetition's rate is not known")
    rates = f"{profiled.rate_achieved_per_s:,.0f} of {profiled.rate_offered_per_s:,.0f} requests/s"
    if is_saturated(profiled) and not is_saturated(known.summary):
        return Check(
            name="profiled rate",
            outcome="note",
            detail=f"while profiled only {rates}: the service was overloaded while it was profiled, and only "
            "then, so the latencies are not affected",
        )
    return Check(name="profiled rate", outcome="pass", detail=f"while profiled {rates}")


def source(known: CheckInput) -> Check:
    """Check whether the sources are those of a commit."""
    git = known.manifest.environment.git
    if git is None:
        return Check(name="source", outcome="unknown", detail="the commit of the lab is not known")
    if git.dirty:
        return Check(
            name="source",
            outcome="note",
            detail=f"{CHANGED_SOURCE} {git.commit[:12]}: the result cannot be made again from it alone",
        )
    return Check(name="source", outcome="pass", detail=f"commit {git.commit[:12]}, nothing changed")
