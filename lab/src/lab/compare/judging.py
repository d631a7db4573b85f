"""The verdict on measured blocks: every metric judged, corrected together by Holm, and the sentence that says it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean, median

from lab.compare.measurement import METRICS, THROUGHPUT, Measured, Metric
from lab.compare.record import MetricResult, Result, ResultWord
from lab.report import numbers
from lab.statistics import (
    ALPHA,
    BLOCKS_MIN,
    Difference,
    Judgement,
    detectable,
    independent,
    judge,
    judge_amount,
    judge_together,
    paired,
)

REACHED = 0.99
"""A block that served less than this share of the offered rate is saturated: its latency measures the backlog."""
LEADING = ("typical-p99", "p99", "typical-p50", "p50", THROUGHPUT.name)
"""The metrics that stand for a comparison in which no difference is certain, the best one that was measured first."""


@dataclass(frozen=True)
class Question:
    """The question: X, the metric that was declared if any, and whether A's and B's starts are pairs.

    A declared metric is judged by itself, all others together; without one, all are judged together. `sample` is the
    word for what the pairs are.
    """

    within: float
    metric: str | None = None
    in_pairs: bool = True
    sample: str = "blocks"


@dataclass(frozen=True)
class _Compared:
    """A metric's figures, the difference that is judged (of logarithms, or of amounts), and each block's log ratio."""

    metric: Metric
    a: float
    b: float
    difference: Difference
    log_ratios: list[float]


def judge_blocks(a: Sequence[Measured], b: Sequence[Measured], question: Question, names: tuple[str, str]) -> Result:
    """Judge B against A; `names` are theirs, for the sentence. With `in_pairs`, a[i] and b[i] are one block.

    Raises ValueError if pairs are wanted and the sides have different numbers of blocks.
    """
    shares = {letter: saturated_at(side) for letter, side in zip("ab", (a, b), strict=True)}
    served = {letter: share for letter, share in shares.items() if share is not None}
    compared = [
        found
        for metric in METRICS
        if not lower_bounds(metric, (*a, *b)) and (found := _compared(metric, a, b, question)) is not None
    ]
    results = _results(compared, question)
    cautions = [
        f"{names['ab'.index(letter)]} served {numbers.share_down(share)} of the offered requests, so its latency "
        "measures the backlog, and the requests served decide"
        for letter, share in served.items()
    ]
    for name, blocks in zip(names, (a, b), strict=True):
        open_ended = {m.title: max(bounds) for m in METRICS if (bounds := lower_bounds(m, blocks))}
        if open_ended:
            shown = ", ".join(f"{title} {numbers.latency(at, lower_bound=True)}" for title, at in open_ended.items())
            cautions.append(f"not compared, because so many requests of {name} had no response: {shown}")
    cautions += [
        f"{name} gave no response with an expected status: load.expect names the statuses that count as served"
        for name, side in zip(names, (a, b), strict=True)
        if side and not any(block.served for block in side)
    ]
    declared = next((result.name for result in results if result.name == question.metric), None)
    if question.metric is not None and declared is None:
        cautions.append(f"METRIC={question.metric} was not measured in two blocks or more")
    chosen = THROUGHPUT.name if served else declared
    leading = _leading(results, chosen)
    if leading is None:
        verdict: ResultWord = "cannot tell"
        what = THROUGHPUT.title if served else "every metric"
        sentence = f"Cannot tell: {what} is known of fewer than two {question.sample}."
    else:
        results = [result.model_copy(update={"primary": result.name == leading.name}) for result in results]
        leading = next(result for result in results if result.primary)
        verdict = _verdict(results, leading, chosen)
        sentence = _sentence(results, leading, verdict, question, names)
    return Result(
        verdict=verdict,
        sentence=sentence,
        cautions=cautions,
        saturated=list(served),  # type: ignore[arg-type]
        metrics=results,
    )


def _leading(results: Sequence[MetricResult], chosen: str | None) -> MetricResult | None:
    """Return the metric that stands first: the chosen one, or the most certain difference, or the usual one."""
    if chosen is not None:
        return next((result for result in results if result.name == chosen), None)
    different = [result for result in results if result.verdict in ("better", "worse")]
    if different:
        return min(
            different,
            key=lambda result: (result.p_corrected, LEADING.index(result.name) if result.name in LEADING else 9),
        )
    return next((result for name in LEADING for result in results if result.name == name), None)


def _verdict(results: Sequence[MetricResult], leading: MetricResult, chosen: str | None) -> ResultWord:
    if chosen is not None and leading.verdict != "cannot tell":
        return leading.verdict
    words = {result.verdict for result in results}
    if {"better", "worse"} <= words:
        return "better and worse"
    return "better" if "better" in words else "worse" if "worse" in words else leading.verdict


def lower_bounds(metric: Metric, blocks: Sequence[Measured]) -> list[float]:
    """Return the lower bounds of a metric from the blocks in which it falls among the requests without a response.

    With one, the metric is not compared at all: to leave out that block would leave out a slow one.
    """
    if not metric.percentile:
        return []
    return [bound for block in blocks if (bound := block.lower_bound_ms(metric.percentile)) is not None]


def saturated_at(blocks: Sequence[Measured]) -> float | None:
    """Return the share that a saturated side served in its median block; None if it kept up.

    A burst on the machine affects one block, saturation all of them.
    """
    shares = [share for block in blocks if (share := block.served_share) is not None]
    return median(shares) if shares and median(shares) < REACHED else None


def withdrawn(result: Result, reason: str) -> Result:
    """Return the result without its verdict: the measurements stay, and `reason` says why they decide nothing."""
    return result.model_copy(
        update={"verdict": "cannot tell", "sentence": f"Cannot tell: {reason}."},
    )


def in_words(unit: str, value: float) -> str:
    """Return a figure with its unit."""
    if unit == "ms":
        return numbers.latency(value)
    if unit == "bytes":
        return numbers.size(value)
    return f"{numbers.rate(value) if unit == 'requests/s' else numbers.significant(value)} {unit}".rstrip()


def in_unit(metric: MetricResult, value: float) -> str:
    """Return a figure of a metric with its unit."""
    return in_words(metric.unit, value)


def change_of(ratio: float) -> str:
    """Return a ratio B ÷ A as a change: "+4.1%"."""
    return numbers.ratio(ratio)


def change(metric: MetricResult) -> str:
    """Return the change of a metric: "+4.1%", or "+1.2" for an amount."""
    return difference_in_unit(metric, metric.difference) if metric.ratio is None else change_of(metric.ratio)


def difference_in_unit(metric: MetricResult, value: float) -> str:
    """Return a difference with its sign: "+204 µs", "−1.2 ms"."""
    return ("−" if value < 0 else "+") + in_unit(metric, abs(value))


def _compared(metric: Metric, a: Sequence[Measured], b: Sequence[Measured], question: Question) -> _Compared | None:
    """Return a metric's figures and their difference, over blocks or starts that have it; None below two.

    None too if it is infinite in one of them.
    """
    values = [[metric.value(block) for block in side] for side in (a, b)]
    if any(value == math.inf for side in values for value in side):
        return None  # a block without it would be a slow one that is left out
    if question.in_pairs:
        pairs = [(x, y) for x, y in zip(*values, strict=True) if _known(metric, x) and _known(metric, y)]
        values = [[x for x, _ in pairs], [y for _, y in pairs]]
    of_a, of_b = ([value for value in side if value is not None and _known(metric, value)] for side in values)
    if min(len(of_a), len(of_b)) < 2:
        return None
    mean = fmean if metric.amount else geometric_mean
    compared = of_a, of_b
    if not metric.amount:
        compared = [math.log(value) for value in of_a], [math.log(value) for value in of_b]
    if not question.in_pairs:
        return _Compared(metric, mean(of_a), mean(of_b), independent(*compared), [])
    each = [y - x for x, y in zip(*compared, strict=True)]
    return _Compared(metric, mean(of_a), mean(of_b), paired(each), [] if metric.amount else each)


def _known(metric: Metric, value: float | None) -> bool:
    return value is not None and (metric.amount or value > 0)


def _results(compared: Sequence[_Compared], question: Question) -> list[MetricResult]:
    """Judge all metrics, and correct those that were not declared together."""
    alone = [_judged(one, question) for one in compared]
    together = [i for i, one in enumerate(compared) if one.metric.name != question.metric]
    corrected = dict(zip(together, judge_together([alone[i] for i in together]), strict=True))
    return [
        _result(one, alone[i], corrected.get(i, alone[i]), len(together) if i in corrected else 1)
        for i, one in enumerate(compared)
    ]


def _judged(one: _Compared, question: Question) -> Judgement:
    lower_is_better = one.metric.lower_is_better
    if one.metric.amount:
        return judge_amount(one.difference, lower_is_better=lower_is_better)
    return judge(one.difference, question.within, lower_is_better=lower_is_better)


def _result(one: _Compared, alone: Judgement, corrected: Judgement, tests: int) -> MetricResult:
    """Return a metric's result; `tests` is the number of metrics that are corrected together."""
    metric, found, error = one.metric, alone.estimate, one.difference.error
    ends = (found.mean, found.low, found.high)
    changes = ends if metric.amount else tuple(one.a * math.expm1(end) for end in ends)
    ratios: tuple[float | None, ...] = (None, None, None) if metric.amount else tuple(map(math.exp, ends))
    size = detectable(error, one.difference.freedom, ALPHA / tests) if error else 0.0
    return MetricResult(
        name=metric.name,
        title=metric.title,
        unit=metric.unit,
        lower_is_better=metric.lower_is_better,
        primary=False,
        a=one.a,
        b=one.b,
        blocks=alone.count,
        ratio=ratios[0],
        ratio_low=ratios[1],
        ratio_high=ratios[2],
        difference=changes[0],
        difference_low=changes[1],
        difference_high=changes[2],
        confidence=found.confidence,
        p_value=alone.p_value,
        p_corrected=corrected.p_value,
        p_equivalence=corrected.equivalence_p,
        detectable=None if metric.amount else math.expm1(size),
        verdict=corrected.verdict,
        log_ratios=one.log_ratios,
    )


def _sentence(
    results: Sequence[MetricResult],
    leading: MetricResult,
    verdict: ResultWord,
    question: Question,
    names: tuple[str, str],
) -> str:
    """Say what is certain of every metric: the leading one with its interval, the others by their change."""
    a, b = names
    sample = f"{leading.blocks} {question.sample}" if question.in_pairs else f"{leading.blocks} starts a side"
    if verdict == "cannot tell" and leading.blocks < BLOCKS_MIN:
        few = f"{leading.title} is known of {sample}, and at least {BLOCKS_MIN} are needed"
        return f"Cannot tell {b} from {a}: {few}. Measured: {_figures(leading, sample)}."
    within = numbers.share(question.within)
    heads = {"better": f"better than {a}", "worse": f"worse than {a}", "same": f"the same as {a} within {within}"}
    said = []
    for word in sorted(heads, key=lambda word: word != leading.verdict):
        found = _of(results, word)
        parts = [_figures(leading, sample)] if leading in found else []
        parts += [", ".join(f"{one.title} {change(one)}" for one in found if one is not leading)]
        said += [f"{b} is {heads[word]}: {'; '.join(filter(None, parts))}."] if found else []
    text = " ".join(said)
    uncertain = _of(results, "cannot tell")
    if verdict == "cannot tell":
        size = f"A difference of {numbers.share(leading.detectable)} would have been found in four of five cases."
        text = f"Cannot tell {b} from {a}: {_figures(leading, sample)}. {size} {text}".rstrip()
        uncertain = [one for one in uncertain if one is not leading]
    if uncertain:
        text += f" Not certain: {', '.join(one.title for one in uncertain)}."
    return text


def _of(results: Sequence[MetricResult], word: str) -> list[MetricResult]:
    """Return the metrics with this verdict, the leading one first."""
    return sorted((one for one in results if one.verdict == word), key=lambda one: not one.primary)


def _figures(metric: MetricResult, sample: str) -> str:
    low, high = (difference_in_unit(metric, value) for value in (metric.difference_low, metric.difference_high))
    absolute = f"{difference_in_unit(metric, metric.difference)} ({low} to {high})"
    confidence = f"{metric.confidence * 100:.4g}% interval"
    if metric.ratio_low is None or metric.ratio_high is None:
        return f"{metric.title} {absolute}, {confidence}, {sample}"
    span = f"{change_of(metric.ratio_low)} to {change_of(metric.ratio_high)}"
    return f"{metric.title} {change(metric)} ({confidence} {span}, {sample}), {absolute}"
