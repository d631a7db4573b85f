"""A search as users start it, with a fake load generator that keeps up, or saturates at a known rate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab.calibration import Calibration
from support.checkout import FakeCheckout, nothing_is_left

CEILING_PER_S = 150


def calibrated(checkout: FakeCheckout) -> None:
    known = {"measured_at": "2026-11-23T12:00:00Z", "fingerprint": None, "floor_ms": {}, "fsync_ms": {}, "pairs": 6,
             "experiment": "fake", "starts": 4, "smallest_difference": {}, "verdicts": {}}  # fmt: skip
    calibration = Calibration.model_validate_json(json.dumps({**known, "ceiling_per_s": CEILING_PER_S}))
    checkout.write(".cache/calibration.json", calibration.model_dump_json())


def answer_in(checkout: FakeCheckout) -> tuple[Path, dict[str, Any]]:
    (path,) = (checkout.root / "results/search").glob("*/record.json")
    return path, json.loads(path.read_text())


def test_a_limit_that_is_never_broken_ends_at_the_calibrated_ceiling_and_can_be_resumed(checkout: FakeCheckout) -> None:
    checkout.experiment("fake", dataset=None)
    calibrated(checkout)
    words = ("search", "fake", "p50<10ms", "--duration", "1s", "--warmup", "0s", "--variant", "queue")
    code, output = checkout.lab(*words)
    assert code == 0, output
    assert f"was never breached, up to {CEILING_PER_S}/s, which is as much as can be sent: a lower bound" in output
    path, answer = answer_in(checkout)
    rates = [step["rate_per_s"] for step in answer["result"]["steps"]]
    assert rates == [24, 48, 96, 150, 150]
    assert "run 2: fake" in output, "nobody knows yet how many there will be"
    assert (answer["state"], answer["result"]["ended"]) == ("complete", "lower bound")
    assert answer["result"]["high_per_s"] is None
    manifest = checkout.manifest()
    assert manifest["experiment"]["overrides"]["variant"] == "queue"
    assert manifest["experiment"]["rate"]["how"] == "given"
    assert not any(phase["name"] == "profile" and phase["outcome"] == "ok" for phase in manifest["phases"])
    answer["state"] = "incomplete"
    answer["runs"] = answer["runs"][:-1]
    path.write_text(json.dumps(answer))
    code, output = checkout.lab(*words, "--resume")
    assert code == 0, output
    assert len(checkout.runs()) == len(rates) + 1, "only the missing step is made"
    path, answer = answer_in(checkout)
    assert answer["result"]["rate_per_s"] == CEILING_PER_S
    assert answer["request"]["runtime"] == "local"
    answer["state"] = "incomplete"
    answer["request"]["runtime"] = "docker"
    path.write_text(json.dumps(answer))
    code, output = checkout.lab(*words, "--resume")
    assert code == 2, "the search of another runtime is another search"
    assert "RESUME=1: there is no incomplete search of fake with this request" in output
    assert "is incomplete, but has runtime docker instead of local." in output
    assert len(list(path.parent.parent.glob("*/record.json"))) == 1, output
    assert nothing_is_left(checkout)


def test_a_saturation_is_found_and_its_page_has_every_step(checkout: FakeCheckout) -> None:
    checkout.experiment("fake", dataset=None)
    words = ("search", "fake", "p50<10ms", "--duration", "1s", "--warmup", "0s")
    code, output = checkout.lab(*words, FAKE_SATURATED_AT_PER_S="900")
    assert code == 0, output
    path, answer = answer_in(checkout)
    result = answer["result"]
    assert (answer["state"], result["ended"]) == ("complete", "found"), output
    assert result["rate_per_s"] == pytest.approx(900, rel=0.05), output
    assert result["low_per_s"] * 0.98 <= 900 <= result["high_per_s"] * 1.02
    assert len(answer["runs"]) == len(result["steps"])
    page = (path.parent / "search.html").read_text()
    assert "90% interval" in page
    for step in result["steps"]:
        assert (checkout.root / "results" / step["run"] / "report.html").is_file()
        assert f"../../{step['run']}/report.html" in page
    assert nothing_is_left(checkout)


def test_a_search_in_which_no_step_can_tell_has_no_answer_and_says_why(checkout: FakeCheckout) -> None:
    """The latency is over the limit by the load generator's own delays at every rate."""
    checkout.experiment("fake", dataset=None)
    words = ("search", "fake", "p50<250us", "--duration", "1s", "--warmup", "0s")
    code, output = checkout.lab(*words, FAKE_GENERATOR_DELAY_US="600")
    assert code == 0, output
    path, answer = answer_in(checkout)
    result = answer["result"]
    assert [result[key] for key in ("ended", "rate_per_s", "low_per_s", "high_per_s")] == [
        "no answer",
        None,
        None,
        None,
    ]
    assert "fake: No answer: down to 24/s no step can tell if p50<250us holds: p50 is " in output
    assert "without the load generator's own delays" in result["sentence"]
    assert {step["rate_per_s"] for step in result["steps"]} == {result["bounds"]["lowest_per_s"]}
    page = (path.parent / "search.html").read_text()
    assert "no answer" in page
    assert "90% interval" not in page.partition("<table")[0]


def test_too_few_requests_for_the_percentile_at_any_rate_are_bad_input(checkout: FakeCheckout) -> None:
    calibrated(checkout)
    code, output = checkout.lab("search", "fake", "p99.99<10ms", "--duration", "1s")
    assert code == 2, output
    assert "a step has too few requests for that percentile, even at 150/s" in output
    assert not (checkout.root / "results").exists()


def test_a_bad_capacity_changes_nothing(checkout: FakeCheckout) -> None:
    for words in (("capacity", "fake", "--rate", "3"), ("capacity", "fake", "--variant"), ("capacity", "nonesuch")):
        code, output = checkout.lab(*words)
        assert code == 2, output
    assert not (checkout.root / "results").exists()
    assert not (checkout.root / ".cache/capacity.json").exists()
