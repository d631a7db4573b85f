"""SCALE=auto: compared experiments are under one load, and unknown capacities are measured first."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from rich.console import Console

from lab.capacity import Capacities, Capacity
from lab.errors import CannotRunHereError
from lab.experiment import Catalogue, Experiment
from lab.machine.cpus import plan_cpus
from lab.paths import Checkout
from lab.runtime.base import Ports
from lab.runtime.local.runtime import LocalRuntime
from lab.series import Place
from lab.suite import scaling
from lab.suite.declaration import overrides_of, read_suite
from lab.suite.run import plan_rounds
from lab.suite.scaling import scales_of
from support.checkout import FakeCheckout

QUIET = Console(quiet=True)
SUITE = """\
title: A
question: B?
groups:
  GET: {baseline: fake, others: [other]}
experiments: [alone, swept, alone-too]
"""


@pytest.fixture
def place(checkout: FakeCheckout) -> Place:
    checkout.experiment("other", title="other", service={"variant": "queue"})
    for name, rate in (("alone", 100), ("alone-too", 20)):
        load = {"script": "put.lua", "rate": rate, "threads": 1, "connections": rate, "duration": "1s"}
        checkout.experiment(name, title=name, service={"variant": name}, load=load)
    load = {"script": "get.lua", "rate": [100, 400], "threads": 1, "connections": 1, "duration": "1s",
            "args": {"keys": "sequential"}}  # fmt: skip
    checkout.experiment("swept", title="A sweep", service={"variant": "sync"}, load=load)
    checkout.write("experiments/suites/scaled.yaml", SUITE)
    lab_checkout = Checkout(checkout.root)
    cpus = plan_cpus({})
    return Place(
        lab_checkout,
        lambda: LocalRuntime(lab_checkout),
        "local",
        cpus,
        Ports(0, 0, 0),
        False,
    )


def measured(place: Place, name: str, per_s: float, capacities: Capacities | None = None) -> Capacity:
    capacity = Capacity(experiment=name, per_s=per_s, lower_bound=False, measured_at=datetime.now(UTC), runs=[])
    capacities = capacities or place.capacities
    assert capacities is not None
    capacities.add(Catalogue(place.checkout).read(name), capacity)
    return capacity


class Measuring:
    """Stands in for `measure_capacity`: it knows what each experiment saturates at, and remembers what it was asked."""

    def __init__(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: dict[str, dict[str, str]] = {}
        self._place = place
        monkeypatch.setattr(scaling, "measure_capacity", self.measure)

    def measure(self, _: Place, capacities: Capacities, name: str, *, words: Mapping[str, str],
                experiment: Experiment, console: Console) -> Capacity:  # fmt: skip
        self.asked[name] = dict(words)
        return measured(self._place, name, {"fake": 50.0, "swept": 200.0, "alone": 1000.0}[name], capacities)


def test_experiments_under_the_same_load_have_one_factor(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    suite, cases = read_suite(place.checkout, "scaled")
    measuring = Measuring(place, monkeypatch)
    measured(place, "alone", 80.0)
    console = Console(record=True, width=200)
    factors = scales_of(place, suite, cases, "auto", given={}, console=console)
    assert list(measuring.asked) == ["fake", "swept"], "each once, and none that is known or follows another"
    assert "capacity 1 of 2, once, about 4 min left for all: fake" in console.export_text()
    assert factors["fake"] == factors["other"], "a group has its baseline's"
    assert float(factors["fake"]) * 100 == pytest.approx(0.7 * 50)
    assert float(factors["alone"]) * 100 == pytest.approx(0.7 * 80)
    assert factors["alone-too"] == factors["alone"], "they ask the same, at another rate and over more connections"
    assert float(factors["swept"]) * 400 == pytest.approx(0.7 * 200)
    plan = plan_rounds(Catalogue(place.checkout), cases, 1, {}, seed=1, times={}, scales=factors)
    rates = {one.label: one.overrides.get("rate") for one in plan if one.experiment == "swept"}
    assert rates == {"swept@100": "35", "swept@400": "140"}


def test_capacities_of_a_suite_with_its_own_times_count_for_no_other(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, cases = read_suite(place.checkout, "scaled")
    measuring = Measuring(place, monkeypatch)
    given = {"duration": "3s", "warmup": "1m", "profile": "off"}
    for _ in range(2):
        scales_of(place, suite, cases, "auto", given=given, console=QUIET)
    own = {name: {"duration": "3s", "warmup": "1m"} for name in ("fake", "swept", "alone")}
    assert measuring.asked == own, "each once"
    measuring.asked.clear()
    scales_of(place, suite, cases, "auto", given={}, console=QUIET)
    assert measuring.asked == {name: {} for name in ("fake", "swept", "alone")}


def test_without_a_published_saturation_no_rate_is_raised(place: Place, checkout: FakeCheckout) -> None:
    for name, reference in (("fake", None), ("alone", {"saturation": 200})):
        document = yaml.safe_load((checkout.root / f"experiments/{name}/experiment.yaml").read_text())
        checkout.experiment(name, **{**document, **({"reference": reference} if reference else {})})
    suite, cases = read_suite(place.checkout, "scaled")
    for name in ("fake", "alone", "swept"):
        measured(place, name, 1000.0)
    factors = scales_of(place, suite, cases, "auto", given={}, console=QUIET)
    assert (factors["fake"], factors["swept"]) == ("1", "1")
    assert float(factors["alone"]) == pytest.approx(1000 / 200), "half of the saturation there, half of it here"


def test_a_sweep_with_a_published_saturation_follows_nobody(place: Place, checkout: FakeCheckout) -> None:
    load = {"script": "get.lua", "rate": [100, 200], "threads": 1, "connections": 1, "duration": "1s",
            "args": {"keys": "sequential"}}  # fmt: skip
    for name, variant, saturation in (("swept", "sync", 100), ("swept-too", "queue", 150)):
        checkout.experiment(name, service={"variant": variant}, load=load, reference={"saturation": saturation})
    checkout.write("experiments/suites/scaled.yaml", "title: A\nquestion: B?\nexperiments: [swept, swept-too]\n")
    suite, cases = read_suite(place.checkout, "scaled")
    measured(place, "swept", 1000.0)
    measured(place, "swept-too", 300.0)
    factors = scales_of(place, suite, cases, "auto", given={}, console=QUIET)
    assert {name: float(factor) for name, factor in factors.items()} == {"swept": 10.0, "swept-too": 2.0}


def test_a_capacity_that_cannot_be_measured_leaves_the_rates_as_declared_and_ends_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, cases = read_suite(place.checkout, "scaled")
    measuring, console = Measuring(place, monkeypatch), Console(record=True, width=200)

    def measure(_: Place, capacities: Capacities, name: str, **rest: Any) -> Capacity:
        if name == "fake":
            raise CannotRunHereError("fake cannot run here: no such engine")
        return measuring.measure(_, capacities, name, **rest)

    monkeypatch.setattr(scaling, "measure_capacity", measure)
    factors = scales_of(place, suite, cases, "auto", given={}, console=console)
    assert (factors["fake"], factors["other"]) == ("1", "1")
    assert float(factors["swept"]) * 400 == pytest.approx(0.7 * 200)
    assert "not measured, so its rate stays as declared: fake cannot run here: no such engine" in console.export_text()


def test_a_number_is_the_factor_of_all_and_nothing_is_as_declared(place: Place) -> None:
    suite, cases = read_suite(place.checkout, "scaled")
    assert set(scales_of(place, suite, cases, "0.3", given={}, console=QUIET).values()) == {"0.3"}
    assert scales_of(place, suite, cases, None, given={}, console=QUIET) == {}
    assert overrides_of(cases[0], {"duration": "2s"}, "0.3") == {"scale": "0.3", "duration": "2s"}
    assert overrides_of(cases[0], {}, None) == {}
