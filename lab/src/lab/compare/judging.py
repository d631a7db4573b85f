"""The verdict on measured blocks: the primary metric, the others corrected by Holm, and the sentence of the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from lab.compare.measurement import METRICS, THROUGHPUT, Measured, Metric
from lab.compare.record import MetricResult, Result
from lab.report import numbers
from lab.statistics import (
    ALPHA,
    BLOCKS_MIN,
    Difference,
    detectable,
    estimate,
    holm,
    independent,
    judge,
    paired,
)

REACHED = 0.99
"""A block that served less than this share of the offered rate is saturated: its latency measures the backlog."""


@dataclass(frozen=True)
class Question:
    """The question: the primary metric by its name, X, α of this look, and whether A's and B's starts are pairs."""

    metric: str
    within: float
    alpha: float = ALPHA
    in_pairs: bool = True


@dataclass(frozen=True)
class _Compared:
    """A metric's difference of logarithms, and of values; the log ratio of each block if they are pairs."""

    metric: Metric
    logs: Difference
    values: Difference
    log_ratios: list[float]


def judge_blocks(a: Sequence[Measured], b: Sequence[Measured], question: Question, names: tuple[str, str]) -> Result:
    """Judge B against A; `names` are theirs, for the sentence. With `in_pairs`, a[i] and b[i] are one block.

    Raises ValueError if a side has no block, or if pairs are wanted and the sides have different numbers of blocks.
    """
    together = Measured.together(a), Measured.together(b)
    saturated = [letter for letter, side in zip(("a", "b"), (a, b), strict=True) if _saturated(side)]
    primary = THROUGHPUT.name if saturated else question.metric
    compared = [
        found
        for metric in METRICS
        if not _lower_bounds(metric, (*a, *b)) and (found := _compared(metric, a, b, question)) is not None
    ]
    results = [_result(found, together, question, primary) for found in compared]
    results = _corrected(results, question.alpha)
    cautions = []
    if saturated:
        which = " and ".join(names["ab".index(letter)] for letter in saturated)
        cautions.append(
            f"{which} served less than {REACHED:.0%} of the offered requests in most blocks, so latency measures the "
            "backlog and the throughput is what is judged"
        )
    cautions += [
        f"{metric.title} is not compared: so many requests of {name} had no response that it is "
        f"{numbers.latency(max(bounds), lower_bound=True)}"
        for metric in METRICS
        for name, blocks in zip(names, (a, b), strict=True)
        if (bounds := _lower_bounds(metric, blocks))
    ]
    cautions += [
        f"{name} gave no response with an expected status: load.expect names the statuses that count as served"
        for name, side in zip(names, together, strict=True)
        if not side.served
    ]
    chosen = next((result for result in results if result.primary), None)
    if chosen is None:
        lacks = next(metric.title for metric in METRICS if metric.name == primary)
        return Result(
            verdict="cannot tell",
            sentence=f"Cannot tell: {lacks} was not measured in two blocks or more.",
            cautions=cautions,
            saturated=saturated,  # type: ignore[arg-type]
            metrics=results,
        )
    return Result(
        verdict=chosen.verdict,
        sentence=_sentence(chosen, question, names),
        cautions=cautions,
        saturated=saturated,  # type: ignore[arg-type]
        metrics=results,
    )


def _lower_bounds(metric: Metric, blocks: Sequence[Measured]) -> list[float]:
    """Return the lower bounds of a metric from the blocks in which it falls among the requests without a response.

    With one, the metric is not compared at all: to leave out that block would leave out a slow one.
    """
    if not metric.percentile:
        return []
    return [bound for block in blocks if (bound := block.lower_bound_ms(metric.percentile)) is not None]


def _saturated(blocks: Sequence[Measured]) -> bool:
    """Whether most blocks served too little: a burst on the machine affects one block, saturation all of them."""
    shares = [block.served / block.due for block in blocks if block.due]
    return bool(shares) and median(shares) < REACHED


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
    return f"{numbers.rate(value) if unit == 'requests/s' else numbers.significant(value)} {unit}"


def in_unit(metric: MetricResult, value: float) -> str:
    """Return a figure of a metric with its unit."""
    return in_words(metric.unit, value)


def change_of(ratio: float) -> str:
    """Return a ratio B ÷ A as a change: "+4.1%"."""
    return numbers.ratio(ratio)


def difference_in_unit(metric: MetricResult, value: float) -> str:
    """Return a difference with its sign: "+204 µs", "−1.2 ms"."""
    return ("−" if value < 0 else "+") + in_unit(metric, abs(value))


def _compared(metric: Metric, a: Sequence[Measured], b: Sequence[Measured], question: Question) -> _Compared | None:
    """Return a metric's difference of logarithms, and of values, with the log ratio of each block; None below two."""
    if question.in_pairs:
        both = [
            (of_a, of_b)
            for side_a, side_b in zip(a, b, strict=True)
            if (of_a := metric.value(side_a)) and (of_b := metric.value(side_b))
        ]
        if len(both) < 2:
            return None
        ratios = [math.log(of_b / of_a) for of_a, of_b in both]
        return _Compared(metric, paired(ratios), paired([of_b - of_a for of_a, of_b in both]), ratios)
    of_a_alone = [value for side in a if (value := metric.value(side))]
    of_b_alone = [value for side in b if (value := metric.value(side))]
    if min(len(of_a_alone), len(of_b_alone)) < 2:
        return None
    logs = independent([math.log(v) for v in of_a_alone], [math.log(v) for v in of_b_alone])
    return _Compared(metric, logs, independent(of_a_alone, of_b_alone), [])


def _result(compared: _Compared, together: tuple[Measured, Measured], question: Question, primary: str) -> MetricResult:
    metric, logs, values = compared.metric, compared.logs, compared.values
    judgement = judge(logs, question.within, lower_is_better=metric.lower_is_better, alpha=question.alpha)
    ratio, difference = judgement.log_ratio, estimate(values, 1 - question.alpha)
    return MetricResult(
        name=metric.name,
        title=metric.title,
        unit=metric.unit,
        lower_is_better=metric.lower_is_better,
        primary=metric.name == primary,
        a=metric.value(together[0]) or 0.0,
        b=metric.value(together[1]) or 0.0,
        blocks=logs.count,
        ratio=math.exp(ratio.mean),
        ratio_low=math.exp(ratio.low),
        ratio_high=math.exp(ratio.high),
        difference=difference.mean,
        difference_low=difference.low,
        difference_high=difference.high,
        confidence=ratio.confidence,
        p_value=ratio.p_value,
        p_corrected=ratio.p_value,
        p_equivalence=judgement.equivalence_p,
        detectable=math.expm1(detectable(logs.error, logs.freedom, question.alpha)) if logs.error else 0.0,
        verdict=judgement.verdict,
        log_ratios=compared.log_ratios,
    )


def _corrected(results: list[MetricResult], alpha: float) -> list[MetricResult]:
    """Correct the p-values of the metrics beside the primary one; differences that do not survive are dropped."""
    others = [result for result in results if not result.primary]
    corrected = dict(zip((r.name for r in others), holm([r.p_value for r in others]), strict=True))
    found = []
    for result in results:
        p_corrected = corrected.get(result.name, result.p_value)
        is_dropped = result.verdict in ("better", "worse") and p_corrected > alpha
        changes = {"p_corrected": p_corrected, **({"verdict": "cannot tell"} if is_dropped else {})}
        found.append(result.model_copy(update=changes))
    return found


def _sentence(metric: MetricResult, question: Question, names: tuple[str, str]) -> str:
    a, b = names
    sample = f"{metric.blocks} blocks" if question.in_pairs else f"{metric.blocks} starts a side"
    span = f"{change_of(metric.ratio_low)} to {change_of(metric.ratio_high)}"
    low, high = (difference_in_unit(metric, value) for value in (metric.difference_low, metric.difference_high))
    absolute = f"{difference_in_unit(metric, metric.difference)} ({low} to {high})"
    interval = f"{metric.confidence * 100:.4g}% interval {span}, {sample}"
    figures = f"{metric.title} {change_of(metric.ratio)} ({interval}), {absolute}"
    if metric.verdict in ("better", "worse"):
        return f"{b} is {metric.verdict} than {a}: {figures}."
    if metric.verdict == "same":
        return f"{b} is the same as {a} within {numbers.share(question.within)}: {figures}."
    if metric.blocks < BLOCKS_MIN:
        few = f"{metric.title} is known of {sample}, and at least {BLOCKS_MIN} are needed"
        return f"Cannot tell {b} from {a}: {few}. Measured: {figures}."
    return (
        f"Cannot tell {b} from {a}: {figures}. "
        f"A difference of {numbers.share(metric.detectable)} would have been found in four of five cases."
    )
