"""One start of the service in its pod."""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path

from lab.errors import RunError
from lab.kubernetes.kubectl import Kubectl
from lab.kubernetes.manifests import ADMIN_PORT, DATA_PORT
from lab.kubernetes.waiting import why_lost
from lab.process.processes import Process, Processes, describe_exit, tail
from lab.runtime.base import Service, ServiceSpec

POLL_S = 0.1
FORWARD_LIMIT_S = 30.0
POD = CONTAINER = "service"


class KubernetesService(Service):
    """One start of the service. Its process is a `kubectl exec`, which lasts as long as the JVM does.

    `directory` is that of this start in the pod; `service.pid` in it holds the JVM's pid there.
    """

    def __init__(self, kubectl: Kubectl, processes: Processes, spec: ServiceSpec, directory: str, address: str) -> None:
        self.address = address
        self._kubectl = kubectl
        self._processes = processes
        self._pid_file = f"{directory}/service.pid"
        self._work_dir = spec.work_dir
        self._log = spec.log
        self._log_start = spec.log.stat().st_size if spec.log.exists() else 0
        self._forward: Process | None = None
        self._ended = False
        self.admin_url = self.data_url = ""
        java = (
            f"exec java @/opt/lsmlab/jvm.options @{directory}/jvm.args -jar lsmlab-server.jar "
            f"serve --config {directory}/service.yaml"
        )
        command = ["sh", "-c", f"echo $$ >{self._pid_file}; {java}"]
        with spec.log.open("ab") as log:
            self._process = processes.start(
                kubectl.exec_words(POD, CONTAINER, command), stdout=log, name="the service's kubectl exec"
            )

    @property
    def pid(self) -> int | None:
        """None: the process is on another machine."""
        return None

    def alive(self) -> bool:
        """Whether the process runs, as far as the API server's stream shows."""
        return not self._ended and self._process.alive()

    def wait_ready(self, timeout_s: float) -> None:
        """Return once the service has reported that it is ready and its ports are forwarded to this machine."""
        deadline = time.monotonic() + timeout_s
        while not re.search(r"^ready data=", tail(self._log, 1000, self._log_start), re.MULTILINE):
            if not self.alive():
                raise RunError(f"the service {self._how_it_ended()} before it was ready", log_tail=self.log_tail())
            if time.monotonic() > deadline:
                raise RunError(f"the service was not ready after {timeout_s:g} s", log_tail=self.log_tail())
            time.sleep(POLL_S)
        words = self._kubectl.words("port-forward", f"pod/{POD}", f":{DATA_PORT}", f":{ADMIN_PORT}")
        # Into a file: it has a line for each connection, which would fill a pipe without a reader.
        said = self._work_dir / "port-forward.log"
        with said.open("wb") as log:
            self._forward = self._processes.start(words, stdout=log, name="kubectl port-forward")
        local = _forwarded_ports(self._forward, said)
        self.data_url = f"http://127.0.0.1:{local[DATA_PORT]}"
        self.admin_url = f"http://127.0.0.1:{local[ADMIN_PORT]}"

    def stop(self, timeout_s: float = 20.0) -> int | None:
        """Ask the JVM to end, wait, kill it."""
        if not self._ended:
            self._signal("TERM")
            if self._process.wait(timeout_s) is None:
                self._signal("KILL")
            self._finish()
        return self._process.exit_code()

    def log_tail(self, lines: int = 30) -> str:
        """Return the last lines of this start's log, and how it ended if it has."""
        said = tail(self._log, lines, self._log_start)
        return said if self.alive() else f"{said}\nThe service {self._how_it_ended()}"

    def _how_it_ended(self) -> str:
        """Return how the process ended, what happened to its pod, or that the connection to it was lost."""
        code = self._process.exit_code()
        lost = why_lost(self._kubectl, POD)
        # kubectl prints this if the command ended, and not if its own connection did.
        of_itself = "command terminated with exit code" in tail(self._log, 3, self._log_start)
        if not lost and code == 1 and not of_itself:
            lost = "its pod runs on, but the connection to it was lost: was the API server restarted?"
        return f"{describe_exit(code)}; {lost}" if lost else describe_exit(code)

    def _signal(self, name: str) -> None:
        with contextlib.suppress(RunError):  # the process may be gone, or its pod with it
            command = ["sh", "-c", f"kill -{name} $(cat {self._pid_file})"]
            self._kubectl.run(POD, CONTAINER, command, "signalling the service", limit_s=10)

    def _finish(self) -> None:
        self._ended = True
        self._process.wait(5.0)
        self._process.end()
        if self._forward is not None:
            self._forward.end()


def _forwarded_ports(forward: Process, said: Path) -> dict[int, int]:
    """Return the local port of each port in the pod."""
    deadline = time.monotonic() + FORWARD_LIMIT_S
    while True:
        pairs = re.findall(r"^Forwarding from 127\.0\.0\.1:(\d+) -> (\d+)$", tail(said), re.MULTILINE)
        if len(pairs) == 2:
            return {int(inside): int(here) for here, inside in pairs}
        if not forward.alive() or time.monotonic() > deadline:
            raise RunError("kubectl port-forward does not reach the service's pod", log_tail=tail(said))
        time.sleep(POLL_S)
