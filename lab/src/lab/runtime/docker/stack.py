"""The monitoring stack that stays up across runs: `lab up`, `lab open`, `lab down`."""

from __future__ import annotations

import os

from lab.cpu_plan import cpu_list
from lab.machine.cpus import plan_cpus
from lab.paths import Checkout
from lab.process.processes import Processes
from lab.progress import Progress
from lab.runtime.docker.engine import Docker, require_engine, settings_of
from lab.runtime.docker.monitoring import DockerMonitoring


class Stack:
    """Prometheus, node-exporter, Grafana and the artifact server of a checkout. MissingToolError without an engine."""

    def __init__(self, checkout: Checkout) -> None:
        require_engine(checkout)
        self._docker = Docker(checkout.root, settings_of(checkout))
        self._monitoring = DockerMonitoring(checkout, self._docker, Processes())

    def up(self, progress: Progress) -> dict[str, str]:
        """Start everything on the CPUs that the plan leaves to monitoring; return the addresses by service."""
        self._docker.settings["LAB_CPUS_OTHER"] = cpu_list(plan_cpus(os.environ).other)
        return self._monitoring.up_to_stay(progress)

    def addresses(self) -> dict[str, str]:
        """Return the addresses of what is up, by service."""
        return self._monitoring.addresses()

    def down(self) -> None:
        """Remove every container, started by this lab or another. RunError while a run goes on."""
        self._monitoring.remove_stack()
