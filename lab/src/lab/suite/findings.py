"""Findings: the result of each group of experiments, and whether it reproduces what was published.

Each experiment is judged against its baseline as a comparison judges B against A, over the rounds in which both were
measured undisturbed. With fewer than `BLOCKS_MIN` rounds nothing is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lab.compare.judging import Question, change, judge_blocks, lower_bounds
from lab.compare.record import Result
from lab.compare.tables import interval
from lab.report import numbers
from lab.statistics import BLOCKS_MIN
from lab.suite.declaration import Finding, Rule
from lab.suite.figures import METRIC_OF, CaseFigures

Verdict = Literal["reproduced", "not reproduced", "not comparable here"]
RATE_WITHIN = 0.01
"""Offered rates that differ by a larger share than this are different loads."""
SAMPLES_MIN = 400
"""Below this number of samples, a share is uncertain by more than five percentage points."""
WEIGHED = {"alloc": "the bytes in ", "lock": "the waiting time in "}
"""By event: the whole that its shares refer to, if it is not the number of samples."""
WITHIN = 0.05
"""A ratio within this share of equal is the same, as by default in a comparison."""


@dataclass(frozen=True)
class Judged:
    """A published finding with its verdict; `ours` is the measured figure, `why` the reason of the verdict."""

    says: str
    verdict: Verdict
    ours: str
    why: str
    runs: tuple[str, ...]


def against(case: CaseFigures, baseline: CaseFigures) -> Result:
    """Judge a case against its baseline like the sides of a comparison; its blocks are the rounds that both have."""
    of_baseline = {start.round: start.measured for start in baseline.starts}
    pairs = [(of_baseline[one.round], one.measured) for one in case.starts if one.round in of_baseline]
    names = str(baseline.case), str(case.case)
    return judge_blocks([a for a, _ in pairs], [b for _, b in pairs], Question(WITHIN, sample="rounds"), names)


def judge(finding: Finding, cases: Mapping[str, CaseFigures]) -> Judged:
    """Return the verdict on a published finding."""
    rule = finding.rule
    if rule is None:
        return Judged(finding.says, "not comparable here", "", finding.why or "", ())
    involved = [cases[name] for name in (*rule.of, *([rule.to] if rule.to else []))]
    runs = tuple(dict.fromkeys(start.run for case in involved for start in case.starts))
    missing = [str(case.case) for case in involved if not case.starts]
    if missing:
        refused = [f"{case.case} cannot run here: {case.refused}" for case in involved if case.refused]
        why = refused[0] if refused else f"there is no undisturbed start of {', '.join(missing)}"
        return Judged(finding.says, "not comparable here", "", why, runs)
    unmet = _unmet(rule, involved)
    if unmet:
        return Judged(finding.says, "not comparable here", "", unmet, runs)
    parts = [_part(rule, cases[name], cases) for name in rule.of]
    ours = "; ".join(part.text for part in parts)
    few = [part.too_few for part in parts if part.too_few] or [
        why for case in involved if (why := _too_few(len(case.starts)))
    ]
    if few:
        return Judged(finding.says, "not comparable here", ours, few[0], runs)
    claim = _claim(rule)
    if rule.kind in ("kept", "latency") and all(case.same_share for case in involved):
        claim += ", at the same share of the saturation as published"
    if all(part.low >= rule.low and part.high <= rule.high for part in parts):
        return Judged(finding.says, "reproduced", ours, f"claimed {claim}", runs)
    outside = [part for part in parts if part.high < rule.low or part.low > rule.high]
    if outside:
        return Judged(finding.says, "not reproduced", ours, f"claimed {claim}", runs)
    what = "only some of the starts are" if rule.kind in ("kept", "latency") else "only part of the interval is"
    why = f"cannot tell: {what} within the claimed range, {claim}"
    return Judged(finding.says, "not comparable here", ours, why, runs)


@dataclass(frozen=True)
class _Part:
    """One experiment's figure for a rule: its bounds, and in words. `too_few` says why it cannot be judged."""

    low: float
    high: float
    text: str
    too_few: str = ""


def _unmet(rule: Rule, involved: list[CaseFigures]) -> str:
    """Return why the condition of a rule is not met, or an empty string if it is met."""
    for case in involved:
        kept, declared, offered = case.kept, case.experiment.load.rate_per_s, case.offered_per_s
        other_load = bool(offered) and abs((offered or 0) / declared - 1) > RATE_WITHIN and not case.same_share
        if rule.kind in ("kept", "latency") and other_load:
            return f"published at {declared:,}/s, and {numbers.rate(offered)}/s were offered to {case.case} here"
        if rule.needs == "saturated" and kept is not None and case.keeps_up:
            return (
                f"the claim is about a saturated service, and {case.case} answered {numbers.share_down(kept)} "
                f"of {numbers.rate(case.offered_per_s)}/s"
            )
        if rule.needs == "kept" and kept is not None and not case.keeps_up:
            return (
                f"the claim is about a service that keeps up, and {case.case} answered {numbers.share_down(kept)} "
                f"of {numbers.rate(case.offered_per_s)}/s on this machine"
            )
    return ""


def _part(rule: Rule, case: CaseFigures, cases: Mapping[str, CaseFigures]) -> _Part:
    if rule.kind == "ratio":
        return _ratio_part(rule, case, cases[rule.to or ""])
    if rule.kind == "share":
        return _share_part(rule, case)
    if rule.kind == "kept":
        return _bounded_part(rule, case, [start.measured.served_share for start in case.starts])
    metric = rule.metric or ""
    if open_ended := _open(metric, case):
        return _Part(0, 0, f"{case.case}: {METRIC_OF[metric].title} not known", open_ended)
    return _bounded_part(rule, case, [start.figure(metric) for start in case.starts])


def _bounded_part(rule: Rule, case: CaseFigures, each: Sequence[float | None]) -> _Part:
    """Return the figure that every start has to keep a bound of."""
    values = [value for value in each if value is not None]
    few = _too_few(len(values))
    if not values:
        return _Part(0, 0, f"{case.case}: not measured", few)
    low, high = min(values), max(values)
    upper = math.isfinite(rule.high)
    bound = f"at {'most' if upper else 'least'} "
    if rule.metric is None:
        bound += f"{numbers.share_up(high) if upper else numbers.share_down(low)} of the offered rate"
    else:
        bound = f"{METRIC_OF[rule.metric].title} {bound}{numbers.latency(high if upper else low)}"
    return _Part(low, high, f"{case.case}: {bound} in each start, n = {len(values)}", few)


def _ratio_part(rule: Rule, case: CaseFigures, baseline: CaseFigures) -> _Part:
    name = rule.metric or ""
    title = METRIC_OF[name].title
    found = next((one for one in against(case, baseline).metrics if one.name == name), None)
    if found is None or found.ratio_low is None or found.ratio_high is None:
        why = (
            _open(name, case, baseline)
            or f"fewer than {BLOCKS_MIN} rounds have the {name} of {case.case} and of {baseline.case}"
        )
        return _Part(0, 0, f"{case.case}: {title} not measured on both sides", why)
    text = f"{case.case}: {title} {change(found)} ({interval(found)}, n = {found.blocks})"
    return _Part(found.ratio_low, found.ratio_high, text, _too_few(found.blocks))


def _share_part(rule: Rule, case: CaseFigures) -> _Part:
    profile, event = case.profile, rule.event or ""
    if profile is None or not profile.events.get(event):
        return _Part(0, 0, f"{case.case}: no {event} profile", f"there is no {event} profile of {case.case}")
    samples = profile.samples.get(event, 0)
    of_samples = f"of {WEIGHED.get(event, '')}{samples:,} {event} samples"
    too_few = "" if samples >= SAMPLES_MIN else f"{samples:,} samples are too few: at least {SAMPLES_MIN}"
    if rule.frames:
        what = f"{case.case}: stacks with {' or '.join(rule.frames)}"
        try:
            share = profile.share_of_frames(event, frozenset(rule.frames))
        except OSError as error:
            return _Part(
                0, 0, f"{what}: not known", f"the {event} stacks of {case.case} cannot be read: {error.strerror}"
            )
        return _Part(share, share, f"{what} {numbers.share(share)} {of_samples}, one profiled start", too_few)
    chosen = [category for category in profile.events[event] if category.name in rule.categories]
    share = sum(category.share for category in chosen)
    bounds = [category.bounds for category in chosen if category.bounds is not None]
    low = high = share
    if bounds and len(bounds) == len(chosen):  # widths of parts add up to at least the width of their sum
        low, high = max(0.0, sum(b[0] for b in bounds)), min(1.0, sum(b[1] for b in bounds))
    shown = numbers.share_within(share, (low, high) if bounds else None)
    return _Part(low, high, f"{case.case}: {' + '.join(rule.categories)} {shown} {of_samples}", too_few)


def _open(metric: str, *cases: CaseFigures) -> str:
    """Return why a metric of latency is only a lower bound, or an empty string if it is known in each start."""
    known = METRIC_OF[metric]
    which = [str(case.case) for case in cases if lower_bounds(known, [start.measured for start in case.starts])]
    return (
        f"so many requests of {' and of '.join(which)} had no response that {metric} is a lower bound" if which else ""
    )


def _too_few(count: int) -> str:
    return "" if count >= BLOCKS_MIN else f"too few starts to judge: {count}, at least {BLOCKS_MIN}"


def _ratio_word(ratio: float) -> str:
    return "equal" if ratio == 1 else numbers.ratio(ratio)


def _claim(rule: Rule) -> str:
    show = {"ratio": _ratio_word, "share": numbers.share, "kept": numbers.share, "latency": numbers.latency}[rule.kind]
    if math.isinf(rule.high):
        return f"at least {show(rule.low)}"
    return f"at most {show(rule.high)}" if rule.low == 0 else f"{show(rule.low)} to {show(rule.high)}"
