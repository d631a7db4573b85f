"""Executes a comparison: both sides in turns, block after block, into one directory.

Each side fills a run directory of its own (`a/`, `b/`), like a run of that experiment, so every reader of runs can read
a side. In a block both services are started afresh and stay alive; windows of load alternate between them. Between
looks nothing is judged; only the blocks are counted.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from lab import report
from lab.calibration import read_calibration
from lab.compare import page
from lab.compare.design import Design, Letter, Windows
from lab.compare.judging import Question, judge_blocks, withdrawn
from lab.compare.measurement import measured
from lab.compare.profiles import compare_profiles
from lab.compare.record import Block, ComparisonRecord, DesignRecord, LookRecord, Result, SideRecord, Window
from lab.compare.sides import Side, differences
from lab.cpu_plan import CpuPlan
from lab.errors import LabError, RefusedError
from lab.experiment import Experiment
from lab.experiment.model import ProfileSettings
from lab.machine import noise
from lab.machine.cpus import pin_self, usable_cpus
from lab.manifest import Check, Git, Phase
from lab.paths import Checkout
from lab.process.locks import RunLock, remove_stale
from lab.prometheus import scrape
from lab.run.cleanup import clean_up, explained, summarise
from lab.run.collect import collect, profile_spec
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
from lab.run.preflight import check_choices, check_space
from lab.run.provision import provide_dataset
from lab.run.repetition import Repetition
from lab.run.session import Session
from lab.run.show import Show
from lab.run.signals import TerminatedError, signals_held_off, signals_raise
from lab.run.state import RunPlan, RunState
from lab.run.summary import INTERRUPTED_EXIT, print_error
from lab.runtime.base import Ports, ProfileSpec, Runtime
from lab.units import duration_word, format_duration

DIRECTORY = "compare"
START_S = 6.0
"""Seconds of a start beyond its warm-up: used to estimate the time left before the first block is over."""
TELLING_CHECKS = frozenset({"errors", "generator's error", "schedule", "outputs"})
"""Checks of a side, besides those of the environment, whose failure a reader of a comparison must know."""


@dataclass(frozen=True)
class ComparePlan:
    """What to compare and where. `compared` names differences besides those in the experiments' declarations.

    With `recorded`, side B is profiled like this in each of its windows: the comparison shows what profiling costs.
    """

    checkout: Checkout
    a: Side
    b: Side
    design: Design
    runtime: Runtime
    cpus: CpuPlan
    ports: Ports
    compared: tuple[str, ...] = ()
    recorded: ProfileSettings | None = None


@dataclass
class _Running:
    """One side while the comparison goes on."""

    letter: Letter
    side: Side
    windows: Windows
    state: RunState
    phases: Phases
    session: Session
    finished: bool = field(default=False)

    @property
    def other(self) -> Letter:
        """The other side's letter."""
        return "b" if self.letter == "a" else "a"


class Comparison:
    """One comparison; use once."""

    def __init__(self, plan: ComparePlan, show: Show) -> None:
        self.plan = plan
        self.record: ComparisonRecord | None = None
        self.directory: Path | None = None
        self._show = show
        self._phases = Phases(show, self._phase_changed)
        self._run_lock = RunLock(plan.checkout.run_lock)
        self._all_cpus = tuple(usable_cpus())
        windows = Windows.of(plan.a.experiment)
        self._sides: dict[Letter, _Running] = {
            "a": self._running("a", plan.a, windows),
            "b": self._running("b", plan.b, Windows.of(plan.b.experiment, windows.count)),
        }
        self._began = 0.0

    def execute(self) -> int:
        """Run it; return the process's exit code. Errors are shown, not raised."""
        error: BaseException | None = None
        try:
            with signals_raise():
                try:
                    self._run()
                except BaseException as raised:
                    error = explained(raised, self.plan.checkout)
                with signals_held_off():
                    return self._end(error)
        except KeyboardInterrupt as late:  # in the few instructions before signals were held off
            return self._end(error or late)

    def _running(self, letter: Letter, side: Side, windows: Windows) -> _Running:
        plan = RunPlan(
            checkout=self.plan.checkout,
            name=side.name,
            experiment=_cut(side.experiment, windows, self.plan.design.blocks_max),
            overrides=side.overrides,
            runtime=self.plan.runtime,
            cpus=self.plan.cpus,
            ports=self.plan.ports,
            monitoring=False,
            beside=letter == "b",
            service_root=None if side.revision is None else side.revision.root,
        )
        state = RunState(plan)
        if side.revision is not None:
            state.environment.git = Git(commit=side.revision.commit, dirty=False)
        phases = Phases(self._show, self._phase_changed)
        return _Running(letter, side, windows, state, phases, Session(state, phases, self._show))

    def _run(self) -> None:
        self._run_lock.take(f"comparison of {self.plan.a.label} and {self.plan.b.label}")
        self._preflight()
        self._make()
        self._build()
        for side in self._sides.values():
            with self._phases.phase("dataset", DATASET_LIMIT_S, label=f"dataset {side.letter.upper()}") as active:
                provide_dataset(side.state, active, self._show.note)
        pin_self(self.plan.cpus.other)
        self._began = time.monotonic()
        self._say(f"about {format_duration(self._estimate_s())}: {self._shape()}")
        result = self._blocks()
        self._profile()
        pin_self(self._all_cpus)
        self._collect()
        with self._phases.phase("analyse", ANALYSE_LIMIT_S):
            for side in self._sides.values():
                self._summarise(side)
            self._known.result = self._with_environment(result)
        with self._phases.phase("report", ANALYSE_LIMIT_S):
            self._known.complete = True
            self._write()
            for side in self._sides.values():
                report.write(side.state.directory)
            directories = (self._sides["a"].state.directory, self._sides["b"].state.directory)
            compare_profiles(self.plan.checkout, self._where, directories, (self.plan.a.label, self.plan.b.label))
            page.write(self._where)
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
            remove_stale(plan.checkout, self._show.note)
            plan.runtime.preflight(plan.cpus, plan.ports, self._show.note)
            for side in self._sides.values():
                check_space(side.state.plan)
            active.remarks += [f"noise: {finding}" for finding in noise.audit()]
            active.detail = f"{plan.runtime.name}; {describe_cpus(plan.cpus)}"

    def _make(self) -> None:
        """Make the directory of the comparison, with a subdirectory for each side."""
        plan, design = self.plan, self.plan.design
        self.directory = make_run_directory(plan.checkout.results, DIRECTORY)
        differ = differences(plan.a.experiment, plan.b.experiment)
        windows = self._sides["a"].windows
        self.record = ComparisonRecord(
            comparison_id=self.directory.name,
            kind="in turns",
            runtime=plan.runtime.name,  # type: ignore[arg-type]
            a=_side_record(plan.a, "a"),
            b=_side_record(plan.b, "b"),
            compared=[*differ.compared, *plan.compared],
            besides=list(differ.besides),
            design=DesignRecord(
                looks=[LookRecord(blocks=look.blocks, alpha=look.alpha) for look in design.looks],
                within=design.within,
                metric=design.metric,
                seed=design.seed,
                orders=list(design.orders()),  # type: ignore[arg-type]
                windows=windows.count,
                window_s=float(windows.length_s),
                warmup_s=plan.a.experiment.load.warmup_s,
                calibration=_calibrated(plan.checkout, design.metric),
            ),
        )
        for letter, side in self._sides.items():
            (self.directory / letter).mkdir()
            side.state.timeline.start()
            side.state.make(self.directory / letter)
        for line in differ.besides:
            self._say(f"! the sides differ in more than the service: {line}")
        self._write()

    def _build(self) -> None:
        with self._phases.phase("build", BUILD_LIMIT_S):
            self.plan.runtime.build(self._where / "build.log", self._show.note)
            for side in self._sides.values():
                check_choices(side.state.plan)

    def _blocks(self) -> Result | None:
        """Execute blocks up to the look that decides, or the last one; return the result of that look."""
        looks = {look.blocks: look for look in self.plan.design.looks}
        result = None
        for number, order in enumerate(self._known.design.orders, start=1):
            self._known.blocks.append(self._block(number, order))
            self._write()
            left_s = self._left_s(number)
            left = f"; about {format_duration(left_s)} left" if left_s >= 1 else ""
            self._say(f"  block {number} of {self.plan.design.blocks_max} is over{left}")
            if number in looks:
                result = self._judge(looks[number].alpha)
                if len(looks) > 1:
                    self._say(f"  look after {number} blocks: {result.verdict}")
                if result.verdict != "cannot tell":
                    break
        return result

    def _block(self, number: int, order: Literal["ab", "ba"]) -> Block:
        letters: list[Letter] = ["a", "b"] if order == "ab" else ["b", "a"]
        for letter in letters:
            self._sides[letter].session.stop_service()
        for letter in letters:
            side = self._sides[letter]
            side.session.prepare(self._repetition(side, number, 1))
            side.state.scrape_service(on=False)
        windows = self._sides["a"].windows
        done = [self._window(self._sides[letter], number, window) for letter, window in windows.sequence(order)]
        return Block(number=number, order=order, windows=done)

    def _window(self, side: _Running, block: int, window: int) -> Window:
        """Measure one window; the services' own counters are read before and after it, never during it."""
        repetition, other = self._repetition(side, block, window), self._sides[side.other]
        with self._recording(side):
            before, idle_before = _used(side), _used(other)
            start = datetime.now(UTC)
            side.session.measure(repetition)
            end = datetime.now(UTC)
            after, idle_after = _used(side), _used(other)
        return Window(
            side=side.letter,
            source=repetition.out.relative_to(side.state.directory).as_posix(),
            start=start,
            end=end,
            service_cpu_s=_increase(before, after, CPU),
            idle_cpu_s=_increase(idle_before, idle_after, CPU),
            allocated_bytes=_increase(before, after, ALLOCATED),
        )

    @contextlib.contextmanager
    def _recording(self, side: _Running) -> Iterator[None]:
        """Profile side B during a window, if that is compared; the recording itself is deleted."""
        settings = self.plan.recorded
        if settings is None or side.letter == "a":
            yield
            return
        out = side.state.directory / "recording"
        out.mkdir()
        interval, cpus = duration_word(settings.interval_s), self.plan.cpus.other
        spec = ProfileSpec(out=out, events=settings.events, interval=interval, title=side.side.label, cpus=cpus)
        self.plan.runtime.profiler.start(spec, side.state.service)
        yield
        self.plan.runtime.profiler.stop(spec, side.state.service)
        shutil.rmtree(out)

    def _repetition(self, side: _Running, block: int, window: int) -> Repetition:
        state, count = side.state, side.windows.count
        return Repetition(
            side.state.plan.experiment,
            state.dataset,
            state.directory,
            state.environment,
            number=(block - 1) * count + window,
            of=self.plan.design.blocks_max * count,
            label=f"{side.letter.upper()} {block}/{self.plan.design.blocks_max}",
        )

    def _profile(self) -> None:
        """Profile each side once more, on a service of its own and alone, at the same rate."""
        for side in self._sides.values():
            side.session.stop_service()
        for side in self._sides.values():
            spec = profile_spec(side.state)
            if spec is None:
                continue
            # The recording takes one side's whole duration: the windows of a block together.
            load = side.side.experiment.load
            experiment = side.state.plan.experiment.model_copy(update={"load": load})
            repetition = replace(
                self._repetition(side, 1, 1),
                experiment=experiment,
                number=None,
                profile=spec,
                label=side.letter.upper(),
            )
            side.session.prepare(repetition)
            side.session.profile(repetition, spec)
            side.session.stop_service()

    def _collect(self) -> None:
        for side in self._sides.values():
            label = f"collect {side.letter.upper()}"
            with self._phases.phase("collect", COLLECT_LIMIT_S, label=label) as active:
                active.remarks += collect(side.state, side.session, self._show.note)

    def _summarise(self, side: _Running) -> None:
        """Complete the side's run directory, like a run of that many repetitions."""
        manifest = side.state.artifacts.manifest
        done = len(self._known.blocks) * side.windows.count
        manifest.experiment.resolved = {**manifest.experiment.resolved, "repeat": done}
        summarise(side.state, self._phases_of(side))
        side.state.artifacts.finish(self._phases_of(side), complete=True)
        side.finished = True

    def _judge(self, alpha: float) -> Result:
        """Judge the blocks so far."""
        by_side = {
            letter: [
                measured(
                    side.state.directory,
                    [window for window in block.windows if window.side == letter],
                    float(side.state.plan.experiment.load.rate_per_s),
                )
                for block in self._known.blocks
            ]
            for letter, side in self._sides.items()
        }
        question = Question(self.plan.design.metric, self.plan.design.within, alpha)
        return judge_blocks(by_side["a"], by_side["b"], question, names_of(self.plan.a, self.plan.b))

    def _with_environment(self, result: Result | None) -> Result | None:
        """Add the results of the sides' checks; the verdict is withdrawn if the machine was not fit to measure."""
        if result is None:
            return None
        cautions = list(result.cautions)
        unfit: list[str] = []
        for side in self._sides.values():
            validity = side.state.artifacts.manifest.validity
            for check in validity.checks if validity is not None else []:
                if check.environment and check.outcome == "fail":
                    unfit.append(f"{side.letter.upper()}: {check.detail}")
                elif _is_telling(check):
                    cautions.append(f"{side.letter.upper()}: {_shortened(check.detail)}")
        idle = [window.idle_cpu_s for block in self._known.blocks for window in block.windows]
        length_s = sum((w.end - w.start).total_seconds() for block in self._known.blocks for w in block.windows)
        known = [cpu_s for cpu_s in idle if cpu_s is not None]
        result = result.model_copy(
            update={
                "cautions": cautions,
                "idle_cpu_share": sum(known) / length_s if known and len(known) == len(idle) and length_s else None,
            }
        )
        return withdrawn(result, "the machine was not fit to measure: " + "; ".join(unfit)) if unfit else result

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
        console = self._show.console
        if isinstance(error, RefusedError) and self.directory is not None:
            shutil.rmtree(self.directory)  # it holds no more than the log of a build
            self.directory = self.record = None
        if error is None:
            page.tell(console, self._known, self._where)
            return 0
        if self.record is not None:
            self.record.complete, self.record.result = False, None
            with contextlib.suppress(OSError, LabError):  # for example a full disk: the error that is reported below
                self._write()
                page.write(self._where)
        phases = [self._phases, *(side.phases for side in self._sides.values())]
        failed = next((p.failed for p in phases if p.failed), None) or self._phases.latest or "preflight"
        code = 1
        if isinstance(error, KeyboardInterrupt):
            code = error.exit_code if isinstance(error, TerminatedError) else INTERRUPTED_EXIT
            console.print(f"[yellow]Interrupted[/] in phase {failed}{'.' if left else '; nothing is left running.'}")
        elif isinstance(error, LabError):
            code = error.exit_code if self.record is None else 1
            print_error(console, error)
        else:
            console.print(f"The lab itself failed: {type(error).__name__}: {error}", style="bold red", markup=False)
            if self.directory is None:
                console.print_exception()
        for what in left:
            console.print(f"May still be running: {what}", style="bold red", markup=False, highlight=False)
        if self.record is not None:
            blocks = len(self.record.blocks)
            console.print(
                f"What was collected: {self._where} ({blocks} whole blocks; incomplete, so it is not judged)",
                highlight=False,
                soft_wrap=True,
            )
        return code

    def _phases_of(self, side: _Running) -> list[Phase]:
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
        return self.plan.design.blocks_max * each + profiled

    def _left_s(self, done: int) -> float:
        """Return the time left, estimated from the blocks so far; profiles and pages count as one more block."""
        taken = time.monotonic() - self._began
        profiled = any(side.side.experiment.profile is not None for side in self._sides.values())
        return taken / done * (self.plan.design.blocks_max - done + (1 if profiled else 0))

    def _shape(self) -> str:
        windows = self._sides["a"].windows
        looks = self.plan.design.looks
        blocks = f"{looks[0].blocks} blocks" if len(looks) == 1 else f"{looks[0].blocks} to {looks[-1].blocks} blocks"
        return (
            f"{blocks}, in each a fresh start of both sides and {windows.count} windows of {windows.length_s} s a side"
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


CPU, ALLOCATED = "process_cpu_seconds_total", "jvm_allocated_bytes_total"
"""The service's own counters."""


def names_of(a: Side, b: Side) -> tuple[str, str]:
    """Return the names of the sides in sentences: their labels, with A and B if both have the same label."""
    return (a.label, b.label) if a.label != b.label else (f"A ({a.label})", f"B ({b.label})")


def _cut(experiment: Experiment, windows: Windows, blocks: int) -> Experiment:
    """Return the experiment of one window, which the side repeats."""
    load = experiment.load.model_copy(update={"duration_s": float(windows.length_s)})
    return experiment.model_copy(update={"load": load, "repeat": blocks * windows.count})


def _calibrated(checkout: Checkout, metric: str) -> str | None:
    """Return the smallest difference of a metric that this machine can show, by its last calibration."""
    calibration = read_calibration(checkout)
    if calibration is None or metric not in calibration.smallest_difference:
        return None
    size = calibration.smallest_difference[metric]
    return f"{metric} {size:.1%} with {calibration.pairs} pairs of starts ({calibration.experiment})"


def _side_record(side: Side, directory: str) -> SideRecord:
    return SideRecord(
        label=side.label,
        name=side.name,
        title=side.experiment.title,
        overrides=dict(side.overrides),
        directory=directory,
    )


def _used(side: _Running) -> dict[str, float]:
    return scrape(f"{side.state.service.admin_url}/metrics")


def _increase(before: dict[str, float], after: dict[str, float], counter: str) -> float | None:
    if counter not in before or counter not in after:
        return None
    return max(0.0, after[counter] - before[counter])


def _shortened(detail: str) -> str:
    """Return the result of a check for the first window that it mentions; the side's own page has the others."""
    first, *more = detail.split("; ")
    return first + (f", and {len(more)} more, listed in its report" if more else "")


def _is_telling(check: Check) -> bool:
    if check.outcome not in ("warn", "fail"):
        return False
    return check.environment or check.name in TELLING_CHECKS
