"""What the pods of a run tell of their nodes: the clock, and the kernel's counters just before and after a load.

The counters give averages over a load. What happened in single seconds is not known.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from lab.errors import RunError
from lab.kubernetes.cluster import NodeAudit
from lab.kubernetes.kubectl import ASK_LIMIT_S, Kubectl, KubectlError

QUESTIONS = 10
ANSWER_EACH_LINE = "while read -r _; do date +%s.%N; done"


@dataclass(frozen=True)
class Clock:
    """The lead of a pod's clock over this machine's, negative if it is behind, and the uncertainty of the lead."""

    ahead_s: float
    uncertainty_s: float


def read_clock(kubectl: Kubectl, pod: str, container: str) -> Clock:
    """Ask a pod for the time, QUESTIONS times over one connection.

    A pod reads its clock at some moment of the round trip, so half of that is the uncertainty. The shortest one counts.
    """
    argv = kubectl.exec_words(pod, container, ["sh", "-c", ANSWER_EACH_LINE], stdin=True)
    found = []
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        limit = threading.Timer(ASK_LIMIT_S, process.kill)
        limit.start()
        try:
            for _ in range(QUESTIONS):
                before = time.time()
                answer = _ask(process)
                after = time.time()
                if not answer:
                    break
                found.append(Clock(float(answer) - (before + after) / 2, (after - before) / 2))
            _, errors = process.communicate()
        finally:
            limit.cancel()
            process.kill()
    if not found:
        raise KubectlError(f"asking pod {pod} for the time", errors.decode("utf-8", "replace"))
    return min(found, key=lambda clock: clock.uncertainty_s)


def _ask(process: subprocess.Popen[bytes]) -> bytes:
    """Return the next answer; empty if there are no more."""
    if process.stdin is None or process.stdout is None:
        raise AssertionError("it was started with pipes")
    with contextlib.suppress(BrokenPipeError):  # it has ended, and may have answered before
        process.stdin.write(b"\n")
        process.stdin.flush()
    return process.stdout.readline()


SCRIPT = (
    "echo uptime $(cat /proc/uptime); grep '^cpu ' /proc/stat; sed 's/^/memory /' /proc/pressure/memory;"
    # The pod's own group, in version 2 and in version 1.
    " cat /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/cpu.stat; true"
)


@dataclass(frozen=True)
class Counters:
    """Totals since some moment in the past: ticks of all CPUs, and seconds. None: the kernel does not say."""

    uptime_s: float | None
    all_ticks: int | None = None
    busy_ticks: int | None = None
    steal_ticks: int | None = None
    memory_stall_s: float | None = None
    throttled_s: float | None = None


def read_counters(kubectl: Kubectl, pod: str, container: str) -> Counters | None:
    """Return the counters as a pod sees them; None if it cannot be asked."""
    command = ["sh", "-c", f"{{ {SCRIPT}; }} 2>/dev/null"]
    try:
        return parse(kubectl.run(pod, container, command, f"reading the counters of pod {pod}"))
    except (RunError, ValueError):
        return None  # the run does not need them, and an error of the pod itself is seen elsewhere


def parse(text: str) -> Counters:
    """Read the output of SCRIPT. ValueError if it is damaged."""

    def found(pattern: str) -> str | None:
        match = re.search(pattern, text, re.MULTILINE)
        return None if match is None else match[1]

    uptime, stall_us = found(r"^uptime ([\d.]+)"), found(r"^memory some .*total=(\d+)")
    usec, nsec = found(r"^throttled_usec (\d+)"), found(r"^throttled_time (\d+)")
    # user, nice, system, idle, iowait, irq, softirq, steal; time of guests is part of user and nice.
    ticks = [int(word) for word in (found(r"^cpu +(.+)$") or "").split()[:8]]
    known = len(ticks) == 8
    return Counters(
        uptime_s=None if uptime is None else float(uptime),
        all_ticks=sum(ticks) if known else None,
        busy_ticks=sum(ticks) - ticks[3] - ticks[4] - ticks[7] if known else None,
        steal_ticks=ticks[7] if known else None,
        memory_stall_s=None if stall_us is None else int(stall_us) / 1e6,
        throttled_s=int(usec) / 1e6 if usec is not None else int(nsec) / 1e9 if nsec is not None else None,
    )


def between(before: Counters | None, after: Counters | None) -> NodeAudit:
    """Return what was counted from `before` to `after`."""
    if before is None or after is None:
        return NodeAudit()
    ticks, elapsed_s = _grown(before.all_ticks, after.all_ticks), _grown(before.uptime_s, after.uptime_s)
    return NodeAudit(
        busy_share=_share(_grown(before.busy_ticks, after.busy_ticks), ticks),
        steal_share=_share(_grown(before.steal_ticks, after.steal_ticks), ticks),
        memory_stall_share=_share(_grown(before.memory_stall_s, after.memory_stall_s), elapsed_s),
        throttled_s=_grown(before.throttled_s, after.throttled_s),
    )


def worst(audits: Iterable[NodeAudit]) -> NodeAudit | None:
    """Return the largest of each figure that is known; None if nothing is."""
    known = [audit for audit in audits if audit != NodeAudit()]
    if not known:
        return None
    return NodeAudit(
        **{
            name: max((value for audit in known if (value := getattr(audit, name)) is not None), default=None)
            for name in NodeAudit.model_fields
        }
    )


def _grown(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else max(0.0, after - before)


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole
