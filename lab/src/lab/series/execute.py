"""Executes the runs of a series. Lock, build and monitoring are taken once; each run is an ordinary run directory."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.text import Text

from lab.capacity import Capacities
from lab.cpu_plan import CpuPlan
from lab.errors import CannotRunHereError, InputError, LabError, NoSpaceError, RefusedError, RunError
from lab.experiment import Catalogue, Experiment, apply_overrides
from lab.manifest import Manifest
from lab.paths import Checkout
from lab.report import numbers
from lab.run import Run, RunPlan
from lab.run.setup import Setup
from lab.run.signals import raise_held, signals_raise
from lab.run.summary import STATE_STYLES
from lab.runtime.base import Ports, Runtime
from lab.series.answer import Answer, PlannedRun, find_incomplete, incomplete_answers
from lab.series.show import SeriesShow, time_left
from lab.words import as_typed

OVERHEAD_EXPECTED_S = 6.0
"""Estimated seconds of a run besides its load; used until the first run has ended."""
FAILURES_IN_A_ROW_MAX = 3
"""A series ends after this many failed runs in a row: the cause is not in a single run."""


@dataclass(frozen=True)
class Place:
    """The place where a series runs. `make_runtime` is called at the beginning and after each run that failed.

    `runtime` is the name of what it makes: a series is resumed only in the same runtime.
    """

    checkout: Checkout
    make_runtime: Callable[[], Runtime]
    runtime: str
    cpus: CpuPlan
    ports: Ports
    monitoring: bool | None = None

    @cached_property
    def capacities(self) -> Capacities:
        """The capacities measured here, the base of RATE=auto."""
        return Capacities(self.checkout, self.cpus, self.runtime)


def find_to_resume(place: Place, kind: str, name: str, request: Mapping[str, Any], console: Console) -> Answer:
    """Return the newest incomplete series of this request and say which it is. InputError if there is none."""
    found = find_incomplete(place.checkout.results, kind, name, request)
    if found is None:
        hint = "Without RESUME=1 a new one begins."
        for other in incomplete_answers(place.checkout.results, kind, name)[:1]:
            hint += f" results/{kind}/{other.id} is incomplete, but has {_differences(other.request, request)}."
        raise InputError(f"RESUME=1: there is no incomplete {kind} of {name} with this request", hint)
    console.print(f"continuing results/{kind}/{found.id}", highlight=False)
    return found


def _differences(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    keys = [key for key in {**theirs, **ours} if theirs.get(key) != ours.get(key)]
    return ", ".join(f"{key} {theirs.get(key)} instead of {ours.get(key)}" for key in keys)


class Series:
    """The runs of one answer. Use as a context manager, from the main thread."""

    def __init__(self, place: Place, answer: Answer, console: Console) -> None:
        self.answer = answer
        self._place = place
        self._console = console
        self._setup = Setup(place.checkout)
        self._runtime: Runtime | None = None
        self._signals = signals_raise()
        self._failures = 0
        self._overheads_s: list[float] = []
        self._loads_s: dict[tuple[str, ...], float] = {}

    def __enter__(self) -> Self:
        """Take the lock of this machine's runs. RunError if another lab has it."""
        self._signals.__enter__()
        try:
            self._setup.take(f"{self.answer.kind} {self.answer.name}")
        except BaseException:
            self._signals.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End what is still running and give the lock back."""
        try:
            self._close_runtime()
        finally:
            self._setup.release()
            self._signals.__exit__(kind, error, trace)

    def execute(self) -> None:
        """Execute every planned run that is not finished, in the order of the plan.

        A run that fails is reported and left out, and so is one that cannot be made here; RunError at the end, or after
        three failures in a row. Ctrl-C is a KeyboardInterrupt after the run has cleaned up. The answer is written after
        each run.
        """
        failed = refused = 0
        for planned in self.answer.runs:
            if planned.run is not None:
                continue
            try:
                self.run(planned)
            except CannotRunHereError as error:
                refused += 1
                self._console.print(Text(f"– {as_typed(error.message)}", style="yellow"), soft_wrap=True)
            except RunError:
                failed += 1
                if self._failures >= FAILURES_IN_A_ROW_MAX:
                    raise
        if failed or refused:
            counts = ((failed, "failed"), (refused, "cannot be made here"))
            parts = (f"{count} of {len(self.answer.runs)} runs {what}" for count, what in counts if count)
            raise RunError(", and ".join(parts), "RESUME=1 repeats those alone")

    def run(self, planned: PlannedRun) -> Manifest:
        """Execute one run, or return it if it is finished. Adds `planned` to the answer unless it is there already.

        The total and the time left are not shown for a run that is added: the next one depends on its result.

        RunError if it fails, CannotRunHereError if it is refused, InputError if it names something that does not exist.
        """
        results, runs = self._place.checkout.results, self.answer.runs
        grows = not any(planned is one for one in runs)
        if grows:
            runs.append(planned)
        if planned.run is not None:
            return Manifest.read(results / planned.run / "run.json")
        experiment, overrides = resolve(self._place.checkout, planned, self._place.capacities)
        number = next(at for at, one in enumerate(runs, 1) if one is planned)
        began = time.monotonic()
        named = f"run {number}" if grows else f"run {number} of {len(runs)}"
        run = self._make_run(planned, experiment, overrides, named if grows else f"{named}, {self._left()} left")
        ended = run.execute()
        wall_s = time.monotonic() - began
        refused = ended.error if isinstance(ended.error, NoSpaceError | RefusedError) and not ended.left else None
        if refused is None:
            ended.tell(self._console, lambda: None)
        planned.refused = "" if refused is None else refused.message.splitlines()[0]
        name = None if ended.directory is None else f"{planned.experiment}/{ended.directory.name}"
        if ended.error is None:
            planned.run = name
            self._failures = 0
            self._overheads_s.append(max(0.0, wall_s - load_s(experiment)))
        else:
            self._failures += refused is None
            if name is not None:
                planned.attempts.append(name)
            self._close_runtime()  # the next run begins without anything of this one
        self.answer.write(results)
        if isinstance(ended.error, KeyboardInterrupt):
            raise KeyboardInterrupt
        raise_held()  # the run was over but for its last steps, and is kept
        if refused is not None:
            raise CannotRunHereError(f"{planned.name} cannot run here: {planned.refused}", refused.hint)
        if ended.error is not None:
            raise RunError(f"{planned.name} failed after {wall_s:.0f} s")
        self._tell_run(named, planned, run.state.artifacts.manifest, wall_s)
        return run.state.artifacts.manifest

    def _make_run(
        self, planned: PlannedRun, experiment: Experiment, overrides: Mapping[str, Any], progress: str
    ) -> Run:
        first = self._runtime is None
        if self._runtime is None:
            self._runtime = self._place.make_runtime()
            self._setup.checked = False
        plan = RunPlan(
            checkout=self._place.checkout,
            name=planned.experiment,
            experiment=experiment,
            overrides=overrides,
            runtime=self._runtime,
            cpus=self._place.cpus,
            ports=self._place.ports,
            monitoring=self._place.monitoring if first else False,
        )
        return Run(plan, SeriesShow(self._console, progress, planned.name), self._setup)

    def _close_runtime(self) -> None:
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            for what in runtime.close():
                self._console.print(Text(f"May still be running: {what}", style="bold red"), soft_wrap=True)

    def _left(self) -> str:
        overhead_s = sum(self._overheads_s) / len(self._overheads_s) if self._overheads_s else OVERHEAD_EXPECTED_S
        return time_left(sum(self._load_s(one) + overhead_s for one in self.answer.missing))

    def _load_s(self, planned: PlannedRun) -> float:
        """Return for how many seconds a run is under load; its declaration is read once."""
        key = (planned.experiment, *(f"{name}={text}" for name, text in planned.overrides.items()))
        if key not in self._loads_s:
            self._loads_s[key] = load_s(resolve(self._place.checkout, planned, self._place.capacities)[0])
        return self._loads_s[key]

    def _tell_run(self, named: str, planned: PlannedRun, manifest: Manifest, wall_s: float) -> None:
        summary, validity = manifest.summary, manifest.validity
        state = "unjudged" if validity is None else validity.state
        line = Text.assemble(
            ("✓ ", "green"),
            f"{named}  round {planned.round}  {planned.name:<24}",
            (f"{numbers.duration(wall_s):>9}", "dim"),
        )
        if summary is not None:
            line.append(f"  {numbers.rate(summary.rate_achieved_per_s):>8}/s")
            line.append(f"  p99 {numbers.percentile(summary.headline_ms, '99'):>8}")
        line.append(f"  {state}", style=STATE_STYLES.get(state, ""))
        if self.answer.missing:
            line.append(f"  {self._left()} left", style="dim")
        self._console.print(line, highlight=False)


def resolve(
    checkout: Checkout, planned: PlannedRun, capacities: Capacities | None = None
) -> tuple[Experiment, dict[str, Any]]:
    """Return the experiment of a planned run with its overrides, and the parsed overrides."""
    experiment = Catalogue(checkout).read(planned.experiment)
    if capacities is None:
        return apply_overrides(experiment, planned.overrides)
    return apply_overrides(experiment, planned.overrides, capacities.saturation_of(planned.experiment))


def load_s(experiment: Experiment) -> float:
    """Return for how many seconds a run of this experiment is under load: warm-ups, measurements, profile."""
    repetitions = experiment.repeat + (experiment.profile is not None)
    return repetitions * (experiment.load.warmup_s + experiment.load.duration_s)


def expected_s(checkout: Checkout, runs: Sequence[PlannedRun]) -> float:
    """Return an estimate of how long these runs will take, in seconds."""
    return sum(load_s(resolve(checkout, planned)[0]) + OVERHEAD_EXPECTED_S for planned in runs)


def run_directory(results: Path, planned: PlannedRun) -> Path:
    """Return the directory of a finished run. LabError if it is not finished."""
    if planned.run is None:
        raise LabError(f"{planned.experiment} of round {planned.round} is not finished")
    return results / planned.run
