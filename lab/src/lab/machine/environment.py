"""The fingerprint of machine and software for run.json. A fact that cannot be read stays None, which means unknown."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lab.http import fetch
from lab.json_file import read_object
from lab.machine.fingerprint import host_facts
from lab.machine.host import memory_bytes
from lab.manifest import Cpu, Environment, Git, Tool
from lab.paths import Checkout
from lab.process.commands import run_text


def describe_machine(checkout: Checkout) -> Environment:
    """Return the facts about the machine and the checkout that are known before anything is started."""
    return Environment(
        cpu=_cpu(),
        kernel=platform.release() or None,
        os=_os_name(),
        memory_bytes=memory_bytes().get("total"),
        git=_git(checkout),
        host=host_facts(checkout.work if checkout.work.exists() else checkout.root),
    )


def read_config(url: str | None, timeout_s: float = 5.0) -> dict[str, Any]:
    """Return the service's own view (`GET /config`), or nothing if a service does not have it."""
    if url is None:
        return {}
    try:
        document = json.loads(fetch(url, timeout_s))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def add_service_view(environment: Environment, config: dict[str, Any]) -> None:
    """Put the service's view of its JVM into the fingerprint; what is not as docs/contracts.md says is left out."""
    keys = {"java_version": "jvm", "jvm_flags": "jvm_flags", "gc": "gc", "native_transport": "native_transport",
            "libraries": "libraries"}  # fmt: skip
    for key, name in keys.items():
        with contextlib.suppress(ValidationError):
            if key in config:
                setattr(environment, name, getattr(Environment.model_validate({name: config[key]}), name))


def profiling_engine(run_dir: Path) -> str | None:
    """Return the engine that took the samples (`perf_events`, `ctimer`), from profile/profile.json."""
    engine = read_object(run_dir / "profile" / "profile.json").get("engine")
    return engine if isinstance(engine, str) else None


def load_generator(run_dir: Path, custom: str = "") -> Tool | None:
    """Return the load generator, as the first repetition's load.json names it; `custom` is the path of another one."""
    if custom:
        return Tool(name=Path(custom).name, version="unknown", custom=True)
    generator = read_object(run_dir / "measure" / "1" / "load.json").get("generator")
    if not isinstance(generator, dict):
        return None
    return Tool(name=str(generator.get("name", "unknown")), version=str(generator.get("version", "unknown")))


def _cpu() -> Cpu | None:
    logical = os.cpu_count()
    if logical is None:
        return None
    model, hypervisor, cores = platform.processor() or platform.machine(), None, set()
    physical = core = None
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = (part.strip() for part in line.partition(":"))
        if key == "model name":
            model = value
        elif key == "physical id":
            physical = value
        elif key == "core id":
            core = value
            cores.add((physical, core))
        elif key == "flags" and "hypervisor" in value.split():
            hypervisor = _first_line(Path("/sys/class/dmi/id/sys_vendor")) or "yes"
    return Cpu(
        model=model,
        logical=logical,
        cores=len(cores) or None,
        threads_per_core=logical // len(cores) if cores and logical % len(cores) == 0 else None,
        governor=_first_line(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        turbo=_turbo(),
        hypervisor=hypervisor,
    )


def _turbo() -> bool | None:
    no_turbo = _first_line(Path("/sys/devices/system/cpu/intel_pstate/no_turbo"))
    if no_turbo is not None:
        return no_turbo == "0"
    boost = _first_line(Path("/sys/devices/system/cpu/cpufreq/boost"))
    return None if boost is None else boost == "1"


def _os_name() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return platform.platform() or None


def _git(checkout: Checkout) -> Git | None:
    def ask(*words: str) -> str | None:
        try:
            done = run_text(["git", "-C", str(checkout.root), *words], limit_s=20)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit, changes = ask("rev-parse", "HEAD"), ask("status", "--porcelain")
    if commit is None or changes is None:
        return None
    diff_hash = _diff_hash(checkout.root, ask) if changes else None
    return Git(commit=commit, dirty=bool(changes), diff_hash=diff_hash)


def _diff_hash(root: Path, ask: Callable[..., str | None]) -> str | None:
    """Return a hash of the differences from the commit: the diff, and the names and contents of untracked files."""
    diff, untracked = ask("diff", "HEAD", "--binary"), ask("ls-files", "--others", "--exclude-standard", "-z")
    if diff is None or untracked is None:
        return None
    found = hashlib.sha256(diff.encode(errors="surrogateescape"))
    for name in filter(None, untracked.split("\0")):
        found.update(name.encode(errors="surrogateescape"))
        with contextlib.suppress(OSError), (root / name).open("rb") as file:
            found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()[:16]


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()[0].strip() or None
    except (OSError, IndexError):
        return None
