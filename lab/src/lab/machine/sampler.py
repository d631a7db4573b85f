"""Writes what the measured CPUs and processes did, second by second, into machine.csv.

Runs as a process of its own, as `python sampler.py FILE SERVICE_CPUS LOADGEN_CPUS OTHER_CPUS`, with only the standard
library. It has a process of its own because a thread of the lab can be held up by the lab's other threads, exactly
when the machine is busy and the evidence matters. It runs at niceness -10 if that is allowed, and pauses
after every few reads: on a machine of two CPUs it shares the load generator's, which must not wait for it for long.

Standard input says which processes to watch: `service PID`, `loadgen PID`, with `-` for none; and with `beside PID`
which ones are the other services of a comparison, without load while this one is measured. Its end ends the sampler.

It is one file, though a long one, because it is started as a script in isolated mode, without site-packages. So no
import of the lab can fail or take long beside a measurement: none is possible.

Columns of machine.csv, in seconds or bytes over the interval before `time_s` (seconds since the epoch); empty is
unknown:

- `interval_s`; `cpu<N>_busy_s` and `cpu<N>_steal_s` of each pinned CPU;
- `service_cpu_s`, `service_run_delay_s` (ready to run and not running, all threads that requests wait for together),
  `service_throttled_s` (held back by a cgroup quota), `service_unpinned_s` (its CPU set was not the plan's when that
  was looked at, at the end of the interval), `service_jit_s` (CPU time of the JIT compiler's threads),
  `service_disk_bytes` (read from disks, or written to files on them); the same of `loadgen_`;
- `lab_cpu_s` and `lab_disk_bytes` of the lab and its helpers;
- of the whole machine: `disk_bytes` (read and written), `reclaim_bytes` (of pages that the kernel took away),
  `refault_bytes` (of pages that were read again because it had), `memory_stall_s`, `io_stall_s` (PSI, "some");
- `sampler_cpu_s`, which is the cost of all this.

Beside it, processes.jsonl has a line for each load, when it is over: `end_s` (seconds since the epoch), `interval_s`,
and `cpu_s`: the CPU time of every process that is neither measured nor the lab's, by name. Processes that were not
there at both ends of the load are left out, and so are threads of the kernel that work for whoever asks: network,
disks, RCU.
"""

# Plain calls of the operating system: this runs once a second beside a measurement.
# ruff: noqa: PTH118, PTH120, PTH123, PTH208
from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import sys
import time
from typing import NamedTuple

PERIOD_S = 1.0
PAUSE_S = 0.0003
READS_BEFORE_PAUSE = 8
TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
ROLES = ("service", "loadgen")
PROCESS_COLUMNS = ("cpu_s", "run_delay_s", "throttled_s", "unpinned_s", "jit_s", "disk_bytes")
VMSTAT = {
    "disk_bytes": (re.compile(r"^pgpg(?:in|out) (\d+)$", re.MULTILINE), 1024),
    "reclaim_bytes": (re.compile(r"^pgsteal_(?:anon|file) (\d+)$", re.MULTILINE), PAGE_BYTES),
    "refault_bytes": (re.compile(r"^workingset_refault\w* (\d+)$", re.MULTILINE), PAGE_BYTES),
}
"""The counters of /proc/vmstat by column, and their unit."""
RESOURCES = ("memory", "io")
COMPILER_THREAD = re.compile(r"C[12] Compiler")
NO_REQUEST_WAITS_FOR = re.compile(r"loadgen(-metrics)?$")
"""Threads that are meant to wait for a CPU: those of the lab's load generator that only collect its counts."""
KTHREADD = 2
"""The pid of the parent of the kernel's threads."""
ON_REQUEST = re.compile(r"kworker|ksoftirqd|jbd2|rcu_|migration")
"""Threads of the kernel that work for whoever asks: the service's own I/O among it."""


class KeptOpen:
    """Files of /proc and /sys that are opened once and read again and again; a file that cannot be read is None."""

    def __init__(self) -> None:
        self._descriptors: dict[str, int] = {}
        self._reads = 0

    def read(self, path: str) -> str | None:
        """Return the whole text, at most 64 KiB."""
        self._reads += 1
        if self._reads % READS_BEFORE_PAUSE == 0:
            time.sleep(PAUSE_S)
        try:
            if path not in self._descriptors:
                self._descriptors[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            return os.pread(self._descriptors[path], 65536, 0).decode("ascii", "replace")
        except OSError:
            self.forget(path)
            return None

    def read_once(self, path: str) -> str | None:
        """Return the text of a file that is read only once."""
        text = self.read(path)
        self.forget(path)
        return text

    def forget(self, path: str) -> None:
        """Close a file."""
        descriptor = self._descriptors.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)

    def forget_below(self, directory: str) -> None:
        """Close all files of a directory."""
        for path in [path for path in self._descriptors if path.startswith(directory)]:
            self.forget(path)


class Watch:
    """One process: its CPU time, how long its threads waited for a CPU or a quota held it back, its disk traffic.

    `pinned` are the CPUs that its threads should have; without any, that is not looked at.
    """

    def __init__(self, pid: int, files: KeptOpen, pinned: frozenset[int] = frozenset()) -> None:
        self.pid = pid
        self._pinned = pinned
        self._allowed: set[int] = set()
        self._unpinned_s = 0.0
        self._looked_at_s = time.monotonic()
        self._files = files
        self._directory = f"/proc/{pid}/"
        self._delays_ns: dict[str, int] = {}
        self._run_delay_ns = 0
        self._names: dict[str, str] = {}
        self._jit_ns = 0
        self._group_file: str | None = None
        self._group_throttled_s = 0.0
        self._throttled_total_s = 0.0
        self.cpu_read_at_s = 0.0
        """When `cpu_s` was read last, by the monotonic clock."""

    def totals(self) -> dict[str, float | None]:
        """Return its use since the watch began, or since its own start."""
        cpu_s = self.cpu_s()  # first, near the reads of the CPUs
        delay_s = self._run_delay_s()
        return {
            "cpu_s": cpu_s,
            "run_delay_s": delay_s,
            "throttled_s": self._throttled_s(),
            "unpinned_s": None if delay_s is None else self._unpinned(),
            "jit_s": None if delay_s is None else self._jit_ns / 1e9,
            "disk_bytes": self.disk_bytes(),
        }

    def cpu_s(self) -> float | None:
        """Return the CPU time of all threads, with those that have ended."""
        stat = self._files.read(self._directory + "stat")
        self.cpu_read_at_s = time.monotonic()
        return None if stat is None else parse_process(self.pid, stat).cpu_s

    def disk_bytes(self) -> float | None:
        """Return the bytes read from disks and written to files on them; another user's are known to root only."""
        text = self._files.read(self._directory + "io")
        return sum(map(int, re.findall(r"^(?:read|write)_bytes: (\d+)", text, re.MULTILINE))) if text else None

    def _run_delay_s(self) -> float | None:
        try:
            tids = os.listdir(self._directory + "task")
        except OSError:
            return None
        seen: dict[str, int] = {}
        self._jit_ns = 0
        self._allowed = set()
        for tid in tids:
            text = self._files.read(f"{self._directory}task/{tid}/schedstat")
            if text:
                used, seen[tid] = (int(field) for field in text.split()[:2])
                with contextlib.suppress(OSError):
                    self._allowed |= os.sched_getaffinity(int(tid))
                if tid not in self._names:
                    self._names[tid] = (self._files.read_once(f"{self._directory}task/{tid}/comm") or "").strip()
                if not NO_REQUEST_WAITS_FOR.match(self._names[tid]):
                    self._run_delay_ns += max(0, seen[tid] - self._delays_ns.get(tid, 0))
                if COMPILER_THREAD.match(self._names[tid]):
                    self._jit_ns += used
        for tid in self._delays_ns.keys() - seen.keys():
            self._files.forget(f"{self._directory}task/{tid}/schedstat")
        self._delays_ns = seen
        return self._run_delay_ns / 1e9 if seen else None

    def _unpinned(self) -> float | None:
        """Count the time since the last look if all threads together may not use the CPUs of the plan, or may others.

        A program may put its own threads on single CPUs of them, so one thread alone tells nothing.
        """
        before_s, self._looked_at_s = self._looked_at_s, time.monotonic()
        if not self._pinned or not self._allowed:
            return None
        if self._allowed != self._pinned:
            self._unpinned_s += self._looked_at_s - before_s
        return self._unpinned_s

    def _throttled_s(self) -> float | None:
        groups = self._files.read(self._directory + "cgroup")
        if groups is None:
            return None
        file = throttle_file(groups)
        if file is None:  # in the root group, which has no quota
            self._group_file = None
            return self._throttled_total_s
        text = self._files.read(file)
        if text is None:
            return None
        match = re.search(r"^throttled_(usec|time) (\d+)", text, re.MULTILINE)
        throttled_s = int(match[2]) / (1e6 if match[1] == "usec" else 1e9) if match else 0.0
        if file == self._group_file:
            self._throttled_total_s += throttled_s - self._group_throttled_s
        # A group that the process was moved into may have been held back before.
        self._group_file, self._group_throttled_s = file, throttled_s
        return self._throttled_total_s


def throttle_file(cgroups: str) -> str | None:
    """Return the cpu.stat of a process's group, in version 1 or 2; None if it is in the root group."""
    for line in cgroups.splitlines():
        number, controllers, path = line.split(":", 2)
        if path == "/" or path.startswith("/.."):
            continue
        if "cpu" in controllers.split(","):
            return f"/sys/fs/cgroup/cpu{path}/cpu.stat"
        if number == "0":
            return f"/sys/fs/cgroup{path}/cpu.stat"
    return None


class Sampler:
    """Takes one row a second; the first one only starts the counters."""

    def __init__(self, cpus: list[int], lab_pid: int, pinned: dict[str, frozenset[int]] | None = None) -> None:
        self.columns = ["time_s", "interval_s"]
        self.columns += [f"cpu{cpu}_{what}_s" for cpu in cpus for what in ("busy", "steal")]
        self.columns += [f"{role}_{what}" for role in ROLES for what in PROCESS_COLUMNS]
        self.columns += ["lab_cpu_s", "lab_disk_bytes", *VMSTAT]
        self.columns += [*(f"{resource}_stall_s" for resource in RESOURCES), "sampler_cpu_s"]
        self._cpus = cpus
        self._pinned = pinned or {}
        self._lab_pid = lab_pid
        self._files = KeptOpen()
        self._watches: dict[str, Watch] = {}
        self._helpers: list[Watch] = []
        self._beside: set[int] = set()
        self._others_before: tuple[float, dict[tuple[int, int], float]] | None = None
        self._before: dict[str, float] = {}
        self._read_at_s: dict[str, float] = {}
        self._read_before_at_s: dict[str, float] = {}

    def watch(self, role: str, pid: int | None) -> dict[str, object] | None:
        """Watch another process from now on, or none; return the line of processes.jsonl if a load is over."""
        if role == "beside":
            self._beside = set() if pid is None else self._beside | {pid}
            return None
        old = self._watches.pop(role, None)
        if old is not None:
            self._files.forget_below(f"/proc/{old.pid}/")
        for name in [name for name in self._before if name.startswith(f"{role}_")]:
            del self._before[name]
            self._read_at_s.pop(name, None)
        if pid is not None:
            self._watches[role] = Watch(pid, self._files, self._pinned.get(role, frozenset()))
            self._remember(role)
        if role == "service":
            self._look_for_helpers()
        elif pid is not None:
            self._others_before = time.monotonic(), {process.identity: process.cpu_s for process in processes()}
        elif old is not None and self._others_before is not None:
            return self._use_of_others(*self._others_before, old.pid)
        return None

    def _use_of_others(
        self, began_s: float, used_before: dict[tuple[int, int], float], loadgen: int
    ) -> dict[str, object]:
        """Compare the CPU time of every process with that at the load's begin."""
        now = processes()
        measured = {loadgen, *self._beside, *(watch.pid for watch in self._watches.values())}
        own = descendants(self._lab_pid, now) | measured
        used: dict[str, float] = {}
        for process in now:
            if process.pid not in own and process.identity in used_before and not process.is_on_request:
                used[process.name] = used.get(process.name, 0.0) + process.cpu_s - used_before[process.identity]
        cpu_s = {name: round(seconds, 3) for name, seconds in used.items() if seconds > 0}
        interval_s = round(time.monotonic() - began_s, 3)
        return {"end_s": round(time.time(), 3), "interval_s": interval_s, "cpu_s": cpu_s}

    def _look_for_helpers(self) -> None:
        """Count all processes that the lab has started as the lab's own, except the measured ones."""
        measured = {watch.pid for watch in self._watches.values()}
        for helper in self._helpers:
            self._files.forget_below(f"/proc/{helper.pid}/")
        for name in ("lab_cpu_s", "lab_disk_bytes"):
            self._before.pop(name, None)
        self._helpers = [Watch(pid, self._files) for pid in sorted(descendants(self._lab_pid, processes()) - measured)]

    def row(self) -> str | None:
        """Return the line for the second that is over; None for the first.

        The load generator may hold this process up for long between two reads. So CPU times are scaled from the time
        between their own reads to the interval, or one second's would be taken for another process's.
        """
        self._read_before_at_s, self._read_at_s = self._read_at_s, {}
        now = {"time_s": time.time(), "interval_s": time.monotonic(), **self._totals()}
        before, self._before = self._before, now
        if "interval_s" not in before:
            return None
        cells = [f"{now['time_s']:.3f}"]
        for name in self.columns[1:]:
            known = name in now and name in before
            cells.append(f"{max(0.0, now[name] - before[name]) * self._scale(name, now, before):.6g}" if known else "")
        return ",".join(cells)

    def _scale(self, name: str, now: dict[str, float], before: dict[str, float]) -> float:
        """Return the interval over the time between the two reads of a counter; 1 if that time is not known."""
        if name not in self._read_at_s or name not in self._read_before_at_s:
            return 1.0
        return (now["interval_s"] - before["interval_s"]) / (self._read_at_s[name] - self._read_before_at_s[name])

    def _remember(self, role: str) -> None:
        for name, value in self._watches[role].totals().items():
            if value is not None:
                self._before[f"{role}_{name}"] = value

    def _totals(self) -> dict[str, float]:
        totals: dict[str, float | None] = {}
        idle_s, steal_s = cpu_idle_and_steal(self._files.read("/proc/stat") or "")
        at = time.monotonic()
        for cpu in self._cpus:
            # Busy is neither idle nor stolen. The ticks of the busy states are samples; idle time is exact.
            if cpu in idle_s:
                totals[f"cpu{cpu}_busy_s"] = at - idle_s[cpu] - steal_s[cpu]
                totals[f"cpu{cpu}_steal_s"] = steal_s[cpu]
                self._read_at_s[f"cpu{cpu}_busy_s"] = self._read_at_s[f"cpu{cpu}_steal_s"] = at
        for role, watch in self._watches.items():
            totals.update({f"{role}_{name}": value for name, value in watch.totals().items()})
            self._read_at_s[f"{role}_cpu_s"] = watch.cpu_read_at_s
        used = [helper.cpu_s() for helper in self._helpers]
        totals["lab_cpu_s"] = sum(cpu_s for cpu_s in used if cpu_s is not None)
        self._read_at_s["lab_cpu_s"] = time.monotonic()
        moved = [helper.disk_bytes() for helper in self._helpers]
        totals["lab_disk_bytes"] = sum(disk_bytes for disk_bytes in moved if disk_bytes is not None)
        totals.update(memory_and_disk_bytes(self._files.read("/proc/vmstat") or ""))
        for resource in RESOURCES:
            match = re.search(
                r"^some .*total=(\d+)", self._files.read(f"/proc/pressure/{resource}") or "", re.MULTILINE
            )
            totals[f"{resource}_stall_s"] = int(match[1]) / 1e6 if match else None
        totals["sampler_cpu_s"] = time.process_time()
        return {name: value for name, value in totals.items() if value is not None}


def cpu_idle_and_steal(stat: str) -> tuple[dict[int, float], dict[int, float]]:
    """Return idle time (with waiting for disks) and steal of each CPU since boot, in seconds, from /proc/stat."""
    idle_s: dict[int, float] = {}
    steal_s: dict[int, float] = {}
    for line in stat.splitlines():
        name, *fields = line.split()
        if re.fullmatch(r"cpu\d+", name):
            cpu = int(name[3:])
            idle_s[cpu] = (int(fields[3]) + int(fields[4])) * TICK_S
            steal_s[cpu] = int(fields[7]) * TICK_S
    return idle_s, steal_s


def memory_and_disk_bytes(vmstat: str) -> dict[str, int]:
    """Return the columns that /proc/vmstat tells, in bytes since boot."""
    found = {name: (counter.findall(vmstat), unit) for name, (counter, unit) in VMSTAT.items()}
    return {name: unit * sum(map(int, values)) for name, (values, unit) in found.items() if values}


class Process(NamedTuple):
    """A process or a thread of the kernel; `cpu_s` since its start."""

    pid: int
    parent: int
    started_ticks: int
    name: str
    cpu_s: float

    @property
    def identity(self) -> tuple[int, int]:
        """The pid with the start: the kernel reuses pids."""
        return self.pid, self.started_ticks

    @property
    def is_on_request(self) -> bool:
        """Whether it is a thread of the kernel that works for whoever asks."""
        return self.parent == KTHREADD and ON_REQUEST.match(self.name) is not None


def processes() -> list[Process]:
    """Return all processes. Takes some milliseconds, with pauses."""
    found = []
    for reads, name in enumerate(os.listdir("/proc")):
        if reads % READS_BEFORE_PAUSE == 0:
            time.sleep(PAUSE_S)
        if name.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                found.append(parse_process(int(name), file.read()))
    return found


def parse_process(pid: int, stat: str) -> Process:
    """Parse the text of /proc/PID/stat."""
    head, _, rest = stat.rpartition(")")
    fields = rest.split()
    cpu_s = (int(fields[11]) + int(fields[12])) * TICK_S
    return Process(pid, int(fields[1]), int(fields[19]), head.partition("(")[2], cpu_s)


def descendants(root: int, all_processes: list[Process]) -> set[int]:
    """Return the pids of a process and of all its running descendants."""
    children: dict[int, list[int]] = {}
    for process in all_processes:
        children.setdefault(process.parent, []).append(process.pid)
    found, new = {root}, [root]
    while new:
        new = [child for parent in new for child in children.get(parent, []) if child not in found]
        found.update(new)
    return found


def parse_cpus(text: str) -> list[int]:
    """Parse `0,2-5`; nothing for an empty text."""
    cpus: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def raise_priority() -> None:
    """Take a niceness between the load generator's, -20, and other processes', if that is allowed."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)


def main(file: str, service: str, loadgen: str, other: str) -> None:
    """Sample until standard input ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if other:
        os.sched_setaffinity(0, parse_cpus(other))
    raise_priority()
    pinned = {"service": frozenset(parse_cpus(service)), "loadgen": frozenset(parse_cpus(loadgen))}
    sampler = Sampler(sorted(pinned["service"] | pinned["loadgen"]), os.getppid(), pinned)
    pending = b""
    with (
        open(file, "w", encoding="utf-8", buffering=1) as out,
        open(os.path.join(os.path.dirname(file), "processes.jsonl"), "w", encoding="utf-8", buffering=1) as loads,
    ):
        out.write(",".join(sampler.columns) + "\n")
        due = time.monotonic()
        while True:
            row = sampler.row()
            if row is not None:
                out.write(row + "\n")
            due = max(due + PERIOD_S, time.monotonic())
            while (left := due - time.monotonic()) > 0:
                if not select.select([sys.stdin], [], [], left)[0]:
                    continue
                read = os.read(sys.stdin.fileno(), 4096)
                if not read:
                    return
                *lines, pending = (pending + read).split(b"\n")
                for line in lines:
                    role, pid = line.decode("ascii").split()
                    load = sampler.watch(role, int(pid) if pid.isdecimal() else None)
                    if load is not None:
                        loads.write(json.dumps(load) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:5])
