"""The figures of a suite, read from its run directories: of each start, and of all starts of a case together.

The sample of a claim is the start, measured like a block of a comparison. Percentiles of all starts together come from
merged histograms, never from an average of percentiles; no claim is based on them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lab.analysis.histogram import Sample
from lab.compare.judging import REACHED
from lab.compare.measurement import LONGEST, METRICS, THROUGHPUT, Measured, of_run
from lab.errors import LabError
from lab.experiment import Catalogue, Experiment
from lab.manifest import Distribution, Manifest
from lab.report import numbers
from lab.series import Answer, PlannedRun
from lab.series.answer import is_complete
from lab.suite.declaration import Case, Suite
from lab.suite.leaders import leaders_of, published_per_s

METRIC_OF = {metric.name: metric for metric in (*METRICS, LONGEST)}
"""What a rule can compare, by name."""


@dataclass(frozen=True)
class Category:
    """The share of a category of code in a profile's event, with its 95% interval if it is known."""

    name: str
    share: float
    bounds: tuple[float, float] | None
    value: float


@dataclass(frozen=True)
class Profile:
    """The profiled start of a case; `events` maps cpu, alloc, lock to their categories, largest first."""

    run: str
    directory: Path
    events: dict[str, list[Category]]
    samples: dict[str, int]
    requests: int

    def share_of_frames(self, event: str, frames: frozenset[str]) -> float:
        """Return the part of an event in stacks with one of these frames: of CPU samples, waiting time or bytes.

        Raises OSError if the stacks cannot be read.
        """
        total = within = 0.0
        for line in (self.directory / f"{event}.collapsed").read_text(encoding="utf-8").splitlines():
            stack, _, weight = line.rpartition(" ")
            total += float(weight)
            within += float(weight) if not frames.isdisjoint(stack.split(";")) else 0.0
        return within / total if total else 0.0


@dataclass(frozen=True)
class Start:
    """One start of a service: its run, what it measured, and what disturbed it."""

    run: str
    round: int
    manifest: Manifest
    measured: Measured
    offered_per_s: float | None
    troubles: list[str]

    def figure(self, metric: str) -> float | None:
        """Return the figure of a metric; None if it was not measured, or is only a lower bound."""
        return METRIC_OF[metric].value(self.measured)

    @property
    def p99(self) -> str:
        """Its p99 as readers see it."""
        summary = self.manifest.summary
        return numbers.UNKNOWN if summary is None else numbers.percentile(summary.headline_ms, "99")


@dataclass(frozen=True)
class CaseFigures:
    """Everything about one case.

    `starts` are complete runs without outside disturbance, or all complete ones with FORCE=1; `disturbed` are the other
    complete ones, `incomplete` are the names of runs that did not end well, `refused` says why it cannot run here.
    `same_share`: SCALE=auto fitted the rate by a published saturation, so the offered share of the service's saturation
    is the published one.
    """

    case: Case
    experiment: Experiment
    starts: list[Start]
    disturbed: list[Start]
    planned: int
    incomplete: list[str]
    results: Path
    same_share: bool = False
    refused: str = ""

    @cached_property
    def sample(self) -> Sample:
        """The latencies of all undisturbed starts, their histograms merged."""
        return Sample.merged(start.measured.sample for start in self.starts)

    @cached_property
    def latency(self) -> Distribution:
        """The same as percentiles, in ms."""
        return self.sample.distribution(1e-6)

    @cached_property
    def profile(self) -> Profile | None:
        """The profile of the last start that has one, None if none has."""
        for start in sorted([*self.starts, *self.disturbed], key=lambda start: -start.round):
            profile = _profile(self.results, start)
            if profile is not None:
                return profile
        return None

    def mean(self, metric: str) -> float | None:
        """Return the mean of a rate or a cost over the starts; None if it was not measured in each."""
        values = [value for start in self.starts if (value := start.figure(metric)) is not None]
        return sum(values) / len(values) if values and len(values) == len(self.starts) else None

    @property
    def served_per_s(self) -> float | None:
        """The mean of the requests served a second."""
        return self.mean(THROUGHPUT.name)

    @property
    def offered_per_s(self) -> float | None:
        """The offered rate."""
        return self.starts[0].offered_per_s if self.starts else None

    @property
    def kept(self) -> float | None:
        """Requests served ÷ requests offered, over all starts; None without any."""
        return Measured.together([start.measured for start in self.starts]).served_share if self.starts else None

    @property
    def keeps_up(self) -> bool:
        """Whether the service served what it was offered, so that its rate is the generator's; False if unknown."""
        return self.kept is not None and self.kept >= REACHED


def collect(
    catalogue: Catalogue, results: Path, answer: Answer, suite: Suite, cases: list[Case]
) -> dict[str, CaseFigures]:
    """Read every finished run of the answer; runs that are not complete are counted and otherwise left out.

    So are disturbed runs, unless the request forces them in.
    """
    collected = {}
    forced = bool(answer.request.get("force"))
    same_share = _at_the_published_share(catalogue, suite, cases) if is_fitted(answer) else frozenset()
    for case in cases:
        planned = [one for one in answer.runs if case_of(one, cases) == case]
        starts: list[Start] = []
        disturbed: list[Start] = []
        incomplete: list[str] = []
        for one in planned:
            incomplete += one.attempts
            if one.run is None:
                continue
            if not is_complete(results / one.run):
                incomplete.append(one.run)
                continue
            start = _start(results, one, one.run)
            (disturbed if start.troubles and not forced else starts).append(start)
        experiment = catalogue.read(case.experiment)
        if case.rate_per_s is not None:
            experiment = experiment.at_rate(case.rate_per_s)
        collected[str(case)] = CaseFigures(
            case,
            experiment,
            starts,
            disturbed,
            len(planned),
            incomplete,
            results,
            same_share=case.experiment in same_share,
            refused=next((one.refused for one in planned if one.refused and one.run is None), ""),
        )
    return collected


def is_fitted(answer: Answer) -> bool:
    """Return whether the rates were fitted to the machine: SCALE=auto."""
    return str(answer.request.get("scale")).strip().lower() == "auto"


def _at_the_published_share(catalogue: Catalogue, suite: Suite, cases: list[Case]) -> frozenset[str]:
    """Return the experiments whose rate SCALE=auto fits by a published saturation."""
    experiments = {name: catalogue.read(name) for name in dict.fromkeys(case.experiment for case in cases)}
    leaders = leaders_of(suite, experiments)
    return frozenset(name for name, leader in leaders.items() if published_per_s(experiments[leader]) is not None)


def case_of(planned: PlannedRun, cases: list[Case]) -> Case | None:
    """Return the case that a planned run belongs to."""
    for case in cases:
        if str(case) == (planned.label or planned.experiment):
            return case
    return None


def _start(results: Path, planned: PlannedRun, run: str) -> Start:
    manifest = Manifest.read(results / run / "run.json")
    measured = Measured.together(of_run(results / run, manifest) or [Measured.nothing()])
    offered_per_s = None if manifest.summary is None else float(manifest.summary.rate_offered_per_s)
    return Start(run, planned.round, manifest, measured, offered_per_s, troubles_of(manifest))


def troubles_of(manifest: Manifest) -> list[str]:
    """Return what disturbed a run from outside: the environment's checks that failed."""
    return manifest.validity.unfit if manifest.validity is not None else []


def _profile(results: Path, start: Start) -> Profile | None:
    directory = results / start.run / "profile"
    profiled = start.manifest.summary.profiled if start.manifest.summary is not None else None
    try:
        document: dict[str, Any] = json.loads((directory / "categories.json").read_text(encoding="utf-8"))
        profile_json: dict[str, Any] = json.loads((directory / "profile.json").read_text(encoding="utf-8"))
        events = {
            event: [
                Category(
                    entry["category"],
                    float(entry["share"]),
                    None if entry.get("share_low") is None else (entry["share_low"], entry["share_high"]),
                    float(entry.get("value", entry["samples"])),
                )
                for entry in entries
            ]
            for event, entries in document["events"].items()
        }
        samples = {event: int(entry["samples"]) for event, entry in profile_json["events"].items()}
    except (OSError, ValueError, KeyError, TypeError, LabError):
        return None
    return Profile(start.run, directory, events, samples, profiled.requests if profiled is not None else 0)
