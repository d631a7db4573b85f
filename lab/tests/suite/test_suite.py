"""A suite from the command line: interleaved, interrupted, resumed, judged; and its declaration's errors."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lab.experiment import Catalogue
from lab.machine.cpus import plan_cpus
from lab.manifest import Manifest
from lab.paths import Checkout
from lab.runtime.base import Ports
from lab.runtime.local.runtime import LocalRuntime
from lab.series import Answer, Place, make_answer
from lab.suite import SuiteRequest, page, run_suite
from lab.suite import run as suite_run
from lab.suite.declaration import Case, Suite, read_suite, suite_names
from lab.suite.figures import collect
from lab.suite.run import plan_rounds
from support.checkout import LIMIT_S, FakeCheckout, free_port, nothing_is_left

SUITE = """\
title: A pair
question: Which one?
source: report Z
groups:
  GET: {baseline: fake, others: other}
findings:
  - says: Both keep up.
    rule: {kind: kept, of: [fake, other], low: 0.99}
  - says: The other one is better.
    rule: {kind: ratio, metric: p50, of: other, to: fake, high: 0.9}
"""
QUICK = ("--warmup", "0s")


@pytest.fixture
def pair(checkout: FakeCheckout) -> FakeCheckout:
    checkout.experiment("other", title="Another", service={"variant": "queue"})
    checkout.write("experiments/suites/pair.yaml", SUITE)
    return checkout


def answers(checkout: FakeCheckout) -> list[Path]:
    return sorted((checkout.root / "results/suite").glob("*"))


def answer(checkout: FakeCheckout) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((answers(checkout)[-1] / "record.json").read_text())
    return document


def undisturbed(checkout: FakeCheckout) -> None:
    """Let the environment checks of every run pass, because this machine may be busy, and write the page again."""
    for path in (checkout.root / "results").glob("*/*/run.json"):
        document = json.loads(path.read_text())
        for check in document["validity"]["checks"]:
            if check["environment"]:
                check["outcome"] = "pass"
        path.write_text(json.dumps(document))
    page.write(Checkout(checkout.root), Answer.read(answers(checkout)[-1] / "record.json"))


def test_a_suite_runs_every_experiment_once_a_round_and_writes_its_page(pair: FakeCheckout) -> None:
    code, output = pair.lab("suite", "pair", "--rounds", "2", "--seed", "3", *QUICK)
    assert code == 0, output
    document = answer(pair)
    assert document["state"] == "complete"
    assert document["seed"] == 3
    rounds = Counter((run["experiment"], run["round"]) for run in document["runs"])
    assert set(rounds.values()) == {1}, "a disturbed run is repeated in its place"
    assert len(rounds) == 4
    profiled = {run["round"] for run in document["runs"] if run["overrides"].get("profile") != "off"}
    assert profiled == {2}
    assert "run 4 of 4" in output
    assert "too few starts to judge: 2 of fake, at least 6" in output
    text = (answers(pair)[-1] / "suite.html").read_text()
    for run in document["runs"]:
        assert f"../../{run['run']}/report.html" in text
        assert (pair.root / "results" / run["run"] / "report.html").is_file()
    assert "http://" not in re.sub(r"http://www.w3.org/\S+", "", text)
    assert nothing_is_left(pair)


def test_six_rounds_are_judged(pair: FakeCheckout) -> None:
    code, output = pair.lab("suite", "pair", "--rounds", "6", *QUICK, "--profile", "off")
    assert code == 0, output
    undisturbed(pair)
    text = (answers(pair)[-1] / "suite.md").read_text()
    assert "| Both keep up. | reproduced |" in text
    assert "| The other one is better. | not reproduced |" in text
    assert "**Published findings: 1 reproduced, 1 not reproduced**" in text


def test_an_interrupted_suite_resumes_without_repeating_a_finished_run(pair: FakeCheckout) -> None:
    process = pair.start("suite", "pair", "--rounds", "2", *QUICK, "--profile", "off")
    assert process.stdout is not None
    printed = []
    for line in process.stdout:
        printed.append(line)
        if "run 2 of 4" in line:
            os.kill(process.pid, signal.SIGINT)
            break
    printed += process.stdout.readlines()
    assert process.wait(LIMIT_S) == 130, "".join(printed)
    assert "1 of 4 runs are kept" in "".join(printed)
    assert nothing_is_left(pair)
    before = answer(pair)
    assert before["state"] == "incomplete"
    finished = [run["run"] for run in before["runs"] if run["run"]]
    assert len(finished) == 1
    assert "runs missing" in (answers(pair)[-1] / "suite.html").read_text()

    code, output = pair.lab("suite", "pair", "--rounds", "3", *QUICK, "--profile", "off", RESUME="1")
    assert code == 2, output
    assert "RESUME=1: there is no incomplete suite of pair with this request" in output
    assert f"results/suite/{before['id']} is incomplete, but has rounds 2 instead of 3." in output
    assert len(answers(pair)) == 1, "nothing was begun"
    code, output = pair.lab("suite", "pair", "--rounds", "2", *QUICK, "--profile", "off", RESUME="1")
    assert code == 0, output
    assert "1 of them there already" in output
    after = json.loads((answers(pair)[0] / "record.json").read_text())
    assert after["state"] == "complete"
    assert finished[0] in [one for run in after["runs"] for one in (run["run"], *run["disturbed"])]
    assert after["seed"] == before["seed"]
    code, output = pair.lab("suite", "pair", "--rounds", "2", *QUICK, "--profile", "off", RESUME="1")
    assert code == 2, "a complete suite is not repeated"
    assert "Without RESUME=1 a new one begins." in output


def test_a_half_written_run_is_never_used(pair: FakeCheckout) -> None:
    code, output = pair.lab("suite", "pair", "--rounds", "2", *QUICK, "--profile", "off")
    assert code == 0, output
    lab_checkout = Checkout(pair.root)
    suite, cases = read_suite(lab_checkout, "pair")
    document = Answer.read(answers(pair)[-1] / "record.json")
    half = document.runs[0]
    assert half.run is not None
    path = lab_checkout.results / half.run / "run.json"
    undisturbed(pair)
    path.write_text(path.read_text().replace('"complete": true', '"complete": false'))
    figures = collect(Catalogue(lab_checkout), lab_checkout.results, document, suite, cases)
    found = figures[half.experiment]
    assert half.run in found.incomplete
    assert half.run not in {start.run for start in found.starts}
    assert found.latency.count == 100, "of the other start alone"
    page.write(lab_checkout, document)
    assert "1 run did not end well and is not used" in (answers(pair)[-1] / "suite.md").read_text()


def test_a_run_that_fails_leaves_a_page_and_is_repeated_by_resume(pair: FakeCheckout) -> None:
    pair.experiment("other", title="Another", service={"variant": "dies-at-start"})
    code, output = pair.lab("suite", "pair", "--rounds", "1", *QUICK, "--profile", "off")
    assert code == 1
    assert "1 of 2 runs failed" in output
    assert "there is no undisturbed start of other" in (answers(pair)[-1] / "suite.md").read_text()
    pair.experiment("other", title="Another", service={"variant": "queue"})
    code, output = pair.lab("suite", "pair", "--rounds", "1", *QUICK, "--profile", "off", RESUME="1")
    assert code == 0, output
    repeated = [len(run["disturbed"]) for run in answer(pair)["runs"] if run["experiment"] == "fake"]
    assert len(pair.runs("fake")) == 1 + sum(repeated)


def test_rates_are_scaled(pair: FakeCheckout) -> None:
    code, output = pair.lab("suite", "pair", "--rounds", "1", *QUICK, "--profile", "off", "--scale", "0.3")
    assert code == 0, output
    assert pair.manifest()["experiment"]["overrides"]["rate"] == 30
    for wrong in ("0", "-1", "abc", "nan"):
        code, output = pair.lab("suite", "pair", f"--scale={wrong}")
        assert code == 2
        assert f"SCALE={wrong}" in output
        assert not list((pair.root / "results/suite").glob(f"*/never-{wrong}"))


def test_rounds_are_shuffled_by_their_seed_and_sweeps_are_cases_of_their_own(pair: FakeCheckout) -> None:
    load = {"script": "get.lua", "rate": [100, 200, 300], "threads": 1, "connections": 1, "duration": "1s"}
    pair.experiment("swept", title="A sweep", load=load)
    pair.write("experiments/suites/swept.yaml", "title: A\nquestion: B?\nexperiments: ['swe*', fake]\n")
    lab_checkout = Checkout(pair.root)
    _, cases = read_suite(lab_checkout, "swept")
    assert [str(case) for case in cases] == ["swept@100", "swept@200", "swept@300", "fake"]
    assert Case("swept", 100) in cases
    plans = [plan_rounds(Catalogue(lab_checkout), cases, 6, {}, seed=seed, times={}) for seed in (1, 1, 2)]
    assert plans[0] == plans[1] != plans[2]
    orders = {
        tuple((one.experiment, one.overrides.get("rate")) for one in plans[0] if one.round == number)
        for number in range(1, 7)
    }
    assert len(orders) > 1
    assert {len(order) for order in orders} == {4}


def test_a_group_has_the_times_of_its_baseline(pair: FakeCheckout) -> None:
    load = {"script": "get.lua", "rate": 100, "threads": 1, "connections": 1, "duration": "3s", "warmup": "1s"}
    pair.experiment("other", title="Another", service={"variant": "queue"}, load=load)
    code, output = pair.lab("suite", "pair", "--rounds", "1", *QUICK, "--profile", "off")
    assert code == 0, output
    resolved = {run["experiment"]: run["overrides"] for run in answer(pair)["runs"]}
    assert {name: one.get("duration") for name, one in resolved.items()} == {"fake": None, "other": "1s"}
    assert "Duration 1s, as fake declares, for other" in (answers(pair)[-1] / "suite.md").read_text()
    code, output = pair.lab("suite", "pair", "--rounds", "1", "--profile", "off", "--duration", "2s")
    assert code == 0, output
    assert {run["overrides"]["duration"] for run in answer(pair)["runs"]} == {"2s"}, "the user's counts for all"


def test_groups_that_share_an_experiment_have_one_leader() -> None:
    groups = {
        "A": {"baseline": "a", "others": "b"},
        "B": {"baseline": "c", "others": "d"},
        "C": {"baseline": "e", "others": ["b", "c"]},
        "D": {"baseline": "x@20", "others": "y"},
    }
    suite = Suite.model_validate({"title": "T", "question": "Q?", "groups": groups})
    assert suite.leaders == {**dict.fromkeys("abcde", "a"), "x": "x", "y": "x"}


def test_the_page_of_fitted_rates_names_the_factors(pair: FakeCheckout) -> None:
    load = {"script": "get.lua", "rate": [100, 300], "threads": 1, "connections": 1, "duration": "1s"}
    pair.experiment("swept", title="A sweep", load=load)
    pair.write("experiments/suites/pair.yaml", f"{SUITE}experiments: [swept]\n")
    lab_checkout = Checkout(pair.root)
    _, cases = read_suite(lab_checkout, "pair")
    scales = {"fake": "0.413000", "other": "0.413000", "swept": "1"}
    planned = plan_rounds(Catalogue(lab_checkout), cases, 1, {}, seed=1, times={}, scales=scales)
    answer = make_answer(lab_checkout.results, "suite", "pair", {"scale": "auto"}, planned, seed=1)

    def told() -> str:
        page.write(lab_checkout, answer)
        return (answer.directory(lab_checkout.results) / "suite.md").read_text()

    factors = "Every declared rate is fitted to this machine: factor 0.413 for fake, other; as declared for swept."
    assert factors in told().replace("other, fake", "fake, other")
    for run in answer.runs:
        run.overrides["scale" if run.experiment != "swept" else "rate"] = run.label.partition("@")[2] or "1"
    assert "Fitted to this machine, every rate stays as declared." in told()
    for run in answer.runs:
        run.overrides["scale" if run.experiment != "swept" else "rate"] = "1.04" if run.experiment != "swept" else "104"
    assert "factor 1.04 for" in told(), "it is not 1"
    answer.request["scale"] = "0.3"
    assert "Every declared rate is multiplied by 0.3." in told()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("experiments: [fak]\n", "suites/odd.yaml:3: no experiment named 'fak'; did you mean fake?"),
        ('source: "a\\eb"\n', "odd.yaml:3: has the control character U+001B: write it without"),
        ("experiment: [fake]\n", "odd.yaml:3: unknown key experiment; did you mean experiments?"),
        ("experiments: [fake@5]\n", "'fake@5': no such rate: it is not a sweep"),
        (
            "experiments: [fake]\nfindings:\n  - {says: x, rule: {kind: kept, of: other, low: 1}}\n",
            "odd.yaml:5: 'other' is not run in this suite",
        ),
        (
            "groups:\n  GET: {baseline: fake, others: [other, slower]}\n",
            "odd.yaml:4: slower and fake are compared, but not under the same load: rate_per_s: 50 against 100",
        ),
        (
            "experiments: [fake, longer]\nfindings:\n"
            "  - {says: x, rule: {kind: ratio, metric: p99, of: longer, to: fake, low: 1}}\n",
            "odd.yaml:5: longer and fake are compared, but not under the same load: duration_s: 3.0 against 1.0",
        ),
    ],
)  # fmt: skip
def test_a_declaration_that_is_wrong_names_file_line_and_key(pair: FakeCheckout, text: str, message: str) -> None:
    load = {"script": "get.lua", "threads": 1, "connections": 1}
    pair.experiment("slower", title="Slower", load={**load, "rate": 50, "duration": "1s"})
    pair.experiment("longer", title="Longer", load={**load, "rate": 100, "duration": "3s"})
    pair.write("experiments/suites/odd.yaml", f"title: A\nquestion: B\n{text}")
    code, output = pair.lab("suite", "odd")
    assert code == 2
    assert message in output
    assert not (pair.root / "results").exists()


def test_an_unknown_suite_is_an_error_that_names_similar_ones(pair: FakeCheckout) -> None:
    code, output = pair.lab("suite", "pear")
    assert code == 2
    assert "no suite named 'pear'" in output
    assert "Close to it: pair" in output


def test_every_suite_of_this_checkout_is_sound() -> None:
    lab_checkout = Checkout(Path(__file__).resolve().parents[3])
    names = suite_names(lab_checkout)
    assert {"queues", "array-queue-vs-stack", "sync-vs-async", "one-connection", "long", "variants", "lsm-knobs", "all"} <= set(names)  # fmt: skip  # noqa: E501
    for name in names:
        suite, cases = read_suite(lab_checkout, name)
        assert cases
        assert suite.question.endswith("?")
    _, everything = read_suite(lab_checkout, "all")
    assert {case.experiment for case in everything} == set(Catalogue(lab_checkout).names())


def test_a_disturbed_run_is_repeated_once_in_its_place(pair: FakeCheckout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_ROOT", str(pair.root))
    monkeypatch.setenv("LAB_LOCK", str(pair.root / ".cache/run.lock"))
    monkeypatch.setenv("FAKE_LOADGEN_STARTED", str(pair.root / ".cache/loads"))
    lab_checkout = Checkout(pair.root)
    asked: Counter[str] = Counter()

    def always_disturbed_once(manifest: Manifest) -> list[str]:
        name = manifest.experiment.name
        asked[name] += 1
        return ["a backup"] if name == "other" else []

    monkeypatch.setattr(suite_run, "troubles_of", always_disturbed_once)
    monkeypatch.setattr(suite_run, "BLOCKS_MIN", 1)
    place = Place(
        lab_checkout,
        lambda: LocalRuntime(lab_checkout),
        "local",
        plan_cpus({}),
        Ports(0, 0, free_port()),
        monitoring=False,
    )
    request = SuiteRequest("pair", rounds=1, overrides={"warmup": "0s", "profile": "off"})
    console = Console(record=True, width=200)
    run_suite(place, request, console)
    assert "1 run was disturbed by something else on this machine and is repeated" in console.export_text()
    (kept,) = (run for run in answer(pair)["runs"] if run["experiment"] == "other")
    assert len(kept["disturbed"]) == 1
    assert kept["run"] not in kept["disturbed"]
    assert len(pair.runs("other")) == 2
    assert len(pair.runs("fake")) == 1


def test_disturbed_runs_are_left_out_of_every_claim_unless_they_are_forced_in(pair: FakeCheckout) -> None:
    code, output = pair.lab("suite", "pair", "--rounds", "1", "--profile", "off", "--force", *QUICK, FAKE_STEAL="0.5")
    assert code == 0, output
    directory = answers(pair)[-1]
    assert "FORCE=1: 2 of the runs that the claims rest on were disturbed" in (directory / "suite.md").read_text()
    document = answer(pair)
    del document["request"]["force"]
    page.write(Checkout(pair.root), Answer.model_validate(document))
    text = (directory / "suite.md").read_text()
    assert "2 runs were disturbed by something else on this machine and left out of every claim" in text
    assert "FORCE=1" not in text


def test_a_page_says_how_many_of_its_runs_were_not_steady(pair: FakeCheckout) -> None:
    code, output = pair.lab("suite", "pair", "--rounds", "1", "--profile", "off", *QUICK)
    assert code == 0, output
    caution = "of the 2 runs that the claims rest on had no steady state"
    assert caution not in (answers(pair)[-1] / "suite.md").read_text()
    (run,) = pair.runs("other")
    manifest = Manifest.read(run / "run.json")
    assert manifest.validity is not None
    steady = next(check for check in manifest.validity.checks if check.name == "steady state")
    steady.outcome = "warn"
    manifest.write(run / "run.json")
    page.write(Checkout(pair.root), Answer.model_validate(answer(pair)))
    assert f"1 {caution}" in (answers(pair)[-1] / "suite.md").read_text()
