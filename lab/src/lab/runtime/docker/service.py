"""One start of the service as a container."""

from __future__ import annotations

import contextlib
import subprocess
import time

from lab.errors import RunError
from lab.http import fetch
from lab.process.processes import Processes, describe_exit, tail
from lab.runtime.base import Ports, Service, ServiceSpec
from lab.runtime.docker.engine import Docker

DATA_PORT, ADMIN_PORT, LOADGEN_METRICS_PORT = 8080, 8081, 9101  # inside; docker-compose.yml publishes them
EVERY_INTERFACE = "0.0.0.0"  # noqa: S104 - of the container; published on 127.0.0.1 only
POLL_S = 0.05


class DockerService(Service):
    """One start of the service container."""

    def __init__(self, docker: Docker, processes: Processes, spec: ServiceSpec, ports: Ports) -> None:
        self.docker, self._docker = docker, docker
        self.ports = ports
        self._name = docker.container("service")
        self._log = spec.log
        self._log_start = spec.log.stat().st_size if spec.log.exists() else 0
        self._exit_code: int | None = None
        self._ended = False
        self._pid: int | None = None
        self._asked_for_pid = False
        self.admin_url = f"http://127.0.0.1:{ports.admin}"
        self.data_url = f"http://127.0.0.1:{ports.data}"
        with spec.log.open("ab") as log:
            self._logs = processes.start(
                ["docker", "logs", "--follow", self._name], stdout=log, env=docker.environment(), name="docker logs"
            )
        self._waiter = processes.start(
            ["docker", "wait", self._name], stdout=subprocess.PIPE, env=docker.environment(), name="docker wait"
        )

    @property
    def pid(self) -> int | None:
        """The JVM's pid here; None if the engine runs on another system. The engine is asked once, not beside loads."""
        if not self._asked_for_pid and self.alive():
            self._asked_for_pid = True
            self._pid = self._docker.pid_of(self._name, "lsmlab-server.jar")
        return self._pid

    def alive(self) -> bool:
        """Whether the container runs."""
        return not self._ended and self._waiter.alive()

    def wait_ready(self, timeout_s: float) -> None:
        """Return once the admin port says ready."""
        deadline = time.monotonic() + timeout_s
        while not _answers(f"{self.admin_url}/ready"):
            if not self.alive():
                raise RunError(f"the service {self._how_it_ended()} before it was ready", log_tail=self.log_tail())
            if time.monotonic() > deadline:
                raise RunError(f"the service was not ready after {timeout_s:g} s", log_tail=self.log_tail())
            time.sleep(POLL_S)

    def stop(self, timeout_s: float = 20.0) -> int | None:
        """Stop and remove the container."""
        if not self._ended:
            with contextlib.suppress(RunError):  # it may end by itself just now; remove() below completes the stop
                self._docker.ask(
                    ["docker", "stop", "--time", str(max(1, round(timeout_s))), self._name],
                    "stopping the service",
                    timeout_s + 10,
                )
            self._finish()
        return self._exit_code

    def log_tail(self, lines: int = 30) -> str:
        """Return the last lines of this start's log."""
        if not self._waiter.alive():
            self._logs.wait(2.0)  # follows to the very end, then ends itself
        return tail(self._log, lines, self._log_start)

    def _how_it_ended(self) -> str:
        self._read_exit_code()
        return describe_exit(self._exit_code)

    def _read_exit_code(self) -> None:
        if self._exit_code is None and self._waiter.wait(5.0) == 0:
            output = self._waiter.stdout.read().strip()
            self._exit_code = int(output) if output.isdigit() else None

    def _finish(self) -> None:
        self._ended = True
        self._read_exit_code()
        self._logs.wait(5.0)
        self._logs.end()
        self._waiter.end()
        self._docker.remove([self._name])


def _answers(url: str) -> bool:
    try:
        fetch(url, 1)
    except OSError:
        return False
    return True
