"""One run: a session of repetitions (run/session.py), the profiled one last, at the same rate, into its directory."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from lab import report
from lab.machine.cpus import pin_self
from lab.run.collect import profile_spec
from lab.run.driver import ANALYSE_LIMIT_S, Driver, Part
from lab.run.repetition import Repetition
from lab.run.reporting import analyse
from lab.run.session import Session
from lab.run.setup import Setup
from lab.run.show import Show
from lab.run.state import RunPlan, RunState
from lab.run.summary import print_summary


class Run(Driver):
    """One run; use once."""

    def __init__(self, plan: RunPlan, show: Show, setup: Setup | None = None) -> None:
        super().__init__(show, setup or Setup(plan.checkout), own_setup=setup is None)
        self.plan = plan
        self.state = RunState(plan)
        self._session = Session(self.state, self._phases, show)
        self.parts = [Part("", self.state, self._phases, self._session)]

    @property
    def directory(self) -> Path | None:
        """The run directory."""
        artifacts = self.state.artifacts_or_none
        return None if artifacts is None else artifacts.directory

    def _tell_result(self) -> None:
        print_summary(self._show.console, self.state.artifacts.manifest, self.state.directory)

    def _name(self) -> str:
        return f"experiment {self.plan.name}"

    def _labels(self) -> dict[str, str]:
        return {"experiment": self.plan.name, "service": self.plan.experiment.service.brief}

    def _remains(self) -> str:
        return f"run.json: incomplete, phase {self._phases.failed or self._phases.latest}"

    def _run(self) -> None:
        self.state.timeline.start()
        self._preflight([self.plan])
        self.state.make(self._phases.done)
        self._build(self.state.directory / "build.log")
        self._provide_datasets()
        pin_self(self.plan.cpus.other)
        self._session.execute(self._repetitions())
        if self.plan.experiment.profile is None:
            with self._phases.phase("profile", 1) as active:
                off = self.plan.overrides.get("profile") == "off"
                active.skip("PROFILE=off" if off else "the experiment asks for none")
        pin_self(self._all_cpus)
        self._collect()
        with self._phases.phase("analyse", ANALYSE_LIMIT_S):
            files = analyse(self.state, self._phases.done)
        with self._phases.phase("report", ANALYSE_LIMIT_S):
            verdict_published_s = time.monotonic()  # as this phase began
            self.state.artifacts.write(self._phases.done)
            report.write(self.state.directory, files)
        self._stop(verdict_published_s)

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

    def _phase_over(self) -> None:
        artifacts = self.state.artifacts_or_none
        if artifacts is not None:
            artifacts.write(self._phases.done)
