"""Drives one run through its phases (docs/how-it-works.md) and leaves nothing behind but the run directory.

preflight → build → dataset → a session of repetitions (run/session.py), the profiled one last, at the same rate →
collect → analyse → report → stop. Everything runs in the main thread, except the timeline and the conversion of the
profile, which continues while the service ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from lab import report
from lab.cpu_plan import CpuPlan, cpu_list
from lab.machine import noise
from lab.machine.cpus import pin_self, usable_cpus
from lab.process.locks import remove_stale
from lab.run.cleanup import clean_up, explained, run_and_end, summarise
from lab.run.collect import collect, profile_spec
from lab.run.phases import Phases, write_run_info
from lab.run.preflight import check_choices, check_places, check_space, dataset_bytes
from lab.run.provision import provide_dataset
from lab.run.repetition import Repetition
from lab.run.session import Session
from lab.run.setup import Setup
from lab.run.show import Show
from lab.run.state import RunArtifacts, RunPlan, RunState
from lab.run.summary import tell_end

PREFLIGHT_LIMIT_S = 60.0
BUILD_LIMIT_S = 1800.0
DATASET_LIMIT_S = 1800.0
COLLECT_LIMIT_S = 300.0
ANALYSE_LIMIT_S = 300.0
STOP_LIMIT_S = 60.0
"""Limits of the phases; run/session.py has those of the repetitions."""

INVALID_EXIT = 3
"""The exit code of a run that is complete and invalid, with STRICT=1."""


TellEnd = Callable[[RunArtifacts | None, Console, BaseException | None, str | None, Sequence[str]], int]
"""Reports how a run ended and returns its exit code; `tell_end` is the one for a single run."""


class Run:
    """One run; use once.

    A run in a series is given the series' `setup`, which it leaves as it found it if it ends well.
    """

    def __init__(self, plan: RunPlan, show: Show, setup: Setup | None = None, tell: TellEnd = tell_end) -> None:
        self.plan = plan
        self._own_setup = setup is None
        self._setup = setup or Setup(plan.checkout)
        self._tell = tell
        self.state = RunState(plan)
        self._show = show
        self._phases = Phases(show, self._phase_changed)
        self._session = Session(self.state, self._phases, show)
        self._all_cpus = tuple(usable_cpus())

    def execute(self) -> int:
        """Run all phases; return the process's exit code. Errors of the run are shown, not raised."""
        return run_and_end(self._run, self._end, self.plan.checkout)

    def _end(self, error: BaseException | None) -> int:
        left: list[str] = []
        try:
            left = clean_up(self.state, self._phases.done, error, self._show)
        except OSError as full:
            error = explained(full, self.plan.checkout)
        if self._setup.locked:
            write_run_info(self._run_info_path, {}, None)
        if self._own_setup:
            self._setup.release()
        failed = self._phases.failed or self._phases.latest
        code = self._tell(self.state.artifacts_or_none, self._show.console, error, failed, left)
        validity = None if error is not None else self.state.artifacts.manifest.validity
        if self.plan.strict and validity is not None and validity.state == "invalid":
            return INVALID_EXIT
        return code

    def _run(self) -> None:
        if self._own_setup:
            self._setup.take_lock(f"experiment {self.plan.name}")
        self.state.timeline.start()
        self._preflight()
        self.state.make(self._phases.done)
        self._build()
        self._provide_dataset()
        pin_self(self.plan.cpus.other)
        self._session.execute(self._repetitions())
        if self.plan.experiment.profile is None:
            with self._phases.phase("profile", 1) as active:
                off = self.plan.overrides.get("profile") == "off"
                active.skip("PROFILE=off" if off else "the experiment asks for none")
        pin_self(self._all_cpus)
        self._collect()
        with self._phases.phase("analyse", ANALYSE_LIMIT_S):
            summarise(self.state, self._phases.done)
        with self._phases.phase("report", ANALYSE_LIMIT_S):
            verdict_published_s = time.monotonic()  # as this phase began
            self.state.artifacts.write(self._phases.done)
            report.write(self.state.directory)
        self._stop(verdict_published_s)

    def _preflight(self) -> None:
        plan = self.plan
        with self._phases.phase("preflight", PREFLIGHT_LIMIT_S) as active:
            check_places(plan.checkout)
            if not self._setup.checked:
                remove_stale(plan.checkout, self._show.note)
                if plan.runtime.elsewhere is not None:
                    load, size = plan.experiment.load, dataset_bytes(plan.checkout, plan.experiment)
                    plan.runtime.elsewhere.prepare(plan.name, load.threads, load.connections, size)
                plan.runtime.preflight(plan.cpus, plan.ports, self._show.note)
                self._setup.checked = True
            if plan.runtime.elsewhere is not None:
                active.detail = plan.runtime.name
                return
            check_space(plan)
            active.remarks += [f"noise: {finding}" for finding in noise.audit()]
            active.detail = f"{plan.runtime.name}; {describe_cpus(plan.cpus)}"

    def _build(self) -> None:
        with self._phases.phase("build", BUILD_LIMIT_S) as active:
            if self._setup.built:
                active.skip("built at the beginning of the series")
            else:
                self.plan.runtime.build(self.state.directory / "build.log", self._show.note)
                self._setup.built = True
            check_choices(self.plan)

    def _provide_dataset(self) -> None:
        with self._phases.phase("dataset", DATASET_LIMIT_S) as active:
            provide_dataset(self.state, active, self._show.note)

    def _repetitions(self) -> list[Repetition]:
        """Return the plan of this run's session: the repetitions, then the profiled one.

        Another load generator does not report its own error; a repetition with the lab's own shows the size of it.
        """
        plan, state = self.plan, self.state
        wanted = plan.experiment
        of_run = Repetition(wanted, state.dataset, state.directory, state.environment, of=wanted.repeat)
        repetitions = [replace(of_run, number=number) for number in range(1, wanted.repeat + 1)]
        if plan.runtime.custom_loadgen:
            repetitions.append(replace(of_run, reference=True))
        if (spec := profile_spec(state)) is not None:
            repetitions.append(replace(of_run, profile=spec))
        return repetitions

    def _collect(self) -> None:
        with self._phases.phase("collect", COLLECT_LIMIT_S) as active:
            active.remarks += collect(self.state, self._session, self._show.note)

    def _stop(self, verdict_published_s: float) -> None:
        with self._phases.phase("stop", STOP_LIMIT_S) as active:
            self.state.timeline.stop()
            self.state.audit.stop()
            if self.state.timeline.problem:
                active.remarks.append(self.state.timeline.problem)
            self.plan.runtime.monitoring.await_scrape(verdict_published_s)
            if self._own_setup:
                self.plan.runtime.monitoring.down()
                active.remarks += [f"may still be running: {what}" for what in self.plan.runtime.close()]
            self.state.artifacts.work.remove()

    def _phase_changed(self, name: str | None) -> None:
        """Publish a phase that begins, in the textfile metrics, and one that is over, in run.json."""
        artifacts = self.state.artifacts_or_none
        if name is None:
            if artifacts is not None:
                artifacts.write(self._phases.done)
            return
        labels = {
            "run": artifacts.directory.name if artifacts is not None else "",
            "experiment": self.plan.name,
            "variant": self.plan.experiment.service.variant,
            "runtime": self.plan.runtime.name,
        }
        validity = artifacts.manifest.validity if artifacts is not None else None
        verdict = validity.state if validity is not None else None
        write_run_info(self._run_info_path, labels, name, self.plan.cpus, verdict)

    @property
    def _run_info_path(self) -> Path:
        return self.plan.checkout.metrics / "lab.prom"


def describe_cpus(cpus: CpuPlan) -> str:
    """Return the CPU plan as one line for people."""
    if not cpus.service:
        return "CPUs are not pinned"
    parts = (("service", cpus.service), ("load", cpus.loadgen), ("other", cpus.other))
    return "CPUs: " + ", ".join(f"{name} {cpu_list(part)}" for name, part in parts)
