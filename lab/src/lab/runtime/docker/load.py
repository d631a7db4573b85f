"""The load generator as a container in the service's network, so that the load travels over loopback.

It runs detached and its output is fetched when it has ended: an attached client that dies would lose it.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from lab.cpu_plan import cpu_list
from lab.errors import RunError
from lab.machine.host import processes_mentioning
from lab.process.commands import run_bytes
from lab.process.processes import Process, Processes, tail
from lab.runtime.docker import engine
from lab.runtime.docker.engine import Docker
from lab.runtime.docker.service import DATA_PORT, EVERY_INTERFACE, LOADGEN_METRICS_PORT
from lab.runtime.instruments import Service
from lab.runtime.specs import LIVENESS_S, LoadResult, LoadSpec

LOADGEN_DIR = "/opt/lsmlab/other"  # the directory of LOADGEN's program inside the container
INTERRUPT_GRACE_S = 5.0
PID_LIMIT_S, PID_POLL_S = 1.0, 0.05
"""The generator's process is looked for within the lead-in, and not after it."""


class Load:
    """One load at a time. `program` replaces the load generator in its image, `image` the whole image."""

    def __init__(self, docker: Docker, processes: Processes, program: Path | None, image: str) -> None:
        self._docker = docker
        self._processes = processes
        self._program = program
        self._image = image
        self._pid: int | None = None

    def run(self, docker: Docker, spec: LoadSpec, service: Service, loaded: Callable[[float], None]) -> LoadResult:
        """Run the load generator until it ends or the service dies. `docker` is that of the service's project.

        At the end, `loaded` is given the Unix time at which the load began.
        """
        name = f"{engine.PROJECT}-load-{docker.owner}"
        docker.settings["LAB_CPUS_LOADGEN"] = cpu_list(spec.cpus)
        mounts = [f"--volume={spec.out}:{spec.out}"]
        if spec.script is not None:
            mounts.append(f"--volume={spec.script.parent}:{spec.script.parent}:ro")
        docker.settings["LOADGEN_IMAGE"] = "" if spec.own else self._image
        if self._program and not spec.own:
            inside = f"{LOADGEN_DIR}/{self._program.name}"
            mounts += [f"--volume={self._program}:{inside}:ro", f"--entrypoint={inside}"]
        words = self._words(spec)
        docker.ask(
            docker.compose("run", "--detach", "--no-deps", "--name", name, *mounts, "loadgen", *words),
            "starting the load generator",
        )
        began = time.time()
        ended = self._processes.start(["docker", "wait", name], stdout=subprocess.PIPE, name="docker wait")
        try:
            while not self._find_pid(words) and time.time() < began + PID_LIMIT_S and ended.wait(PID_POLL_S) is None:
                pass
            while ended.wait(LIVENESS_S) is None and service.alive():
                pass
            if ended.alive():  # the service died; what it left is in its log
                self._interrupt(name, ended)
            code = _exit_code(ended)
        except BaseException:  # Ctrl-C, a phase's time limit
            self._interrupt(name, ended)
            raise
        finally:
            loaded(began)
            self._collect_output(name, spec.out)
            ended.end()
            self._pid = None
        return LoadResult(code, tail(spec.out / "load.err") if code else "")

    def pid(self) -> int | None:
        """Return the load generator's pid here; None if none runs, or if the engine runs on another system.

        Asks no engine: that would start a process, which would run beside the load.
        """
        return self._pid

    def _find_pid(self, words: list[str]) -> bool:
        self._pid = min(processes_mentioning(" ".join(words)), default=None)
        return self._pid is not None

    def _words(self, spec: LoadSpec) -> list[str]:
        words = spec.wrk2_words(str(spec.script))
        if spec.own or not (self._program or self._image):  # wrk2 has none of these options
            words += [*spec.own_words(), "--metrics", f"{EVERY_INTERFACE}:{LOADGEN_METRICS_PORT}"]
        return [*words, f"http://127.0.0.1:{DATA_PORT}{spec.path}", *(["--", *spec.words] if spec.script else [])]

    def _interrupt(self, name: str, ended: Process) -> None:
        self._docker.try_ask(["docker", "kill", "--signal", "INT", name])
        if ended.wait(INTERRUPT_GRACE_S) is None:
            self._docker.try_ask(["docker", "kill", name])
            ended.wait(INTERRUPT_GRACE_S)

    def _collect_output(self, name: str, out: Path) -> None:
        with (out / "load.txt").open("wb") as stdout, (out / "load.err").open("wb") as stderr:
            _copy_logs(name, stdout, stderr)
        if (out / "load.err").stat().st_size == 0:
            (out / "load.err").unlink()
        with contextlib.suppress(RunError):  # close() tries again; an error raised before this one matters more
            self._docker.remove([name])


def _exit_code(waiter: Process) -> int:
    waiter.wait(5.0)
    output = waiter.stdout.read().strip()
    return int(output) if output.isdigit() else 1


def _copy_logs(name: str, stdout: IO[bytes], stderr: IO[bytes]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        run_bytes(["docker", "logs", name], stdout=stdout, stderr=stderr, limit_s=30)
