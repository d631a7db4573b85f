"""Sweeps of rates, and the published figures of an experiment."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from experiment_files.examples import SWEEP, WHOLE
from lab.errors import InputError
from lab.experiment import Experiment, apply_overrides


def test_a_sweep_is_one_experiment_with_a_reference_for_each_rate(read: Callable[[str], Experiment]) -> None:
    sweep = read(SWEEP)
    assert sweep.sweep_per_s == (1000, 2000, 5000)
    assert sweep.at_rate(5000).reference is None
    point = sweep.at_rate(2000)
    assert point.sweep_per_s == ()
    assert point.resolved()["load"]["rate_per_s"] == 2000
    assert point.resolved()["reference"] == {
        "source": "report A", "rate_per_s": 2000, "requests_per_s": 1990.0, "latency_ms": {"99": 3.0},
        "shares": [{"event": "cpu", "categories": ["queue", "lock"], "what": "synchronisation",
                    "low": 0.2, "high": 0.25}],
        "threads": 4, "connections": 64, "duration_s": 60.0, "cpus": 8,
    }  # fmt: skip


def test_a_rate_given_for_one_run_of_a_sweep_is_one_point_of_it(read: Callable[[str], Experiment]) -> None:
    sweep = read(SWEEP)
    point, overrides = apply_overrides(sweep, {"rate": "2k", "duration": "5s"})
    assert (point.sweep_per_s, point.load.rate_per_s, point.load.duration_s) == ((), 2000, 5)
    assert point.reference is not None
    assert point.reference.requests_per_s == 1990
    assert overrides == {"duration": "5s"}, "a point of a sweep is as declared"
    between, overrides = apply_overrides(sweep, {"rate": "3000"})
    assert overrides == {"rate": 3000}
    assert between.reference is None
    still, _ = apply_overrides(sweep, {"variant": "queue"})
    assert still.sweep_per_s == sweep.sweep_per_s
    assert still.service.variant == "queue"
    with pytest.raises(InputError, match=r"^RATE=\[1000, 2000\]: '\[1000, 2000\]' is not a whole number"):
        apply_overrides(sweep, {"rate": "[1000, 2000]"})


def test_a_reference_has_the_declared_load_except_for_its_own_keys(read: Callable[[str], Experiment]) -> None:
    reference = read(WHOLE.replace("  source: report A\n", "  threads: 8\n  duration: 2m\n  cpus: 16\n")).reference
    assert reference is not None
    assert (reference.rate_per_s, reference.threads, reference.connections) == (70_000, 8, 64)
    assert (reference.duration_s, reference.cpus) == (120, 16)


def test_a_reference_that_fell_behind_gives_the_saturation_of_its_service(read: Callable[[str], Experiment]) -> None:
    def saturated_at(text: str) -> float | None:
        reference = read(text).reference
        assert reference is not None
        return reference.saturated_at_per_s

    assert saturated_at(WHOLE) == 59_899.55
    assert saturated_at(WHOLE.replace("59899.55", "69990")) is None
    assert saturated_at(WHOLE.replace("59899.55", "69990\n  saturation: 80000")) == 80_000


BAD_SWEEPS = [
    ("[1000, 2k, 5000]", "[]", ":13: load.rate: a sweep has at least 2 rates, not 0: [1000, 2000, 5000]"),
    ("[1000, 2k, 5000]", "[1000]", ":13: load.rate: a sweep has at least 2 rates, not 1"),
    ("2k, 5000", "5000, 2k", ":13: load.rate.2: '2k' comes after 5,000: write the rates of a sweep in ascending"),
    ("2k, 5000", "2k, 2000", ":13: load.rate.2: 2000 is given twice: write the rates"),
    ("2k, 5000", "0, 5000", ":13: load.rate.1: 0 is not a rate: a whole number"),
    ("2k, 5000", "fast, 5000", ":13: load.rate.1: 'fast' is not a rate: a whole number"),
    ("2k, 5000", "[2000], 5000", ":13: load.rate.1: [2000] is not a rate: a whole number"),
    ("{rate: 2000,", "{rate: 3000,", ":26: reference.at.0: 3000 is not a rate of this sweep: 1000, 2000, 5000"),
    ("{rate: 2000,", "{", ":25: reference.at: each entry needs the rate"),
    (
        "  cpus: 8",
        "  rate: 2000",
        ":22: reference: rate, requests_per_second and latency belong in the",
    ),
    ("p99: 3ms", "p99: 3", ":26: reference.at.0.latency: '3' is not a number with a unit"),
    ("requests_per_second: 1990", "request: 1", ":26: unknown key reference.at.0.request; allowed here: latency"),
    (
        "[1000, 2k, 5000]",
        "2k",
        ":25: reference.at: is only for sweeps; write rate, requests_per_second and latency instead",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD_SWEEPS)
def test_bad_sweeps_are_refused_with_line_and_key(
    read: Callable[[str], Experiment], old: str, new: str, message: str
) -> None:
    assert old in SWEEP
    with pytest.raises(InputError) as caught:
        read(SWEEP.replace(old, new))
    assert "experiments/x/experiment.yaml" in caught.value.message
    assert message in caught.value.message
