"""A service of the user's own as a child process: started as it is, its port found, in a network of its own.

Nothing is asked of it but to serve HTTP and to end. It has a network namespace of its own where the system allows that,
so two services that both insist on port 8080 can run at once, and the load generator joins that namespace. Elsewhere
each gets a free port by the usual variables, and one that ignores them cannot be compared in turns.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

from lab.errors import RunError
from lab.experiment.service import LogLine, ServiceSettings
from lab.http import status_of
from lab.machine.host import Listener, free_ports, is_jvm, listeners, process_tree
from lab.process.processes import Process, Processes, describe_exit, tail
from lab.runtime.instruments import Service
from lab.runtime.specs import ServiceSpec

USUAL_PORT = 8080
PORT_VARIABLES = ("PORT", "SERVER_PORT", "QUARKUS_HTTP_PORT", "MICRONAUT_SERVER_PORT")
"""Where servers look for their port: by convention, Spring Boot, Quarkus, Micronaut."""
NETWORK = [sys.executable, "-I", "-S", str(Path(__file__).parents[2] / "process/network.py")]
OTHER_PORT_S = 10.0
"""A service that has had another port open for so long does not open the one that was named."""
SETTLED_S = 0.5
"""Time in which a service opens no further port, so that the one found is the one to load."""
STOP_S = 10.0
LOOK_S = 0.05
ANSWER_S = 2.0
ENDED_BY_SIGTERM = (143, -15)


@cache
def networks_problem() -> str:
    """Return why no network namespace can be made here; empty if one can."""
    done = subprocess.run([*NETWORK, "new"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it failed"])[-1]


class ForeignService(Service):
    """A started service of the user's own."""

    def __init__(self, spec: ServiceSpec, declared: ServiceSettings, processes: Processes, java: str) -> None:
        """Start it."""
        self._declared = declared
        self._processes = processes
        self._work = spec.work_dir
        self._cpus: tuple[int, ...] = ()
        self._log = spec.log
        self._apart = not networks_problem()
        self._expected = declared.port or (USUAL_PORT if self._apart else free_ports(1)[0])
        self._listener: Listener | None = None
        self._doors: dict[int, tuple[Process, str]] = {}
        fill = {"{port}": str(self._expected), "{java}": java}
        words = declared.command or (java, *declared.jvm, "-jar", str(declared.jar))
        command = [_filled(word, fill) for word in words]
        environment = {**os.environ, **dict.fromkeys(PORT_VARIABLES, str(self._expected))}
        environment |= {key: _filled(str(value), fill) for key, value in (declared.env or {}).items()}
        with spec.log.open("ab") as log:
            self._log_start = log.tell()
            self._process = processes.start(
                [*NETWORK, "new", *command] if self._apart else command,
                cpus=spec.cpus,
                stdout=log,
                cwd=Path(declared.workdir) if declared.workdir else None,
                env=environment,
                name=declared.label,
            )

    @property
    def name(self) -> str:
        """The service in messages."""
        return self._declared.label

    @property
    def pid(self) -> int | None:
        """The process that listens: the one started, or one that it started."""
        owner = None if self._listener is None else self._listener.pid
        return owner or self._process.pid

    @property
    def is_jvm(self) -> bool:
        """Whether the process that listens is a JVM."""
        return self.pid is not None and is_jvm(self.pid)

    @property
    def metrics_url(self) -> str | None:
        """Its metrics, if it is said where they are."""
        return self._of_admin(self._declared.metrics)

    @property
    def quiesce_url(self) -> str | None:
        """Its own way to come to rest, if it is said."""
        return self._of_admin(self._declared.quiesce)

    @property
    def config_url(self) -> None:
        """It has no view of its own configuration that the lab could read."""
        return

    @property
    def load_url(self) -> str:
        """Where the load generator finds it."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        """The port that is loaded."""
        return self._expected if self._listener is None else self._listener.port

    def joining(self) -> list[str]:
        """Return the words before a command that is to run where the service is."""
        return [*NETWORK, "join", str(self._process.pid)] if self._apart else []

    def door(self, port: int) -> str:
        """Return the URL of a port of the service for this process."""
        if not self._apart:
            return f"http://127.0.0.1:{port}"
        if port not in self._doors:
            self._doors[port] = self._open_door(port)
        return self._doors[port][1]

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.alive()

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until its port is open, and it is ready as declared."""
        timeout_s = self._declared.start_limit_s or timeout_s
        began = changed = time.monotonic()
        known: list[int] = []
        while True:
            alive = self.alive()
            tree = process_tree(self._process.pid)
            found = [one for one in listeners(tree) if one.pid is not None]
            now, ports = time.monotonic(), sorted({one.port for one in found})
            if ports != known:
                known, changed = ports, now
            self._listener = self._choose(found, now - changed)
            if self._listener is not None and self._is_ready():
                break
            if not alive:
                how = describe_exit(self._process.exit_code())
                raise RunError(f"{self.name} {how} before it was ready", self._no_network(), self.log_tail())
            self._refuse_other_ports(known, now - changed)
            if now - began > timeout_s:
                raise RunError(*self._why_not_ready(known, timeout_s), self.log_tail())
            time.sleep(LOOK_S)
        self._refuse_shared_port(tree)
        self.data_url = self.door(self.port)
        self.admin_url = self.door(self._declared.admin or self.port)

    def stop(self, timeout_s: float = STOP_S) -> int | None:
        """End it; 0 also stands for an end by SIGTERM."""
        for process, _ in self._doors.values():
            process.end(0)
        self._doors.clear()
        code = self._process.end(min(timeout_s, STOP_S))
        return 0 if code in ENDED_BY_SIGTERM else code

    def log_tail(self, lines: int = 30) -> str:
        """Return the end of what this start wrote."""
        return tail(self._log, lines, self._log_start)

    def _of_admin(self, path: str | None) -> str | None:
        return None if path is None else f"{self.door(self._declared.admin or self.port)}{path}"

    def _choose(self, found: list[Listener], settled_s: float) -> Listener | None:
        """Return the port to load: the one named, the usual one, or the only one."""
        known = {one.port: one for one in reversed(found)}
        if self._expected in known or self._declared.port:
            return known.get(self._expected)
        known.pop(self._declared.admin or 0, None)
        return next(iter(known.values())) if len(known) == 1 and settled_s >= SETTLED_S else None

    def _is_ready(self) -> bool:
        ready = self._declared.ready
        if isinstance(ready, LogLine):
            return ready.log in tail(self._log, 10_000, self._log_start)
        return ready is None or status_of(f"{self.door(self.port)}{ready}", ANSWER_S) == 200

    def _refuse_other_ports(self, ports: list[int], settled_s: float) -> None:
        """Raise if the service listens, but not where it should."""
        if self._listener is not None or not ports or settled_s < OTHER_PORT_S:
            return
        opened = " and ".join(map(str, ports))
        if self._declared.port:
            raise RunError(
                f"{self.name} does not listen on port {self._declared.port}, which is declared, but on {opened}",
                f"Write port: {ports[0]}, or leave port out: then the port is found",
                self.log_tail(),
            )
        raise RunError(
            f"{self.name} listens on ports {opened}, and it is not known which of them to load",
            f"Write the one that serves the requests: port: {ports[0]}",
            self.log_tail(),
        )

    def _why_not_ready(self, ports: list[int], timeout_s: float) -> tuple[str, str]:
        ready = self._declared.ready
        if self._listener is None:
            opened = f"it listens on {ports}" if ports else "it opened no port"
            return f"{self.name} was not ready within {timeout_s:.0f} s: {opened}", "Its log follows."
        if isinstance(ready, LogLine):
            return (
                f"{self.name} was not ready within {timeout_s:.0f} s: its log has no {ready.log!r}",
                "Correct ready, or leave it out: then the service is ready when its port is open",
            )
        code = status_of(f"{self.door(self.port)}{ready}", ANSWER_S)
        answer = "nothing" if code is None else str(code)
        return (
            f"{self.name} was not ready within {timeout_s:.0f} s: GET {ready} on port {self.port} is answered {answer}",
            "Correct ready, or leave it out: then the service is ready when its port is open",
        )

    def _refuse_shared_port(self, tree: list[int]) -> None:
        """Raise if another program listens on the same port: each would get some of the connections."""
        if any(one.port == self.port and one.pid is None for one in listeners(tree)):
            raise RunError(
                f"another program listens on port {self.port} too, so the figures would be a mixture of the two",
                self._no_network() or "End that program, or give the service another port",
            )

    def _no_network(self) -> str:
        """Say what to do where two services share a network."""
        if self._apart:
            return ""
        return (
            f"This system allows no network of its own for each service ({networks_problem()}): run as root, or let "
            "the service take its port from PORT or from {port} in its command"
        )

    def _open_door(self, port: int) -> tuple[Process, str]:
        said = self._work / f"door-{port}"
        with said.open("wb") as file:
            words = [*NETWORK, "door", str(self._process.pid), str(port)]
            process = self._processes.start(words, stdout=file, name=f"the door to port {port}")
        while not (number := said.read_text(encoding="utf-8")).endswith("\n"):
            if not process.alive():
                raise RunError(f"the network of {self.name} cannot be entered: {number.strip()}")
            time.sleep(LOOK_S / 10)
        if not number.strip().isdecimal():
            raise RunError(f"the network of {self.name} cannot be entered: {number.strip().splitlines()[-1]}")
        return process, f"http://127.0.0.1:{number.strip()}"


def _filled(word: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(name, value)
    return word
