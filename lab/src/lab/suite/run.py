"""`lab suite`: plan or resume, execute, and write the page that answers the question."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.text import Text

from lab.errors import InputError, LabError
from lab.experiment import Catalogue
from lab.manifest import Manifest
from lab.series import Answer, Place, PlannedRun, Series, find_to_resume, make_answer
from lab.series.execute import expected_s, resolve
from lab.series.show import time_left
from lab.statistics import BLOCKS_MIN
from lab.suite import page
from lab.suite.declaration import ROUNDS_DEFAULT, ROUNDS_MAX, Case, overrides_of, read_suite
from lab.suite.figures import troubles_of
from lab.suite.leaders import times_of
from lab.suite.scaling import scales_of
from lab.words import as_typed

KIND = "suite"


@dataclass(frozen=True)
class SuiteRequest:
    """The user's request.

    `overrides` are words as `make experiment` takes them; `scale` is a factor of every declared rate, or auto. With
    `force`, runs that the machine disturbed are neither repeated nor left out.
    """

    name: str
    rounds: int = ROUNDS_DEFAULT
    scale: str | None = None
    overrides: Mapping[str, str] = field(default_factory=dict)
    resume: bool = False
    seed: int | None = None
    force: bool = False

    def as_json(self, runtime: str) -> dict[str, object]:
        """Return everything that the plan is made from."""
        return {
            "suite": self.name,
            "rounds": self.rounds,
            "scale": self.scale,
            "overrides": dict(self.overrides),
            "runtime": runtime,
            **({"force": True} if self.force else {}),
        }


def run_suite(place: Place, request: SuiteRequest, console: Console) -> Path:
    """Run a suite to its end and return the directory of its page.

    InputError for names that do not exist, before anything is started. RunError if a run failed: the page is written
    from the others, and says so. After Ctrl-C too, a page of the finished runs stays behind.
    """
    if not 1 <= request.rounds <= ROUNDS_MAX:
        raise InputError(f"ROUNDS={request.rounds}: must be from 1 to {ROUNDS_MAX}")
    answer = _answer(place, request, console)
    results = place.checkout.results
    directory = answer.directory(results)
    missing = answer.missing
    console.print(
        Text.assemble(
            (request.name, "bold"),
            f": {len(answer.runs)} runs, {max(one.round for one in answer.runs)} of each"
            + (f", {len(answer.runs) - len(missing)} of them there already" if len(missing) < len(answer.runs) else "")
            + f", {time_left(expected_s(place.checkout, missing))}",
        ),
        highlight=False,
    )
    if request.rounds < BLOCKS_MIN:
        console.print(f"  fewer than {BLOCKS_MIN} rounds: the page will claim nothing", highlight=False)
    try:
        with Series(place, answer, console) as series:
            series.execute()
            # With fewer rounds, nothing is claimed that a disturbance could spoil.
            if request.rounds >= BLOCKS_MIN and not request.force:
                _repeat_disturbed(series, results, console)
        answer.state = "complete"
    except KeyboardInterrupt:
        console.print(
            f"{len(answer.runs) - len(answer.missing)} of {len(answer.runs)} runs are kept. "
            + as_typed("The same command with RESUME=1 continues with them."),
            highlight=False,
        )
        raise
    finally:
        page.write(place.checkout, answer)
        answer.write(results)  # after the page, so that a complete suite has one
        _tell(console, directory)
    return directory


def _repeat_disturbed(series: Series, results: Path, console: Console) -> None:
    """Repeat the runs that something else on the machine disturbed, each at most once.

    Without it, one backup job in the first round would leave the suite one start short of a claim.
    """
    again = [
        planned
        for planned in series.answer.runs
        if planned.run is not None
        and not planned.disturbed
        and troubles_of(Manifest.read(results / planned.run / "run.json"))
    ]
    if not again:
        return
    were, are = ("run was", "is") if len(again) == 1 else ("runs were", "are")
    console.print(
        f"{len(again)} {were} disturbed by something else on this machine and {are} repeated", highlight=False
    )
    for planned in again:
        if planned.run is not None:
            planned.disturbed.append(planned.run)
            planned.run = None
    series.answer.write(results)
    series.execute()


def _answer(place: Place, request: SuiteRequest, console: Console) -> Answer:
    suite, cases = read_suite(place.checkout, request.name)
    asked = request.as_json(place.runtime)
    results = place.checkout.results
    if request.resume:
        return find_to_resume(place, KIND, request.name, asked, console)
    catalogue = Catalogue(place.checkout)
    seed = random.SystemRandom().randrange(2**31) if request.seed is None else request.seed
    times = times_of(suite, {case.experiment: catalogue.read(case.experiment) for case in cases})
    for one in plan_rounds(catalogue, cases, 1, request.overrides, seed=seed, times=times):
        resolve(place.checkout, one)  # bad input ends the suite before anything is measured
    scales = scales_of(place, suite, cases, request.scale, given=request.overrides, console=console)
    planned = plan_rounds(catalogue, cases, request.rounds, request.overrides, seed=seed, times=times, scales=scales)
    for one in planned:
        resolve(place.checkout, one)  # nor is anything made for a scale that does not fit
    return make_answer(results, KIND, request.name, asked, planned, seed=seed)


def _tell(console: Console, directory: Path) -> None:
    try:
        lines = page.summary_lines(directory)
    except (LabError, OSError):
        return
    for line in lines:
        console.print(Text(f"  • {line}"), soft_wrap=True, highlight=False)
    shown = directory / page.PAGE
    place = shown.relative_to(Path.cwd()) if shown.is_relative_to(Path.cwd()) else shown
    console.print(f"page:    {place}", soft_wrap=True, highlight=False)


def plan_rounds(
    catalogue: Catalogue,
    cases: Sequence[Case],
    rounds: int,
    given: Mapping[str, str],
    *,
    seed: int,
    times: Mapping[str, Mapping[str, str]],
    scales: Mapping[str, str] | None = None,
) -> list[PlannedRun]:
    """Return the runs in their order: every experiment once a round, shuffled for each round.

    Rounds are the blocks of the comparisons: one fresh start of each service. They are shuffled, because a change
    of the machine in the course of an hour must not always affect the same experiment. Only the last round is
    profiled, so that the figures of the other rounds are of unprofiled services.

    `given` are the overrides of all. For an experiment, `times` has those from its baseline, and `scales` has the
    factor of its declared rate, as a word.
    """
    shuffler = random.Random(seed)
    planned = []
    for number in range(1, rounds + 1):
        order = list(cases)
        shuffler.shuffle(order)
        for case in order:
            common = {**times.get(case.experiment, {}), **given}
            overrides = overrides_of(case, common, (scales or {}).get(case.experiment))
            experiment = catalogue.read(case.experiment)
            if experiment.repeat != 1:
                overrides["repeat"] = "1"  # a round is a repetition
            if number < rounds and experiment.profile is not None:
                overrides["profile"] = "off"
            planned.append(PlannedRun(experiment=case.experiment, overrides=overrides, label=str(case), round=number))
    return planned
