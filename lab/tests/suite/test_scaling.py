"""SCALE=auto: what is compared is under one load, and what was not measured is measured first."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from rich.console import Console

from lab.capacity import Capacities
from lab.capacity.store import Capacity
from lab.experiment import Catalogue, Experiment
from lab.machine.cpus import plan_cpus
from lab.paths import Checkout
from lab.runtime.base import Ports
from lab.runtime.local.runtime import LocalRuntime
from lab.series import Place
from lab.suite import scaling
from lab.suite.declaration import overrides_of, read_suite
from lab.suite.planning import plan_rounds
from lab.suite.scaling import scales_of
from support.checkout import FakeCheckout

SUITE = """\
title: A
question: B?
groups:
  GET: {baseline: fake, others: [other]}
experiments: [alone, swept]
"""


@pytest.fixture
def place(checkout: FakeCheckout) -> Place:
    for name, variant in (("other", "queue"), ("alone", "mpmc")):
        checkout.experiment(name, title=name, service={"variant": variant})
    load = {"script": "get.lua", "rate": [100, 400], "threads": 1, "connections": 1, "duration": "1s"}
    checkout.experiment("swept", title="A sweep", service={"variant": "sync"}, load=load)
    checkout.write("experiments/suites/scaled.yaml", SUITE)
    house = Checkout(checkout.root)
    cpus = plan_cpus({})
    return Place(house, lambda: LocalRuntime(house), cpus, Ports(0, 0, 0), False, Capacities(house, cpus, "local"))


def measured(place: Place, name: str, per_s: float) -> Capacity:
    capacity = Capacity(experiment=name, per_s=per_s, lower_bound=False, measured_at=datetime.now(UTC), runs=[])
    assert place.capacities is not None
    place.capacities.add(Catalogue(place.checkout).read(name), capacity)
    return capacity


def test_a_group_has_the_factor_of_its_baseline(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    suite, cases = read_suite(place.checkout, "scaled")
    asked = []

    def measure(_: Place, __: Capacities, name: str, *, words: object, experiment: Experiment, console: Console) -> Capacity:  # fmt: skip  # noqa: E501
        asked.append(name)
        return measured(place, name, {"fake": 50.0, "swept": 200.0}[name])

    monkeypatch.setattr(scaling, "measure_capacity", measure)
    measured(place, "alone", 1000.0)
    factors = scales_of(place, suite, cases, "auto", Console(quiet=True))
    assert asked == ["fake", "swept"], "each once, and never one that is known or that follows its baseline"
    assert factors["fake"] == factors["other"]
    assert float(factors["fake"]) * 100 == pytest.approx(0.7 * 50)
    assert float(factors["alone"]) * 100 == pytest.approx(0.7 * 1000)
    assert float(factors["swept"]) * 400 == pytest.approx(0.7 * 200)
    plan = plan_rounds(Catalogue(place.checkout), cases, 1, {}, seed=1, scales=factors)
    rates = {one.label: one.overrides.get("rate") for one in plan if one.experiment == "swept"}
    assert rates == {"swept@100": "35", "swept@400": "140"}


def test_a_number_is_the_factor_of_all_and_nothing_is_as_declared(place: Place) -> None:
    suite, cases = read_suite(place.checkout, "scaled")
    assert set(scales_of(place, suite, cases, "0.3", Console(quiet=True)).values()) == {"0.3"}
    assert scales_of(place, suite, cases, None, Console(quiet=True)) == {}
    assert overrides_of(cases[0], {"duration": "2s"}, "0.3") == {"scale": "0.3", "duration": "2s"}
    assert overrides_of(cases[0], {}, None) == {}
