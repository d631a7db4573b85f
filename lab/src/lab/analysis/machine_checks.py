"""Checks of the machine, of the profile, and of what the run was made from."""

from __future__ import annotations

from lab.analysis.known import Known
from lab.analysis.load_checks import is_saturated
from lab.manifest import Check, CheckOutcome

STEAL_SHARE_WARN = 0.01
STEAL_SHARE_FAIL = 0.10
OTHER_LOAD_SHARE_MAX = 0.10
PRESSURE_SHARE_MAX = 0.10
PROFILE_SAMPLES_MIN = 500


def cpu_plan(known: Known) -> Check:
    """Ask whether both sides had CPUs of their own."""
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


def steal(known: Known) -> Check:
    """Look for time that the hypervisor took."""
    share = known.conditions.steal_share
    if share is None:
        return Check(name="steal", outcome="unknown", detail="steal time was not observed")
    outcome: CheckOutcome = "fail" if share > STEAL_SHARE_FAIL else "warn" if share > STEAL_SHARE_WARN else "pass"
    taken = "the hypervisor took" if outcome != "pass" else "steal time:"
    return Check(name="steal", outcome=outcome, detail=f"{taken} {share:.2%} of CPU time while measuring")


def other_load(known: Known) -> Check:
    """Look for CPU time of other processes."""
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


def memory(known: Known) -> Check:
    """Look for processes that waited for memory."""
    share = known.conditions.memory_pressure_share
    if share is None:
        return Check(name="memory pressure", outcome="unknown", detail="memory pressure was not observed")
    outcome: CheckOutcome = "warn" if share > PRESSURE_SHARE_MAX else "pass"
    return Check(name="memory pressure", outcome=outcome, detail=f"processes waited for memory {share:.1%} of the time")


def loopback(known: Known) -> Check:
    """Say where the cost of the network lies."""
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


def native_transport(known: Known) -> Check:
    """Say which transport the service ran on."""
    native = known.manifest.environment.native_transport
    if native is None:
        return Check(name="transport", outcome="unknown", detail="the service's transport is not known")
    if not native:
        return Check(
            name="transport", outcome="note", detail="one-nio ran on Java NIO, not on its native epoll transport"
        )
    return Check(name="transport", outcome="pass", detail="one-nio's native epoll transport")


def profile_engine(known: Known) -> Check:
    """Say what the profile rests on."""
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


def profiled_rate(known: Known) -> Check:
    """Ask whether the profiled repetition was like the others."""
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


def source(known: Known) -> Check:
    """Ask whether the source is that of a commit."""
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
