"""The verdict on noise that was recorded on a real machine: bursts, drift, luck of the start."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lab.statistics import detectable_difference, equivalence_p, estimate, judge, judge_together, paired

from . import noise

COMPARISONS = 100_000
BLOCKS = 10
TINY = 1e-6
"""An X so small that the verdict is never *same*."""


def random() -> np.random.Generator:
    return np.random.default_rng(20261123)


def p_values(ratios: np.ndarray) -> np.ndarray:
    """Return `estimate(paired(blocks)).p_value` of each comparison: a hundred thousand at once."""
    mean, error = _moments(ratios)
    p = 2 * stats.t.sf(np.abs(mean) / error, ratios.shape[1] - 1)
    assert p[:20] == pytest.approx([estimate(paired(blocks)).p_value for blocks in ratios[:20]])
    return p


def same_p_values(ratios: np.ndarray, bound: float) -> np.ndarray:
    """Return `equivalence_p(paired(blocks), bound)` of each comparison."""
    mean, error = _moments(ratios)
    freedom = ratios.shape[1] - 1
    p = np.maximum(stats.t.sf((mean + bound) / error, freedom), stats.t.cdf((mean - bound) / error, freedom))
    assert p[:20] == pytest.approx([equivalence_p(paired(blocks), bound) for blocks in ratios[:20]])
    return p


def _moments(ratios: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return ratios.mean(axis=1), np.maximum(ratios.std(axis=1, ddof=1), 1e-12) / math.sqrt(ratios.shape[1])


def test_the_recorded_noise_is_not_well_behaved() -> None:
    """Otherwise the tests below would show nothing that a textbook does not."""
    log = noise.second_log_p99()
    deviations = log - log.mean(axis=1, keepdims=True)
    autocorrelation = (deviations[:, 1:] * deviations[:, :-1]).sum() / (deviations**2).sum()
    assert autocorrelation > 0.2
    assert np.exp(np.max(log - np.median(log, axis=1, keepdims=True))) > 5, "bursts: a second of five times the p99"
    between, within = log.mean(axis=1).var(ddof=1), log.var(axis=1, ddof=1).mean() / log.shape[1]
    assert between > 4 * within, "starts differ by more than their seconds explain"


@pytest.mark.parametrize("blocks", [6, 10, 18])
def test_a_service_against_itself_is_called_different_in_at_most_one_of_twenty_comparisons(blocks: int) -> None:
    assert (p_values(noise.log_ratios(random(), COMPARISONS, blocks)) <= 0.05).mean() <= 0.05


def test_the_verdict_follows_from_the_p_values() -> None:
    ratios = noise.log_ratios(random(), 200, BLOCKS)
    verdicts = [judge(paired(blocks), TINY).verdict for blocks in ratios]
    assert [verdict in ("better", "worse") for verdict in verdicts] == (p_values(ratios) <= 0.05).tolist()
    assert [verdict == "worse" for verdict in verdicts] == (
        (p_values(ratios) <= 0.05) & (ratios.mean(axis=1) > 0)
    ).tolist()


def test_metrics_that_are_read_together_find_a_false_difference_no_oftener_than_one_alone() -> None:
    metrics, comparisons = 12, 400
    ratios = noise.log_ratios(random(), comparisons * metrics, BLOCKS).reshape(comparisons, metrics, BLOCKS)
    alone = [[judge(paired(blocks), TINY) for blocks in comparison] for comparison in ratios]
    together = [judge_together(comparison) for comparison in alone]
    assert np.mean([any(one.verdict == "worse" for one in comparison) for comparison in alone]) > 0.10
    assert np.mean([any(one.verdict != "cannot tell" for one in comparison) for comparison in together]) <= 0.05


def test_a_look_after_every_block_would_find_differences_that_are_not_there() -> None:
    ratios = noise.log_ratios(random(), 10_000, 20)
    called = np.zeros(len(ratios), bool)
    for blocks in range(4, 21):
        called |= p_values(ratios[:, :blocks]) <= 0.05
    assert called.mean() > 0.12


def test_seconds_taken_for_the_sample_would_find_differences_that_are_not_there() -> None:
    assert (p_values(noise.second_by_second(random(), 10_000, BLOCKS)) <= 0.05).mean() > 0.20


@pytest.mark.parametrize("blocks", [6, 10])
def test_a_difference_of_the_detectable_size_is_found_in_four_of_five_comparisons(blocks: int) -> None:
    ratios = noise.log_ratios(random(), COMPARISONS, blocks)
    difference = detectable_difference(float(ratios.std(ddof=1)), blocks)
    assert (p_values(ratios + difference) <= 0.05).mean() >= 0.80
    assert (p_values(ratios + difference / 4) <= 0.05).mean() < 0.3, "and a quarter of it seldom is"


@pytest.mark.parametrize("confidence", [0.90, 0.95])
def test_intervals_cover_the_truth_as_often_as_they_claim(confidence: float) -> None:
    truth = math.log(1.5)
    ratios = noise.log_ratios(random(), COMPARISONS, BLOCKS) + truth
    mean, error = _moments(ratios)
    half = stats.t.ppf((1 + confidence) / 2, BLOCKS - 1) * error
    intervals = [estimate(paired(blocks), confidence) for blocks in ratios[:20]]
    assert [interval.low for interval in intervals] == pytest.approx((mean - half)[:20])
    assert (np.abs(mean - truth) <= half).mean() == pytest.approx(confidence, abs=0.03)


def test_a_difference_of_x_is_called_the_same_in_at_most_one_of_twenty_comparisons() -> None:
    ratios = noise.log_ratios(random(), COMPARISONS, BLOCKS)
    bound = 1.5 * detectable_difference(float(ratios.std(ddof=1)), BLOCKS)
    assert (same_p_values(ratios + bound, bound) <= 0.05).mean() <= 0.05
    assert (same_p_values(ratios, bound) <= 0.05).mean() > 0.8, "while equal sides mostly are"
