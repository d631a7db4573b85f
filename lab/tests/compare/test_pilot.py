"""Tests of the time that a start takes to become steady, on known series, and of the warm-up that follows."""

from __future__ import annotations

import numpy as np
import pytest

from lab.analysis.load import Second
from lab.compare.pilot import steady_after_s, warmup_of
from lab.compare.record import PilotRecord

SECONDS = 61
"""Seconds of a pilot's report: sixty, and the one in which it ended."""


def start(levels_ms: list[tuple[int, float]], noise: float = 0.02, seed: int = 1) -> list[Second]:
    """A start whose median latency has these levels, each from a second on."""
    random = np.random.default_rng(seed)
    seconds = []
    for t in range(SECONDS):
        level_ms = [level for begin, level in levels_ms if begin <= t][-1]
        p50_us = level_ms * 1e3 * float(np.exp(random.normal(0, noise)))
        seconds.append(Second(t_s=float(t), due=1000, requests=1000, p50_us=p50_us))
    return seconds


@pytest.mark.parametrize("seed", range(10))
def test_a_start_is_steady_after_the_last_change_of_its_median(seed: int) -> None:
    found = steady_after_s(start([(0, 2.0), (5, 0.9), (17, 0.5)], seed=seed))
    assert found is not None
    assert 16 <= found <= 18


@pytest.mark.parametrize("seed", range(10))
def test_a_start_that_never_changes_is_steady_at_once(seed: int) -> None:
    assert steady_after_s(start([(0, 0.5)], seed=seed)) == 0


def test_a_change_of_a_few_microseconds_does_not_count() -> None:
    assert steady_after_s(start([(0, 0.08), (20, 0.07)], noise=0.01)) == 0


def test_a_start_that_still_changes_at_the_end_is_not_steady() -> None:
    assert steady_after_s(start([(0, 2.0), (54, 0.5)])) is None


def test_of_a_start_that_cannot_keep_up_the_answers_count_and_not_the_growing_latency() -> None:
    seconds = [
        Second(t_s=float(t), due=1000, requests=300 + t % 2 if t < 8 else 800 + t % 3, p50_us=1e5 * (t + 1))
        for t in range(SECONDS)
    ]
    assert steady_after_s(seconds) == 8


def test_a_report_without_seconds_gives_no_steady_second() -> None:
    assert steady_after_s([]) is None


@pytest.mark.parametrize(
    ("a", "b", "warmup_s"),
    [(17.0, 9.0, 17.0), (9.0, 17.0, 17.0), (0.0, 0.0, 5.0), (None, 9.0, 60.0), (9.0, None, 60.0)],
)
def test_the_longer_one_counts_for_both_sides_within_bounds(a: float | None, b: float | None, warmup_s: float) -> None:
    assert warmup_of(PilotRecord(length_s=60.0, steady_s=[a, b])) == warmup_s
