"""Calibration: the smallest difference that a machine can show, and what is stored of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from lab.calibration import described, fsync_ms, noop_experiment, read_calibration, smallest_differences
from lab.errors import InputError
from lab.manifest import Distribution, Errors, Measurement
from lab.paths import Checkout


def start(rng: np.random.Generator, spread: float) -> Measurement:
    return Measurement(
        source="measure/1",
        rate_offered_per_s=1000.0,
        rate_achieved_per_s=1000.0,
        requests=10_000,
        latency_ms=Distribution(count=10_000, percentiles={"50": float(np.exp(rng.normal(0, spread)))}),
        errors=Errors(),
    )


def test_a_difference_of_that_size_is_found_in_four_of_five_comparisons() -> None:
    rng = np.random.default_rng(8)
    size = smallest_differences([start(rng, 0.03) for _ in range(4000)], pairs=6)["p50"]
    found = 0
    for _ in range(2000):
        ratios = rng.normal(np.log1p(size), 0.03 * np.sqrt(2), 6)
        found += bool(stats.ttest_1samp(ratios, 0.0).pvalue < 0.05)
    assert 0.75 < found / 2000 < 0.87


def test_more_pairs_show_smaller_differences_and_a_metric_without_values_is_left_out() -> None:
    starts = [start(np.random.default_rng(i), 0.05) for i in range(20)]
    few, many = smallest_differences(starts, 6), smallest_differences(starts, 20)
    assert many["p50"] < few["p50"]
    assert few["rate"] == 0.0
    assert "p99" not in few


def test_two_calibrations_of_20_starts_agree_within_a_factor_of_one_and_a_half() -> None:
    agree = 0
    for number in range(200):
        rng = np.random.default_rng(number)
        a, b = (smallest_differences([start(rng, 0.03) for _ in range(20)], 6)["p50"] for _ in range(2))
        agree += max(a, b) / min(a, b) < 1.5
    assert agree >= 170


def test_too_few_starts_are_refused() -> None:
    with pytest.raises(ValueError, match="3 starts and 6 pairs are too few"):
        smallest_differences([start(np.random.default_rng(1), 0.1)] * 3, 6)


def test_the_time_of_an_fsync_is_measured_and_its_file_removed(tmp_path: Path) -> None:
    found = fsync_ms(tmp_path / "work", times=5)
    assert 0 < found["50"] <= found["99"]
    assert list((tmp_path / "work").iterdir()) == []


def test_the_no_op_experiment_expects_its_404s() -> None:
    assert noop_experiment(1000).load.expect == (404,)


def test_no_calibration_and_a_damaged_one_are_none(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    assert read_calibration(checkout) is None
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache/calibration.json").write_text("{}")
    assert read_calibration(checkout) is None


def test_too_few_starts_on_the_command_line_are_bad_input(tmp_path: Path) -> None:
    from rich.console import Console

    from lab.cli.machine import run_calibration

    with pytest.raises(InputError, match="STARTS=3"):
        run_calibration(Console(), Checkout(tmp_path), None, 3)


def test_a_calibration_is_described_in_lines() -> None:
    from datetime import UTC, datetime

    from lab.calibration import Calibration

    found = Calibration(
        measured_at=datetime.now(UTC), fingerprint="ab", ceiling_per_s=150_000.0, floor_ms={"50": 0.085},
        fsync_ms={"50": 1.2}, experiment="sync-get at 20,000/s", starts=20, pairs=6,
        smallest_difference={"p50": 0.031}, verdicts={"a/a": "suspect", "floor": "valid"},
    )  # fmt: skip
    lines = described(found)
    assert any("with 6 pairs" in line and "p50 3.1%" in line for line in lines)
    assert "a/a: suspect" in lines
