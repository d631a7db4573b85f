"""Makes the steps of a search or of a capacity: short runs at one rate each, and their record."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from rich.console import Console
from rich.text import Text

from lab.experiment import Experiment
from lab.manifest import Manifest, Strict
from lab.report import numbers
from lab.search.judge import judge
from lab.search.procedure import Holds
from lab.search.slo import SAMPLES_FACTOR, Slo
from lab.series import PlannedRun, Series
from lab.series.execute import run_directory
from lab.units import duration_word

STEP_S = 10
STEP_MAX_S = 120
STEP_WARMUP_MAX_S = 10
SPARE = 1.2
"""The lowest rate has this many times the requests that a percentile needs."""
REPEATED_MAX = 4
"""Disturbed steps that a search repeats; after these every step counts as it is."""

MARKS = {"yes": ("✓", "green"), "no": ("✗", "red"), "unknown": ("?", "yellow")}


class Step(Strict):
    """One step. `counted` is false for one that the machine disturbed, which was repeated.

    A percentile in `lower_bounds` is at least its value.
    """

    rate_per_s: int
    holds: Literal["yes", "no", "unknown"]
    why: str
    run: str
    served_per_s: float | None = None
    requests: int = 0
    percentiles_ms: dict[str, float] = Field(default_factory=dict)
    lower_bounds: list[str] = Field(default_factory=list)
    disturbed: list[str] = Field(default_factory=list)
    counted: bool = True
    duration_s: Annotated[float, Field(ge=0)] = 0.0


@dataclass(frozen=True)
class Subject:
    """The question: an experiment by name, the `words` set for every step, and it with these words applied."""

    name: str
    words: Mapping[str, str]
    experiment: Experiment
    slo: Slo


class Steps:
    """Makes steps in a series, with `words` set at each. A resumed series repeats none of them."""

    def __init__(
        self,
        series: Series,
        results: Path,
        subject: Subject,
        console: Console,
    ) -> None:
        self.made: list[Step] = []
        self._series, self._results, self._console = series, results, console
        self._name, self._words, self._slo, self._experiment = (
            subject.name,
            subject.words,
            subject.slo,
            subject.experiment,
        )
        self._number = 0

    def probe(self, rate_per_s: int) -> Holds:
        """Make a step at this rate; a step that the machine disturbed or the load generator spoilt is repeated once."""
        step = self._make(rate_per_s)
        repeated = sum(not one.counted for one in self.made)
        if (step.disturbed or step.holds == "unknown") and repeated < REPEATED_MAX:
            step.counted = False
            why = step.disturbed[0] if step.disturbed else step.why
            self._tell(("made again:", "dim"), why)
            step = self._make(rate_per_s)
        return step.holds

    def _make(self, rate_per_s: int) -> Step:
        duration_s = step_seconds(rate_per_s, self._slo, self._words, self._experiment)
        overrides = {**self._words, "rate": str(rate_per_s), "duration": duration_word(duration_s), "repeat": "1"}
        overrides |= {"profile": "off", "warmup": overrides.get("warmup", duration_word(self._warmup_s()))}
        runs = self._series.answer.runs
        at, self._number = self._number, self._number + 1
        if at < len(runs) and runs[at].overrides == overrides:
            planned = runs[at]
        else:
            del runs[at:]
            planned = PlannedRun(experiment=self._name, overrides=overrides, round=at + 1)
        manifest = self._series.run(planned)
        directory = run_directory(self._results, planned)
        judgement = judge(directory, manifest, self._slo)
        step = Step(
            rate_per_s=rate_per_s,
            holds=judgement.holds,
            why=judgement.why,
            run=planned.run or "",
            disturbed=list(judgement.disturbed),
            duration_s=duration_s,
        )
        _add_figures(step, manifest)
        self.made.append(step)
        self._tell(MARKS[step.holds], f"{numbers.rate(rate_per_s)}/s: {step.why}")
        return step

    def _warmup_s(self) -> float:
        return min(self._experiment.load.warmup_s, STEP_WARMUP_MAX_S)

    def _tell(self, mark: tuple[str, str], text: str) -> None:
        self._console.print(Text.assemble("    ", mark, " ", text), soft_wrap=True, highlight=False)


def step_seconds(rate_per_s: int, slo: Slo, words: Mapping[str, str], experiment: Experiment) -> float:
    """Return how long a step takes: as given, or long enough for three times the requests that the percentile needs."""
    if "duration" in words:
        return experiment.load.duration_s
    return float(min(STEP_MAX_S, max(STEP_S, math.ceil(slo.requests_needed / rate_per_s))))


def lowest_rate(slo: Slo, words: Mapping[str, str], experiment: Experiment) -> int:
    """Return the lowest rate at which the longest step has enough requests for the percentile, with a margin.

    That is less than steps usually have, but enough that one unanswered request does not cost the percentile.
    """
    longest_s = experiment.load.duration_s if "duration" in words else STEP_MAX_S
    return max(1, math.ceil(SPARE * slo.requests_needed / SAMPLES_FACTOR / longest_s))


def _add_figures(step: Step, manifest: Manifest) -> None:
    summary = manifest.summary
    if summary is not None:
        step.served_per_s = summary.goodput_per_s if summary.goodput_per_s is not None else summary.rate_achieved_per_s
        step.requests = summary.requests
        step.percentiles_ms = dict(summary.headline_ms.percentiles)
        step.lower_bounds = list(summary.headline_ms.lower_bounds)
