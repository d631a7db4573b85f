"""A change of level is found in the ratio to a reference run beside it, and none if only the machine changed."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from lab import manifest
from lab.errors import InputError
from lab.history.changes import Pair, level_changes, pairs_of
from lab.history.index import RunRow
from lab.paths import Checkout
from support.checkout import FakeCheckout
from support.made_up_experiment import made_up_experiment

BEGAN = datetime(2026, 11, 1, 9, tzinfo=UTC)
HISTORIES = 300


def row(experiment: str, at: timedelta, p99: float | None, **more: Any) -> RunRow:
    run_id = (BEGAN + at).strftime("%Y%m%dT%H%M%SZ")
    return RunRow(f"{experiment}/{run_id}", 0, 0, experiment, run_id, **{"state": "valid", "p99": p99, **more})


def pairs(ratios: np.ndarray) -> list[Pair]:
    return [Pair(f"run/{number}", "reference", float(ratio)) for number, ratio in enumerate(ratios)]


def test_each_run_is_paired_with_the_nearest_reference_within_an_hour() -> None:
    hours = [timedelta(hours=24 * day) for day in range(4)]
    runs = [row("stack", at, 3.0) for at in hours[:3]] + [row("stack", hours[3], 3.0, state="incomplete")]
    beside = [(hours[0] + timedelta(minutes=50), 1.0), (hours[0] - timedelta(minutes=5), 2.0),
              (hours[1] + timedelta(minutes=5), 1.5), (hours[2] + timedelta(hours=2), 1.0)]  # fmt: skip
    references = [row("sync", at, p99) for at, p99 in beside]
    found = pairs_of(runs, references, "p99")
    assert [(pair.run, pair.ratio) for pair in found] == [(runs[0].name, 1.5), (runs[1].name, 2.0)]
    assert found[0].reference == references[1].name


def test_only_runs_with_the_overrides_of_the_newest_count() -> None:
    other = row("stack", timedelta(), 9.0, setup='{"rate": 20000}')
    runs = [other, row("stack", timedelta(days=1), 3.0)]
    references = [row("sync", timedelta(), 1.0), row("sync", timedelta(days=1), 1.0)]
    assert [pair.run for pair in pairs_of(runs, references, "p99")] == [runs[1].name]


def test_a_run_is_left_out_for_its_machine_and_never_for_its_outcome() -> None:
    days = [timedelta(days=day) for day in range(3)]
    runs = [
        row("stack", days[0], 3.0, state="invalid", disturbed=True),
        row("stack", days[1], 9.0, state="invalid"),
        row("stack", days[2], 3.0, state="suspect"),
    ]
    found = pairs_of(runs, [row("sync", at, 1.0) for at in days], "p99")
    assert [pair.run for pair in found] == [runs[1].name, runs[2].name]


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(InputError, match=r"^METRIC=p42: is not allowed; allowed: p50, p99"):
        pairs_of([], [], "p42")


@pytest.mark.parametrize("count", [12, 40])
def test_noise_alone_is_seldom_a_change(count: int) -> None:
    rng = np.random.default_rng(20261123)
    alarms = [bool(level_changes(pairs(np.exp(rng.normal(0, 0.1, count))))) for _ in range(HISTORIES)]
    assert np.mean(alarms) <= 0.05


def test_a_single_spike_is_no_change() -> None:
    ratios = np.exp(np.random.default_rng(1).normal(0, 0.05, 30))
    ratios[15] *= 3
    assert level_changes(pairs(ratios)) == []


def test_a_change_is_found_at_its_place_and_with_its_size() -> None:
    rng = np.random.default_rng(20261123)
    found = []
    for _ in range(HISTORIES):
        logs = rng.normal(0, 0.1, 24)
        logs[12:] += math.log(1.4)
        found.append(level_changes(pairs(np.exp(logs))))
    once = [changes[0] for changes in found if len(changes) == 1]
    assert len(once) >= 0.9 * HISTORIES
    assert np.mean([abs(int(change.run.removeprefix("run/")) - 12) <= 1 for change in once]) > 0.9
    assert np.mean([change.after / change.before for change in once]) == pytest.approx(1.4, rel=0.05)
    assert all(change.pairs_before + change.pairs_after == 24 for change in once)
    assert all(0 < change.detectable < 0.4 for change in once)


def test_too_few_pairs_show_nothing() -> None:
    assert level_changes(pairs(np.array([1.0, 1.0, 1.0, 9.0, 9.0]))) == []


def test_from_outside_a_change_is_reported_with_its_size(checkout: FakeCheckout) -> None:
    rng = np.random.default_rng(7)
    for number in range(16):
        machine, level = 1.0 + 0.1 * (number % 3), 3.0 if number < 8 else 4.5
        for name, p99 in (("slow", level * math.exp(rng.normal(0, 0.03))), ("sync", 1.0)):
            made_run(checkout, name, BEGAN + timedelta(days=number), p99 * machine)
    code, output = checkout.lab("changes", "slow", "sync")
    assert code == 0, output
    assert "p99 of slow ÷ that of sync, 16 pairs of runs within an hour of each other" in output
    assert "since slow/20261109T090000Z +50.3% (×2.99 to ×4.49, n = 8 and 8; a change of 3.1% would" in output
    code, output = checkout.lab("changes", "slow", "nothing")
    assert code == 2
    assert "no run of an experiment 'nothing'" in output


@pytest.mark.parametrize("place", [{"runtime": "docker"}, {"host": {"kernel_build": "another"}}])
def test_another_runtime_or_machine_is_no_change(checkout: FakeCheckout, place: dict[str, Any]) -> None:
    rng = np.random.default_rng(7)
    for number in range(16):
        elsewhere, level = (place, 3.0) if number < 8 else ({}, 4.5)
        for name, p99 in (("slow", level * math.exp(rng.normal(0, 0.03))), ("sync", 1.0)):
            made_run(checkout, name, BEGAN + timedelta(days=number), p99, **elsewhere)
        # A reference closer in time, of the other place.
        made_run(checkout, "sync", BEGAN + timedelta(days=number, seconds=1), 9.0, **({} if elsewhere else place))
    code, output = checkout.lab("changes", "slow", "sync")
    assert code == 0, output
    assert "8 pairs of runs within an hour of each other" in output
    assert "8 runs left out: made with other settings, another runtime or another machine than the newest" in output
    assert "no change of level" in output


def made_run(checkout: FakeCheckout, name: str, started: datetime, p99: float, **place: Any) -> None:
    run_id = started.strftime("%Y%m%dT%H%M%SZ")
    directory = Checkout(checkout.root).results / name / run_id
    directory.mkdir(parents=True)
    latency = manifest.Distribution(count=1000, percentiles={"99": p99})
    manifest.Manifest(
        run_id=run_id,
        experiment=manifest.Experiment(name=name, title="made up", resolved=made_up_experiment()),
        runtime=place.get("runtime", "local"),
        environment=manifest.Environment(host=place.get("host", {})),
        complete=True,
        summary=manifest.Summary(
            source="measure", rate_offered_per_s=100.0, rate_achieved_per_s=100.0, requests=1000, latency_ms=latency,
            errors=manifest.Errors(), repetitions=[],
        ),
        validity=manifest.Validity(state="valid"),
    ).write(directory / "run.json")  # fmt: skip
