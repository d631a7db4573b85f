"""Drives what is measured on this machine: the steps that a run and a comparison share.

preflight → build → dataset → what the driver measures (`_run`) → collect → analyse → report → stop. A driver has one
part for each run directory that it fills. It leaves nothing behind but these. Everything runs in the main thread,
except the timeline and the conversion of the profile, which continues while the service ends.
"""

from __future__ import annotations

import abc
import shutil
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from lab.cpu_plan import CpuPlan, cpu_list
from lab.errors import LabError, RefusedError
from lab.machine.cpus import pin_self, usable_cpus
from lab.machine.host import noise_audit
from lab.manifest import Phase
from lab.process.locks import remove_stale
from lab.run.collect import collect
from lab.run.outcome import ERROR_FILE, Outcome
from lab.run.phases import Phases, write_run_info
from lab.run.preflight import check_choices, check_places, check_space, dataset_bytes
from lab.run.provision import provide_dataset
from lab.run.reporting import salvage
from lab.run.session import Session
from lab.run.setup import Setup
from lab.run.show import Show
from lab.run.signals import signals_held_off, signals_raise
from lab.run.state import RunPlan, RunState
from lab.run.unwritable import explained

PREFLIGHT_LIMIT_S = 60.0
BUILD_LIMIT_S = 1800.0
DATASET_LIMIT_S = 1800.0
COLLECT_LIMIT_S = 300.0
ANALYSE_LIMIT_S = 300.0
STOP_LIMIT_S = 60.0
"""Limits of the phases; run/session.py has those of the repetitions."""


@dataclass
class Part:
    """One run directory of a driver. `label` tells it from the others, and is empty if it is the only one."""

    label: str
    state: RunState
    phases: Phases
    session: Session


class Driver(abc.ABC):
    """Drives its parts, which share machine, runtime and CPUs; use once.

    In a series it is given the series' `setup`, which it leaves as it found it if it ends well.
    """

    parts: Sequence[Part]

    def __init__(self, show: Show, setup: Setup, *, own_setup: bool) -> None:
        self._show = show
        self._setup = setup
        self._own_setup = own_setup
        self._phases = Phases(show, self._phase_changed)
        self._all_cpus = tuple(usable_cpus())

    @abc.abstractmethod
    def _run(self) -> None:
        """Do everything from the preflight to the stop."""

    @abc.abstractmethod
    def _name(self) -> str:
        """Return what is driven, for the lock."""

    @abc.abstractmethod
    def _labels(self) -> dict[str, str]:
        """Return the labels of the metrics that say what is driven."""

    @abc.abstractmethod
    def _remains(self) -> str:
        """Say what the directory of an incomplete run or comparison holds."""

    @property
    @abc.abstractmethod
    def directory(self) -> Path | None:
        """The directory; None if there is none."""

    def execute(self) -> Outcome:
        """Run everything. Errors are part of the outcome, not raised.

        SIGINT, SIGTERM and SIGHUP are errors, and are held off during the end.
        """
        error: BaseException | None = None
        try:
            with signals_raise():
                try:
                    if self._own_setup:
                        self._setup.take(self._name())
                    self._run()
                except BaseException as raised:
                    error = explained(raised, self._plan.checkout)
                with signals_held_off():
                    return self._end(error)
        except KeyboardInterrupt as late:  # in the few instructions before signals were held off
            return self._end(error or late)

    def tell(self) -> int:
        """Run everything and print the result, or what went wrong; return the exit code."""
        return self.execute().tell(self._show.console, self._tell_result)

    @abc.abstractmethod
    def _tell_result(self) -> None:
        """Print the result."""

    @property
    def _plan(self) -> RunPlan:
        return self.parts[0].state.plan

    def _preflight(self, plans: Iterable[RunPlan]) -> None:
        """Check the machine, and whether the disk can hold these plans."""
        plan = self._plan
        with self._phases.phase("preflight", PREFLIGHT_LIMIT_S) as active:
            check_places(plan.checkout)
            if not self._setup.checked:
                remove_stale(plan.checkout, self._show.note)
                if plan.runtime.elsewhere is not None:
                    load, size = plan.experiment.load, dataset_bytes(plan.checkout, plan.experiment)
                    plan.runtime.elsewhere.prepare(plan.name, load.threads, load.connections, size)
                foreign = plan.experiment.service.foreign
                ports = replace(plan.ports, data=0, admin=0) if foreign else plan.ports
                plan.runtime.preflight(plan.cpus, ports, self._show.note)
                self._setup.checked = True
            if plan.runtime.elsewhere is not None:
                active.detail = plan.runtime.name
                return
            for one in plans:
                check_space(one)
            active.remarks += [f"noise: {finding}" for finding in noise_audit()]
            active.detail = f"{plan.runtime.name}; {describe_cpus(plan.cpus)}"

    def _build(self, log: Path) -> None:
        with self._phases.phase("build", BUILD_LIMIT_S) as active:
            if self._setup.built:
                active.skip("built at the beginning of the series")
            else:
                own = any(not part.state.plan.experiment.service.foreign for part in self.parts)
                build = self._plan.runtime.build if own else self._plan.runtime.build_tools
                build(log, self._show.note)
                self._setup.built = True
            for part in self.parts:
                check_choices(part.state.plan)

    def _provide_datasets(self) -> None:
        for part in self.parts:
            with self._phases.phase("dataset", DATASET_LIMIT_S, label=f"dataset {part.label}".strip()) as active:
                provide_dataset(part.state, active, self._show.note)

    def _collect(self) -> None:
        for part in self.parts:
            with self._phases.phase("collect", COLLECT_LIMIT_S, label=f"collect {part.label}".strip()) as active:
                active.remarks += collect(part.state, part.session, self._show.note)

    def _stop(self, verdict_published_s: float) -> None:
        runtime = self._plan.runtime
        with self._phases.phase("stop", STOP_LIMIT_S) as active:
            for part in self.parts:
                part.state.timeline.stop()
                part.state.audit.stop()
                if part.state.timeline.problem:
                    active.remarks.append(part.state.timeline.problem)
            runtime.monitoring.await_scrape(verdict_published_s)
            if self._own_setup:
                runtime.monitoring.down()
                active.remarks += [f"may still be running: {what}" for what in runtime.close()]
            self._remove_work()

    def _end(self, error: BaseException | None) -> Outcome:
        """End everything and describe the files. What was refused leaves no directory, all else keeps its own."""
        left = [] if error is None else self._end_everything()
        steps: list[Callable[[BaseException | None], None]] = [self._write_traceback, self._conclude]
        steps[1:1] = [partial(self._keep, part) for part in self.parts]
        for step in steps:
            try:
                step(error)
            except OSError as full:
                if error is not None:
                    self._show.console.print(f"  run.json is not up to date: {full.strerror}", highlight=False)
                error = error or explained(full, self._plan.checkout)
        if self._setup.held:
            write_run_info(self._run_info_path, {}, None)
        if self._own_setup:
            self._setup.release()
        pin_self(self._all_cpus)
        phases = [self._phases, *(part.phases for part in self.parts)]
        failed = next((one.failed for one in phases if one.failed), None) or self._phases.latest or "preflight"
        return Outcome(self.directory, error, failed, list(dict.fromkeys(left)), self._remains())

    def _end_everything(self) -> list[str]:
        """End what still runs; return what may be left of it."""
        for part in self.parts:
            part.state.timeline.stop()
            part.state.audit.stop()
        left = self._plan.runtime.close()
        self._remove_work()
        return left

    def _remove_work(self) -> None:
        for part in self.parts:
            if part.state.artifacts_or_none is not None:
                part.state.artifacts.work.remove()

    def _write_traceback(self, error: BaseException | None) -> None:
        if self.directory is not None and not isinstance(error, LabError | KeyboardInterrupt | None):
            text = "".join(traceback.format_exception(error))
            (self.directory / ERROR_FILE).write_text(text, encoding="utf-8")

    def _keep(self, part: Part, error: BaseException | None) -> None:
        """Describe the files of a part; after an error, report on what was measured."""
        artifacts, phases = part.state.artifacts_or_none, self._phases_of(part)
        if artifacts is None:
            return
        if isinstance(error, RefusedError):
            shutil.rmtree(artifacts.directory)  # it holds nothing but the log of a build
            part.state.artifacts_or_none = None
            return
        if error is not None and any(phase.name == "measure" and phase.outcome == "ok" for phase in phases):
            salvage(part.state, phases, self._show.console)
        artifacts.finish(phases, complete=error is None)

    def _conclude(self, error: BaseException | None) -> None:  # noqa: B027 - a run is its only part
        """Complete the directory after its parts."""

    def _phases_of(self, part: Part) -> list[Phase]:
        """Return the phases of one part, and those of all."""
        own = [] if part.phases is self._phases else part.phases.done
        return sorted([*self._phases.done, *own], key=lambda phase: phase.start)

    def _phase_changed(self, name: str | None) -> None:
        """Publish a phase that begins, in the textfile metrics, and one that is over."""
        if name is None:
            self._phase_over()
            return
        artifacts = self.parts[0].state.artifacts_or_none
        validity = artifacts.manifest.validity if artifacts is not None and len(self.parts) == 1 else None
        verdict = validity.state if validity is not None else None
        labels = {
            "run": self.directory.name if self.directory is not None else "",
            **self._labels(),
            "runtime": self._plan.runtime.name,
        }
        write_run_info(self._run_info_path, labels, name, self._plan.cpus, verdict)

    def _phase_over(self) -> None:  # noqa: B027 - a comparison writes its record after each block
        """Record a phase that is over."""

    @property
    def _run_info_path(self) -> Path:
        return self._plan.checkout.metrics / "lab.prom"


def describe_cpus(cpus: CpuPlan) -> str:
    """Return the CPU plan as one line for people."""
    if not cpus.service:
        return "CPUs are not pinned"
    parts = (("service", cpus.service), ("load", cpus.loadgen), ("other", cpus.other))
    return "CPUs: " + ", ".join(f"{name} {cpu_list(part)}" for name, part in parts)
