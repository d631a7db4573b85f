"""Calibration: the smallest difference that a machine can show, and the stored file."""

from __future__ import annotations

import math
import socket
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from lab.calibration import (
    against_earlier,
    calibrate,
    described,
    factors,
    fsync_ms,
    noop_experiment,
    read_calibration,
    smallest_differences,
)
from lab.experiment import Experiment
from lab.manifest import Distribution, Errors, Manifest, Measurement
from lab.paths import Checkout
from report.synthesis import Shape, make_run
from support.calibrated import calibration
from support.checkout import FakeCheckout


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


def test_a_calibration_measures_ceiling_floor_and_the_reference_against_itself_and_is_stored(
    checkout: FakeCheckout, tmp_path: Path
) -> None:
    checkout.experiment("sync-get")
    asked: dict[str, Experiment] = {}

    def run(name: str, experiment: Experiment) -> tuple[Path, Manifest]:
        asked[name] = experiment
        starts = experiment.repeat
        directory = make_run(tmp_path / name, Shape(rate=200, repetitions=starts, seconds=6, profiled=False))
        return directory, Manifest.read(directory / "run.json")

    lab_checkout = Checkout(checkout.root)
    found = calibrate(lab_checkout, run, 4)
    loads = {name: (one.load.rate_per_s, one.repeat, one.service.engine) for name, one in asked.items()}
    assert loads == {
        "calibrate-floor": (1_000, 1, "null"),
        "calibrate-ceiling": (1_000_000, 1, "null"),
        "calibrate-a-a": (20_000, 4, "lsm"),
    }
    assert (found.starts, found.ceiling_per_s) == (4, 200.0)
    assert {"50", "99"} == set(found.floor_ms)
    assert 0 < found.smallest_difference["p50"] < 1
    assert read_calibration(lab_checkout) == found


def test_the_time_of_an_fsync_is_measured_and_its_file_removed(tmp_path: Path) -> None:
    found = fsync_ms(tmp_path / "work", times=5)
    assert 0 < found["50"] <= found["99"]
    assert list((tmp_path / "work").iterdir()) == []


def test_the_no_op_experiment_expects_its_404s() -> None:
    assert noop_experiment(1000).load.expect == (404,)


def test_a_missing_or_damaged_calibration_is_none(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    assert read_calibration(checkout) is None
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache/calibration.json").write_text("{}")
    assert read_calibration(checkout) is None


def test_too_few_starts_on_the_command_line_are_bad_input(checkout: FakeCheckout) -> None:
    code, output = checkout.lab("calibrate", "--starts", "3")
    assert code == 2
    assert "STARTS=3: must be at least 4" in output


def test_a_calibration_uses_the_given_port(checkout: FakeCheckout) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        code, output = checkout.lab("calibrate", "--starts", "4", PORT=str(port))
    assert code == 1
    assert f"port {port} on 127.0.0.1 is taken" in output


def test_a_calibration_is_described_in_lines() -> None:
    lines = described(calibration())
    assert any("with 6 pairs" in line and "p50 3.1%" in line for line in lines)
    assert "a/a: suspect" in lines


def test_a_calibration_says_how_far_it_is_from_the_one_before_it() -> None:
    earlier = calibration(smallest_difference={"rate": 0.0, "p50": 0.04, "p99": 0.1, "p99.9": 0.0})
    now = calibration(smallest_difference={"rate": 0.0, "p50": 0.03, "p99": 0.2, "p99.9": 0.1, "service CPU": 0.1})
    assert factors(now, earlier) == {"rate": 1.0, "p50": pytest.approx(4 / 3), "p99": 2.0, "p99.9": math.inf}
    assert against_earlier(now, earlier) == [
        "smallest differences against the calibration of 2026-11-24 22:05 UTC: rate ×1.00, p50 ×1.33, p99 ×2.00, "
        "p99.9 ×inf (the larger over the smaller)"
    ]
    assert against_earlier(now, None) == []
    (line,) = against_earlier(now, calibration(fingerprint="cd"))
    assert "×" not in line
    assert "of another machine" in line
