"""Chooses the runtime: what `RUNTIME` or `--runtime` says, else docker where an engine answers, else local."""

from __future__ import annotations

import shutil
import subprocess
from typing import Literal

from lab.errors import InputError, MissingToolError, did_you_mean
from lab.paths import House
from lab.runtime.base import Runtime

RUNTIMES = ("docker", "local")
EngineState = Literal["absent", "silent", "answers"]


def engine_state() -> EngineState:
    """Return whether Docker's command is there, and whether its engine answers within ten seconds."""
    if shutil.which("docker") is None:
        return "absent"
    try:
        done = subprocess.run(
            ["docker", "version", "--format", "{{.Server.Version}}"], capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return "silent"
    return "answers" if done.returncode == 0 else "silent"


def check_name(name: str | None) -> str | None:
    """Return a runtime's name as given, None for none. Raises InputError for one that there is not."""
    if not name:
        return None
    if name not in RUNTIMES:
        raise InputError(
            f"RUNTIME={name}: no such runtime{did_you_mean(name, RUNTIMES)}; there are: {', '.join(RUNTIMES)}"
        )
    return name


def runtime_class(name: str) -> type[Runtime]:
    """Return the implementation, imported only when it is wanted."""
    if name == "docker":
        from lab.runtime.docker import DockerRuntime  # noqa: PLC0415

        return DockerRuntime
    from lab.runtime.local import LocalRuntime  # noqa: PLC0415

    return LocalRuntime


def choose(house: House, name: str | None) -> Runtime:
    """Return the runtime for one run. Raises MissingToolError where docker is asked for and cannot be had."""
    wanted = check_name(name)
    if wanted is None:
        wanted = "docker" if engine_state() == "answers" else "local"
    elif wanted == "docker":
        state = engine_state()
        if state == "absent":
            raise MissingToolError(
                "RUNTIME=docker: Docker is not installed", "`lab doctor` says how to get it; or RUNTIME=local"
            )
        if state == "silent":
            raise MissingToolError(
                "RUNTIME=docker: Docker is installed, but its engine does not answer",
                "Start it (sudo systemctl start docker, or Docker Desktop) and see `docker info`; or RUNTIME=local",
            )
    return runtime_class(wanted)(house)
