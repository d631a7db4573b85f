"""The result of a suite in sentences: for each group, which experiment is faster, by how much, at which cost, and why.

Every word is chosen by a number, and what is certain is said by the judge of comparisons.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from lab.compare.judging import REACHED, change, in_unit
from lab.compare.measurement import THROUGHPUT
from lab.compare.record import MetricResult, Result
from lab.compare.tables import interval
from lab.report import numbers
from lab.statistics import BLOCKS_MIN
from lab.suite.declaration import Suite
from lab.suite.figures import CaseFigures, Profile
from lab.suite.findings import SAMPLES_MIN, WITHIN, against

USUAL = ("typical-p99", "p99")
"""A headline compares the first of these that was measured, if every service keeps up."""
SHIFT_MIN = 0.01
"""Categories whose share changes by less than a point are not named."""
EQUALS_MAX = 3
"""A headline lists this many experiments without a significant difference; of more, it tells the range."""


@dataclass(frozen=True)
class Sentence:
    """One sentence, and the runs that it is based on."""

    text: str
    runs: tuple[str, ...]


@dataclass(frozen=True)
class GroupAnswer:
    """The result of one group: a headline, sentences, and each experiment's result against the baseline, by name."""

    name: str
    headline: str
    sentences: list[Sentence]
    results: dict[str, Result]


def answer_group(name: str, suite: Suite, cases: Mapping[str, CaseFigures]) -> GroupAnswer:
    """Return the answer for one group of a suite."""
    group = suite.groups[name]
    baseline, others = cases[group.baseline], [cases[one] for one in group.others]
    results = {str(case.case): against(case, baseline) for case in others}
    sentences = [] if all(not case.starts for case in others) else _load_of([baseline, *others], results)
    for case in others:
        runs = tuple(start.run for start in (*case.starts, *baseline.starts))
        sentences += [Sentence(results[str(case.case)].sentence, runs)] if runs else []
        sentences += _code(case, baseline)
    return GroupAnswer(name, _headline(name, baseline, others, results), sentences, results)


def _load_of(cases: Sequence[CaseFigures], results: Mapping[str, Result]) -> list[Sentence]:
    """Say that every service keeps up, and what the judge remarks: of a saturated one the latency is of a backlog."""
    runs = tuple(start.run for case in cases for start in case.starts)
    said = dict.fromkeys(f"{remark}." for result in results.values() for remark in result.cautions)
    if all(case.keeps_up for case in cases):
        kept = f"Each experiment of the group served at least {numbers.share(REACHED)} of the offered rate."
        said = {kept: None, **said}
    return [Sentence(text, runs) for text in said]


def answer_alone(cases: Sequence[CaseFigures]) -> list[Sentence]:
    """Return for each experiment, or sweep, up to which rate it serves the load; nothing if all have too few starts."""
    if all(len(case.starts) < BLOCKS_MIN for case in cases):
        return []
    experiments: dict[str, list[CaseFigures]] = {}
    for case in cases:
        experiments.setdefault(case.case.experiment, []).append(case)
    return [_serves(name, points) for name, points in experiments.items()]


def _serves(name: str, points: Sequence[CaseFigures]) -> Sentence:
    runs = tuple(start.run for point in points for start in point.starts)
    fewest = min(len(point.starts) for point in points)
    if fewest < BLOCKS_MIN:
        return Sentence(f"{name}: too few starts to judge: {fewest}, at least {BLOCKS_MIN}.", runs)
    by_rate = sorted(points, key=lambda point: point.offered_per_s or 0)
    beyond = next((point for point in by_rate if not point.keeps_up), None)
    kept = by_rate if beyond is None else by_rate[: by_rate.index(beyond)]
    parts = []
    if kept:
        rate = f"{'up to ' if len(kept) > 1 else ''}{numbers.rate(kept[-1].offered_per_s)}/s"
        parts.append(f"at least {numbers.share(REACHED)} of {rate}{_p99_of_starts(kept[-1])}")
    if beyond is not None:
        offered, served = numbers.rate(beyond.offered_per_s), numbers.rate(beyond.served_per_s)
        parts.append(f"{served}/s when {offered}/s are offered")
    return Sentence(f"{name} serves {', and '.join(parts)}.", runs)


def _p99_of_starts(case: CaseFigures) -> str:
    """Return " (p99 of its starts: median 1.20 ms, longest 397 ms)"; nothing if a start has no p99."""
    each = [p99_ms for start in case.starts if (p99_ms := start.figure("p99")) is not None]
    if len(each) < len(case.starts):
        return ""
    return f" (p99 of its starts: median {numbers.latency(median(each))}, longest {numbers.latency(max(each))})"


def _headline(name: str, baseline: CaseFigures, others: Sequence[CaseFigures], results: Mapping[str, Result]) -> str:
    """Return which experiments serve more than the baseline; if all keep the offered rate, which have a shorter p99.

    An experiment is called the best only if it was compared with each of the others.
    """
    cases = [baseline, *others]
    fewest = min(cases, key=lambda case: len(case.starts))
    if len(fewest.starts) < BLOCKS_MIN:
        why = f" ({fewest.case} cannot run here)" if fewest.refused else f" of {fewest.case}"
        return f"{name}: too few starts to judge: {len(fewest.starts)}{why}, at least {BLOCKS_MIN}."
    saturated = any(not case.keeps_up for case in cases)
    metric, judged = _judged_of_all(results, (THROUGHPUT.name,) if saturated else USUAL)
    at = f"{name} at {numbers.rate(baseline.offered_per_s)}/s"
    if len(judged) < len(others):
        lacking = " or ".join(one for one in results if one not in judged)
        few = f"fewer than {BLOCKS_MIN} rounds have the {metric} of {baseline.case} and of {lacking}"
        return f"{at}: cannot be compared, because {few}."
    by_verdict = {
        verdict: {one: found for one, found in judged.items() if found.verdict == verdict}
        for verdict in ("better", "worse", "same", "cannot tell")
    }
    first = next(iter(judged.values()))
    what = "serves the most" if saturated else f"has the shortest {first.title.removeprefix('latency ')}"
    if len(by_verdict["worse"]) == len(others):
        return f"{at}: {baseline.case} {what}, {in_unit(first, first.a)}; against it: {_sizes(by_verdict['worse'])}."
    if len(by_verdict["better"]) == len(others) == 1:
        size = f"{change(first)} against {baseline.case} ({interval(first)})"
        return f"{at}: {others[0].case} {what}, {size}."
    names = {"better": "Better", "worse": "Worse", "same": f"The same within {numbers.share(WITHIN)}"}
    parts = [f"{word}: {_sizes(by_verdict[verdict])}." for verdict, word in names.items() if by_verdict[verdict]]
    unsure = by_verdict["cannot tell"]
    if unsure:
        which = _sizes(unsure)
        if len(unsure) > EQUALS_MAX:
            which = f"{'the other' if parts else 'all'} {len(unsure)} (intervals within {_range(unsure.values())})"
        parts.append(f"Not certain: {which}.")
    return f"{at}, {first.title} against {baseline.case} ({in_unit(first, first.a)}). {' '.join(parts)}"


def _judged_of_all(results: Mapping[str, Result], names: Sequence[str]) -> tuple[str, dict[str, MetricResult]]:
    """Return the first of these metrics that was judged in enough rounds of all, by experiment; else the last one."""
    judged: dict[str, MetricResult] = {}
    for name in names:
        found = {one: metric for one, result in results.items() for metric in result.metrics if metric.name == name}
        judged = {one: metric for one, metric in found.items() if metric.blocks >= BLOCKS_MIN}
        if len(judged) == len(results):
            return name, judged
    return names[-1], judged


def _sizes(metrics: Mapping[str, MetricResult]) -> str:
    return ", ".join(f"{one} {change(metric)} ({interval(metric)})" for one, metric in metrics.items())


def _range(metrics: Collection[MetricResult]) -> str:
    """Return the range that holds all intervals: "−27.0% to +14.9%"."""
    bounds = [bound for one in metrics for bound in (one.ratio_low, one.ratio_high) if bound is not None]
    return f"{numbers.ratio(min(bounds))} to {numbers.ratio(max(bounds))}"


def _code(case: CaseFigures, baseline: CaseFigures) -> list[Sentence]:
    """Return in which code the difference is, by the categories of both profiles."""
    ours, theirs = case.profile, baseline.profile
    if ours is None or theirs is None:
        return []
    name, runs = str(case.case), (ours.run, theirs.run)
    sentences = []
    shifts = sorted(_shifts(ours, theirs).items(), key=lambda item: -abs(item[1][0] - item[1][1]))
    named = [(category, a, b) for category, (a, b) in shifts if abs(a - b) >= SHIFT_MIN][:4]
    if named and min(one.samples.get("cpu", 0) for one in (ours, theirs)) >= SAMPLES_MIN:
        parts = ", ".join(f"{category} {numbers.share(a)} against {numbers.share(b)}" for category, a, b in named)
        counts = f"{ours.samples.get('cpu', 0):,} and {theirs.samples.get('cpu', 0):,} samples, one profiled start each"
        sentences.append(Sentence(f"Shares of the CPU time, {name} against {baseline.case}: {parts} ({counts}).", runs))
    locks = ours.events.get("lock", [])
    if locks and ours.samples.get("lock", 0) >= SAMPLES_MIN:
        top, count = locks[0], f"{ours.samples['lock']:,} samples"
        text = f"Of the lock waiting time of {name}, {numbers.share(top.share)} is in {top.name} ({count})."
        sentences.append(Sentence(text, (ours.run,)))
    return sentences


def _shifts(ours: Profile, theirs: Profile) -> dict[str, tuple[float, float]]:
    a, b = ({category.name: category.share for category in one.events.get("cpu", [])} for one in (ours, theirs))
    return {name: (a.get(name, 0.0), b.get(name, 0.0)) for name in {**a, **b}}
