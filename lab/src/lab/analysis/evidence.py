"""The state of the machine in each measured second, from machine.csv (lab/machine/sampler.py lists its columns).

And the CPU time of other processes during each load, from processes.jsonl beside it.

A *role* is the service or the load generator. Figures of a role are those of its set of CPUs, in CPUs: 0.5 is half of
one CPU. A second without evidence is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from lab.analysis.timeline import RowsError, Timeline, read_rows
from lab.manifest import CpuPlan
from lab.manifest.base import Amount, Finite, Strict

Role = Literal["service", "loadgen"]
Values = NDArray[np.float64]

AMPLIFICATION_MAX = 2.0
"""Bytes that a disk may write for each byte of a file, with the file system's journal.

A constant: the median of the run's own seconds would contain a disturbance that lasts for half of them. On ext4, engine
`lsm` writes 0.2 to 1.2 bytes, because its WAL has its blocks already, and `rocksdb` 2.0 to 2.5.
"""
INTERVAL_MAX_S = 1.5
"""A longer interval is no evidence by the second: the sampler was delayed."""


@dataclass(frozen=True)
class Evidence:
    """Rows in the order of time: `end_s` in seconds since the epoch, `interval_s`, and the other columns."""

    end_s: Values
    interval_s: Values
    columns: dict[str, Values]

    def within(self, start_s: float, end_s: float) -> Evidence:
        """Return the rows that lie entirely between two moments and are short enough to be evidence by the second."""
        inside = (self.end_s - self.interval_s >= start_s) & (self.end_s <= end_s) & (self.interval_s <= INTERVAL_MAX_S)
        return Evidence(
            self.end_s[inside], self.interval_s[inside], {name: v[inside] for name, v in self.columns.items()}
        )

    def per_s(self, column: str) -> Values:
        """Return a column as a share of time; NaN throughout if there is no such column."""
        values = self.columns.get(column)
        return np.full(len(self.end_s), math.nan) if values is None else values / self.interval_s

    def over_time(self) -> Timeline:
        """Return every column as a share of time, or bytes a second."""
        return Timeline(self.end_s, {name: self.per_s(name) for name in self.columns})

    def clock_steps(self) -> Values:
        """Return by how many seconds the wall clock was set in each interval; 0 for the first row."""
        steps = np.abs(np.diff(self.end_s) - self.interval_s[1:])
        return np.concatenate([np.zeros(min(1, len(self.end_s))), steps])

    def memory(self) -> Values:
        """Return the share of time in which processes waited for memory.

        PSI counts reading a page again only if the kernel saw the page in steady use. Of tables that are mapped for
        random reads it sees few: then reading them again counts as waiting for a disk. So disk waits count by the share
        of the traffic that such pages have, up to the pages that the kernel takes away in the same second. A page that
        it took long ago was simply not cached.
        """
        again = np.minimum(self.per_s("refault_bytes"), self.per_s("reclaim_bytes"))
        refaulted = _share(again, self.per_s("disk_bytes"))
        return np.fmax(self.per_s("memory_stall_s"), self.per_s("io_stall_s") * refaulted)

    def uncached_reads(self) -> Values:
        """Return the share of time in which processes waited for disks, times the share of the service in the traffic.

        Of a service that writes nothing, that is the wait for data that were not in the page cache.
        """
        return self.per_s("io_stall_s") * _share(self.per_s("service_disk_bytes"), self.per_s("disk_bytes"))

    def foreign_disk(self) -> Values:
        """Return the share of time in which processes waited for disks, times the share of others in the traffic.

        Others are neither service, load generator nor lab. A write of the service reaches the disk in the same second
        or in the next, where a journal makes it larger, by `AMPLIFICATION_MAX` at most. So only traffic beyond that
        counts: small writes of others do not show.
        """
        own = self.per_s("service_disk_bytes")
        for helper in ("loadgen_disk_bytes", "lab_disk_bytes"):
            own = own + np.nan_to_num(self.per_s(helper))
        allowed, total = own * AMPLIFICATION_MAX, self.per_s("disk_bytes")
        foreign = np.empty_like(total)
        late = allowed[0] if len(allowed) else 0.0  # of the second before, if it is not on the disk yet
        for second in range(len(total)):
            foreign[second] = total[second] - allowed[second] - late
            late = np.clip(allowed[second] + np.nan_to_num(late) - total[second], 0.0, allowed[second])
        return self.per_s("io_stall_s") * _share(np.maximum(foreign, 0.0), total)

    def steal(self, cpus: list[int]) -> Values:
        """Return the time that the hypervisor took from these CPUs, in CPUs."""
        return np.asarray(sum((self.per_s(f"cpu{cpu}_steal_s") for cpu in cpus), np.zeros(len(self.end_s))))

    def foreign(self, role: Role, plan: CpuPlan) -> Values:
        """Return the use of a role's CPUs by others than service, load generator and lab, in CPUs."""
        sets = {"service": set(plan.service), "loadgen": set(plan.loadgen), "lab": set(plan.other)}
        cpus = sets[role]
        used = np.asarray(sum((self.per_s(f"cpu{cpu}_busy_s") for cpu in cpus), np.zeros(len(self.end_s))))
        for owner, owned in sets.items():
            if owner == role or owned & cpus:
                used = used - self.per_s(f"{owner}_cpu_s")
        return np.maximum(used, 0.0)


def _share(part: Values, whole: Values) -> Values:
    """Return part ÷ whole, at most 1; 0 if there is nothing of either."""
    return np.minimum(part / np.maximum(whole, 1.0), 1.0)


def read_evidence(path: Path) -> Evidence:
    """Read machine.csv; raises ``RowsError`` as ``read_rows`` does."""
    names, table = read_rows(path, ["time_s", "interval_s"])
    return Evidence(table[:, 0], table[:, 1], {name: table[:, i] for i, name in enumerate(names) if i > 1})


ALIGNMENT_S = 1.0
"""A load is longer than its measurement, but the clock that both are read from may be set by less than a second."""


class LoadUse(Strict):
    """One load: its end in seconds since the epoch, its length, and the CPU time of other processes by name."""

    end_s: Finite
    interval_s: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    cpu_s: dict[str, Amount]

    def holds(self, start_s: float, end_s: float) -> bool:
        """Whether a measurement between these moments was part of this load."""
        return self.end_s - self.interval_s <= start_s + ALIGNMENT_S and end_s - ALIGNMENT_S <= self.end_s


def read_uses(path: Path) -> list[LoadUse]:
    """Read processes.jsonl. An incomplete last line is left out; other damage raises `RowsError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RowsError(f"{path}: cannot be read: {error}") from error
    uses = []
    for number, line in enumerate(text[: text.rfind("\n") + 1].splitlines(), start=1):
        try:
            uses.append(LoadUse.model_validate_json(line))
        except ValidationError as error:
            raise RowsError(f"{path}:{number}: {error.errors()[0]['msg']}") from error
    return uses


def shares(uses: Iterable[LoadUse]) -> dict[str, float]:
    """Return the CPUs that each process used on average over these loads, the largest first; 0.01 is 1% of a CPU."""
    of_all = list(uses)
    length_s = sum(use.interval_s for use in of_all)
    used: dict[str, float] = {}
    for use in of_all:
        for name, cpu_s in use.cpu_s.items():
            used[name] = used.get(name, 0.0) + cpu_s
    return {name: cpu_s / length_s for name, cpu_s in sorted(used.items(), key=lambda item: -item[1])}
