"""Executes a comparison: all sides in turns, block after block, into one directory.

Each side fills a run directory of its own (`a/`, `b/`, …), like a run of that experiment, so every reader of runs can
read a side. In a block all services are started afresh and stay alive; windows of load alternate between them. Nothing
is judged before the last block.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from dataclasses import replace
from pathlib import Path

from lab import report
from lab.analysis import RunFiles
from lab.compare import page, pilot
from lab.compare.blocks import Blocks
from lab.compare.conclusion import judge, with_environment
from lab.compare.design import Windows
from lab.compare.plan import KIND, ComparePlan, RunningSide, first_record, with_warmup
from lab.compare.profiles import compare_profiles
from lab.compare.record import ComparisonRecord
from lab.errors import LabError, RefusedError
from lab.machine.cpus import pin_self
from lab.run.directory import make_run_directory
from lab.run.driver import ANALYSE_LIMIT_S, Driver
from lab.run.phases import Phases
from lab.run.reporting import analyse
from lab.run.setup import Setup
from lab.run.show import Show
from lab.units import format_duration

START_S = 6.0
"""Seconds of a start beyond its warm-up: used to estimate the time left before the first block is over."""


class Comparison(Driver):
    """One comparison; use once."""

    def __init__(self, plan: ComparePlan, show: Show) -> None:
        super().__init__(show, Setup(plan.checkout), own_setup=True)
        self.plan = plan = plan.with_one_warmup()
        self.record: ComparisonRecord | None = None
        self._directory: Path | None = None
        count = Windows.of(plan.sides[0].experiment).count
        self.parts: list[RunningSide] = [
            RunningSide.of(plan, at, Windows.of(side.experiment, count), Phases(show, self._phase_changed), show)
            for at, side in enumerate(plan.sides)
        ]
        self._blocks = Blocks(plan, {side.letter: side for side in self.parts})
        self._began = 0.0

    @property
    def directory(self) -> Path | None:
        """The directory of the comparison."""
        return self._directory

    def _tell_result(self) -> None:
        page.tell(self._show.console, self._known, self._where)

    def _name(self) -> str:
        return f"comparison of {' and '.join(side.label for side in self.plan.sides)}"

    def _labels(self) -> dict[str, str]:
        return {"experiment": " against ".join(side.name for side in self.plan.sides), "service": ""}

    def _remains(self) -> str:
        blocks = 0 if self.record is None else len(self.record.blocks)
        return f"{blocks} whole blocks; incomplete, so it is not judged"

    def _run(self) -> None:
        longest_s = pilot.PILOT_S if self._has_pilot else 0.0
        plans = [side.state.plan for side in self.parts]
        longest = [max(plan.experiment.load.warmup_s, longest_s) for plan in plans]
        self._preflight(
            replace(plan, experiment=with_warmup(plan.experiment, warmup_s))
            for plan, warmup_s in zip(plans, longest, strict=True)
        )
        self._make()
        self._build(self._where / "build.log")
        self._provide_datasets()
        pin_self(self.plan.cpus.other)
        self._say(f"about {format_duration(self._estimate_s())}: {self._shape()}")
        self._pilot()
        self._began = time.monotonic()
        self._execute_blocks()
        self._blocks.profile()
        pin_self(self._all_cpus)
        self._collect()
        with self._phases.phase("analyse", ANALYSE_LIMIT_S):
            files = [self._analyse(side) for side in self.parts]
            baseline, *others = self.parts
            results = judge(self.plan.design, self.parts, self._known.blocks)
            self._known.results = [
                with_environment(result, (baseline, other), self._known.blocks, force=self.plan.design.force)
                for result, other in zip(results, others, strict=True)
            ]
        with self._phases.phase("report", ANALYSE_LIMIT_S):
            verdict_published_s = time.monotonic()  # as this phase began
            for side, of_side in zip(self.parts, files, strict=True):
                report.write(side.state.directory, of_side)
            if len(self.parts) == 2:
                a, b = self.parts
                directories, labels = (a.state.directory, b.state.directory), (a.side.label, b.side.label)
                compare_profiles(self.plan.checkout, self._where, directories, labels)
            self._known.state = "complete"
            page.write(self._where, self._known)
        self._stop(verdict_published_s)

    def _make(self) -> None:
        """Make the directory of the comparison, with a subdirectory for each side."""
        self._directory = make_run_directory(self.plan.checkout.results, KIND)
        self.record = first_record(self.plan, self._directory.name, self.parts[0].windows)
        for side in self.parts:
            (self._directory / side.letter).mkdir()
            side.state.timeline.start()
            side.state.make(self._phases_of(side), self._directory / side.letter)
        for line in self.record.besides:
            self._say(f"! the sides differ in more than the service: {line}")
        self._write()

    @property
    def _has_pilot(self) -> bool:
        """Whether a pilot is made: another load generator does not report its seconds."""
        return not self.plan.warmup_given and not self.plan.runtime.custom_loadgen

    def _pilot(self) -> None:
        """Find how long to warm up, unless the user said it."""
        if not self._has_pilot:
            return
        found = pilot.run_pilot(self.parts)
        warmup_s = pilot.warmup_of(found)
        self._known.design.pilot, self._known.design.warmup_s = found, warmup_s
        for side in self.parts:
            side.set_warmup(warmup_s)
        self._say(f"  warm-up of each start: {warmup_s:g} s, {found}")

    def _execute_blocks(self) -> None:
        for number, order in enumerate(self._known.design.orders, start=1):
            self._known.blocks.append(self._blocks.execute(number, order))
            self._write()
            left_s = self._left_s(number)
            left = f"; about {format_duration(left_s)} left" if left_s >= 1 else ""
            self._say(f"  block {number} of {self.plan.design.blocks} is over{left}")

    def _analyse(self, side: RunningSide) -> RunFiles:
        """Complete the side's run directory, like a run of that many repetitions."""
        manifest = side.state.artifacts.manifest
        done = len(self._known.blocks) * side.windows.count
        manifest.experiment.resolved = manifest.experiment.resolved.model_copy(update={"repeat": done})
        files = analyse(side.state, self._phases_of(side))
        side.state.artifacts.write(self._phases_of(side))
        return files

    def _conclude(self, error: BaseException | None) -> None:
        if self._directory is None or self.record is None:
            return
        if isinstance(error, RefusedError):
            shutil.rmtree(self._directory)  # it holds no more than the log of a build
            self._directory = self.record = None
            return
        if error is None:
            self._write()  # after the page, so that a complete comparison has one
            return
        self.record.state, self.record.results = "incomplete", []
        with contextlib.suppress(OSError, LabError):  # for example a full disk: the error that is reported
            self._write()
            page.write(self._directory, self.record)

    def _write(self) -> None:
        everything = [*self._phases.done, *(phase for side in self.parts for phase in side.phases.done)]
        self._known.phases = sorted(everything, key=lambda phase: phase.start)
        self._known.write(self.plan.checkout.results)

    def _estimate_s(self) -> float:
        each = sum(
            side.windows.count * side.windows.length_s + side.side.experiment.load.warmup_s + START_S
            for side in self.parts
        )
        profiled = sum(
            side.side.experiment.load.duration_s + side.side.experiment.load.warmup_s + START_S
            for side in self.parts
            if side.side.experiment.profile is not None
        )
        piloted = len(self.parts) * (pilot.PILOT_S + START_S) if self._has_pilot else 0.0
        return piloted + self.plan.design.blocks * each + profiled

    def _left_s(self, done: int) -> float:
        """Return the time left, estimated from the blocks so far; profiles and pages count as one more block."""
        taken = time.monotonic() - self._began
        profiled = any(side.side.experiment.profile is not None for side in self.parts)
        return taken / done * (self.plan.design.blocks - done + (1 if profiled else 0))

    def _shape(self) -> str:
        windows = self.parts[0].windows
        return (
            f"{self.plan.design.blocks} blocks, in each a fresh start of each side and {windows.count} windows of "
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
        if self._directory is None:
            raise AssertionError("the directory is made after preflight")
        return self._directory
