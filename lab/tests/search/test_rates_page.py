"""The pages of sweeps and searches: every figure links to its run, nothing is fetched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.experiment import Catalogue, Experiment, Reference
from lab.manifest import Manifest
from lab.paths import Checkout
from lab.rates.page import write_sweep_page
from lab.search.page import write_search_page
from lab.series import Answer, PlannedRun
from report.synthesis import Shape, make_run
from support.checkout import FakeCheckout

ID = "20261123T120000Z"


@pytest.fixture
def experiment(checkout: FakeCheckout) -> Experiment:
    return Catalogue(Checkout(checkout.root)).read("fake")


def answer_of(results: Path, kind: str, **rest: object) -> Answer:
    (results / kind / ID).mkdir(parents=True)
    return Answer.model_validate({"kind": kind, "id": ID, "name": "fake", "seed": 0, "runs": [], **rest})


def step(rate: int, holds: str, p99: float, run: str, **rest: object) -> dict[str, object]:
    figures = {
        "served_per_s": rate * 0.999,
        "requests": rate * 10,
        "percentiles_ms": {"50": 1.0, "99": p99, "100": 99.0},
    }
    return {"rate_per_s": rate, "holds": holds, "why": f"p99 is {p99} ms", "run": run, **figures, **rest}


@pytest.fixture
def search_page(tmp_path: Path, experiment: Experiment) -> tuple[str, str]:
    steps = [
        step(1_000, "yes", 2.0, "fake/20261123T120001Z"),
        step(2_000, "yes", 3.0, "fake/20261123T120002Z"),
        step(4_000, "no", 40.0, "fake/20261123T120003Z"),
        step(2_900, "no", 12.0, "fake/20261123T120004Z", counted=False, disturbed=["<b>steal</b> of a CPU"]),
        step(2_900, "yes", 8.0, "fake/20261123T120005Z"),
    ]
    result = {"ended": "found", "rate_per_s": 3_000.4, "low_per_s": 2_950.0, "high_per_s": 3_080.0, "steps": steps,
              "sentence": "fake: p99<10ms holds up to 3,000/s"}  # fmt: skip
    answer = answer_of(
        tmp_path, "search", request={"slo": "p99<10ms", "overrides": {"variant": "queue"}}, result=result
    )
    page = write_search_page(tmp_path, answer, experiment)
    return page.read_text(), page.with_suffix(".md").read_text()


def test_a_search_page_has_the_answer_each_step_and_its_run(search_page: tuple[str, str]) -> None:
    page, markdown = search_page
    assert "90% interval 2,950 to 3,080" in page
    for form in search_page:
        assert "Highest rate of fake with p99" in form
        for number in range(1, 6):
            assert f"../../fake/20261123T12000{number}Z/report.html" in form
    assert "variant queue" in page
    assert page.count('<svg class="plot') == 2
    assert "| 1 | 1,000 | 999 |" in markdown


def test_a_search_page_needs_nothing_from_elsewhere_and_shows_text_as_text(search_page: tuple[str, str]) -> None:
    page, _ = search_page
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", page)
    assert "<b>steal" not in page
    assert "&lt;b&gt;steal" in page


def test_a_disturbed_step_is_listed_and_not_drawn(search_page: tuple[str, str]) -> None:
    page, _ = search_page
    chart = page[page.index('id="chart-latency-by-rate"') : page.index('id="chart-served-by-rate"')]
    assert "2,900/s" in chart
    assert "12.0 ms" not in chart
    assert "made again" in page


def test_a_sweep_page_has_a_row_for_each_rate_with_its_verdict_and_published_figures(
    tmp_path: Path, experiment: Experiment
) -> None:
    runs = []
    for number, rate in enumerate((500, 1_000, 2_000)):
        run = f"fake/2026112{number}T120000Z"
        make_run(tmp_path / run, Shape(rate=rate, seconds=2, profiled=False))
        manifest = Manifest.read(tmp_path / run / "run.json")
        published = {"requests_per_second": 990.0 + rate, "rate": rate, "latency": {"p99": "3.5ms"}}
        changed = {"reference": Reference.model_validate(published)}
        manifest.experiment.resolved = manifest.experiment.resolved.model_copy(update=changed)
        manifest.write(tmp_path / run / "run.json")
        runs.append(PlannedRun(experiment="fake", run=run))
    answer = answer_of(tmp_path, "sweep", request={}, state="complete")
    answer.runs = [*runs, PlannedRun(experiment="fake", overrides={"rate": "4000"})]
    page = write_sweep_page(tmp_path, answer, experiment)
    text, markdown = page.read_text(), page.with_suffix(".md").read_text()
    for run in runs:
        assert f"../../{run.run}/report.html" in text
    assert "| 2 | 1,000 |" in markdown
    assert "1,990 | 3.50 ms" in markdown
    assert "1 of 4 rates were not measured" in text
