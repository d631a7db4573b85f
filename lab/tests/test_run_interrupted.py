"""Runs that are interrupted, in each phase, or killed, or met by another."""

from __future__ import annotations

import json
import os
import signal
import time

import jsonschema
import pytest

from support.house import SCHEMA, FakeHouse, free_port, nothing_is_left

SLOW = {"FAKE_DATASET_S": "60", "FAKE_CONVERT_S": "60"}
INTERRUPTED = [
    ("preflight", "stack", {}),
    ("build", "stack", {}),
    ("dataset", "stack", {"FAKE_DATASET_S": "60"}),
    ("start", "never-ready", {}),
    ("quiesce", "never-rests", {}),
    ("warm-up", "stack", {}),
    ("measure", "stack", {}),
    ("profile", "stack", {}),
    ("collect", "stack", {"FAKE_CONVERT_S": "60"}),
]
LONG = {"warm-up": ["--warmup", "60s"], "measure": ["--duration", "60s"], "profile": ["--duration", "2s"]}


@pytest.mark.parametrize(("phase", "variant", "environment"), INTERRUPTED, ids=[case[0] for case in INTERRUPTED])
def test_ctrl_c_leaves_nothing_running_and_keeps_what_there_is(
    house: FakeHouse, phase: str, variant: str, environment: dict[str, str]
) -> None:
    if phase == "build":
        house.write("Makefile", "build-service:\n\t@sleep 60 & wait\n")
    if phase == "preflight":
        house.script("bin/find-jdk", "sleep 2")
    earlier = house.root / "results/fake/20200101T000000Z"
    earlier.mkdir(parents=True)
    (earlier / "run.json").write_text("earlier")
    process = house.start("run", "fake", "--variant", variant, *LONG.get(phase, []), **environment)
    house.wait_for_phase(phase)
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGINT)
    began = time.monotonic()
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 130, output
    assert time.monotonic() - began < 15
    assert f"Interrupted in phase {phase}" in output
    assert "Traceback" not in output
    assert (earlier / "run.json").read_text() == "earlier"
    assert nothing_is_left(house)
    if phase == "preflight":
        assert house.runs() == [earlier]
        return
    manifest = house.manifest()
    jsonschema.validate(manifest, json.loads(SCHEMA.read_text()))
    assert manifest["complete"] is False
    assert (manifest["phases"][-1]["name"], manifest["phases"][-1]["outcome"]) == (phase, "interrupted")
    if phase == "measure":
        assert (house.runs()[-1] / "measure/1/load.txt").stat().st_size > 0, "the report of what was done is kept"


def test_sigterm_ends_a_run_like_ctrl_c(house: FakeHouse) -> None:
    process = house.start("run", "fake", "--duration", "60s")
    house.wait_for_phase("measure")
    os.kill(process.pid, signal.SIGTERM)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM, output
    assert house.manifest()["complete"] is False
    assert nothing_is_left(house)


def test_a_service_that_clings_to_life_is_killed(house: FakeHouse) -> None:
    process = house.start("run", "fake", "--variant", "clings", "--duration", "60s")
    house.wait_for_phase("measure")
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert nothing_is_left(house)


def test_nothing_survives_a_lab_that_is_killed(house: FakeHouse) -> None:
    process = house.start("run", "fake", "--duration", "60s")
    house.wait_for_phase("measure")
    deadline = time.monotonic() + 10
    while len(house.left_running()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(house.left_running()) >= 2, "a service and a load generator"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    deadline = time.monotonic() + 5
    while house.left_running() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert house.left_running() == []
    code, output = house.lab("run", "fake")
    assert code == 0, output
    assert nothing_is_left(house), "the next run removes the dead one's scratch files"


@pytest.mark.parametrize("phase", ["analyse", "report", "stop"])
def test_ctrl_c_in_the_short_phases_leaves_nothing_running(
    house: FakeHouse, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lab runs in this process, so that the signal comes in the middle of a phase that takes milliseconds."""
    from rich.console import Console

    from lab.cpus import pin_self, plan_cpus, usable_cpus
    from lab.experiment import Catalogue
    from lab.paths import House
    from lab.run import Run, RunPlan
    from lab.run.show import Show
    from lab.runtime.base import Ports
    from lab.runtime.local import LocalRuntime

    def interrupt(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
        raise AssertionError("the signal did not come")

    target = {
        "analyse": "lab.analysis.summarise",
        "report": "lab.report.write",
        "stop": "lab.runtime.local.LocalRuntime.monitoring_down",
    }
    monkeypatch.setenv("LAB_ROOT", str(house.root))
    cpus = tuple(usable_cpus())
    checkout = House(house.root)
    run = Run(
        RunPlan(
            checkout, "fake", Catalogue(checkout).read("fake"), {}, LocalRuntime(checkout),
            plan_cpus({}), Ports(0, 0, free_port()), monitoring=False,
        ),
        Show(Console(quiet=True)),
    )  # fmt: skip
    monkeypatch.setattr(target[phase], interrupt)
    try:
        assert run.execute() == 130
    finally:
        pin_self(cpus)
    manifest = house.manifest()
    assert (manifest["phases"][-1]["name"], manifest["phases"][-1]["outcome"]) == (phase, "interrupted")
    assert manifest["complete"] is False
    assert nothing_is_left(house)


def test_two_runs_at_once_are_refused(house: FakeHouse) -> None:
    first = house.start("run", "fake", "--duration", "60s")
    house.wait_for_phase("measure")
    code, output = house.lab("run", "fake")
    assert code == 1
    assert f"another run goes on in this checkout: process {first.pid}, experiment fake" in output
    assert len(house.runs()) == 1
    assert first.poll() is None
    house.wait_for_phase("measure", limit_s=1)
    os.kill(first.pid, signal.SIGINT)
    first.communicate(timeout=30)
    assert nothing_is_left(house)
