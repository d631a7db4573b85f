"""The kernels' own counters of the nodes during a load, read in the run's pods just before it and just after it.

They are averages over a load. What happened in single seconds is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lab.errors import RunError
from lab.manifest import NodeAudit
from lab.runtime.kubernetes.kubectl import Kubectl

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
