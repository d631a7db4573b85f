"""Suites as data: `experiments/suites/<name>.yaml`.

A file names a question, the experiments that answer it, and what was published about it, each finding with a rule that
computes from figures.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from lab.compare.sides import differences_of
from lab.errors import InputError, close_matches, did_you_mean
from lab.experiment import Catalogue
from lab.experiment.declaration import YamlFile, read_yaml
from lab.experiment.explain import explain
from lab.experiment.model import Event, Line
from lab.experiment.quantities import Strict
from lab.paths import Checkout
from lab.statistics import BLOCKS_MIN

ROUNDS_DEFAULT = BLOCKS_MIN
"""As many starts as a claim needs at least."""
ROUNDS_MAX = 100
TIMES = ("duration_s", "warmup_s")
"""Keys of a load that the experiments of a group have from its baseline."""
LATENCIES = ("p50", "p90", "p99", "p99.9", "max")
Metric = Literal["p50", "p90", "p99", "p99.9", "max", "typical-p50", "typical-p90", "typical-p99", "typical-p99.9",
                 "throughput", "cpu", "switches", "alloc"]  # fmt: skip
"""Metrics of a comparison that a rule can use; the longest latency, which has no ratio, only in a rule of latency."""


def _one_or_more(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_one_or_more), Field(min_length=1)]


class Rule(Strict):
    """The claim of a finding, as numbers: the figure lies between `low` and `high`.

    - `ratio`: `metric` of each of `of` ÷ that of `to`.
    - `share`: the part that `categories`, or the stacks with one of the `frames`, have of `event` in the profile of
      each of `of`. A frame is written as in the collapsed stacks: `lsmlab/storage/lsm/Flusher.work`.
    - `kept`: requests answered ÷ requests offered, of each of `of`.
    - `latency`: `metric` of each of `of`, in ms.

    `needs: saturated` says that the claim is about services that were offered more than they could answer,
    `needs: kept` about services that answered what they were offered.
    """

    kind: Literal["ratio", "share", "kept", "latency"]
    of: Names
    to: str | None = None
    metric: Metric | None = None
    event: Event | None = None
    categories: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    low: Annotated[float, Field(ge=0)] = 0.0
    high: Annotated[float, Field(gt=0)] = math.inf
    needs: Literal["saturated", "kept"] | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Rule:
        wanted = {
            "ratio": {"metric", "to"},
            "share": {"event", "frames" if self.frames else "categories"},
            "kept": set(),
            "latency": {"metric"},
        }[self.kind]
        given = {name for name in ("metric", "to", "event", "categories", "frames") if getattr(self, name)}
        if given != wanted:
            raise ValueError(f"a rule of kind {self.kind} takes {', '.join(sorted(wanted)) or 'only of'}")
        if self.low == 0 and math.isinf(self.high):
            raise ValueError("a rule needs low, high or both: without them every figure reproduces the finding")
        if self.low >= self.high:
            raise ValueError(f"low ({self.low}) must be less than high ({self.high})")
        if self.kind == "latency" and self.metric not in LATENCIES:
            raise ValueError(f"{self.metric} is not a latency of all requests: use {', '.join(LATENCIES)}")
        if self.kind == "ratio" and self.metric == "max":
            raise ValueError("max grows with the number of requests, so it has no ratio: use p99.9")
        return self


class Finding(Strict):
    """One published finding. Without a rule it is not judged, and `why` gives the reason."""

    says: Line
    rule: Rule | None = None
    why: Line | None = None

    @model_validator(mode="after")
    def _has_a_rule_or_a_reason(self) -> Finding:
        if (self.rule is None) == (self.why is None):
            raise ValueError("a finding needs either a rule, or why it cannot be judged here")
        return self


class Group(Strict):
    """Experiments under the same load: each of `others` is compared with the `baseline`, start by start.

    Only the times of the load may be declared differently: those of the baseline count for all.
    """

    baseline: str
    others: Names


class Suite(Strict):
    """One suite. `experiments` run besides those of the groups; a name may be a pattern such as `*-get`.

    `rounds` is the number of fresh starts of each experiment if the user gives none.
    """

    title: Line
    question: Line
    source: Line | None = None
    groups: dict[str, Group] = Field(default_factory=dict)
    experiments: tuple[str, ...] = ()
    rounds: Annotated[int, Field(ge=1, le=ROUNDS_MAX)] = ROUNDS_DEFAULT
    findings: tuple[Finding, ...] = ()

    @property
    def leaders(self) -> dict[str, str]:
        """For each experiment of a group, the baseline whose load it has. Groups that share an experiment have one."""
        leaders: dict[str, str] = {}
        for group in self.groups.values():
            names = [name.partition("@")[0] for name in (group.baseline, *group.others)]
            known = [leaders[name] for name in names if name in leaders] or names
            leaders |= dict.fromkeys(names, known[0])
            leaders = {name: known[0] if leader in known else leader for name, leader in leaders.items()}
        return leaders


@dataclass(frozen=True)
class Case:
    """One experiment at one rate: `put-dummy@2000` is a point of a sweep, `queue-get` has only one rate."""

    experiment: str
    rate_per_s: int | None = None

    def __str__(self) -> str:
        return self.experiment if self.rate_per_s is None else f"{self.experiment}@{self.rate_per_s}"


def suite_names(checkout: Checkout) -> list[str]:
    """Return the names of all suites."""
    return sorted(path.stem for path in (checkout.experiments / "suites").glob("*.yaml"))


def read_suite(checkout: Checkout, name: str) -> tuple[Suite, list[Case]]:
    """Read one suite, check it, and return it with its cases, in the order in which they are named.

    Raises InputError: no such suite, or the errors of its file, with line and key.
    """
    names = suite_names(checkout)
    if name not in names:
        near = close_matches(name, names)
        hint = f"Close to it: {', '.join(near)}" if near else f"There are: {', '.join(names) or 'none'}"
        raise InputError(f"no suite named {name!r} in experiments/suites", hint)
    shown_as = f"experiments/suites/{name}.yaml"
    file = read_yaml(checkout.experiments / "suites" / f"{name}.yaml", shown_as)
    try:
        suite = Suite.model_validate(file.value)
    except ValidationError as error:
        raise InputError(explain(error, Suite, lambda place: f"{shown_as}:{file.line_of(place)}")) from error
    cases = _cases(checkout, suite, file, shown_as)
    _check_rules(suite, cases, file, shown_as)
    _check_loads(Catalogue(checkout), suite, file, shown_as)
    return suite, cases


def _cases(checkout: Checkout, suite: Suite, file: YamlFile, shown_as: str) -> list[Case]:
    catalogue = Catalogue(checkout)
    known = catalogue.names()
    places: dict[str, Any] = {}
    for key, group in suite.groups.items():
        for experiment in (group.baseline, *group.others):
            places.setdefault(experiment, ("groups", key))
    for index, pattern in enumerate(suite.experiments):
        matching = fnmatch.filter(known, pattern)
        for experiment in matching or [pattern]:
            places.setdefault(experiment, ("experiments", index))
    cases = []
    for name, place in places.items():
        experiment, _, rate = name.partition("@")
        if experiment not in known:
            where = f"{shown_as}:{file.line_of(place)}"
            raise InputError(f"{where}: no experiment named {experiment!r}{did_you_mean(experiment, known)}")
        rates = catalogue.read(experiment).sweep_per_s
        if rate:
            if not rate.isdecimal() or int(rate) not in rates:
                allowed = ", ".join(map(str, rates)) or "it is not a sweep"
                raise InputError(f"{shown_as}:{file.line_of(place)}: {name!r}: no such rate: {allowed}")
            cases.append(Case(experiment, int(rate)))
        else:
            cases += [Case(experiment, per_s) for per_s in rates] or [Case(experiment)]
    return list(dict.fromkeys(cases))


def _check_rules(suite: Suite, cases: list[Case], file: YamlFile, shown_as: str) -> None:
    known = [str(case) for case in cases]
    for index, finding in enumerate(suite.findings):
        rule = finding.rule
        for name in () if rule is None else (*rule.of, *([rule.to] if rule.to else [])):
            if name not in known:
                where = f"{shown_as}:{file.line_of(('findings', index))}"
                raise InputError(f"{where}: {name!r} is not run in this suite{did_you_mean(name, known)}")


def _check_loads(catalogue: Catalogue, suite: Suite, file: YamlFile, shown_as: str) -> None:
    """Refuse to compare experiments under different loads. In a group the times may differ: it has its baseline's."""
    compared: list[tuple[tuple[str | int, ...], str, str]] = [
        (("groups", name), group.baseline, other) for name, group in suite.groups.items() for other in group.others
    ]
    compared += [
        (("findings", index), finding.rule.to, of)
        for index, finding in enumerate(suite.findings)
        if finding.rule is not None and finding.rule.to is not None
        for of in finding.rule.of
    ]
    leaders = suite.leaders
    for place, baseline, other in compared:
        groups = {leaders.get(name.partition("@")[0], name) for name in (baseline, other)}
        without = TIMES if len(groups) == 1 else ()
        a, b = ({"load": _load_of(catalogue, name, without)} for name in (other, baseline))
        if different := differences_of(a, b).besides:
            where = f"{shown_as}:{file.line_of(place)}"
            what = "; ".join(line.removeprefix("load.") for line in different)
            raise InputError(f"{where}: {other} and {baseline} are compared, but not under the same load: {what}")


def _load_of(catalogue: Catalogue, name: str, without: Collection[str]) -> dict[str, Any]:
    experiment, _, rate = name.partition("@")
    load = {**catalogue.read(experiment).resolved()["load"], **({"rate_per_s": int(rate)} if rate else {})}
    return {key: value for key, value in load.items() if key not in without}


def overrides_of(case: Case, given: Mapping[str, str], scale: str | None) -> dict[str, str]:
    """Return the overrides of every run of a case: those of the user, the scale, and the rate of a sweep's point."""
    if case.rate_per_s is not None:
        return {"rate": str(max(1, round(case.rate_per_s * float(scale or 1)))), **given}
    return {**({} if scale is None else {"scale": scale}), **given}
