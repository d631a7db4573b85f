"""A capacity is the highest served rate: the offered rate grows until it is too high, then only a little too high."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from lab.capacity import Capacities
from lab.cpu_plan import CpuPlan
from lab.experiment import Catalogue
from lab.manifest import Check, Distribution, Errors, Manifest, Summary, Validity
from lab.manifest import Experiment as ManifestExperiment
from lab.paths import Checkout
from lab.runtime.base import Ports
from lab.search import saturation
from lab.series import Answer, Place, PlannedRun
from lab.units import parse_duration_s
from support.checkout import FakeCheckout
from support.made_up_experiment import made_up_experiment

CPUS = CpuPlan((0,), (1,), (1,))


class Pretended:
    """Stands in for a series: a service of a known capacity, which an overload may bring down further."""

    capacity_per_s = 30_000.0
    collapses = False
    busy = False
    compiles_s = 0.0
    while_it_compiles = 0.5
    asked: list[int]

    def __init__(self, place: Place, answer: Answer, console: Console) -> None:
        self.answer = answer

    def __enter__(self) -> Pretended:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, planned: PlannedRun) -> Manifest:
        rate = int(planned.overrides["rate"])
        type(self).asked.append(rate)
        overload = rate > self.capacity_per_s
        compiles = overload and float(parse_duration_s(planned.overrides["warmup"])) < self.compiles_s
        collapses = self.collapses and rate > self.capacity_per_s * 1.2
        factor = self.while_it_compiles if compiles else 0.5 if collapses else 1
        served = min(float(rate), self.capacity_per_s) * factor
        planned.run = f"x/20261123T1200{len(self.asked):02}Z"
        self.answer.runs.append(planned)
        checks = [Check(name="generator CPU", outcome="warn", detail="busy")] if self.busy and overload else []
        checks += [Check(name="steady state", outcome="warn", detail="the JIT compiler")] if compiles else []
        summary = Summary(
            source="measure", rate_offered_per_s=float(rate), rate_achieved_per_s=served, goodput_per_s=served,
            requests=1, latency_ms=Distribution(count=1), errors=Errors(), repetitions=[],
        )  # fmt: skip
        return Manifest(
            run_id="20261123T120000Z",
            experiment=ManifestExperiment(name="x", title="x", resolved=made_up_experiment()),
            runtime="local",
            summary=summary,
            validity=Validity(
                state="suspect" if checks else "valid", reasons=["busy"] if checks else [], checks=checks
            ),
        )


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> type[Pretended]:
    class Fresh(Pretended):
        asked: list[int] = []  # noqa: RUF012

    monkeypatch.setattr(saturation, "Series", Fresh)
    return Fresh


def measured(
    checkout: FakeCheckout, rate: int, words: Mapping[str, str] | None = None
) -> tuple[Capacities, saturation.Capacity]:
    load = {"script": "get.lua", "rate": rate, "threads": 4, "connections": 64, "duration": "1s"}
    checkout.experiment("x", load=load)
    here = Checkout(checkout.root)
    experiment = Catalogue(here).read("x")
    capacities = Capacities(here, CPUS, "local")
    place = Place(here, lambda: pytest.fail("no runtime is needed"), "local", CPUS, Ports())
    console = Console(quiet=True)
    found = saturation.measure_capacity(
        place, capacities, "x", words=words or {}, experiment=experiment, console=console
    )
    stored = capacities.find(experiment)
    assert stored is not None
    assert stored.per_s == found.per_s
    assert stored.measured_at <= datetime.now(UTC)
    return capacities, found


@pytest.mark.parametrize("declared", [2_000, 29_000, 30_500, 70_000, 500_000])
@pytest.mark.parametrize("collapses", [False, True])
def test_a_capacity_is_found_from_below_and_above_even_if_overload_reduces_it(
    checkout: FakeCheckout, pretended: type[Pretended], declared: int, collapses: bool
) -> None:
    pretended.collapses = collapses
    _, found = measured(checkout, declared)
    assert found.per_s == pytest.approx(30_000, rel=0.08), pretended.asked
    assert not found.lower_bound
    assert len(found.runs) == len(pretended.asked)
    assert len(pretended.asked) <= saturation.RUNS_MAX
    assert collapses or declared == 2_000 or len(pretended.asked) <= 3, pretended.asked


def test_if_the_generator_reaches_its_limit_first_the_capacity_is_a_lower_bound(
    checkout: FakeCheckout, pretended: type[Pretended]
) -> None:
    pretended.busy = True
    _, found = measured(checkout, 20_000)
    assert found.lower_bound
    assert "at least" in saturation.described("x", found)
    assert Path(checkout.root / "results/capacity").is_dir()


@pytest.mark.parametrize("while_it_compiles", [0.5, 1.4])
def test_the_warm_up_grows_until_the_compiler_is_at_rest_and_only_then_does_a_rate_count(
    checkout: FakeCheckout, pretended: type[Pretended], while_it_compiles: float
) -> None:
    pretended.compiles_s, pretended.while_it_compiles = 20, while_it_compiles
    _, found = measured(checkout, 29_000)
    assert found.per_s == pytest.approx(30_000, rel=0.08), pretended.asked


def test_a_compiler_that_never_rests_ends_no_search_and_a_given_warm_up_stays(
    checkout: FakeCheckout, pretended: type[Pretended]
) -> None:
    pretended.compiles_s = 1000
    assert measured(checkout, 40_000)[1].per_s <= 30_000
    assert len(pretended.asked) <= saturation.RUNS_MAX
    pretended.compiles_s = 4
    pretended.asked.clear()
    measured(checkout, 40_000, {"warmup": "2s"})
    assert len(set(pretended.asked)) == len(pretended.asked), "no rate is repeated"
