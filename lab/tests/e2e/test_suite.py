"""Suites with the real service: their runs are whole, and the page shows them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from .browser import console_errors
from .conftest import CHECKOUT, make, outside_make, require

OVERHEAD_MAX_S = 8.0
"""Limit of the time that a repetition takes besides warm-up and measurement."""

ONCE = ("build", "dataset")
LOADED = {"warm-up": "warmup_s", "measure": "duration_s", "profile": "duration_s"}


def seconds(phase: dict) -> float:
    ended, began = (datetime.fromisoformat(phase[key]) for key in ("end", "start"))
    return (ended - began).total_seconds()


def beyond_load_s(manifest: dict) -> dict[str, float]:
    """Return how long each phase took besides its load, and the time between the phases."""
    load, taken = manifest["experiment"]["resolved"]["load"], {}
    phases = manifest["phases"]
    for phase in phases:
        if phase["name"] not in ONCE:
            loaded = phase["name"] in LOADED and phase["outcome"] == "ok"
            load_s = load[LOADED[phase["name"]]] if loaded else 0.0
            taken[phase["name"]] = taken.get(phase["name"], 0.0) + seconds(phase) - load_s
    whole = seconds({"start": phases[0]["start"], "end": phases[-1]["end"]})
    return {**taken, "between": whole - sum(map(seconds, phases))}


@dataclass(frozen=True)
class FinishedSuite:
    """The result of `make suite`: its runtime and the directory of its page."""

    runtime: str
    directory: Path

    def runs(self) -> list[tuple[str, dict]]:
        """Return the experiment and the manifest of each run."""
        answer = json.loads((self.directory / "record.json").read_text())
        assert answer["state"] == "complete"
        paths = [(run["experiment"], CHECKOUT / "results" / run["run"] / "run.json") for run in answer["runs"]]
        return [(name, json.loads(path.read_text())) for name, path in paths]


SERVICE_LIMIT_S = 300
"""Time until the second run has a service; its dataset may have to be made first."""
QUICK = ["ROUNDS=1", "SCALE=0.1", "DURATION=3s", "WARMUP=1s"]


def suites() -> set[Path]:
    return set((CHECKOUT / "results/suite").glob("*"))


def run_suite(name: str, runtime: str, *words: str) -> FinishedSuite:
    require(runtime)
    before = suites()
    done = make("suite", f"NAME={name}", *QUICK, f"RUNTIME={runtime}", *words)  # the last of two DURATIONs counts
    assert done.returncode == 0, done.stdout[-4000:]
    (directory,) = suites() - before
    return FinishedSuite(runtime, directory)


@pytest.mark.torture
@pytest.mark.parametrize("runtime", ["local", "docker"])
def test_a_repetition_takes_little_more_time_than_its_load(runtime: str) -> None:
    for name, manifest in run_suite("long", runtime).runs():
        spent = beyond_load_s(manifest)
        overhead_s = sum(spent.values()) / 2  # one measured, one profiled
        print(f"{name}, {runtime}: {overhead_s:.1f} s; {', '.join(f'{what} {s:.2f}' for what, s in spent.items())}")
        assert overhead_s < OVERHEAD_MAX_S, spent


@pytest.mark.browser
def test_a_suite_of_profiled_experiments_ends_with_its_page() -> None:
    finished, rates = run_suite("long", "docker"), {}
    for experiment, manifest in finished.runs():
        assert manifest["complete"]
        assert manifest["runtime"] == "docker"
        assert manifest["summary"]["profiled"]["requests"] > 0
        rates[experiment] = manifest["summary"]["rate_offered_per_s"]
    assert rates == {
        "report-e-put": 8000, "array-queue-put-80k-5m": 8000, "report-e-get": 200, "array-queue-get-2k": 200,
    }  # fmt: skip
    page = (finished.directory / "suite.html").read_text()
    # The page must give one of two reasons; which one depends on what else ran on the machine.
    why = ("Published at 80,000/s, and 8,000/s were offered", "no undisturbed start of report-e-put")
    assert [reason in page for reason in why].count(True) == 1
    assert page.count("data:image/webp") == 4
    assert console_errors(finished.directory / "suite.html") == []


@pytest.mark.browser
def test_a_suite_of_nine_experiments_ends_with_the_verdict_on_each_published_finding() -> None:
    finished = run_suite("sync-vs-async", "local", "PROFILE=off", "DURATION=1s")
    runs = dict(finished.runs())
    assert set(runs) == {
        "report-c-put-sync", "report-c-put-array", "sync-put-10b", "array-queue-put-10b", "report-c-put-100k",
        "report-c-get-sync", "report-c-get-array", "sync-get-10b", "array-queue-get-10b",
    }  # fmt: skip
    for experiment, manifest in runs.items():
        assert manifest["complete"]
        assert manifest["summary"]["rate_offered_per_s"] == (10_000 if experiment == "report-c-put-100k" else 5_000)
        assert manifest["summary"]["goodput_per_s"] > 0
    page = (finished.directory / "suite.html").read_text()
    assert page.count('<article class="judged') == 12
    assert page.count("not comparable here") >= 12, "one round claims nothing"
    assert console_errors(finished.directory / "suite.html") == []


def stop_in_the_second_run(stop: signal.Signals, words: list[str]) -> tuple[Path, Path]:
    """Start a suite; when the service of its second run is up, send the signal to all processes of its group.

    Return the directories of the suite and of that run.
    """
    suites_before, runs_before = suites(), set((CHECKOUT / "results").glob("*/*T*Z"))
    process = subprocess.Popen(
        ["make", *words],
        cwd=CHECKOUT,
        env=outside_make(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    output = ""
    for line in process.stdout:
        output += line
        if "run 2 of 4" in line:
            break
    assert "run 2 of 4" in output, output
    (suite,) = suites() - suites_before
    second = json.loads((suite / "record.json").read_text())["runs"][1]["experiment"]
    deadline, started = time.monotonic() + SERVICE_LIMIT_S, []
    while not started:
        assert time.monotonic() < deadline, "the second run has no service"
        time.sleep(0.1)
        logs = (CHECKOUT / "results" / second).glob("*T*Z/service.log")
        started = [log.parent for log in logs if log.parent not in runs_before and log.stat().st_size]
    os.killpg(process.pid, stop)
    process.communicate(timeout=60)
    assert process.returncode != 0
    return suite, started[0]


@pytest.mark.torture
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_suite_continues_without_repeating_finished_runs(stop: signal.Signals) -> None:
    words = ["suite", "NAME=long", *QUICK, "PROFILE=off", "RUNTIME=local"]
    directory, half = stop_in_the_second_run(stop, words)
    before = json.loads((directory / "record.json").read_text())
    assert before["state"] == "incomplete"
    assert [run["run"] is None for run in before["runs"]] == [False, True, True, True]

    done = make(*words, "RESUME=1")
    assert done.returncode == 0, done.stdout[-4000:]
    assert "1 of them there already" in done.stdout
    after = json.loads((directory / "record.json").read_text())
    assert after["state"] == "complete"
    finished, repeated, *_ = (run["run"] for run in after["runs"])
    assert finished == before["runs"][0]["run"]
    assert json.loads((CHECKOUT / "results" / repeated / "run.json").read_text())["complete"]
    assert repeated != f"{half.parent.name}/{half.name}"
    page = (directory / "suite.html").read_text()
    assert f"{repeated}/report.html" in page
    assert half.name not in page
