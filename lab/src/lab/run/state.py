"""The state of a run: its directory, its manifest, its service. Owned by the main thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.cpu_plan import CpuPlan
from lab.dataset import Dataset
from lab.experiment import Experiment
from lab.experiment.script import read_load
from lab.machine import environment
from lab.machine.audit import MachineAudit
from lab.manifest import Artifact, Environment, Manifest, Phase
from lab.manifest import CpuPlan as ManifestCpuPlan
from lab.manifest import Experiment as ManifestExperiment
from lab.paths import Checkout
from lab.process.locks import WorkDirectory
from lab.run.directory import MANIFEST, make_run_directory
from lab.runtime.base import Ports, Runtime, Service
from lab.timeline import Timeline, Watched


@dataclass(frozen=True)
class RunPlan:
    """The plan of a run. `beside`: another service runs already and has the ports that the user named.

    `monitoring` None: if it runs already, or has CPUs on which nothing is measured. `service_root` is the checkout
    whose built service is started; None for this one.
    """

    checkout: Checkout
    name: str
    experiment: Experiment
    overrides: Mapping[str, Any]
    runtime: Runtime
    cpus: CpuPlan
    ports: Ports
    monitoring: bool | None = None
    beside: bool = False
    service_root: Path | None = None


class RunArtifacts:
    """The files of a run, which exist only after preflight: bad input makes nothing."""

    def __init__(self, plan: RunPlan, machine: Environment, directory: Path | None = None) -> None:
        """Make a new run directory, or take over `directory`, an empty one within a comparison's."""
        self.directory = directory or make_run_directory(plan.checkout.results, plan.name)
        self.manifest = Manifest(
            run_id=self.directory.name if directory is None else directory.parent.name,
            experiment=ManifestExperiment(
                name=plan.name,
                title=plan.experiment.title,
                resolved=plan.experiment,
                overrides=dict(plan.overrides),
                rate=plan.experiment.rate_choice,
                writes=read_load(plan.checkout.scripts, plan.experiment.load).writes,
            ),
            runtime=plan.runtime.name,  # type: ignore[arg-type]
            environment=machine,
        )
        work = self.directory.name if directory is None else f"{directory.parent.name}-{directory.name}"
        self.work = WorkDirectory(plan.checkout.work / work)

    def write(self, phases: list[Phase]) -> None:
        """Write run.json as it is now."""
        self.manifest.phases = list(phases)
        self.manifest.write(self.directory / MANIFEST)

    def finish(self, phases: list[Phase], *, complete: bool) -> None:
        """List all files and write run.json for the last time."""
        self.manifest.complete = complete
        self.manifest.artifacts = Artifact.all_below(self.directory, without=[MANIFEST])
        self.write(phases)


class RunState:
    """The run's state; `artifacts` is None until preflight has passed."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan = plan
        self.watched = Watched()
        self.timeline = Timeline(self.watched)
        self.audit = MachineAudit()
        self.environment = environment.describe_machine(plan.checkout)
        self.environment.cpu_plan = ManifestCpuPlan(**plan.cpus.as_dict())
        self.dataset: Dataset | None = None
        self.artifacts_or_none: RunArtifacts | None = None
        self._service: Service | None = None
        self._under_load = False
        self._unprofiled = ""

    @property
    def artifacts(self) -> RunArtifacts:
        """The run directory and what belongs to it."""
        if self.artifacts_or_none is None:
            raise AssertionError("the run directory is made after preflight")
        return self.artifacts_or_none

    @property
    def directory(self) -> Path:
        """The run directory."""
        return self.artifacts.directory

    @property
    def service(self) -> Service:
        """The service that runs now."""
        if self._service is None:
            raise AssertionError("no service is running")
        return self._service

    def make(self, phases: list[Phase], directory: Path | None = None) -> None:
        """Make the run directory, or take over an empty one; the timeline continues into it.

        Its first file is run.json, with the phases so far: a run that is killed is listed too.
        """
        self.artifacts_or_none = RunArtifacts(self.plan, self.environment, directory)
        self.artifacts.write(phases)
        self.timeline.write_to(self.directory / "timeline.csv")
        self.audit.start(self.directory / "machine.csv", self.plan.cpus)

    def service_started(self, service: Service) -> None:
        """Register the service, so that it ends with the run."""
        self._service = service

    def watch_service(self) -> None:
        """Put the service, which is ready, into the timeline."""
        service = self.service
        self._unprofiled = "" if service.is_jvm else "the service is no JVM, so there is no profile"
        self.scrape_service(on=True)
        self.audit.watch("service", service.pid)

    def stand_beside(self, others: Iterable[Service]) -> None:
        """Name the other services of a comparison, which have no load while this one is measured."""
        for pid in (None, *(other.pid for other in others)):
            self.audit.watch("beside", pid)

    def scrape_service(self, *, on: bool) -> None:
        """Put the service's own metrics into the timeline, or leave them out: each scrape uses its CPUs."""
        self.watched.service_metrics_url = self.service.metrics_url if on else None

    @property
    def unprofiled(self) -> str:
        """Why the service that ran last cannot be profiled; empty if it can."""
        return self._unprofiled

    def stop_service(self) -> int | None:
        """End the service if one runs; return its exit code, None if none ran or it is unknown."""
        service, self._service = self._service, None
        self.watched.service_metrics_url = None
        self.audit.watch("service", None)
        return None if service is None else service.stop()

    def watch_load(self, *, on: bool) -> None:
        """Put the load generator into the timeline, or take it out."""
        runtime = self.plan.runtime
        self.watched.loadgen_metrics_url = runtime.loadgen_metrics_url(self.service) if on else None
        self._under_load = on
        if on:
            self.audit.watch_soon("loadgen", runtime.loadgen_pid, lambda: self._under_load)
        else:
            self.audit.watch("loadgen", None)
