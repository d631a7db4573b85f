"""Checks of the machine by the second, on the CPUs that service and load generator are pinned to.

A second is *bad* if a quantity is over its limit. Successive bad seconds are an episode; the longest one is named, with
its effect on the latencies of its seconds. Latencies never decide the outcome: a comparison excludes runs for their
environment alone, because excluding them for their latencies would bias it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from lab.analysis.checks.check_input import CheckInput
from lab.analysis.checks.conditions import ROLES, Window, waits_for_disk, writes
from lab.analysis.episode import COVERAGE_MIN, BadSeconds, Episode, Track, episodes, find
from lab.manifest import Check, CheckOutcome
from lab.units import format_duration

FOREIGN_CPUS_MAX = 0.15
STEAL_CPUS_MAX = 0.05
GENERATOR_RUN_DELAY_MAX = 0.10
MEMORY_STALL_MAX = 0.10
FOREIGN_DISK_MAX = 0.25
UNCACHED_READS_MAX = 0.10
THROTTLED_MAX = 0.01
"""Limits of one second, in CPUs or as a share of time."""
DISTURBANCES = {
    **{f"foreign {role}": FOREIGN_CPUS_MAX for role in ROLES},
    **{f"steal {role}": STEAL_CPUS_MAX for role in ROLES},
    **{f"throttled {role}": THROTTLED_MAX for role in ROLES},
    "memory": MEMORY_STALL_MAX,
    "foreign disk": FOREIGN_DISK_MAX,
    "uncached reads": UNCACHED_READS_MAX,
}
"""The limits of the quantities that disturb a run from outside, by their names in `Conditions.tracks`."""

LOST_S_WARN = 0.30
"""CPU seconds, or seconds, that the longest episode may lose before the run is suspect."""
BAD_SHARE_WARN = 0.10
BAD_SHARE_FAIL = 0.50
"""The share of seconds that may be bad before the run is suspect, and before it is invalid."""

NAMES = {"service": "the service", "loadgen": "the load generator"}


def foreign_use(known: CheckInput) -> Check:
    """Look for other processes on the pinned CPUs."""
    return _check(known, "other load", "foreign", FOREIGN_CPUS_MAX, "other processes used {worst:.0%} of a CPU of {of}")


def steal(known: CheckInput) -> Check:
    """Look for time that the hypervisor took from the pinned CPUs (steal)."""
    return _check(known, "steal", "steal", STEAL_CPUS_MAX, "the hypervisor took {worst:.0%} of a CPU of {of}")


def cpu_set(known: CheckInput) -> Check:
    """Look for a side that lost the CPUs of the plan: taskset, systemd or a kubelet may set them anew.

    From then on the run measures another machine than the one that it states, so one second makes it invalid.
    """
    name, tracks = "CPU set", known.conditions.tracks
    for role in ROLES:
        changed = [episode for track in tracks.get(f"unpinned {role}", []) for episode in episodes(track, 0.0)]
        if changed:
            detail = (
                f"{NAMES[role]} did not have the CPUs of the plan {_when(changed[0], known)}: its CPU set was changed"
            )
            return Check(name=name, outcome="fail", detail=detail, environment=True)
    coverage = min(find(tracks.get(f"unpinned {role}", []), 0.0).coverage for role in ROLES)
    if coverage < COVERAGE_MIN:
        detail = (
            f"CPU set: evidence covers {coverage:.0%} of the measured seconds" if coverage else "it was not observed"
        )
        return Check(name=name, outcome="unknown", detail=detail, environment=True)
    return Check(name=name, outcome="pass", detail="both sides kept the CPUs of the plan", environment=True)


def throttling(known: CheckInput) -> Check:
    """Look for a cgroup quota that held service or load generator back. Any is too much: quotas are set on purpose."""
    detail = "a cgroup quota held {of} back for {worst:.0%} of the time"
    return _check(known, "throttling", "throttled", THROTTLED_MAX, detail, any_counts=True)


def run_delay(known: CheckInput) -> Check:
    """Look for a load generator that was ready to run and did not.

    If the service has more threads than CPUs, its own threads wait for each other; so do the load generator's. Then the
    delay says nothing about other processes. Seconds in which `foreign_use` names other processes on its CPUs are left
    to that check: one disturbance is one reason.
    """
    plan = known.manifest.environment.cpu_plan
    threads = max((window.threads or 1 for window in known.conditions.windows), default=1)
    if plan is not None and threads > len(plan.loadgen):
        detail = f"the load generator's {threads} threads share {len(plan.loadgen)} CPUs: they wait for each other"
        return Check(name="run delay", outcome="note", detail=detail, environment=True)
    detail = "{of} was ready to run and waited for a CPU {worst:.0%} of the time"
    delays = known.conditions.tracks.get("run delay loadgen", [])
    if foreign := known.conditions.tracks.get("foreign loadgen"):
        delays = [
            replace(delay, values=np.where(other.values > FOREIGN_CPUS_MAX, 0.0, delay.values))
            for delay, other in zip(delays, foreign, strict=True)
        ]
    return _judged(known, "run delay", {"loadgen": delays}, GENERATOR_RUN_DELAY_MAX, detail)


def memory(known: CheckInput) -> Check:
    """Look for processes that waited for memory.

    If they only waited for pages that were read again, the run is at most suspect: it may be one of data that are
    larger than the memory.
    """
    detail = "processes waited for memory {worst:.0%} of the time"
    tracks = known.conditions.tracks
    check = _judged(known, "memory pressure", {"": tracks.get("memory", [])}, MEMORY_STALL_MAX, detail)
    stalls = find(tracks.get("memory stall", []), MEMORY_STALL_MAX)
    if check.outcome == "fail" and stalls.share < BAD_SHARE_FAIL:
        return check.model_copy(update={"outcome": "warn"})
    return check


def page_cache(known: CheckInput) -> Check:
    """Look for a service that read its data from a disk under a load that only reads.

    The run is at most suspect: its data may be larger than the memory. If `memory` names waits for memory, the pages
    that are read are those that were taken away, and one disturbance is one reason.
    """
    name = "page cache"
    if writes(known.manifest):
        return Check(name=name, outcome="pass", detail="the load writes, and so does the service", environment=True)
    if memory(known).outcome in ("warn", "fail"):
        detail = "what was read from a disk had been taken away: see memory pressure"
        return Check(name=name, outcome="note", detail=detail, environment=True)
    detail = "the service waited {worst:.0%} of the time for data that were not in the page cache"
    tracks = {"": known.conditions.tracks.get("uncached reads", [])}
    check = _judged(known, name, tracks, UNCACHED_READS_MAX, detail)
    return check.model_copy(update={"outcome": "warn"}) if check.outcome == "fail" else check


def foreign_disk(known: CheckInput) -> Check:
    """Look for other processes on the disk that responses wait for."""
    name = "other I/O"
    if not waits_for_disk(known.manifest):
        return Check(name=name, outcome="pass", detail="no response waits for a disk", environment=True)
    detail = "processes waited {worst:.0%} of the time for a disk that other programs used"
    tracks = {"": known.conditions.tracks.get("foreign disk", [])}
    return _judged(known, name, tracks, FOREIGN_DISK_MAX, detail)


def disturbed_episodes(known: CheckInput, repetition: int) -> list[Episode]:
    """Return the episodes of a repetition in which the machine disturbed it, however short."""
    return [
        episode
        for name, limit in DISTURBANCES.items()
        for track in known.conditions.tracks.get(name, [])
        if track.repetition == repetition
        for episode in episodes(track, limit)
    ]


def _check(
    known: CheckInput, name: str, quantity: str, limit: float, detail: str, *, any_counts: bool = False
) -> Check:
    """Judge a quantity of both sides; with `any_counts`, one bad second is enough for a suspect run."""
    tracks: dict[str, list[Track]] = {role: known.conditions.tracks.get(f"{quantity} {role}", []) for role in ROLES}
    return _judged(known, name, tracks, limit, detail, any_counts=any_counts)


def _judged(
    known: CheckInput,
    name: str,
    tracks: Mapping[str, Sequence[Track]],
    limit: float,
    detail: str,
    *,
    any_counts: bool = False,
) -> Check:
    founds = {role: find(of_role, limit) for role, of_role in tracks.items()}
    coverage = min(found.coverage for found in founds.values())
    seen = f"evidence covers {coverage:.0%} of the measured seconds" if coverage else "it was not observed"
    bad = {role: found for role, found in founds.items() if found.longest is not None}
    if not bad:
        if coverage < COVERAGE_MIN:
            return Check(name=name, outcome="unknown", detail=f"{name}: {seen}", environment=True)
        return Check(name=name, outcome="pass", detail=f"{name}: no second over {limit:.0%}", environment=True)
    role, found = max(bad.items(), key=lambda item: (_gravity(item[1]), item[1].bad_s))
    episode = found.longest
    if episode is None:
        raise AssertionError("a bad second lies in an episode")
    gravity = max(_gravity(found), int(any_counts))
    what = detail.format(worst=episode.worst, of=NAMES.get(role, ""))
    text = f"{what} {_when(episode, known)}; {found.share:.0%} of the seconds were over {limit:.0%}"
    text += _harm(episode, known)
    outcome: CheckOutcome = ("note", "warn", "fail")[gravity]
    if outcome == "note" and coverage < COVERAGE_MIN:
        outcome, text = "unknown", f"{text}; {seen}"
    return Check(name=name, outcome=outcome, detail=text, environment=True)


def _gravity(found: BadSeconds) -> int:
    if found.longest is None or found.share >= BAD_SHARE_FAIL:
        return 2
    return 1 if found.longest.total >= LOST_S_WARN or found.share >= BAD_SHARE_WARN else 0


def _when(episode: Episode, known: CheckInput) -> str:
    first, last = math.floor(episode.start_s), max(math.floor(episode.start_s), math.ceil(episode.end_s) - 1)
    of = f" of repetition {episode.repetition}" if len(known.summary.repetitions) > 1 else ""
    return f"in second {first}{of}" if first == last else f"in seconds {first} to {last}{of}"


def _harm(episode: Episode, known: CheckInput) -> str:
    """State the effect of the episode on the latencies of its seconds, beside the other seconds of the repetition."""
    window = next((w for w in known.conditions.windows if w.repetition == episode.repetition), None)
    if window is None:
        return ""
    within, others = _p99s_ms(window, episode)
    if not within or not others:
        return ""
    worst, usual = max(within), float(np.median(others))
    return f"; p99 latency was up to {format_duration(worst / 1e3)} then, {format_duration(usual / 1e3)} otherwise"


def _p99s_ms(window: Window, episode: Episode) -> tuple[list[float], list[float]]:
    within: list[float] = []
    others: list[float] = []
    for second in window.seconds:
        if second.p99_us is not None:
            overlaps = second.t_s < episode.end_s and second.t_s + 1 > episode.start_s
            (within if overlaps else others).append(second.p99_us / 1e3)
    return within, others
