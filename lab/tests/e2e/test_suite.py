"""A suite of two experiments with the real service: both runs are whole, and the page shows them."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from .browser import console_errors
from .conftest import CHECKOUT, make, require

SLOWER = {"local": 1.0, "docker": 2.0}
"""What containers may add to the overhead of a repetition, 8 s at most in the local runtime."""


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
        began, ended = (datetime.fromisoformat(manifest["phases"][at][key]) for at, key in ((0, "start"), (-1, "end")))
        overhead_s = (ended - began).total_seconds() - 2 * (3 + 1)
        assert overhead_s / 2 < 8 * SLOWER[runtime], manifest["phases"]
    assert rates == {"array-queue-put-80k-5m": 8000, "array-queue-get-2k": 200}
    page = (directory / "suite.html").read_text()
    assert "too few starts to judge" in page
    assert page.count("data:image/webp") == 2
    assert console_errors(directory / "suite.html") == []
