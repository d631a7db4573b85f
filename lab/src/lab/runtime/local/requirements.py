"""The requirements of the local runtime, whether this machine meets them, and the commands that install them."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lab.errors import MissingToolError
from lab.paths import Checkout, find_checkout
from lab.process.commands import run_text
from lab.process.locks import is_held
from lab.runtime.base import Check

RUST_MINIMUM = (1, 85)
GLIBC_MINIMUM = (2, 38)

_INSTALL = {
    "apt-get": "sudo apt-get install -y {}",
    "dnf": "sudo dnf install -y {}",
    "apk": "sudo apk add {}",
    "pacman": "sudo pacman -S --needed {}",
    "brew": "brew install {}",
}
_PACKAGES = {
    "jdk": "openjdk-25-jdk-headless, java-25-openjdk-devel, openjdk25-jdk, jdk-openjdk, openjdk@25",
    "cargo": "cargo, cargo, cargo, rust, rust",
    "cc": "gcc libc6-dev, gcc, build-base, gcc, gcc",
    "taskset": "util-linux, util-linux, util-linux-misc, util-linux, util-linux",
    "prometheus": "prometheus, golang-github-prometheus, prometheus, prometheus, prometheus",
    "node_exporter": "prometheus-node-exporter, node-exporter, prometheus-node-exporter, prometheus-node-exporter, "
    "node_exporter",
}
"""The packages of a tool for each installer, in their order, if their names are not the tool's."""


def checks() -> list[Check]:
    """Return every check of the local runtime; starts only programs that print their version."""
    found = [_jdk(), _tool("maven", "mvn"), _rust(), _tool("cc", "cc"), _tool("make", "make")]
    if platform.system() == "Linux":
        found.append(_tool("taskset", "taskset"))
    found.append(_optional("prometheus", ["prometheus"], "scrapes a run's metrics"))
    found.append(_optional("node_exporter", ["node_exporter", "prometheus-node-exporter"], "metrics of the host"))
    found.append(_perf_events())
    if platform.system() == "Linux":
        found.append(_native_transport())
    return found


def find_jdk() -> Path:
    """Return the home of a JDK ≥ 25. Raises MissingToolError with the message of bin/find-jdk."""
    script = find_checkout().root / "bin" / "find-jdk"
    done = run_text([str(script)], limit_s=60)
    if done.returncode != 0:
        raise MissingToolError(done.stderr.strip() or "no JDK 25 found", jdk_command())
    return Path(done.stdout.strip())


def install_command(tool: str) -> str:
    """Return the command that installs a tool here; empty if this system's package manager is unknown."""
    packages = _PACKAGES.get(tool, ", ".join([tool] * len(_INSTALL))).split(", ")
    for (installer, form), package in zip(_INSTALL.items(), packages, strict=True):
        if shutil.which(installer):
            command = form.format(package)
            return command.removeprefix("sudo ") if _is_root() else command
    return ""


def jdk_command() -> str:
    """Return the command that installs a JDK 25: the distribution's package if it has one, else SDKMAN."""
    if shutil.which("apt-get") and not _apt_knows("openjdk-25-jdk-headless"):
        return "curl -s https://get.sdkman.io | bash && . ~/.sdkman/bin/sdkman-init.sh && sdk install java 25-open"
    return install_command("jdk")


def is_stale(checkout: Checkout, command: str) -> bool:
    """Return whether a command line names the work directory of a run that has ended: its lock is free."""
    match = re.search(re.escape(str(checkout.work)) + r"/([^/\s]+)/", command)
    return match is not None and not is_held(checkout.work / match[1])


def _jdk() -> Check:
    try:
        home = find_jdk()
    except MissingToolError as error:
        return Check("JDK 25 or later", False, error.message, jdk_command())
    return Check("JDK 25 or later", True, str(home))


def _rust() -> Check:
    version = _version(["cargo", "--version"])
    if version is None:
        return Check("Cargo 1.85 or later", False, "cargo is not on the PATH", install_command("cargo"))
    match = re.search(r"(\d+)\.(\d+)", version)
    new_enough = match is not None and (int(match[1]), int(match[2])) >= RUST_MINIMUM
    command = "" if new_enough else "curl --proto '=https' -sSf https://sh.rustup.rs | sh -s -- -y"
    return Check("Cargo 1.85 or later", new_enough, version, command)


def _tool(name: str, program: str) -> Check:
    path = shutil.which(program)
    if path is None:
        return Check(name, False, f"{program} is not on the PATH", install_command(name))
    return Check(name, True, path)


def _optional(name: str, programs: Sequence[str], purpose: str) -> Check:
    for program in programs:
        path = shutil.which(program)
        if path is not None:
            return Check(name, True, path, required=False)
    return Check(name, False, f"not on the PATH; optional: {purpose}", install_command(name), required=False)


def _perf_events() -> Check:
    """Kernel frames and a fine sampling interval need perf events; without, the profiler uses a timer."""
    path = Path("/proc/sys/kernel/perf_event_paranoid")
    try:
        level = int(path.read_text())
    except (OSError, ValueError):
        return Check("perf events", False, "this kernel has none; the profiler samples by a timer", required=False)
    if level <= 1 or _is_root():
        return Check("perf events", True, f"perf_event_paranoid is {level}", required=False)
    detail = f"perf_event_paranoid is {level}: the profiler samples by a timer, without kernel frames"
    return Check("perf events", False, detail, "sudo sysctl kernel.perf_event_paranoid=1 kernel.kptr_restrict=0", False)


def _native_transport() -> Check:
    """Without its native transport, one-nio uses Java's selectors: figures of the two are not comparable."""
    name, (libc, version) = "one-nio native", platform.libc_ver()
    match = re.match(r"(\d+)\.(\d+)", version)
    if libc == "glibc" and match is not None and (int(match[1]), int(match[2])) >= GLIBC_MINIMUM:
        return Check(name, True, f"{libc} {version}", required=False)
    found = f"{libc} {version}".strip() or "no glibc"
    detail = f"{found}, it needs glibc 2.38: the service uses Java's sockets here; RUNTIME=docker has it everywhere"
    return Check(name, False, detail, required=False)


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _apt_knows(package: str) -> bool:
    try:
        done = run_text(["apt-cache", "show", package], limit_s=20)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and bool(done.stdout)


def _version(argv: list[str]) -> str | None:
    try:
        done = run_text(argv, limit_s=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else None
