"""Prometheus, node-exporter, Grafana and the artifact server as containers: for one run, or to stay up across runs.

A run starts what is not up and stops what it started, so after `make up` everything stays. Grafana's image is the only
one that is not built here; only `make up` tries to pull it, so a run never waits for a registry.
"""

from __future__ import annotations

import json
import os
import time
from functools import cached_property
from typing import Any

from lab.cpu_plan import CpuPlan, cpu_list
from lab.errors import RunError
from lab.machine.cpus import plan_cpus
from lab.machine.host import listener_on, port_is_free
from lab.paths import Checkout
from lab.process.processes import Processes
from lab.progress import Progress
from lab.runtime import scrapes
from lab.runtime.docker.engine import (
    OF_PROJECT,
    PROJECT,
    Docker,
    is_live_lab,
    label_of,
    owner_of,
    require_engine,
    settings_of,
)
from lab.runtime.instruments import Monitoring
from lab.runtime.specs import Ports

SERVICES = ("prometheus", "node-exporter", "artifacts", "grafana")
NETWORKS = ("published", "scraped")  # as docker-compose.yml names them
BUILT_HERE = ("prometheus", "node-exporter", "artifacts")
PROMETHEUS, NODE_EXPORTER, GRAFANA = "prometheus", "node-exporter", "grafana"
PULL_LIMIT_S = 300
SETTLE_S = 0.5  # a container that cannot start ends within this time
NO_GRAFANA = "Grafana's image is not here, so there are no dashboards: 'make up' pulls it if it can reach the registry"
NO_GRAFANA_PULL = "Grafana's image could not be pulled, so there are no dashboards; everything else is up"


class DockerMonitoring(Monitoring):
    """The monitoring containers, for one run or for `make up`."""

    def __init__(self, checkout: Checkout, docker: Docker, processes: Processes) -> None:
        self._checkout = checkout
        self._docker = docker
        self._processes = processes
        self._started: list[str] = []
        self._notes: list[str] = []
        self._watching: set[str] = set()
        self._loaded = scrapes.LoadedTime()

    def up(self, plan: CpuPlan, ports: Ports, progress: Progress) -> None:
        """Bring up what is not up yet: Prometheus, node-exporter, the artifact server; Grafana if its image is here."""
        try:
            self._up_for_a_run(progress)
        except RunError as error:
            note = f"monitoring could not be started, the run goes on without it: {error.message}"
            self._notes.append(note)
            progress(note)

    def _up_for_a_run(self, progress: Progress) -> None:
        self._notes = []
        wanted = list(BUILT_HERE)
        if self._docker.image_id(self._grafana_image()):
            wanted.append(GRAFANA)
        else:
            self._notes.append(NO_GRAFANA)
        self._start(wanted, progress)
        self._watching = set(self._running())

    def up_to_stay(self, progress: Progress) -> dict[str, str]:
        """Start everything, with Grafana's image pulled if possible; return the addresses by service."""
        self._notes = []
        image = self._grafana_image()
        if not self._docker.image_id(image):
            progress(f"pulling {image}")
            try:
                self._docker.ask(["docker", "pull", "--quiet", image], f"pulling {image}", PULL_LIMIT_S)
            except RunError:
                self._notes.append(NO_GRAFANA_PULL)
        wanted = [*BUILT_HERE, *([] if self._notes else [GRAFANA])]
        self._start(wanted, progress)
        self._started = []
        return self.addresses()

    def addresses(self) -> dict[str, str]:
        """Return the addresses of what is up and has a port on this machine, by service."""
        running = self._running()
        return {name: f"http://127.0.0.1:{port}" for name, port in self._ports.items() if name in running}

    def down(self) -> None:
        """Take down what `up` brought up. Never raises RunError for a container that is gone."""
        started, self._started = self._started, []
        if started:
            self._docker.ask(
                self._docker.compose("--profile", GRAFANA, "rm", "--stop", "--force", *started),
                "stopping the monitoring",
            )
            if not self._docker.containers(OF_PROJECT):
                self._docker.try_ask(["docker", "network", "rm", *(f"{PROJECT}_{name}" for name in NETWORKS)])

    def running(self) -> bool:
        """Return whether a container of the monitoring runs."""
        return bool(self._running())

    def remove_stack(self) -> None:
        """Remove every container of the stack, started by this lab or another; RunError while a run goes on."""
        for container in self._docker.containers(OF_PROJECT):
            owner = owner_of(container)
            if owner is not None and is_live_lab(owner):
                raise RunError(f"a run is in progress (process {owner})", "Wait until it ends, or end it first")
        argv = self._docker.compose("--profile", GRAFANA, "--profile", "tools", "down", "--remove-orphans")
        self._docker.ask(argv, "stopping the stack")

    def await_scrape(self, published_s: float) -> None:
        """Wait if Prometheus and node-exporter were up at the start of the run."""
        if {PROMETHEUS, NODE_EXPORTER} <= self._watching:
            scrapes.await_scrape(published_s)

    def loaded(self, begin: float) -> None:
        """Note a load that began at a Unix time and ends now."""
        self._loaded.add(begin)

    def notes(self) -> tuple[str, ...]:
        """Return what is missing and why, what ended during the run, and what Prometheus lacks of its loads."""
        ended = sorted(self._watching - set(self._running())) if self._watching else []
        found = [f"{name} ended during the run{self._exit_code(name)}" for name in ended]
        loaded = self._loaded.take()
        if loaded is not None and PROMETHEUS in self._watching:
            found += scrapes.missing(f"http://127.0.0.1:{self._ports[PROMETHEUS]}", *loaded)
        return (*self._notes, *found)

    def images(self) -> dict[str, str]:
        """Return the images of the running services, by service."""
        return {name: container["Image"] for name, container in self._running().items()}

    def _start(self, wanted: list[str], progress: Progress) -> None:
        running = self._running()
        self._repin([container["ID"] for container in running.values()])
        missing = []
        for name in wanted:
            if name in running:
                continue
            port = self._ports.get(name)
            if port is None or port_is_free("127.0.0.1", port):
                missing.append(name)
            else:
                holder = listener_on(port)
                by = f" by {holder}" if holder else ""
                self._notes.append(f"{name} was not started: port {port} on 127.0.0.1 is taken{by}")
        if missing:
            self._build([name for name in missing if name in BUILT_HERE], progress)
            self._started = missing  # before the attempt: one that fails half-way is removed too
            argv = self._docker.compose("--profile", GRAFANA, "up", "--detach", "--no-build", "--no-deps", *missing)
            self._docker.ask(argv, "starting the monitoring")
            self._note_the_dead(missing)
        for note in self._notes:
            progress(note)

    def _note_the_dead(self, started: list[str]) -> None:
        time.sleep(SETTLE_S)
        running = self._running()
        for name in started:
            if name not in running:
                output = self._docker.try_ask(
                    ["docker", "logs", "--tail", "1", self._docker.container(name)], both=True
                )
                self._notes.append(f"{name} ended at its start: {(output or 'it said nothing').strip()}")

    def _exit_code(self, name: str) -> str:
        code = self._docker.try_ask(
            ["docker", "inspect", "--format", "{{.State.ExitCode}}", self._docker.container(name)]
        )
        return f" with exit code {code.strip()}" if code else ""

    def _build(self, services: list[str], progress: Progress) -> None:
        if not services:
            return
        log = self._checkout.cache / "monitoring-build.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        progress("building the images of the monitoring")
        self._processes.run(
            self._docker.compose("build", *services),
            log=log,
            env=self._docker.environment(),
            name="docker compose build",
        )

    def _repin(self, containers: list[str]) -> None:
        """Move running containers to this run's CPU set; without one, leave them where they are."""
        cpus = self._docker.settings.get("LAB_CPUS_OTHER", "")
        if cpus and containers:
            self._docker.ask(["docker", "update", "--cpuset-cpus", cpus, *containers], "pinning the monitoring")

    def _running(self) -> dict[str, dict[str, str]]:
        found = self._docker.containers(OF_PROJECT, "status=running")
        by_service = {label_of(container, "com.docker.compose.service"): container for container in found}
        return {name: container for name, container in by_service.items() if name in SERVICES}

    @cached_property
    def _described(self) -> dict[str, Any]:
        """The monitoring's services, as docker-compose.yml and .env describe them together."""
        argv = self._docker.compose("--profile", GRAFANA, "config", "--format", "json")
        services: dict[str, Any] = json.loads(self._docker.ask(argv, "reading docker-compose.yml"))["services"]
        return {name: services[name] for name in SERVICES}

    @cached_property
    def _ports(self) -> dict[str, int]:
        """The port on this machine of each service that has one."""
        return {
            name: int(service["ports"][0]["published"])
            for name, service in self._described.items()
            if service.get("ports")
        }

    def _grafana_image(self) -> str:
        return str(self._described[GRAFANA]["image"])


class Stack:
    """The monitoring of `lab up`, which stays up across runs. MissingToolError without an engine."""

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
