"""A suite of two experiments with the real service: both runs are whole, and the page shows them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from .browser import console_errors
from .conftest import CHECKOUT, make, require

OVERHEAD_MAX_S = {"local": 10.0, "docker": 20.0}
"""What a repetition may take beyond warm-up and measurement; 5 s were measured on a quiet machine of two CPUs."""

NO_OVERHEAD = ("build", "dataset", "warm-up", "measure", "profile")


def seconds(phase: dict) -> float:
    ended, began = (datetime.fromisoformat(phase[key]) for key in ("end", "start"))
    return (ended - began).total_seconds()


@dataclass(frozen=True)
class FinishedSuite:
    """What `make suite` left: its runtime and the directory of its page."""

    runtime: str
    directory: Path

    def runs(self) -> list[tuple[str, dict]]:
        """Return the experiment and the manifest of each run."""
        answer = json.loads((self.directory / "answer.json").read_text())
        assert answer["state"] == "complete"
        paths = [(run["experiment"], CHECKOUT / "results" / run["run"] / "run.json") for run in answer["runs"]]
        return [(name, json.loads(path.read_text())) for name, path in paths]


@pytest.fixture(scope="module", params=["local", "docker"])
def finished_suite(request: pytest.FixtureRequest) -> FinishedSuite:
    runtime: str = request.param
    require(runtime)
    before = set((CHECKOUT / "results/suite").glob("*"))
    words = ["NAME=long", "ROUNDS=1", "SCALE=0.1", "DURATION=3s", "WARMUP=1s", f"RUNTIME={runtime}"]
    done = make("suite", *words)
    assert done.returncode == 0, done.stdout[-4000:]
    (directory,) = set((CHECKOUT / "results/suite").glob("*")) - before
    return FinishedSuite(runtime, directory)


@pytest.mark.torture
def test_a_repetition_takes_little_more_time_than_its_load(finished_suite: FinishedSuite) -> None:
    for _, manifest in finished_suite.runs():
        spent = [(phase["name"], seconds(phase)) for phase in manifest["phases"] if phase["name"] not in NO_OVERHEAD]
        assert sum(took for _, took in spent) / 2 < OVERHEAD_MAX_S[finished_suite.runtime], spent


@pytest.mark.browser
def test_a_suite_of_two_experiments_ends_with_its_page(finished_suite: FinishedSuite) -> None:
    directory, rates = finished_suite.directory, {}
    for experiment, manifest in finished_suite.runs():
        assert manifest["complete"]
        assert manifest["runtime"] == finished_suite.runtime
        assert manifest["summary"]["profiled"]["requests"] > 0
        rates[experiment] = manifest["summary"]["rate_offered_per_s"]
    assert rates == {"array-queue-put-80k-5m": 8000, "array-queue-get-2k": 200}
    page = (directory / "suite.html").read_text()
    # What else ran on the machine decides which of the two the page has to say.
    why = ("Published at 80,000/s, and 8,000/s were offered", "no undisturbed start of array-queue-put-80k-5m")
    assert [reason in page for reason in why].count(True) == 1
    assert page.count("data:image/webp") == 2
    assert console_errors(directory / "suite.html") == []
