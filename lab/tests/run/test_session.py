"""A session executes a plan of repetitions: of different experiments, in any order, profiled or not."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from lab.cpu_plan import CpuPlan
from lab.errors import RunError
from lab.experiment import Catalogue, Experiment, apply_overrides
from lab.machine.cpus import plan_cpus
from lab.manifest import Environment, Phase
from lab.paths import Checkout
from lab.progress import Progress
from lab.run import Repetition, RunPlan, Session
from lab.run.load import warmup_loads_s
from lab.run.phases import Phases
from lab.run.show import Show
from lab.run.state import RunState
from lab.runtime.base import Ports, ProfileSpec
from lab.runtime.instruments import Monitoring
from lab.runtime.local.runtime import LocalRuntime
from support.checkout import FakeCheckout, free_port, nothing_is_left


class Started:
    """A session that is ready to execute, as a run makes it."""

    def __init__(self, fake: FakeCheckout) -> None:
        checkout = Checkout(fake.root)
        self.experiment = Catalogue(checkout).read("fake").model_copy(update={"dataset": None})
        self.runtime = LocalRuntime(checkout)
        plan = RunPlan(
            checkout,
            "fake",
            self.experiment,
            {},
            self.runtime,
            plan_cpus({}),
            Ports(0, 0, free_port()),
            monitoring=False,
        )
        self.state = RunState(plan)
        show = Show(Console(quiet=True))
        self.phases = Phases(show, lambda _: None)
        self.session = Session(self.state, self.phases, show)
        self.runtime.preflight(plan.cpus, plan.ports, lambda _: None)
        self.state.make([])

    def close(self) -> None:
        self.session.stop_service()
        self.state.audit.stop()
        self.runtime.close()
        self.state.artifacts.work.remove()


@pytest.fixture
def started(checkout: FakeCheckout, monkeypatch: pytest.MonkeyPatch) -> Started:
    monkeypatch.setenv("LAB_ROOT", str(checkout.root))
    return Started(checkout)


class RecordingMonitoring(Monitoring):
    def __init__(self, *, kept_up: bool) -> None:
        self.kept_up, self.started = kept_up, 0

    def running(self) -> bool:
        return self.kept_up

    def up(self, plan: CpuPlan, ports: Ports, progress: Progress) -> None:
        self.started += 1


SHARED, APART = CpuPlan((0,), (1,), (1,)), CpuPlan((0,), (1,), (2,))


@pytest.mark.parametrize(
    "case",
    [
        (None, SHARED, False, 0),
        (None, APART, False, 1),
        (None, SHARED, True, 1),
        (True, SHARED, False, 1),
        (False, APART, True, 0),
    ],
)
def test_monitoring_starts_by_default_only_on_cpus_where_nothing_is_measured(
    started: Started, tmp_path: Path, case: tuple[bool | None, CpuPlan, bool, int]
) -> None:
    wanted, cpus, kept_up, starts = case
    own = started.runtime.monitoring
    started.runtime.monitoring = monitoring = RecordingMonitoring(kept_up=kept_up)
    started.state.plan = replace(started.state.plan, monitoring=wanted, cpus=cpus)
    experiment = with_variant(started.experiment, "stack")
    try:
        started.session.prepare(Repetition(experiment, None, tmp_path, Environment(), number=1))
    finally:
        started.runtime.monitoring = own
        started.close()
    assert monitoring.started == starts
    asked_for = "on CPU 1 it would delay what is measured; MONITORING=on starts it"
    assert (asked_for in started.phases.done[0].detail) == (wanted is None and not starts)


def with_variant(experiment: Experiment, variant: str) -> Experiment:
    return apply_overrides(experiment, {"variant": variant, "warmup": "0s"})[0]


def test_a_plan_alternates_between_experiments_and_profiles_as_declared(
    started: Started, checkout: FakeCheckout, tmp_path: Path
) -> None:
    sides = {}
    for variant in ("queue", "stack"):
        (tmp_path / variant).mkdir()
        experiment = with_variant(started.experiment, variant)
        sides[variant] = Repetition(experiment, None, tmp_path / variant, Environment(), number=1, of=2)
    profile = ProfileSpec(tmp_path / "stack/profile", ("cpu",), "1ms", "stack", ())
    plan = [
        sides["queue"],
        sides["stack"],
        replace(sides["stack"], number=None, profile=profile),
        replace(sides["queue"], number=2),
    ]
    try:
        started.session.execute(iter(plan))
    finally:
        started.close()
    for variant, outs in (("queue", ["measure/1", "measure/2"]), ("stack", ["measure/1", "profile"])):
        assert all((tmp_path / variant / out / "load.json").exists() for out in outs)
        assert sides[variant].environment.jvm == "25-fake"
        stores = [line for line in (tmp_path / variant / "service.log").read_text().splitlines() if "store " in line]
        assert len({line.split()[1] for line in stores}) == 2, "a fresh service on fresh data each time"
    assert phases(started.phases.done) == [
        *[("start", 1), ("quiesce", 1), ("warm-up", 1), ("measure", 1)] * 2,
        *[("start", None), ("quiesce", None), ("warm-up", None), ("profile", None)],
        *[("start", 2), ("quiesce", 2), ("warm-up", 2), ("measure", 2)],
    ]
    assert nothing_is_left(checkout)


def test_a_repetition_that_fails_ends_the_plan(started: Started, checkout: FakeCheckout, tmp_path: Path) -> None:
    broken, sound = (
        Repetition(with_variant(started.experiment, variant), None, tmp_path / variant, Environment(), number=1)
        for variant in ("dies-at-start", "stack")
    )
    for repetition in (broken, sound):
        repetition.directory.mkdir()
    try:
        with pytest.raises(RunError, match="before it was ready"):
            started.session.execute([broken, sound])
    finally:
        started.close()
    assert started.phases.failed == "start"
    assert not sound.log.exists()
    assert nothing_is_left(checkout)


def phases(done: list[Phase]) -> list[tuple[str, int | None]]:
    return [(phase.name, phase.repetition) for phase in done]


def test_a_phase_interrupted_while_it_is_announced_counts_as_interrupted() -> None:
    def announce(name: str | None) -> None:
        if name is not None:
            raise KeyboardInterrupt

    printed = io.StringIO()
    phases = Phases(Show(Console(file=printed)), announce)
    with pytest.raises(KeyboardInterrupt), phases.phase("measure", limit_s=1):
        pytest.fail("its body must not begin")
    assert printed.getvalue().startswith("✗ measure ")
    assert phases.failed == "measure"
    assert [(phase.name, phase.outcome) for phase in phases.done] == [("measure", "interrupted")]


@pytest.mark.parametrize(
    ("warmup_s", "loads_s"),
    [(0.5, (0.5,)), (3.9, (3.9,)), (4.0, (1.0, 3.0)), (10.5, (2.0, 8.5)), (15.0, (3.0, 12.0)), (60.0, (3.0, 57.0))],
)
def test_the_first_load_of_a_warm_up_is_a_quarter_in_whole_seconds_and_at_most_3_s(
    warmup_s: float, loads_s: tuple[float, ...]
) -> None:
    assert warmup_loads_s(warmup_s) == loads_s
