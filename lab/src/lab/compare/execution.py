"""Executes a comparison: both sides in turns, block after block, into one directory.

Each side fills a run directory of its own (`a/`, `b/`), like a run of that experiment, so every reader of runs can read
a side. In a block both services are started afresh and stay alive; windows of load alternate between them. Between
looks nothing is judged; only the blocks are counted.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from dataclasses import replace
from pathlib import Path

from lab import report
from lab.compare import page, pilot
from lab.compare.blocks import Blocks
from lab.compare.conclusion import judge, with_environment
from lab.compare.design import Letter, Windows
from lab.compare.ending import tell_error
from lab.compare.plan import ComparePlan, RunningSide, first_record, with_warmup
from lab.compare.profiles import compare_profiles
from lab.compare.record import ComparisonRecord
from lab.errors import LabError, RefusedError
from lab.machine import noise
from lab.machine.cpus import pin_self, usable_cpus
from lab.manifest import Phase
from lab.process.locks import RunLock, remove_stale
from lab.run.cleanup import clean_up, explained, run_and_end, summarise
from lab.run.collect import collect
from lab.run.directory import make_run_directory
from lab.run.driver import (
    ANALYSE_LIMIT_S,
    BUILD_LIMIT_S,
    COLLECT_LIMIT_S,
    DATASET_LIMIT_S,
    PREFLIGHT_LIMIT_S,
    STOP_LIMIT_S,
    describe_cpus,
)
from lab.run.phases import Phases, write_run_info
from lab.run.preflight import check_choices, check_places, check_space
from lab.run.provision import provide_dataset
from lab.run.show import Show
from lab.units import format_duration

DIRECTORY = "compare"
START_S = 6.0
"""Seconds of a start beyond its warm-up: used to estimate the time left before the first block is over."""


class Comparison:
    """One comparison; use once."""

    def __init__(self, plan: ComparePlan, show: Show) -> None:
        self.plan = plan = plan.with_one_warmup()
        self.record: ComparisonRecord | None = None
        self.directory: Path | None = None
        self._show = show
        self._phases = Phases(show, self._phase_changed)
        self._run_lock = RunLock(plan.checkout.run_lock)
        self._all_cpus = tuple(usable_cpus())
        windows = Windows.of(plan.a.experiment)
        parts: dict[Letter, Windows] = {"a": windows, "b": Windows.of(plan.b.experiment, windows.count)}
        self._sides: dict[Letter, RunningSide] = {
            letter: RunningSide.of(plan, letter, cut, Phases(show, self._phase_changed), show)
            for letter, cut in parts.items()
        }
        self._blocks = Blocks(plan, self._sides)
        self._began = 0.0

    def execute(self) -> int:
        """Run it; return the process's exit code. Errors are shown, not raised."""
        return run_and_end(self._run, self._end, self.plan.checkout)

    def _run(self) -> None:
        self._run_lock.take(f"comparison of {self.plan.a.label} and {self.plan.b.label}")
        self._preflight()
        self._make()
        self._build()
        for side in self._sides.values():
            with self._phases.phase("dataset", DATASET_LIMIT_S, label=f"dataset {side.letter.upper()}") as active:
                provide_dataset(side.state, active, self._show.note)
        pin_self(self.plan.cpus.other)
        self._say(f"about {format_duration(self._estimate_s())}: {self._shape()}")
        self._pilot()
        self._began = time.monotonic()
        self._execute_blocks()
        self._blocks.profile()
        pin_self(self._all_cpus)
        self._collect()
        with self._phases.phase("analyse", ANALYSE_LIMIT_S):
            for side in self._sides.values():
                self._summarise(side)
            result = judge(self.plan.design, self._sides, self._known.blocks)
            force = self.plan.design.force
            self._known.result = with_environment(result, self._sides, self._known.blocks, force=force)
        with self._phases.phase("report", ANALYSE_LIMIT_S):
            for side in self._sides.values():
                report.write(side.state.directory)
                side.state.artifacts.finish(self._phases_of(side), complete=True)
                side.finished = True
            directories = (self._sides["a"].state.directory, self._sides["b"].state.directory)
            compare_profiles(self.plan.checkout, self._where, directories, (self.plan.a.label, self.plan.b.label))
            self._known.complete = True
            page.write(self._where, self._known)
            self._write()  # after the page, so that a complete comparison has one
        with self._phases.phase("stop", STOP_LIMIT_S) as active:
            for side in self._sides.values():
                side.state.timeline.stop()
                side.state.audit.stop()
            active.remarks += [f"may still be running: {what}" for what in self.plan.runtime.close()]
            for side in self._sides.values():
                side.state.artifacts.work.remove()

    def _preflight(self) -> None:
        plan = self.plan
        with self._phases.phase("preflight", PREFLIGHT_LIMIT_S) as active:
            check_places(plan.checkout)
            remove_stale(plan.checkout, self._show.note)
            plan.runtime.preflight(plan.cpus, plan.ports, self._show.note)
            for side in self._sides.values():
                longest_s = pilot.PILOT_S if self._has_pilot else side.side.experiment.load.warmup_s
                space = with_warmup(side.state.plan.experiment, longest_s)
                check_space(replace(side.state.plan, experiment=space))
            active.remarks += [f"noise: {finding}" for finding in noise.audit()]
            active.detail = f"{plan.runtime.name}; {describe_cpus(plan.cpus)}"

    def _make(self) -> None:
        """Make the directory of the comparison, with a subdirectory for each side."""
        self.directory = make_run_directory(self.plan.checkout.results, DIRECTORY)
        self.record = first_record(self.plan, self.directory.name, self._sides["a"].windows)
        for letter, side in self._sides.items():
            (self.directory / letter).mkdir()
            side.state.timeline.start()
            side.state.make(self._phases_of(side), self.directory / letter)
        for line in self.record.besides:
            self._say(f"! the sides differ in more than the service: {line}")
        self._write()

    def _build(self) -> None:
        with self._phases.phase("build", BUILD_LIMIT_S):
            self.plan.runtime.build(self._where / "build.log", self._show.note)
            for side in self._sides.values():
                check_choices(side.state.plan)

    @property
    def _has_pilot(self) -> bool:
        """Whether a pilot is made: another load generator does not report its seconds."""
        return not self.plan.warmup_given and not self.plan.runtime.custom_loadgen

    def _pilot(self) -> None:
        """Find how long to warm up, unless the user said it."""
        if not self._has_pilot:
            return
        found = pilot.run_pilot(self._sides)
        warmup_s = pilot.warmup_of(found)
        self._known.design.pilot, self._known.design.warmup_s = found, warmup_s
        for side in self._sides.values():
            side.set_warmup(warmup_s)
        self._say(f"  warm-up of each start: {warmup_s:g} s, {found}")

    def _execute_blocks(self) -> None:
        for number, order in enumerate(self._known.design.orders, start=1):
            self._known.blocks.append(self._blocks.execute(number, order))
            self._write()
            left_s = self._left_s(number)
            left = f"; about {format_duration(left_s)} left" if left_s >= 1 else ""
            self._say(f"  block {number} of {self.plan.design.blocks} is over{left}")

    def _collect(self) -> None:
        for side in self._sides.values():
            label = f"collect {side.letter.upper()}"
            with self._phases.phase("collect", COLLECT_LIMIT_S, label=label) as active:
                active.remarks += collect(side.state, side.session, self._show.note)

    def _summarise(self, side: RunningSide) -> None:
        """Complete the side's run directory, like a run of that many repetitions."""
        manifest = side.state.artifacts.manifest
        done = len(self._known.blocks) * side.windows.count
        manifest.experiment.resolved = {**manifest.experiment.resolved, "repeat": done}
        summarise(side.state, self._phases_of(side))
        side.state.artifacts.write(self._phases_of(side))

    def _end(self, error: BaseException | None) -> int:
        left: list[str] = []
        for side in self._sides.values():
            finished = error if not side.finished else None
            try:
                if side.finished and error is not None:
                    side.state.timeline.stop()
                    side.state.audit.stop()
                left += clean_up(side.state, self._phases_of(side), finished, self._show)
            except OSError as full:
                error = error or explained(full, self.plan.checkout)
        if error is not None:
            left += self.plan.runtime.close()
        for side in self._sides.values():
            if side.state.artifacts_or_none is not None:
                side.state.artifacts.work.remove()
        if self._run_lock.held:
            write_run_info(self._run_info_path, {}, None)
            self._run_lock.release()
        return self._tell_end(error, list(dict.fromkeys(left)))

    def _tell_end(self, error: BaseException | None, left: list[str]) -> int:
        if isinstance(error, RefusedError) and self.directory is not None:
            shutil.rmtree(self.directory)  # it holds no more than the log of a build
            self.directory = self.record = None
        if error is None:
            page.tell(self._show.console, self._known, self._where)
            return 0
        if self.record is not None:
            self.record.complete, self.record.result = False, None
            with contextlib.suppress(OSError, LabError):  # for example a full disk: the error that is reported below
                self._write()
                page.write(self._where, self.record)
        phases = [self._phases, *(side.phases for side in self._sides.values())]
        failed = next((p.failed for p in phases if p.failed), None) or self._phases.latest or "preflight"
        collected = None if self.record is None else (self._where, len(self.record.blocks))
        return tell_error(self._show.console, error, failed, left, collected)

    def _phases_of(self, side: RunningSide) -> list[Phase]:
        return sorted([*self._phases.done, *side.phases.done], key=lambda phase: phase.start)

    def _write(self) -> None:
        everything = [*self._phases.done, *(phase for side in self._sides.values() for phase in side.phases.done)]
        self._known.phases = sorted(everything, key=lambda phase: phase.start)
        self._known.write(self._where)

    def _phase_changed(self, name: str | None) -> None:
        if name is not None:
            labels = {
                "run": self.directory.name if self.directory is not None else "",
                "experiment": f"{self.plan.a.name} against {self.plan.b.name}",
                "variant": "",
                "runtime": self.plan.runtime.name,
            }
            write_run_info(self._run_info_path, labels, name, self.plan.cpus)

    def _estimate_s(self) -> float:
        each = sum(
            side.windows.count * side.windows.length_s + side.side.experiment.load.warmup_s + START_S
            for side in self._sides.values()
        )
        profiled = sum(
            side.side.experiment.load.duration_s + side.side.experiment.load.warmup_s + START_S
            for side in self._sides.values()
            if side.side.experiment.profile is not None
        )
        piloted = 2 * (pilot.PILOT_S + START_S) if self._has_pilot else 0.0
        return piloted + self.plan.design.blocks * each + profiled

    def _left_s(self, done: int) -> float:
        """Return the time left, estimated from the blocks so far; profiles and pages count as one more block."""
        taken = time.monotonic() - self._began
        profiled = any(side.side.experiment.profile is not None for side in self._sides.values())
        return taken / done * (self.plan.design.blocks - done + (1 if profiled else 0))

    def _shape(self) -> str:
        windows = self._sides["a"].windows
        return (
            f"{self.plan.design.blocks} blocks, in each a fresh start of both sides and {windows.count} windows of "
            f"{windows.length_s} s a side"
        )

    def _say(self, line: str) -> None:
        self._show.console.print(line, highlight=False, soft_wrap=True, markup=False)

    @property
    def _known(self) -> ComparisonRecord:
        if self.record is None:
            raise AssertionError("the record is made after preflight")
        return self.record

    @property
    def _where(self) -> Path:
        if self.directory is None:
            raise AssertionError("the directory is made after preflight")
        return self.directory

    @property
    def _run_info_path(self) -> Path:
        return self.plan.checkout.metrics / "lab.prom"
