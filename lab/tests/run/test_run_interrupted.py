"""Runs that are interrupted in each phase, are killed, or meet another run."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import jsonschema
import pytest
from rich.console import Console

from lab.paths import Checkout
from lab.process.locks import RunLock
from lab.run.outcome import Outcome
from support.checkout import LIMIT_S, SCHEMA, FakeCheckout, free_port, nothing_is_left

INTERRUPTED = [
    ("preflight", "find-jdk", "stack", {}),
    ("build", "sleep 600", "stack", {}),
    ("dataset", "load-dataset", "stack", {"FAKE_DATASET_S": "600"}),
    ("start", "serve --config", "never-ready", {}),
    ("quiesce", "serve --config", "never-rests", {}),
    ("warm-up", "/warm-up/", "stack", {"FAKE_WARM_UP_TAKES_S": "600"}),
    ("measure", "/measure/1/", "stack", {}),
    ("profile", "/profile/", "stack", {"FAKE_PROFILED_S": "600"}),
    ("collect", "fake_profile.py convert", "stack", {"FAKE_CONVERT_S": "600"}),
]
"""Each phase, words of the program that runs in it, a variant and settings with which it does not end."""
LONG = {"measure": ["--duration", "10m"]}


@pytest.mark.parametrize(
    ("phase", "program", "variant", "environment"), INTERRUPTED, ids=[case[0] for case in INTERRUPTED]
)
def test_ctrl_c_leaves_nothing_running_and_keeps_what_there_is(
    checkout: FakeCheckout, phase: str, program: str, variant: str, environment: dict[str, str]
) -> None:
    if phase == "build":
        checkout.write("Makefile", "build-service:\n\t@: in $(CURDIR); sleep 600 & wait\n")
    if phase == "preflight":
        checkout.script("bin/find-jdk", "sleep 600 & wait")
    earlier = checkout.root / "results/fake/20200101T000000Z"
    earlier.mkdir(parents=True)
    (earlier / "run.json").write_text("earlier")
    process = checkout.start("run", "fake", "--variant", variant, *LONG.get(phase, []), **environment)
    checkout.wait_for_phase(phase)
    checkout.wait_for_program(program)
    if phase == "measure":
        checkout.wait_for_load("measure/1")
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130, output
    assert f"Interrupted in phase {phase}" in output
    assert "Traceback" not in output
    assert (earlier / "run.json").read_text() == "earlier"
    assert nothing_is_left(checkout)
    assert "nothing is left running" in output
    if phase == "preflight":
        assert checkout.runs() == [earlier]
        return
    manifest = checkout.manifest()
    jsonschema.validate(manifest, json.loads(SCHEMA.read_text()))
    assert manifest["complete"] is False
    assert (manifest["phases"][-1]["name"], manifest["phases"][-1]["outcome"]) == (phase, "interrupted")
    if phase == "measure":
        assert (checkout.runs()[-1] / "measure/1/load.txt").stat().st_size > 0, "the report of what was done is kept"


def test_sigterm_ends_a_run_like_ctrl_c(checkout: FakeCheckout) -> None:
    process = checkout.start("run", "fake", "--duration", "10m")
    checkout.wait_for_phase("measure")
    os.kill(process.pid, signal.SIGTERM)
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 128 + signal.SIGTERM, output
    assert checkout.manifest()["complete"] is False
    assert nothing_is_left(checkout)


def test_a_service_that_ignores_sigterm_is_killed(checkout: FakeCheckout) -> None:
    process = checkout.start("run", "fake", "--variant", "clings", "--duration", "10m")
    checkout.wait_for_phase("measure")
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130
    assert nothing_is_left(checkout)


@pytest.mark.parametrize("phase", ["measure", "profile"])
def test_nothing_survives_a_lab_that_is_killed(checkout: FakeCheckout, phase: str) -> None:
    """A recording ends with the service that it records."""
    process = checkout.start("run", "fake", *LONG.get(phase, []), FAKE_PROFILED_S="600")
    checkout.wait_for_phase(phase)
    checkout.wait_for_program("serve --config")
    checkout.wait_for_program("fake_loadgen.py -t1")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=LIMIT_S)
    checkout.wait_until_nothing_runs()
    code, output = checkout.lab("run", "fake", "--profile", "off")
    assert code == 0, output
    assert nothing_is_left(checkout), "the next run removes the dead one's scratch files"


def kill_in_phase(checkout: FakeCheckout, process: subprocess.Popen[str], phase: str) -> str:
    """Kill a lab in a phase; return the list of runs that the lab prints then."""
    checkout.wait_for_phase(phase)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=LIMIT_S)
    checkout.wait_until_nothing_runs()
    return checkout.lab("results")[1]


def test_a_run_that_is_killed_while_its_report_is_written_is_incomplete(checkout: FakeCheckout) -> None:
    process = checkout.start("run", "fake", "--profile", "off")
    checkout.wait_for_phase("measure")
    (run,) = checkout.runs()
    os.mkfifo(run / ".report.md")  # nobody reads it, so who writes it waits
    listed = kill_in_phase(checkout, process, "report")
    assert checkout.manifest()["complete"] is False
    assert re.search(rf"{run.name}.* incomplete", listed), listed


def test_a_comparison_that_is_killed_while_its_page_is_written_is_incomplete(checkout: FakeCheckout) -> None:
    words = ("fake", "fake VARIANT=queue", "--duration", "1s", "--warmup", "1s", "--blocks", "6", "--profile", "off")
    process = checkout.start("compare", *words)
    checkout.wait_for_phase("measure")
    (directory,) = checkout.runs("compare")
    os.mkfifo(directory / ".compare.md")
    kill_in_phase(checkout, process, "report")
    assert json.loads((directory / "record.json").read_text())["state"] == "incomplete"


def test_a_run_that_is_killed_in_its_build_is_listed(checkout: FakeCheckout) -> None:
    checkout.write("Makefile", "build-service:\n\t@: in $(CURDIR); sleep 600 & wait\n")
    process = checkout.start("run", "fake")
    listed = kill_in_phase(checkout, process, "build")
    assert re.search(rf"{checkout.runs()[-1].name}.* incomplete", listed), listed


@pytest.mark.parametrize("phase", ["analyse", "report", "stop"])
def test_ctrl_c_in_the_short_phases_leaves_nothing_running(
    checkout: FakeCheckout, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lab runs in this process, so that the signal comes in the middle of a phase that takes milliseconds."""
    from lab.experiment import Catalogue
    from lab.machine.cpus import pin_self, plan_cpus, usable_cpus
    from lab.run import Run, RunPlan
    from lab.run.show import Show
    from lab.runtime.base import Ports
    from lab.runtime.local.runtime import LocalRuntime

    def interrupt(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
        raise AssertionError("the signal did not come")

    target = {
        "analyse": "lab.analysis.summarise",
        "report": "lab.report.write",
        "stop": "lab.runtime.local.monitoring.LocalMonitoring.down",
    }
    monkeypatch.setenv("LAB_ROOT", str(checkout.root))
    monkeypatch.setenv("LAB_LOCK", str(checkout.root / "run.lock"))
    cpus = tuple(usable_cpus())
    real = Checkout(checkout.root)
    run = Run(
        RunPlan(
            real, "fake", Catalogue(real).read("fake"), {}, LocalRuntime(real),
            plan_cpus({}), Ports(0, 0, free_port()), monitoring=False,
        ),
        Show(Console(quiet=True)),
    )  # fmt: skip
    monkeypatch.setattr(target[phase], interrupt)
    try:
        assert run.tell() == 130
    finally:
        pin_self(cpus)
    manifest = checkout.manifest()
    assert (manifest["phases"][-1]["name"], manifest["phases"][-1]["outcome"]) == (phase, "interrupted")
    assert manifest["complete"] is False
    assert nothing_is_left(checkout)


def test_two_runs_at_once_are_refused(checkout: FakeCheckout) -> None:
    first = checkout.start("run", "fake", "--duration", "10m")
    checkout.wait_for_phase("measure")
    code, output = checkout.lab("run", "fake")
    assert code == 1
    assert f"another run is in progress on this machine: process {first.pid}, experiment fake" in output
    assert len(checkout.runs()) == 1
    assert first.poll() is None
    checkout.wait_for_phase("measure")
    os.kill(first.pid, signal.SIGINT)
    first.communicate(timeout=LIMIT_S)
    assert nothing_is_left(checkout)


def test_the_lock_belongs_to_the_machine_not_the_checkout(tmp_path: Path) -> None:
    one, other = (FakeCheckout(tmp_path / name).build() for name in ("one", "other"))
    lock = str(tmp_path / "lock")
    first = one.start("run", "fake", "--duration", "10m", LAB_LOCK=lock)
    one.wait_for_phase("measure")
    code, output = other.lab("run", "fake", LAB_LOCK=lock)
    assert code == 1
    assert f"another run is in progress on this machine: process {first.pid}, experiment fake" in output
    assert other.runs() == []
    os.kill(first.pid, signal.SIGINT)
    first.communicate(timeout=LIMIT_S)


def test_every_checkout_and_every_user_has_the_same_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LAB_LOCK", raising=False)
    monkeypatch.setenv("LAB_CACHE", str(tmp_path))
    assert Checkout(tmp_path / "one").run_lock == Checkout(tmp_path / "other").run_lock
    lock = RunLock(tmp_path / "lock")
    before = os.umask(0o077)
    try:
        lock.take("a test")
    finally:
        os.umask(before)
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o666
    lock.release()


def test_processes_that_cannot_be_ended_are_named_and_nothing_else_is_claimed() -> None:
    console = Console(record=True, width=200, file=io.StringIO())
    left = ["containers of this run (docker has not answered): docker rm -f x"]
    assert Outcome(None, KeyboardInterrupt(), "measure", left).tell(console, lambda: None) == 130
    shown = console.export_text()
    assert "nothing is left running" not in shown
    assert "May still be running: containers of this run (docker has not answered): docker rm -f x" in shown
