"""Divides the CPUs among the roles of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class CpuPlan:
    """The CPUs of each role. An empty tuple: not pinned (a system without CPU affinity)."""

    service: tuple[int, ...]
    loadgen: tuple[int, ...]
    other: tuple[int, ...]

    @property
    def shared_by_helpers(self) -> tuple[int, ...]:
        """The CPUs on which helpers such as Prometheus run beside the service or the load generator."""
        return tuple(sorted(set(self.other) & {*self.service, *self.loadgen}))

    def as_dict(self) -> dict[str, list[int]]:
        """Return the plan as run.json holds it."""
        return {"service": list(self.service), "loadgen": list(self.loadgen), "other": list(self.other)}


ELSEWHERE = CpuPlan((), (), ())
"""The plan of a run whose parts are on other machines."""


def cpu_list(cpus: Sequence[int]) -> str:
    """Return CPUs in the list format of taskset and cpuset: `0,2-5`."""
    parts: list[str] = []
    ordered = sorted(set(cpus))
    start = 0
    for i, cpu in enumerate(ordered):
        if i + 1 == len(ordered) or ordered[i + 1] != cpu + 1:
            first = ordered[start]
            parts.append(str(cpu) if first == cpu else f"{first}-{cpu}")
            start = i + 1
    return ",".join(parts)
