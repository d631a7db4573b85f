"""A suite of two experiments with the real service: both runs are whole, and the page shows them."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from .browser import console_errors
from .conftest import CHECKOUT, make, require

OVERHEAD_MAX_S = {"local": 10.0, "docker": 20.0}
"""What a repetition may take beyond warm-up and measurement; 5 s were measured on a quiet machine of two CPUs."""

NO_OVERHEAD = ("build", "dataset", "warm-up", "measure", "profile")


def seconds(phase: dict) -> float:
    ended, began = (datetime.fromisoformat(phase[key]) for key in ("end", "start"))
    return (ended - began).total_seconds()


@pytest.mark.browser
@pytest.mark.parametrize("runtime", ["local", "docker"])
def test_a_suite_of_two_experiments_ends_with_its_page(runtime: str) -> None:
    require(runtime)
    before = set((CHECKOUT / "results/suite").glob("*"))
    words = ["NAME=long", "ROUNDS=1", "SCALE=0.1", "DURATION=3s", "WARMUP=1s", f"RUNTIME={runtime}"]
    done = make("suite", *words)
    assert done.returncode == 0, done.stdout[-4000:]
    (directory,) = set((CHECKOUT / "results/suite").glob("*")) - before
    answer = json.loads((directory / "answer.json").read_text())
    assert answer["state"] == "complete"
    rates = {}
    for planned in answer["runs"]:
        manifest = json.loads((CHECKOUT / "results" / planned["run"] / "run.json").read_text())
        assert manifest["complete"]
        assert manifest["runtime"] == runtime
        assert manifest["summary"]["profiled"]["requests"] > 0
        rates[planned["experiment"]] = manifest["summary"]["rate_offered_per_s"]
        spent = [(phase["name"], seconds(phase)) for phase in manifest["phases"] if phase["name"] not in NO_OVERHEAD]
        assert sum(took for _, took in spent) / 2 < OVERHEAD_MAX_S[runtime], spent
    assert rates == {"array-queue-put-80k-5m": 8000, "array-queue-get-2k": 200}
    page = (directory / "suite.html").read_text()
    # What else ran on the machine decides which of the two the page has to say.
    why = ("Published at 80,000/s, and 8,000/s were offered", "no undisturbed start of array-queue-put-80k-5m")
    assert [reason in page for reason in why].count(True) == 1
    assert page.count("data:image/webp") == 2
    assert console_errors(directory / "suite.html") == []
