"""The CPU plan: disjoint sets of CPUs for the service, the load generator and everything else.

Whole cores are given out, each with its SMT siblings, because two threads of one core share its execution units.

| cores | service | load generator | other |
|---|---|---|---|
| 1 | the only core | the only core | the only core |
| 2 | core 0 | core 1 | core 1 |
| 3 | core 0 | core 1 | core 2 |
| n ≥ 4 | half of them | the rest | the last |

On a machine whose only core has two threads (two CPUs), the threads are given out as if they were cores.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from lab.cpu_plan import CpuPlan
from lab.errors import InputError

SETTINGS = {"service": "CPUS_SERVICE", "loadgen": "CPUS_LOADGEN", "other": "CPUS_OTHER"}
FORM = "a list of CPU numbers such as 0,2-5"


def usable_cpus() -> list[int]:
    """Return the CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def parse_cpus(text: str) -> tuple[int, ...]:
    """Parse `0,2-5`. Raises ValueError."""
    cpus: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if match is None:
            raise ValueError(f"{text!r} is not {FORM}")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first > 4096:
            raise ValueError(f"{text!r} is not {FORM}")
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


def cores_of(cpus: list[int], sys_dir: Path = Path("/sys/devices/system/cpu")) -> list[list[int]]:
    """Group CPUs into cores by their SMT siblings, in the order of each core's first CPU."""
    cores: dict[int, list[int]] = {}
    for cpu in cpus:
        siblings = sys_dir / f"cpu{cpu}" / "topology" / "thread_siblings_list"
        try:
            first = min(parse_cpus(siblings.read_text().strip()))
        except (OSError, ValueError):
            first = cpu
        cores.setdefault(first, []).append(cpu)
    return [sorted(core) for _, core in sorted(cores.items())]


def plan_cpus(
    environment: Mapping[str, str], cpus: list[int] | None = None, cores: list[list[int]] | None = None
) -> CpuPlan:
    """Make the plan; `CPUS_SERVICE`, `CPUS_LOADGEN` and `CPUS_OTHER` in `environment` override a part of it each.

    Raises InputError for a list that cannot be read or that names a CPU this process may not use.
    """
    usable = usable_cpus() if cpus is None else cpus
    if not hasattr(os, "sched_setaffinity"):
        return CpuPlan((), (), ())
    parts = _share_out(cores_of(usable) if cores is None else cores)
    for part, setting in SETTINGS.items():
        text = environment.get(setting, "").strip()
        if not text:
            continue
        try:
            wanted = parse_cpus(text)
        except ValueError as error:
            raise InputError(f"{setting}={text}: {error}") from error
        absent = sorted(set(wanted) - set(usable))
        if absent:
            raise InputError(
                f"{setting}={text}: no CPU {', '.join(map(str, absent))} here; usable: {', '.join(map(str, usable))}"
            )
        parts[part] = wanted
    return CpuPlan(parts["service"], parts["loadgen"], parts["other"])


def _share_out(cores: list[list[int]]) -> dict[str, tuple[int, ...]]:
    if len(cores) == 1 and len(cores[0]) > 1:
        cores = [[cpu] for cpu in cores[0]]
    n = len(cores)
    if n == 1:
        service = loadgen = other = cores
    elif n == 2:
        service, loadgen, other = cores[:1], cores[1:], cores[1:]
    elif n == 3:
        service, loadgen, other = cores[:1], cores[1:2], cores[2:]
    else:
        half = n // 2
        service, loadgen, other = cores[:half], cores[half : n - 1], cores[n - 1 :]
    return {
        "service": _flat(service),
        "loadgen": _flat(loadgen),
        "other": _flat(other),
    }


def _flat(cores: list[list[int]]) -> tuple[int, ...]:
    return tuple(sorted(cpu for core in cores for cpu in core))


def pin_self(cpus: tuple[int, ...]) -> None:
    """Put every thread of this process on these CPUs, so that the lab itself leaves the measured ones alone."""
    if not cpus or not hasattr(os, "sched_setaffinity"):
        return
    for task in Path("/proc/self/task").iterdir():
        try:
            os.sched_setaffinity(int(task.name), cpus)
        except ProcessLookupError:
            continue
