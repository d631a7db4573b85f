"""The result of a suite in sentences: for each group, which experiment is faster, by how much, at which cost, and why.

Every word is chosen by a number. Claims without enough data are left out. The figures beside a ratio are geometric
means over the starts that the ratio comes from, so that figures and ratio cannot contradict each other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from lab.report import numbers
from lab.statistics import BLOCKS_MIN
from lab.suite.declaration import Suite
from lab.suite.figures import KEPT_MIN, CaseFigures, Profile
from lab.suite.findings import CONFIDENCE, SAMPLES_MIN, TITLES, Ratio, ratio_of

METRICS = ("rate", "p50", "p99", "p99.9", "cpu")
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
    """The result of one group: a headline, sentences, and the ratios that they were made from."""

    name: str
    headline: str
    sentences: list[Sentence]
    ratios: list[Ratio]

    @property
    def by_chance(self) -> str:
        """Return a phrase: how many of the intervals miss the truth by chance; empty if it is less than one."""
        misses = len(self.ratios) * (1 - CONFIDENCE)
        if misses < 1:
            return ""
        expected = f"{misses:.0f} {'miss' if round(misses) == 1 else 'misses'}"
        return (
            f"The group has {len(self.ratios)} intervals. Each misses the true value in {1 - CONFIDENCE:.0%} of such "
            f"suites, so expect about {expected}."
        )


def answer_group(name: str, suite: Suite, cases: Mapping[str, CaseFigures]) -> GroupAnswer:
    """Return the answer for one group of a suite."""
    group = suite.groups[name]
    baseline = cases[group.baseline]
    ratios: list[Ratio] = []
    sentences = _kept([cases[one] for one in (group.baseline, *group.others)])
    for other in group.others:
        case = cases[other]
        found = {metric: ratio for metric in METRICS if (ratio := ratio_of(case, baseline, metric)) is not None}
        ratios += found.values()
        sentences += _sentences(case, baseline, found)
    return GroupAnswer(name, _headline(name, group.baseline, group.others, cases, ratios), sentences, ratios)


def _kept(cases: Sequence[CaseFigures]) -> list[Sentence]:
    """Say which services kept up. Without, the latency is that of a backlog, which grows until the end of the run."""
    behind = [(case, kept) for case in cases if (kept := case.kept) is not None and not case.keeps_up]
    if all(case.keeps_up for case in cases):
        text = f"Each experiment of the group served at least {numbers.share(KEPT_MIN)} of the offered rate."
        return [Sentence(text, tuple(start.run for case in cases for start in case.starts))]
    if not behind:
        return []
    shares = ", ".join(f"{case.case} ({numbers.share_down(kept)})" for case, kept in behind)
    text = f"{shares} served less than {numbers.share(KEPT_MIN)} of the offered rate: the latency is that of a backlog."
    return [Sentence(text, tuple(start.run for case, _ in behind for start in case.starts))]


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
        parts.append(f"at least {numbers.share(KEPT_MIN)} of {rate}{_p99_of_starts(kept[-1])}")
    if beyond is not None:
        offered, served = numbers.rate(beyond.offered_per_s), numbers.rate(beyond.mean("rate"))
        parts.append(f"{served}/s when {offered}/s are offered")
    return Sentence(f"{name} serves {', and '.join(parts)}.", runs)


def _p99_of_starts(case: CaseFigures) -> str:
    """Return " (p99 of its starts: median 1.20 ms, longest 397 ms)"; nothing if a start has no p99."""
    each = [start.figures["p99"] for start in case.starts if "p99" in start.figures]
    if len(each) < len(case.starts):
        return ""
    return f" (p99 of its starts: median {numbers.latency(median(each))}, longest {numbers.latency(max(each))})"


def _headline(
    name: str, baseline: str, others: tuple[str, ...], cases: Mapping[str, CaseFigures], ratios: list[Ratio]
) -> str:
    """Return which experiments serve more than the baseline; if all keep the offered rate, which have a shorter p99.

    An experiment is called the best only if it was compared with each of the others. Two that keep the offered rate
    serve the same: what little is between them may be certain, and says nothing of what they could serve.
    """
    fewest = min((baseline, *others), key=lambda one: len(cases[one].starts))
    if len(cases[fewest].starts) < BLOCKS_MIN:
        why = f" ({fewest} cannot run here)" if cases[fewest].refused else f" of {fewest}"
        return f"{name}: too few starts to judge: {len(cases[fewest].starts)}{why}, at least {BLOCKS_MIN}."
    saturated = any(not cases[one].keeps_up for one in (baseline, *others))
    metric, higher, what = ("rate", True, "serves the most") if saturated else ("p99", False, "has the shortest p99")
    relevant = {ratio.case: ratio for ratio in ratios if ratio.metric == metric and ratio.claimable}
    at = f"{name} at {numbers.rate(cases[baseline].offered_per_s)}/s"
    if len(relevant) < len(others):
        lacking = " or ".join(one for one in others if one not in relevant)
        few = f"fewer than {BLOCKS_MIN} rounds have the {metric} of {baseline} and of {lacking}"
        return f"{at}: cannot be compared, because {few}."
    keeping = [one for one in relevant if saturated and cases[one].keeps_up and cases[baseline].keeps_up]
    for one in keeping:
        del relevant[one]
    ahead = {one: r for one, r in relevant.items() if r.certain and (r.value > 1) == higher}
    behind = {one: r for one, r in relevant.items() if r.certain and (r.value > 1) != higher}
    figure = _with_unit(metric, cases[baseline].typical(metric))
    if len(behind) == len(others):
        return f"{at}: {baseline} {what}{f', {figure}' if figure else ''}; against it: {_sizes(behind)}."
    if len(ahead) == len(others) == 1:
        (ratio,) = ahead.values()
        return f"{at}: {others[0]} {what}, {numbers.ratio(ratio.value)} against {baseline} ({ratio.interval})."
    parts = [f"Significantly {word}: {_sizes(some)}." for word, some in (("better", ahead), ("worse", behind)) if some]
    unsure = {one: r for one, r in relevant.items() if not r.certain}
    if unsure:
        which = _sizes(unsure)
        if len(unsure) > EQUALS_MAX:
            which = f"{'the other' if parts else 'all'} {len(unsure)} (intervals within {_range(unsure.values())})"
        parts.append(f"Not significantly different: {which}.")
    if keeping:
        parts.append(f"Also at least {numbers.share(KEPT_MIN)} of the offered rate: {', '.join(keeping)}.")
    against = f"against {baseline}{f' ({figure})' if figure else ''}"
    return f"{at}, {TITLES[metric]} {against}. {' '.join(parts)}"


def _sizes(ratios: Mapping[str, Ratio]) -> str:
    return ", ".join(f"{one} {numbers.ratio(r.value)} ({r.interval})" for one, r in ratios.items())


def _range(ratios: Collection[Ratio]) -> str:
    """Return the range that holds all intervals: "−27.0% to +14.9%"."""
    bounds = [bound for ratio in ratios for bound in (ratio.low, ratio.high)]
    return f"{numbers.ratio(min(bounds))} to {numbers.ratio(max(bounds))}"


WORDS = {
    "rate": ("serves more requests a second than", "serves fewer requests a second than"),
    "p99": ("has a longer p99 than", "has a shorter p99 than"),
    "p99.9": ("has a longer p99.9 than", "has a shorter p99.9 than"),
    "cpu": ("spends more CPU on a request than", "spends less CPU on a request than"),
}


def _sentences(case: CaseFigures, baseline: CaseFigures, ratios: Mapping[str, Ratio]) -> list[Sentence]:
    runs = tuple(start.run for start in (*case.starts, *baseline.starts))
    sentences = [
        Sentence(f"{case.case} {_than(ratio, str(baseline.case))}; {_both(ratio, case, baseline)}.", runs)
        for metric in WORDS
        if (ratio := ratios.get(metric)) is not None and not (metric == "rate" and case.keeps_up and baseline.keeps_up)
    ]
    return sentences + _code(case, baseline) + _allocation(case, baseline)


def _than(ratio: Ratio, other: str) -> str:
    """Return "serves fewer requests a second than sync-get: −8.1% (−10.2% to −6.0%, n = 6 starts each)"."""
    more, less = WORDS[ratio.metric]
    size = f"{numbers.ratio(ratio.value)} ({ratio.interval}, n = {ratio.rounds} starts each)"
    if not ratio.claimable:
        return f"against {other}, {TITLES[ratio.metric]}: {size}, too few starts to judge"
    if not ratio.certain:
        return f"does not differ significantly from {other} in {TITLES[ratio.metric]}: {size}"
    return f"{more if ratio.value > 1 else less} {other}: {size}"


def _both(ratio: Ratio, case: CaseFigures, baseline: CaseFigures) -> str:
    """Return the geometric mean of each side over the rounds of the ratio; their quotient is the ratio."""
    rounds = {number for number, _ in ratio.each}
    ours, theirs = (_with_unit(ratio.metric, one.typical(ratio.metric, rounds)) for one in (case, baseline))
    return f"geometric means {ours} against {theirs}"


def _with_unit(metric: str, value: float | None) -> str:
    """Return "800/s", "16.7 µs" or "3.21 ms"; nothing if the value is not known."""
    if value is None:
        return ""
    if metric == "rate":
        return f"{numbers.rate(value)}/s"
    return f"{numbers.significant(value)} µs" if metric == "cpu" else numbers.latency(value)


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


def _allocation(case: CaseFigures, baseline: CaseFigures) -> list[Sentence]:
    a, b = case.typical("alloc"), baseline.typical("alloc")
    if a is None or b is None:
        return []
    text = f"{case.case} allocates {numbers.size(a)} a request, {baseline.case} {numbers.size(b)}."
    return [Sentence(text, tuple(start.run for start in (*case.starts, *baseline.starts)))]


def _shifts(ours: Profile, theirs: Profile) -> dict[str, tuple[float, float]]:
    a, b = ({category.name: category.share for category in one.events.get("cpu", [])} for one in (ours, theirs))
    return {name: (a.get(name, 0.0), b.get(name, 0.0)) for name in {**a, **b}}
