"""Checks of the measured seconds against each other: a rate that is held all the time, and a steady state."""

from __future__ import annotations

import numpy as np

from lab.analysis.checks.check_input import CheckInput
from lab.analysis.checks.conditions import START_S, Window
from lab.analysis.checks.load import is_saturated
from lab.analysis.checks.seconds import disturbed_episodes
from lab.analysis.load import Second
from lab.analysis.steadiness import SECONDS_MIN, Change, changes, halves
from lab.manifest import Check
from lab.units import format_duration

SHORT_SHARE = 0.05
SHORT_MIN = 10
"""A second is short if it answered 5%, and ten requests, fewer than were due, or if that many waited at its end."""
LEVEL_RATIO_WARN = 1.25
LEVEL_MIN_MS = 0.02
"""A change of the median latency: the ratio that makes a run suspect, and the size from which on it counts."""
JIT_SHARE_NOTE = 0.05
JIT_SHARE_WARN = 0.15
"""CPUs that the JIT compiler may use in the second half; the smaller counts if the service is saturated."""
START_JIT_S = 0.25
START_P99_RATIO = 5.0
"""A cold start: the JIT compiler's CPU time in the first three seconds, and their p99 over the later ones' median."""
STOP_MIN_S = 0.25
"""A stop of the load generator that may move the median of its second."""
NOT_STEADY = "no steady state"
"""Beginning of the finding about a run that is not steady."""


def short_seconds(window: Window) -> list[Second]:
    """Return the whole seconds in which fewer requests were answered than were due."""
    short = []
    for second in whole_seconds(window):
        allowed = max(SHORT_SHARE * (second.due or 0), SHORT_MIN)
        if second.due and (second.due - second.requests > allowed or (second.backlog or 0) > allowed):
            short.append(second)
    return short


def whole_seconds(window: Window) -> list[Second]:
    """Return the seconds of a report, without the last one if it is shorter."""
    return [second for second in window.seconds if second.t_s + 1 <= window.duration_s + 0.01]


def _jit_share(known: CheckInput, *, since: float) -> float | None:
    """Return the JIT compiler's CPU use after this share of the repetition in which it was highest.

    Seconds that other checks blame on the machine are left out: a service that waits for a disk lacks no CPU time.
    """
    shares = []
    for track in known.conditions.tracks.get("jit", []):
        middle_s = track.at_s + track.length_s / 2
        kept = (track.at_s >= track.duration_s * since) & np.isfinite(track.values)
        for episode in disturbed_episodes(known, track.repetition):
            kept &= (middle_s < episode.start_s) | (middle_s > episode.end_s)
        late = track.values[kept]
        if len(late):
            shares.append(float(late.mean()))
    return max(shares, default=None)


def _cold_start(known: CheckInput) -> str | None:
    """Say that a repetition began with code that was not compiled yet: the compiler was at work, and the tail shows it.

    The median does not, at a load that leaves CPU time for the compiler: it is back at its level within a second.
    """
    tracks = {track.repetition: track for track in known.conditions.tracks.get("jit", [])}
    for window in known.conditions.windows:
        track = tracks.get(window.repetition)
        if track is None:
            continue
        jit_s = float(np.nansum((track.values * track.length_s)[track.at_s < START_S]))
        seconds = _undisturbed_seconds(known, window)
        start_us = [_p99_us(second) for second in seconds if second.t_s < START_S]
        later_us = [_p99_us(second) for second in seconds if second.t_s >= START_S]
        if jit_s <= START_JIT_S or not start_us or len(later_us) < SECONDS_MIN - START_S:
            continue
        worst_us, level_us = max(start_us), float(np.median(later_us))
        if worst_us > START_P99_RATIO * level_us:
            of = f" of repetition {window.repetition}" if len(known.conditions.windows) > 1 else ""
            return (
                f"{NOT_STEADY}: in the first {START_S:.0f} s{of} the JIT compiler used {format_duration(jit_s)} of CPU "
                f"time, and the p99 latency was up to {format_duration(worst_us / 1e6)}, later "
                f"{format_duration(level_us / 1e6)}; a longer warm-up avoids that"
            )
    return None


def _undisturbed_seconds(known: CheckInput, window: Window) -> list[Second]:
    """Return the seconds of a report with a median, without those that other checks blame on machine or generator.

    Three slow seconds behind another process are no change of the service.
    """
    spans = [(episode.start_s, episode.end_s) for episode in disturbed_episodes(known, window.repetition)]
    for repetition in known.summary.repetitions:
        if repetition.source == f"measure/{window.repetition}":
            stops = [(stop.at_s, stop.length_us / 1e6) for stop in repetition.generator_stops]
            spans += [(at_s, at_s + length_s) for at_s, length_s in stops if length_s >= STOP_MIN_S]
    return [
        second
        for second in whole_seconds(window)
        if second.p50_us is not None
        and second.requests
        and not any(start_s < second.t_s + 1 and end_s > second.t_s for start_s, end_s in spans)
    ]


def _median_us(second: Second) -> float | None:
    return second.p50_us if second.net_p50_us is None else second.net_p50_us


def _p99_us(second: Second) -> float:
    return (second.p99_us if second.net_p99_us is None else second.net_p99_us) or 0.0


def _named(known: CheckInput) -> str:
    net = any(second.net_p50_us is not None for window in known.conditions.windows for second in window.seconds)
    return "net median latency" if net else "median latency"


def _compiled(known: CheckInput) -> Check:
    """Check whether the JIT compiler used CPU time that a saturated service lacked, which lowered its rate."""
    share = _jit_share(known, since=0.0)
    if share is None or share <= JIT_SHARE_NOTE:
        return Check(name="steady state", outcome="note", detail="not checked: latency grows with the backlog")
    return Check(
        name="steady state",
        outcome="warn",
        detail=f"{NOT_STEADY}: the JIT compiler still used {share:.0%} of a CPU, and the saturated service lacked it; "
        "a longer warm-up avoids that",
    )


def steady(known: CheckInput) -> Check:
    """Look for a change of the median latency over the measured seconds, such as an unfinished warm-up.

    The load generator's own delays are left out if they are known. CPUs that wake up slower for a while change the
    median by tens of µs, and that is no change of the service.
    """
    name = "steady state"
    if any(is_saturated(r) for r in known.summary.repetitions):
        return _compiled(known)
    worst: tuple[Change, int, float] | None = None
    seen = 0
    for window in known.conditions.windows:
        seconds = _undisturbed_seconds(known, window)
        p50_ms = np.array([(_median_us(second) or 0.0) / 1e3 for second in seconds])
        both = halves(p50_ms)
        if both is None:
            continue
        seen += 1
        for change in [*changes(p50_ms), both]:
            if change.counts(LEVEL_MIN_MS) and (worst is None or change.ratio > worst[0].ratio):
                worst = change, window.repetition, seconds[change.second].t_s
    later_change = worst is not None and worst[0].ratio > LEVEL_RATIO_WARN and worst[2] > START_S
    if not later_change and (cold := _cold_start(known)) is not None:  # it explains a change at the start
        return Check(name=name, outcome="warn", detail=cold)
    jit_share = _jit_share(known, since=0.5)
    if worst is None and jit_share is not None and jit_share > JIT_SHARE_NOTE:
        return Check(
            name=name,
            outcome="warn" if jit_share > JIT_SHARE_WARN else "note",
            detail=f"{NOT_STEADY}: in the second half the JIT compiler still used {jit_share:.0%} of a CPU",
        )
    if not seen:
        return Check(name=name, outcome="unknown", detail="fewer than ten undisturbed seconds: too few to tell")
    if worst is None:
        detail = f"the {_named(known)} has no change point, and its halves agree"
        return Check(name=name, outcome="pass", detail=detail)
    change, repetition, from_s = worst
    of = f" of repetition {repetition}" if len(known.conditions.windows) > 1 else ""
    return Check(
        name=name,
        outcome="warn" if change.ratio > LEVEL_RATIO_WARN else "note",
        detail=f"{NOT_STEADY}: from second {from_s:.0f}{of} on the {_named(known)} is "
        f"{format_duration(change.after / 1e3)}, before it {format_duration(change.before / 1e3)}",
    )
