"""The fingerprint of a run: all facts that can change a number, by name, and their hash.

Facts are strings in the order of their names, so that equal machines give equal hashes. A fact that cannot be read is
left out, never guessed; two runs that both lack it agree in the known facts.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.manifest import Environment

IGNORED = ("profiling_engine", "memory_bytes", "fingerprint", "git.dirty")
"""Facts that do not affect latency; images and versions of programs that only watch are ignored too."""
MEASURED = "measured"
"""The key of what is measured in each run, or named for it, at any depth: it never repeats."""
ONLY_WATCHES = re.compile(r"(images|libraries)\.(prometheus|node-exporter|grafana|artifacts|profiler|async-profiler)$")

OF_THE_SOURCES = re.compile(r"(git|images|libraries)\.")
"""Facts that change with the sources, which may be what is compared."""
OF_THE_EXPERIMENT = re.compile(r"dataset\.|jvm_flags$|gc$")
"""Facts that an experiment declares."""

_CPU = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Difference:
    """A fact in which two runs differ; None: the run does not know it."""

    name: str
    a: str | None
    b: str | None

    def __str__(self) -> str:
        return f"{self.name}: {self.a or 'unknown'} against {self.b or 'unknown'}"


def host_facts(storage: Path) -> dict[str, str]:
    """Return the facts of this machine from the kernel; `storage` is where the service keeps its data."""
    sources: dict[str, Callable[[], str | None]] = {
        "architecture": platform.machine,
        "cgroup_cpu_quota": _cpu_quota,
        "clock_source": lambda: _read(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        "halt_poll_ns": lambda: _read(Path("/sys/module/haltpoll/parameters/guest_halt_poll_ns")),
        "huge_pages": lambda: _chosen(_read(Path("/sys/kernel/mm/transparent_hugepage/enabled"))),
        "kernel_build": platform.version,
        "kernel_command_line": lambda: _read(Path("/proc/cmdline")),
        "microcode": lambda: _cpuinfo("microcode"),
        "mitigations": _mitigations,
        "smt": lambda: _read(_CPU / "smt" / "control"),
        "storage": lambda: _mount_of(storage),
        "swappiness": lambda: _read(Path("/proc/sys/vm/swappiness")),
        "topology": _topology,
    }
    return {name: value for name, source in sources.items() if (value := source())}


def facts(environment: Environment) -> dict[str, str]:
    """Return every known fact that can change a number, by its name, such as `cpu.model` or `host.smt`."""
    flat: dict[str, str] = {}
    _flatten("", environment.model_dump(mode="json", exclude_none=True), flat)
    return {name: flat[name] for name in sorted(flat) if name not in IGNORED and ONLY_WATCHES.search(name) is None}


def digest(environment: Environment) -> str:
    """Return the hash of the facts: 16 hexadecimal digits of SHA-256."""
    return hashlib.sha256(json.dumps(facts(environment), sort_keys=True).encode()).hexdigest()[:16]


def machine_digest(environment: Environment) -> str:
    """Return the hash of the facts that stay when sources and experiment change: of the machine and its software."""
    kept = {
        name: value
        for name, value in facts(environment).items()
        if not OF_THE_SOURCES.match(name) and not OF_THE_EXPERIMENT.match(name)
    }
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


def differences(a: Environment, b: Environment, ignoring: frozenset[str] = frozenset()) -> list[Difference]:
    """Return the facts in which two runs differ, without those that a comparison varies on purpose (`ignoring`)."""
    of_a, of_b = facts(a), facts(b)
    names = sorted((of_a.keys() | of_b.keys()) - ignoring)
    return [Difference(name, of_a.get(name), of_b.get(name)) for name in names if of_a.get(name) != of_b.get(name)]


def _flatten(prefix: str, value: Any, flat: dict[str, str]) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key != MEASURED:
                _flatten(f"{prefix}.{key}" if prefix else str(key), inner, flat)
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        for number, inner in enumerate(value, start=1):
            _flatten(f"{prefix}.{number}", inner, flat)
    elif isinstance(value, list):
        flat[prefix] = " ".join(map(str, value))
    else:
        flat[prefix] = str(value)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _chosen(text: str | None) -> str | None:
    """Return the word in brackets: `madvise` of `always [madvise] never`."""
    match = re.search(r"\[(.+?)\]", text or "")
    return match[1] if match else None


def _cpuinfo(key: str) -> str | None:
    match = re.search(rf"^{key}\s*: (.+)$", _read(Path("/proc/cpuinfo")) or "", re.MULTILINE)
    return match[1].strip() if match else None


def _mitigations() -> str | None:
    directory = _CPU / "vulnerabilities"
    found = [f"{path.name}: {_read(path)}" for path in sorted(directory.glob("*"))] if directory.is_dir() else []
    return "; ".join(found) or None


def _topology() -> str | None:
    siblings = {
        text for path in _CPU.glob("cpu[0-9]*/topology/thread_siblings_list") if (text := _read(path)) is not None
    }
    return " ".join(sorted(siblings)) or None


def _cpu_quota() -> str | None:
    """Return the quota of the lab's own cgroup, which also contains the service of a local run."""
    for line in (_read(Path("/proc/self/cgroup")) or "").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" and (quota := _read(Path(f"/sys/fs/cgroup{path}/cpu.max"))):
            return quota
        if "cpu" in controllers.split(","):
            return _read(Path(f"/sys/fs/cgroup/cpu{path}/cpu.cfs_quota_us"))
    return None


def _mount_of(path: Path) -> str | None:
    """Return type and options of the file system that a path is on."""
    mounts = (_read(Path("/proc/mounts")) or "").splitlines()
    real, best, found = str(path.resolve()), "", None
    for line in mounts:
        _, point, kind, options, *_ = line.split()
        if (real == point or real.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, found = point, f"{kind} {options}"
    return found
