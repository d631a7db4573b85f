"""The files of one comparison: `lab compare` is run once, from outside, on a checkout whose programs are fakes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.calibrated import calibration
from support.checkout import SCHEMA, FakeCheckout, nothing_is_left

QUICK = ("--blocks", "6", "--metric", "p50", "--profile", "off")
FIRST_LOAD_S, STEADY_AFTER_S = 3, 15
"""The first load of the pilot's warm-up, and when a start is steady, counted from the beginning of that load."""
SMALLEST = "p50 3.1% with 6 pairs of starts (sync-get at 20,000/s)"


def record(checkout: FakeCheckout) -> tuple[dict[str, Any], Path]:
    directory = checkout.runs("compare")[-1]
    return json.loads((directory / "record.json").read_text()), directory


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeCheckout, str]]:
    """Compare an experiment with a variant of itself, once, for the tests that look at the result."""
    checkout = FakeCheckout(tmp_path_factory.mktemp("compare")).build()
    checkout.write(".cache/calibration.json", calibration(smallest_difference={"p50": 0.031}).model_dump_json())
    checkout.environment |= {"FAKE_WARM_UP_TAKES_S": "0.1", "FAKE_STEADY_AFTER_S": str(STEADY_AFTER_S - FIRST_LOAD_S)}
    code, output = checkout.lab("compare", "fake", "fake VARIANT=queue", *QUICK, "--duration", "2s", "--seed", "3")
    assert code == 0, output
    yield checkout, output
    assert nothing_is_left(checkout)


def test_it_ends_with_a_verdict_in_one_sentence_and_a_page(done: tuple[FakeCheckout, str]) -> None:
    checkout, output = done
    found, directory = record(checkout)
    assert found["results"][0]["verdict"] == "same", "the fake load generator always reports the same latencies"
    assert "verdict: same within 5.0%" in output
    assert "fake VARIANT=queue is the same as fake within 5.0%: latency p50" in output
    assert str(Path("results/compare") / directory.name / "compare.html") in output
    assert "block 3 of 6 is over; about" in output
    assert f"smallest differences by calibration: {SMALLEST}" in output


def test_every_metric_that_is_measured_is_judged(done: tuple[FakeCheckout, str]) -> None:
    names = [metric["name"] for metric in record(done[0])[0]["results"][0]["metrics"]]
    assert {"p50", "p90", "throughput", "cpu", "switches", "alloc"} <= set(names), names


def test_every_block_has_a_fresh_start_of_each_side_and_windows_in_turns(done: tuple[FakeCheckout, str]) -> None:
    found, directory = record(done[0])
    assert [block["number"] for block in found["blocks"]] == [1, 2, 3, 4, 5, 6]
    assert [block["order"] for block in found["blocks"]] == found["design"]["orders"]
    assert sorted(found["design"]["orders"]) == ["ab"] * 3 + ["ba"] * 3
    for block in found["blocks"]:
        turns = "".join(window["side"] for window in block["windows"])
        assert turns == ("abba" if block["order"] == "ab" else "baab")
    for side in "ab":
        sources = [w["source"] for block in found["blocks"] for w in block["windows"] if w["side"] == side]
        assert sources == [f"measure/{n}" for n in range(1, 13)]
        starts = (directory / side / "service.log").read_text().count("ready data=")
        assert starts == 7, "a pilot, and one in each block"


def test_a_pilot_says_how_long_both_sides_are_warmed_up(done: tuple[FakeCheckout, str]) -> None:
    found, directory = record(done[0])
    design = found["design"]
    assert design["pilot"] == {"length_s": 60, "steady_s": [STEADY_AFTER_S] * 2}
    assert design["warmup_s"] == STEADY_AFTER_S
    where = "15 s, from a pilot of 60 s: A was steady after 15 s, B was steady after 15 s"
    assert where in (directory / "compare.html").read_text()
    assert f"warm-up of each start: {where}" in done[1]
    for side in "ab":
        run = json.loads((directory / side / "run.json").read_text())
        assert run["experiment"]["resolved"]["load"]["warmup_s"] == STEADY_AFTER_S
        assert "warmup" not in run["experiment"]["overrides"]
        assert not list(directory.glob(f"{side}/**/warm-up")), "the pilot's output is thrown away"


def test_both_services_are_alive_at_once_on_ports_of_their_own(done: tuple[FakeCheckout, str]) -> None:
    found, _ = record(done[0])
    windows = [window for block in found["blocks"] for window in block["windows"]]
    assert all(window["idle_cpu_s"] is not None for window in windows), "the idle service answered beside each window"
    assert all(window["service_cpu_s"] is not None for window in windows)
    assert found["results"][0]["idle_cpu_share"] < 0.5


def test_each_side_is_a_run_of_its_own(done: tuple[FakeCheckout, str]) -> None:
    checkout, _ = done
    _, directory = record(checkout)
    for side, variant in (("a", "stack"), ("b", "queue")):
        run = json.loads((directory / side / "run.json").read_text())
        jsonschema.validate(run, json.loads(SCHEMA.read_text()))
        assert run["complete"] is True
        assert run["experiment"]["resolved"]["service"]["variant"] == variant
        assert len(run["summary"]["repetitions"]) == 12
        assert (directory / side / "report.html").stat().st_size > 10_000
        assert (directory / side / "machine.csv").stat().st_size > 0


def test_the_page_says_what_was_compared_and_how(done: tuple[FakeCheckout, str]) -> None:
    _, directory = record(done[0])
    page = (directory / "compare.html").read_text()
    for text in ("same within 5.0%", "service.variant: stack against queue", "6 blocks", 'id="chart-ratios"',
                 'href="a/report.html"', 'href="b/report.html"', "Seed of the order", SMALLEST):  # fmt: skip
        assert text in page, text
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "| Latency p50, declared |" in (directory / "compare.md").read_text()
