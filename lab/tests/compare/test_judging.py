"""The verdict on measured blocks, and the sentence that says it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lab.analysis.histogram import Sample
from lab.compare.judging import Question, judge_blocks, withdrawn
from lab.compare.measurement import Measured
from lab.compare.record import MetricResult, Result

QUESTION = Question(0.05, "p99")
TOGETHER = Question(0.05)
NAMES = ("queue-get", "stack-get")
LUCK = (1.0, 1.02, 0.97, 1.01, 0.98, 1.03, 0.99, 1.0)


def block(
    p50_us: float, served: float = 2000.0, cpu_s: float | None = 0.1, seconds_ms: tuple[float, ...] = ()
) -> Measured:
    """A block of 2,000 requests from p50 to three times that; `seconds_ms` are the p99 of its seconds."""
    values = np.sort((np.linspace(0.5, 3.0, 2000) * p50_us * 1000).astype(np.int64))
    sample = Sample(values, values, np.ones(len(values), dtype=np.int64))
    return Measured(sample, 2000, 2000.0, served, 1.0, cpu_s, 5e6, seconds_ms={"99": seconds_ms} if seconds_ms else {})


def blocks(p50_us: float, **changes: float | None) -> list[Measured]:
    return [block(p50_us * luck, **changes) for luck in LUCK]  # type: ignore[arg-type]


def others(p50_us: float, **changes: float | None) -> list[Measured]:
    return [block(p50_us * luck, **changes) for luck in reversed(LUCK)]  # type: ignore[arg-type]


def metric(result: Result, name: str) -> MetricResult:
    return next(m for m in result.metrics if m.name == name)


def test_a_slower_side_is_worse_by_a_stated_amount() -> None:
    result = judge_blocks(blocks(1000), others(1200), QUESTION, NAMES)
    assert result.verdict == "worse"
    primary = metric(result, "p99")
    assert primary.primary
    assert primary.ratio == pytest.approx(1.2, rel=0.03)
    assert primary.ratio_low < 1.2 < primary.ratio_high
    assert primary.difference == pytest.approx(0.2 * 2.975, rel=0.15), "ms"
    assert "stack-get is worse than queue-get: latency p99 +2" in result.sentence
    assert "95% interval" in result.sentence
    assert "8 blocks" in result.sentence


def test_with_the_sides_exchanged_b_is_better() -> None:
    assert judge_blocks(others(1200), blocks(1000), QUESTION, NAMES).verdict == "better"


def test_equal_sides_are_the_same_within_x_or_cannot_be_told() -> None:
    assert judge_blocks(blocks(1000), others(1000), QUESTION, NAMES).verdict == "same"
    narrow = judge_blocks(blocks(1000), others(1000), Question(0.01, "p99"), NAMES)
    assert narrow.verdict == "cannot tell"
    assert "would have been found in four of five cases" in narrow.sentence


def test_a_saturated_side_is_judged_by_its_throughput() -> None:
    result = judge_blocks(blocks(1000), others(900, served=1500.0), QUESTION, NAMES)
    assert result.saturated == ["b"]
    assert result.verdict == "worse", "though its latency is lower"
    assert metric(result, "throughput").primary
    assert result.cautions[0].startswith("stack-get served 75.0% of the offered requests, so its latency")


def test_a_burst_in_one_block_is_no_saturation() -> None:
    result = judge_blocks(blocks(1000), [block(1000, served=1000.0), *others(1000)[1:]], QUESTION, NAMES)
    assert result.saturated == []
    assert metric(result, "p99").primary


def test_a_side_that_serves_nothing_names_the_statuses_that_count() -> None:
    result = judge_blocks(blocks(1000), others(100, served=0.0), QUESTION, NAMES)
    assert result.verdict == "cannot tell"
    assert any("stack-get gave no response with an expected status: load.expect" in line for line in result.cautions)


def lucky(**changes: object) -> list[Measured]:
    """Blocks whose latencies differ so much from block to block that nothing is certain of them."""
    return [block(1000 * luck, **changes) for luck in (1.0, 2.0, 0.5, 1.7, 0.6, 1.9, 0.7, 1.0)]  # type: ignore[arg-type]


def test_a_metric_that_is_certain_is_named_though_latency_is_not() -> None:
    cheap = [0.1 * luck for luck in LUCK]
    a = [replace(one, cpu_s=cpu) for one, cpu in zip(lucky(), cheap, strict=True)]
    b = [replace(one, cpu_s=1.22 * cpu) for one, cpu in zip(reversed(lucky()), reversed(cheap), strict=True)]
    result = judge_blocks(a, b, TOGETHER, NAMES)
    assert result.verdict == "worse"
    assert result.sentence.startswith("stack-get is worse than queue-get: service CPU a request +22.")
    assert "Not certain: latency p50, latency p90, latency p99." in result.sentence
    assert "the same as queue-get within 5.0%: requests served +0.0%" in result.sentence


def test_better_in_one_metric_and_worse_in_another_is_both() -> None:
    a, b = blocks(1000), [replace(one, cpu_s=0.13) for one in others(800)]
    result = judge_blocks(a, b, TOGETHER, NAMES)
    assert result.verdict == "better and worse"
    assert "stack-get is better than queue-get: latency p" in result.sentence
    assert "stack-get is worse than queue-get: service CPU a request +30.0%" in result.sentence


def test_the_figures_beside_a_ratio_are_those_that_it_is_of() -> None:
    spoilt = [*blocks(1000)[1:], block(30_000)]
    for metric in judge_blocks(spoilt, others(1200), TOGETHER, NAMES).metrics:
        if metric.ratio is not None:
            assert metric.b / metric.a == pytest.approx(metric.ratio)
        assert metric.b - metric.a == pytest.approx(metric.difference, abs=1e-9)


def test_a_stall_in_each_block_is_counted_and_leaves_the_typical_second_alone() -> None:
    calm, stalled = (1.0,) * 12, (*(1.0,) * 11, 80.0)
    result = judge_blocks(blocks(1000, seconds_ms=calm), others(1000, seconds_ms=stalled), TOGETHER, NAMES)
    stalls = metric(result, "stalls")
    assert (stalls.a, stalls.b, stalls.ratio, stalls.verdict) == (0, 5, None, "worse")
    assert metric(result, "typical-p99").verdict == "same"
    assert "stack-get is worse than queue-get: stalls a minute +5" in result.sentence


def test_a_block_whose_typical_second_has_no_response_is_not_left_out_as_if_it_were_fast() -> None:
    calm, dead = (1.0,) * 3, (1.0, float("inf"), float("inf"))
    b = [*others(1000, seconds_ms=calm)[1:], block(1000, seconds_ms=dead)]
    result = judge_blocks(blocks(1000, seconds_ms=calm), b, TOGETHER, NAMES)
    assert not {"typical-p99", "stalls"} & {found.name for found in result.metrics}


def test_a_declared_metric_that_was_not_measured_hides_no_certain_one() -> None:
    result = judge_blocks(blocks(1000), others(1200), Question(0.05, "p99.9"), NAMES)
    assert result.verdict == "worse"
    assert result.cautions == ["METRIC=p99.9 was not measured in two blocks or more"]


def test_a_second_without_a_response_is_a_stall() -> None:
    assert block(1000, seconds_ms=(1.0, 1.0, float("inf"))).stalls_a_minute == 20


def test_the_metrics_beside_the_declared_one_are_corrected_together() -> None:
    result = judge_blocks(blocks(1000), others(1015), QUESTION, NAMES)
    beside = [m for m in result.metrics if not m.primary]
    assert all(m.p_corrected >= m.p_value for m in beside)
    assert max(m.p_corrected / m.p_value for m in beside if m.p_value) > 2
    p50 = metric(judge_blocks(blocks(1000), others(1015), TOGETHER, NAMES), "p50")
    assert p50.p_corrected > metric(result, "p50").p_value, "without a declared metric, all are corrected"
    assert metric(result, "p99").p_corrected == metric(result, "p99").p_value
    for found in beside:
        assert found.verdict not in ("better", "worse") or found.p_corrected <= 0.05


def test_a_metric_that_was_not_measured_is_left_out() -> None:
    result = judge_blocks(blocks(1000, cpu_s=None), others(1000), QUESTION, NAMES)
    assert "cpu" not in {m.name for m in result.metrics}
    assert result.verdict == "same"


def test_five_blocks_cannot_tell() -> None:
    result = judge_blocks(blocks(1000)[:5], others(2000)[:5], QUESTION, NAMES)
    assert result.verdict == "cannot tell"
    assert "known of 5 blocks, and at least 6 are needed" in result.sentence


def test_a_withdrawn_verdict_keeps_the_figures() -> None:
    result = judge_blocks(blocks(1000), others(1200), QUESTION, NAMES)
    taken = withdrawn(result, "the machine was not fit to measure")
    assert taken.verdict == "cannot tell"
    assert taken.metrics == result.metrics
    assert taken.sentence == "Cannot tell: the machine was not fit to measure."
