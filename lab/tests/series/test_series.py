"""A series executes runs in order, takes lock, build and preflight once, and uses only runs that ended well."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lab.errors import RunError
from lab.machine.cpus import plan_cpus
from lab.paths import Checkout
from lab.process.locks import RunLock
from lab.run.driver import Driver
from lab.runtime.base import Ports, Runtime
from lab.runtime.local.runtime import LocalRuntime
from lab.series import Answer, Place, PlannedRun, Series, find_incomplete, make_answer
from lab.series.show import time_left
from support.checkout import FakeCheckout, free_port, nothing_is_left

QUICK = {"warmup": "0s", "profile": "off"}


@pytest.fixture
def place(checkout: FakeCheckout, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("LAB_ROOT", str(checkout.root))
    monkeypatch.setenv("LAB_LOCK", str(checkout.root / ".cache/run.lock"))
    monkeypatch.setenv("FAKE_LOADGEN_STARTED", str(checkout.root / ".cache/loads"))
    lab_checkout = Checkout(checkout.root)

    def runtime() -> Runtime:
        return LocalRuntime(lab_checkout)

    return Place(lab_checkout, runtime, "local", plan_cpus({}), Ports(0, 0, free_port()), monitoring=False)


def answer_of(place: Place, *runs: PlannedRun) -> Answer:
    return make_answer(place.checkout.results, "suite", "pair", {"rate": 1}, runs, seed=7)


def planned(variant: str, round_number: int = 1) -> PlannedRun:
    return PlannedRun(experiment="fake", overrides={"variant": variant, **QUICK}, round=round_number)


def reread(place: Place, answer: Answer) -> Answer:
    return Answer.read(answer.directory(place.checkout.results) / "record.json")


def manifest(place: Place, run: PlannedRun) -> dict:
    assert run.run is not None
    return json.loads((place.checkout.results / run.run / "run.json").read_text())


def test_runs_are_ordinary_runs_in_the_given_order_and_built_once(place: Place, checkout: FakeCheckout) -> None:
    answer = answer_of(place, planned("queue"), planned("stack"), planned("queue", 2))
    console = Console(record=True, width=200)
    with Series(place, answer, console) as series:
        with pytest.raises(RunError, match="another run is in progress"):
            RunLock(place.checkout.run_lock).take("a second lab")
        series.execute()
    documents = [manifest(place, run) for run in reread(place, answer).runs]
    assert [d["experiment"]["overrides"]["variant"] for d in documents] == ["queue", "stack", "queue"]
    assert all(d["complete"] and d["validity"] for d in documents)
    assert [d["run_id"] for d in documents] == sorted(d["run_id"] for d in documents)
    builds = [next(p["outcome"] for p in d["phases"] if p["name"] == "build") for d in documents]
    assert builds == ["ok", "skipped", "skipped"]
    text = console.export_text()
    assert "run 2 of 3, about" in text
    assert "run 3 of 3" in text
    RunLock(place.checkout.run_lock).take("free again")
    assert nothing_is_left(checkout)


def test_a_run_that_fails_is_kept_apart_and_the_others_go_on(place: Place, checkout: FakeCheckout) -> None:
    answer = answer_of(place, planned("queue"), planned("dies-at-start"), planned("stack"))
    with Series(place, answer, Console(quiet=True)) as series, pytest.raises(RunError, match="1 of 3 runs failed"):
        series.execute()
    kept = reread(place, answer)
    assert [run.run is not None for run in kept.runs] == [True, False, True]
    (attempt,) = kept.runs[1].attempts
    assert json.loads((place.checkout.results / attempt / "run.json").read_text())["complete"] is False
    assert kept.state == "incomplete"
    assert nothing_is_left(checkout)


def test_a_ctrl_c_in_the_last_steps_of_a_run_keeps_it_and_ends_the_series(
    place: Place, checkout: FakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = Driver._keep

    def interrupted(*arguments: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        keep(*arguments)

    monkeypatch.setattr(Driver, "_keep", interrupted)
    answer = answer_of(place, planned("queue"), planned("stack"))
    with pytest.raises(KeyboardInterrupt), Series(place, answer, Console(quiet=True)) as series:
        series.execute()
    kept = reread(place, answer)
    assert [run.run is not None for run in kept.runs] == [True, False]
    assert kept.runs[1].attempts == []
    assert nothing_is_left(checkout)


def test_a_series_ends_after_three_failures_in_a_row(place: Place) -> None:
    answer = answer_of(place, *[planned("dies-at-start")] * 3, planned("queue"))
    answer.runs = [run.model_copy() for run in answer.runs]
    with Series(place, answer, Console(quiet=True)) as series, pytest.raises(RunError, match="failed after"):
        series.execute()
    assert reread(place, answer).runs[3].run is None
    assert not list((place.checkout.results / "fake").glob("*/report.html"))


def test_a_run_that_is_impossible_here_is_reported_in_one_line_and_ends_no_series(
    place: Place, checkout: FakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    impossible = [
        PlannedRun(experiment="fake", overrides={"engine": "rocks", **QUICK}, label=f"r{n}") for n in range(3)
    ]
    checkout.experiment("large", dataset="huge")
    checkout.write("experiments/datasets.yaml", "tiny: {pairs: 100, value_bytes: 10, seed: 1, tables: 2}\n"
                   "huge: {pairs: 1000000000, value_bytes: 1000000, seed: 1, tables: 2}\n")  # fmt: skip
    large = PlannedRun(experiment="large", overrides=QUICK)
    answer = answer_of(place, planned("queue"), *impossible, large, planned("stack"))
    console = Console(record=True, width=300)
    with Series(place, answer, console) as series, pytest.raises(RunError, match="4 of 6 runs cannot be made here"):
        series.execute()
    lines = [line for line in console.export_text().splitlines() if "cannot run here" in line]
    assert len(lines) == 4, "three refusals in a row are no reason to end"
    assert lines[0].startswith("– r0 cannot run here: ENGINE=rocks: no such engine")
    assert lines[3].startswith("– large cannot run here: the disk of ")
    kept = reread(place, answer)
    assert [run.run is not None for run in kept.runs] == [True, False, False, False, False, True]
    assert kept.runs[1].refused.startswith("ENGINE=rocks: no such engine")
    assert kept.runs[1].attempts == []
    assert nothing_is_left(checkout)


def test_only_the_same_request_is_resumed_and_only_its_complete_runs_count(place: Place) -> None:
    answer = answer_of(place, planned("queue"), planned("stack"))
    with Series(place, answer, Console(quiet=True)) as series:
        series.execute()
    results = place.checkout.results
    first, second = (run.run for run in answer.runs)
    assert first is not None
    document = json.loads((results / first / "run.json").read_text())
    (results / first / "run.json").write_text(json.dumps({**document, "complete": False}))
    found = find_incomplete(results, "suite", "pair", {"rate": 1})
    assert found is not None
    assert [run.run for run in found.runs] == [None, second]
    assert found.runs[0].attempts == [first]
    assert find_incomplete(results, "suite", "pair", {"rate": 2}) is None
    assert find_incomplete(results, "search", "pair", {"rate": 1}) is None
    found.state = "complete"
    found.write(results)
    assert find_incomplete(results, "suite", "pair", {"rate": 1}) is None


def test_an_answer_that_cannot_be_read_names_the_file_and_the_field(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    for text, named in (("{", "record.json"), ('{"kind": "suite"}', "runs"), ('{"version": 9}', "version")):
        path.write_text(text)
        with pytest.raises(match=named):
            Answer.read(path)
    with pytest.raises(match="cannot be read"):
        Answer.read(tmp_path / "none.json")


def test_the_time_left_is_worded_as_an_estimate() -> None:
    assert [time_left(seconds) for seconds in (2, 42, 100, 1080, 7800)] == [
        "about 5 s",
        "about 40 s",
        "about 2 min",
        "about 18 min",
        "about 2 h 10 min",
    ]
