"""Reads the host from /proc and /sys: CPU time, steal, pressure, memory, ports and processes.

Every function returns "unknown" (None, or a key left out) if a system does not provide a value; none raises for that.

It does not use psutil, which has no pressure (PSI) and numbers CPUs by their order, wrongly if one is offline, and
would make this file only a quarter shorter.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab.units import format_bytes

PROC = Path("/proc")
_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


@dataclass(frozen=True)
class CpuTimes:
    """Ticks since boot of one CPU, or of all together."""

    busy: int
    steal: int
    total: int


def cpu_times() -> dict[str, CpuTimes]:
    """Return the times of `cpu` (all together) and of `cpu0`, `cpu1` and so on."""
    result = {}
    for line in _read(PROC / "stat").splitlines():
        name, *fields = line.split()
        if not name.startswith("cpu"):
            continue
        ticks = dict(zip(_STATES, map(int, fields), strict=False))
        total = sum(ticks.values())
        idle = ticks.get("idle", 0) + ticks.get("iowait", 0)
        result[name] = CpuTimes(total - idle, ticks.get("steal", 0), total)
    return result


def cpu_stall_s() -> float | None:
    """Return the time since boot in which some process waited for a CPU, from PSI."""
    match = re.search(r"^some .*total=(\d+)", _read(PROC / "pressure" / "cpu"), re.MULTILINE)
    return int(match[1]) / 1e6 if match else None


def memory_bytes() -> dict[str, int]:
    """Return `total` and `available`."""
    wanted = {"MemTotal": "total", "MemAvailable": "available"}
    result = {}
    for line in _read(PROC / "meminfo").splitlines():
        name, _, rest = line.partition(":")
        if name in wanted:
            result[wanted[name]] = int(rest.split()[0]) * 1024
    return result


def port_is_free(host: str, port: int) -> bool:
    """Whether this process could listen there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 that are free now; another process may take one before the caller does."""
    with contextlib.ExitStack() as probes:
        sockets = [probes.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(probe.getsockname()[1]) for probe in sockets]


def listener_on(port: int) -> str | None:
    """Return `pid (command line)` of the process that listens on a port, if this user may know it."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        for line in _read(PROC / "net" / table).splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{fields[9]}]")
    if not inodes:
        return None
    for pid in _pids():
        if inodes.intersection(_open_files(pid)):
            return f"process {pid} ({command_line(pid)[:100]})"
    return None


def command_line(pid: int) -> str:
    """Return a process's command line with blanks between the words; empty if it has ended."""
    return _read(PROC / str(pid) / "cmdline").replace("\0", " ").strip()


def processes_mentioning(text: str) -> list[int]:
    """Return the pids whose command line holds `text`, without this process."""
    return [pid for pid in _pids() if pid != os.getpid() and text in command_line(pid)]


def _open_files(pid: int) -> list[str]:
    targets = []
    with contextlib.suppress(OSError):
        for descriptor in (PROC / str(pid) / "fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                targets.append(str(descriptor.readlink()))
    return targets


def _pids() -> list[int]:
    try:
        return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    except OSError:
        return []


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


LOOK_S = 0.5
BUSY_SHARE_MAX = 0.10
STEAL_SHARE_MAX = 0.01
PRESSURE_SHARE_MAX = 0.10
MEMORY_AVAILABLE_MIN_BYTES = 2 << 30


def noise_audit(sleep: Callable[[float], None] = time.sleep) -> list[str]:
    """Return what would disturb a measurement now, one sentence each; empty on a quiet machine.

    Watches for half a second, before anything of the run exists. The verdict does not use it; it uses what the sampler
    saw in the measured seconds.
    """
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


def process_tree(pid: int) -> list[int]:
    """Return a process and its descendants, parents first; empty if it has ended."""
    children: dict[int, list[int]] = {}
    for one in _pids():
        if match := re.search(r"\) \S (\d+) ", _read(PROC / str(one) / "stat")):
            children.setdefault(int(match[1]), []).append(one)
    found = [pid] if (PROC / str(pid)).exists() else []
    for one in found:
        found += children.get(one, [])
    return found


@dataclass(frozen=True)
class Listener:
    """A socket that listens on a TCP port, and the process of those asked for that has it open; None for another."""

    port: int
    pid: int | None


def listeners(pids: list[int]) -> list[Listener]:
    """Return every listening socket of the network namespace of the first process, by port."""
    if not pids:
        return []
    owners = {name: pid for pid in reversed(pids) for name in _open_files(pid)}
    found = []
    for table in ("tcp", "tcp6"):
        for line in _read(PROC / str(pids[0]) / "net" / table).splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                port = int(fields[1].rpartition(":")[2], 16)
                found.append(Listener(port, owners.get(f"socket:[{fields[9]}]")))
    return sorted(found, key=lambda one: one.port)


def process_cpu_s(pid: int) -> float | None:
    """Return the CPU time that a process has used; None if it has ended."""
    match = re.search(r"\) \S (?:\S+ ){10}(\d+) (\d+)", _read(PROC / str(pid) / "stat"))
    return None if match is None else (int(match[1]) + int(match[2])) / os.sysconf("SC_CLK_TCK")


def is_jvm(pid: int) -> bool:
    """Return whether a process is a JVM."""
    return "libjvm.so" in _read(PROC / str(pid) / "maps")
