"""Makes every page that the lab writes, from run directories of `report.synthesis`, for the browser tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from lab import report
from lab.analysis.outputs import measured_sources, read_outputs
from lab.compare import page as compare_page
from lab.compare.judging import Question, judge_blocks
from lab.compare.measurement import Measured, of_outputs
from lab.compare.record import Block, ComparisonRecord, DesignRecord, SideRecord, Window
from lab.experiment import Catalogue, Experiment
from lab.history.page import write_index
from lab.paths import Checkout
from lab.rates.page import write_sweep_page
from lab.search.page import write_search_page
from lab.series import Answer, PlannedRun, make_answer
from lab.suite import page as suite_page
from report.synthesis import BEGAN, Shape, make_run
from support.checkout import FakeCheckout

ID = "20261123T120000Z"
SUITE = """\
title: Queue against stack against no pool
question: Does a pool of workers pay, and in which order should it take requests?
source: report Z
groups:
  GET: {baseline: sync-get, others: [queue-get, a-variant-with-a-long-name-get]}
experiments: [other, swept]
findings:
  - says: GET is about 6% worse with any pool.
    rule: {kind: ratio, metric: p99, of: queue-get, to: sync-get, low: 1.0}
  - says: All of them keep up.
    rule: {kind: kept, of: [sync-get, queue-get], low: 0.99}
  - says: The lock is the queue's.
    rule: {kind: share, event: lock, categories: [queue], of: queue-get, low: 0.7}
"""
SUITE_CAPACITY = {"queue-get": 1300.0}
ROUNDS = 6
SWEPT = (500, 1000)
SEARCHED = (8_750, 17_500, 35_000, 24_700, 29_100, 27_000, 27_900, 28_600, 28_200, 28_350)
TRUE_PER_S = 28_300


def a_run(results: Path, name: str, run_id: str, shape: Shape) -> str:
    """Make a run with its report; return its name below `results`."""
    directory = make_run(results / name / run_id, shape)
    document = json.loads((directory / "run.json").read_text())
    document["run_id"], document["experiment"]["name"] = run_id, name
    (directory / "run.json").write_text(json.dumps(document))
    report.write(directory)
    return f"{name}/{run_id}"


def make_report(root: Path) -> Path:
    """The report of a run with two repetitions and a profile."""
    return (
        root
        / a_run(root, "stack-get", BEGAN.strftime("%Y%m%dT%H%M%SZ"), Shape(repetitions=2, seconds=5))
        / "report.html"
    )


def make_suite(root: Path) -> tuple[Checkout, Answer]:
    """A suite of four experiments and six rounds, and a sweep that ran once.

    One of its services is saturated, one of its runs is incomplete.
    """
    fake = FakeCheckout(root).build()
    checkout = Checkout(fake.root)
    planned = []
    for at, name in enumerate(("sync-get", "queue-get", "a-variant-with-a-long-name-get", "other")):
        reference = {"source": "report Z", "requests_per_second": 64580.78, "latency": {"p50": "3.13s", "max": "4.8s"}}
        fake.experiment(name, title=name, service={"variant": "sync"}, reference=reference)
        for number in range(1, ROUNDS + 1):
            shape = Shape(rate=1500, seconds=4, seed=10 * at + number, profiled=number == ROUNDS,
                          capacity=SUITE_CAPACITY.get(name, 9000.0), jit=0.1 * at)  # fmt: skip
            run = a_run(checkout.results, name, f"20261121T0914{number:02d}Z", shape)
            planned.append(PlannedRun(experiment=name, round=number, run=run))
    planned.append(PlannedRun(experiment="other", round=ROUNDS, attempts=["other/20261121T091455Z"]))
    load = {"script": "put.lua", "rate": list(SWEPT), "threads": 1, "connections": 1, "duration": "4s"}
    fake.experiment("swept", title="swept", load=load)
    for number, rate in enumerate(SWEPT, 1):
        run = a_run(checkout.results, "swept", f"20261121T09150{number}Z", Shape(rate=rate, seconds=3, profiled=False))
        planned.append(PlannedRun(experiment="swept", label=f"swept@{rate}", run=run))
    fake.write("experiments/suites/pages.yaml", SUITE)
    answer = make_answer(checkout.results, "suite", "pages", {"overrides": {"duration": "4s"}}, planned, seed=7)
    suite_page.write(checkout, answer)
    return checkout, answer


def make_suite_page(root: Path) -> Path:
    """The page of that suite."""
    checkout, answer = make_suite(root / "checkout")
    return answer.directory(checkout.results) / suite_page.PAGE


def make_search(root: Path) -> Path:
    """A search of ten steps, one of them disturbed, that found its rate."""
    fake = FakeCheckout(root / "checkout").build()
    results = Checkout(fake.root).results
    steps = [_step(results, number, rate) for number, rate in enumerate(SEARCHED)]
    result = {"ended": "found", "rate_per_s": 28_240.0, "low_per_s": 27_700.0, "high_per_s": 28_900.0, "steps": steps,
              "sentence": "fake: p99.9<100ms holds up to 28,240/s (90% interval 27,700 to 28,900/s)"}  # fmt: skip
    request = {"slo": "p99.9<100ms", "overrides": {"warmup": "5s"}}
    return write_search_page(results, _answer(results, "search", request=request, result=result), _fake(fake))


def _step(results: Path, number: int, rate: int) -> dict[str, object]:
    holds, load = rate < TRUE_PER_S, min(rate / TRUE_PER_S, 0.985)
    ms = 0.3 / (1 - load) * (1 if rate < 1.1 * TRUE_PER_S else 90)
    disturbed = ["the hypervisor took 12% of a CPU of the service in second 4"] if rate == 29_100 else []
    run = results / "fake" / f"20261123T1200{number:02}Z"
    run.mkdir(parents=True)
    (run / "report.html").write_text("<!doctype html><title>report</title>")
    return {
        "rate_per_s": rate,
        "holds": "yes" if holds else "no",
        "why": f"p99.9 is {ms * 8:.1f} ms",
        "run": f"fake/{run.name}",
        "served_per_s": min(rate, TRUE_PER_S) * 1.0,
        "requests": rate * 10,
        "percentiles_ms": {"50": ms, "99": ms * 4, "99.9": ms * 8, "100": ms * 12},
        "disturbed": disturbed,
        "counted": not disturbed,
    }


def make_sweep(root: Path) -> Path:
    """A sweep of five rates, the last of which is missing."""
    fake = FakeCheckout(root / "checkout").build()
    results = Checkout(fake.root).results
    answer = _answer(results, "sweep", request={}, state="incomplete")
    for number, rate in enumerate((500, 1_000, 2_000, 3_000), 1):
        shape = Shape(rate=rate, seconds=3, profiled=False, capacity=2_500.0)
        answer.runs.append(PlannedRun(experiment="fake", run=a_run(results, "fake", f"2026112{number}T120000Z", shape)))
    answer.runs.append(PlannedRun(experiment="fake", overrides={"rate": "4000"}))
    return write_sweep_page(results, answer, _fake(fake))


def _answer(results: Path, kind: str, **rest: object) -> Answer:
    (results / kind / ID).mkdir(parents=True)
    answer = Answer.model_validate({"kind": kind, "id": ID, "name": "fake", "seed": 0, "runs": [], **rest})
    answer.write(results)
    return answer


def _fake(checkout: FakeCheckout) -> Experiment:
    return Catalogue(Checkout(checkout.root)).read("fake")


def make_comparison(root: Path, *, three: bool = False) -> Path:
    """A comparison in turns of eight blocks; B is slower. With `three`, C is as fast as A."""
    directory = root / "compare" / ID
    rate, blocks = 1500, 8
    measured: dict[str, list[Measured]] = {}
    for side, slower in (("a", 1.0), ("b", 1.3), *([("c", 1.0)] if three else [])):
        make_run(directory / side, Shape(rate=rate, repetitions=blocks, seconds=3, seed=ord(side), level=(3, slower)))
        report.write(directory / side)
        measured[side] = [
            replace(of_outputs(outputs, float(rate)), cpu_s=0.1 * slower)
            for source in measured_sources(directory / side)
            if (outputs := read_outputs(directory / side, source)) is not None
        ]
    names = ("queue-get", "stack-get VARIANT=a-long-name", "mpmc-get")
    record = ComparisonRecord(
        id=ID,
        how="in turns",
        state="complete",
        runtime="local",
        sides=[
            SideRecord(label=label, name=label.partition(" ")[0], title="GET at 1,500/s, some order", directory=side)
            for side, label in zip(measured, names, strict=False)
        ],
        compared=["service.variant: queue against stack"],
        design=DesignRecord(blocks=blocks, within=0.05, seed=3,
                            orders=["abc"[: len(measured)]] * blocks, windows=1, window_s=3.0, warmup_s=1.0),
        blocks=[
            Block(number=n, order="abc"[: len(measured)],
                  windows=[Window(side=side, source=f"measure/{n}", start=BEGAN, end=BEGAN) for side in measured])
            for n in range(1, blocks + 1)
        ],
        results=[
            judge_blocks(measured["a"], of_side, Question(0.05), (names[0], name))
            for (side, of_side), name in zip(measured.items(), names, strict=False)
            if side != "a"
        ],
    )  # fmt: skip
    record.write(root)
    compare_page.write(directory, record)
    return directory / compare_page.PAGE


def make_history(root: Path) -> Path:
    """The list of a dozen runs of three experiments."""
    checkout = Checkout(FakeCheckout(root / "checkout").build().root)
    for number in range(12):
        name = ("stack-get", "queue-get", "a-variant-with-a-long-name-get")[number % 3]
        shape = Shape(seconds=3, profiled=False, seed=number, steal=0.04 if number == 5 else 0.0)
        a_run(checkout.results, name, f"202611{10 + number}T0914{number:02d}Z", shape)
    return write_index(checkout)


MAKERS: dict[str, Callable[[Path], Path]] = {
    "report": make_report,
    "suite": make_suite_page,
    "search": make_search,
    "sweep": make_sweep,
    "comparison": make_comparison,
    "comparison of three": partial(make_comparison, three=True),
    "history": make_history,
}
