"""The service as a child process."""

from __future__ import annotations

import time

from lab.errors import RunError
from lab.process.processes import POLL_S, Process, describe_exit, tail
from lab.runtime.instruments import Service
from lab.runtime.specs import ServiceSpec

SERVICE_NAME = "the service"
READY_WORD = "ready "


class LocalService(Service):
    """The service as a child process; its ready line names the ports."""

    def __init__(self, process: Process, spec: ServiceSpec, log_start: int) -> None:
        self._process = process
        self._log = spec.log
        self._log_start = log_start
        self.admin_url = ""
        self.data_url = ""

    @property
    def pid(self) -> int | None:
        """The JVM's pid."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.alive()

    def wait_ready(self, timeout_s: float) -> None:
        """Wait for the line `ready data=HOST:PORT admin=HOST:PORT` in its log."""
        deadline = time.monotonic() + timeout_s
        while True:
            alive = self.alive()
            for line in self._own_log():
                if line.startswith(READY_WORD):
                    addresses = dict(word.split("=", 1) for word in line.split()[1:] if "=" in word)
                    self.data_url = f"http://{addresses['data']}"
                    self.admin_url = f"http://{addresses['admin']}"
                    return
            if not alive:
                how = describe_exit(self._process.exit_code())
                raise RunError(f"{SERVICE_NAME} {how} before it was ready", log_tail=self.log_tail())
            if time.monotonic() > deadline:
                raise RunError(f"{SERVICE_NAME} was not ready within {timeout_s:.0f} s", log_tail=self.log_tail())
            time.sleep(POLL_S)

    def stop(self, timeout_s: float = 20.0) -> int | None:
        """End it with SIGTERM, after the timeout with SIGKILL."""
        return self._process.end(timeout_s)

    def log_tail(self, lines: int = 30) -> str:
        """Return the end of what this start wrote."""
        return tail(self._log, lines, self._log_start)

    def _own_log(self) -> list[str]:
        return tail(self._log, 400, self._log_start).splitlines()
