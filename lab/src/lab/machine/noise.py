"""The noise audit before a run: whether this machine is quiet enough to measure on.

It watches for half a second, before anything of the run exists, and returns sentences for the user. The verdict does
not use it; it uses what the sampler saw in the measured seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from lab.machine.host import cpu_stall_s, cpu_times, memory_bytes
from lab.units import format_bytes

LOOK_S = 0.5
BUSY_SHARE_MAX = 0.10
STEAL_SHARE_MAX = 0.01
PRESSURE_SHARE_MAX = 0.10
MEMORY_AVAILABLE_MIN_BYTES = 2 << 30


def audit(sleep: Callable[[float], None] = time.sleep) -> list[str]:
    """Return what would disturb a measurement now, one sentence each; empty on a quiet machine."""
    before, stalled_before = cpu_times().get("cpu"), cpu_stall_s()
    sleep(LOOK_S)
    after, stalled_after = cpu_times().get("cpu"), cpu_stall_s()
    findings = []
    if before is not None and after is not None and after.total > before.total:
        total = after.total - before.total
        steal = (after.steal - before.steal) / total
        busy = (after.busy - before.busy) / total - steal
        if busy > BUSY_SHARE_MAX:
            findings.append(f"other processes use {busy:.0%} of the CPUs")
        if steal > STEAL_SHARE_MAX:
            findings.append(f"the hypervisor takes {steal:.0%} of the CPU time (steal)")
    if stalled_before is not None and stalled_after is not None:
        share = (stalled_after - stalled_before) / LOOK_S
        if share > PRESSURE_SHARE_MAX:
            findings.append(f"processes wait for a CPU {min(1.0, share):.0%} of the time")
    available = memory_bytes().get("available")
    if available is not None and available < MEMORY_AVAILABLE_MIN_BYTES:
        findings.append(f"only {format_bytes(available)} of memory are available")
    return findings
