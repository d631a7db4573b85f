"""The page of a suite in headless Chromium: no errors, nothing fetched, every width, light and dark, links resolve."""

from __future__ import annotations

import json
import re
import urllib.parse
import xml.etree.ElementTree
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from lab import report
from lab.errors import InputError
from lab.paths import Checkout
from lab.series import Answer, PlannedRun, make_answer
from lab.suite import page
from lab.suite.publish import publish
from report.synthesis import Shape, make_run
from support.checkout import FakeCheckout
from support.chromium import CLIPPED_TEXT, LOW_CONTRAST, OVERFLOWING, TOUCHING_TICKS, entries, open_page

pytestmark = pytest.mark.browser

SUITE = """\
title: Queue against stack against no pool
question: Does a pool of workers pay, and in which order should it take requests?
source: report Z
groups:
  GET: {baseline: sync-get, others: [queue-get, a-variant-with-a-long-name-get]}
experiments: [other]
findings:
  - says: GET is about 6% worse with any pool.
    rule: {kind: ratio, metric: p99, of: queue-get, to: sync-get, low: 1.0}
  - says: All of them keep up.
    rule: {kind: kept, of: [sync-get, queue-get], low: 0.99}
  - says: The lock is the queue's.
    rule: {kind: share, event: lock, categories: [queue], of: queue-get, low: 0.7}
"""
ROUNDS = 6
CAPACITY = {"queue-get": 1700.0}


def make_suite(root: Path) -> tuple[Checkout, Answer]:
    fake = FakeCheckout(root).build()
    house = Checkout(fake.root)
    names = ["sync-get", "queue-get", "a-variant-with-a-long-name-get", "other"]
    planned = []
    for at, name in enumerate(names):
        reference = {"source": "report Z", "requests_per_second": 64580.78, "latency": {"p50": "3.13s", "max": "4.8s"}}
        fake.experiment(name, title=name, service={"variant": "sync"}, reference=reference)
        for number in range(1, ROUNDS + 1):
            shape = Shape(rate=1500, seconds=4, seed=10 * at + number, profiled=number == ROUNDS,
                          capacity=CAPACITY.get(name, 9000.0), jit=0.1 * at)  # fmt: skip
            run = house.results / name / f"20261121T0914{number:02d}Z"
            make_run(run, shape)
            document = json.loads((run / "run.json").read_text())
            document["run_id"] = run.name
            document["experiment"]["name"] = name
            (run / "run.json").write_text(json.dumps(document))
            report.write(run)
            planned.append(PlannedRun(experiment=name, round=number, run=f"{name}/{run.name}"))
    planned.append(PlannedRun(experiment="other", round=ROUNDS, attempts=["other/20261121T091455Z"]))
    fake.write("experiments/suites/pages.yaml", SUITE)
    answer = make_answer(house.results, "suite", "pages", {"overrides": {"duration": "4s"}}, planned, seed=7)
    page.write(house, answer)
    return house, answer


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    house, answer = make_suite(tmp_path_factory.mktemp("suite") / "checkout")
    return answer.directory(house.results)


def test_it_opens_without_an_error_and_fetches_nothing(browser: Chrome, directory: Path) -> None:
    open_page(browser, directory / "suite.html")
    assert entries(browser, "browser") == []
    requested = [
        entry["message"] for entry in entries(browser, "performance") if 'requestWillBeSent"' in entry["message"]
    ]
    assert [message for message in requested if '"url":"data:' not in message and "suite.html" not in message] == []


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_it_fits_every_width_with_its_plots_drawn(browser: Chrome, directory: Path, width: int) -> None:
    open_page(browser, directory / "suite.html", width=width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    for script in (OVERFLOWING, CLIPPED_TEXT, TOUCHING_TICKS):
        assert browser.execute_script(script) == []
    shown = browser.execute_script(
        "return [...document.querySelectorAll('figure.chart')].map("
        "(f) => [...f.querySelectorAll('svg.plot')].filter((s) => s.checkVisibility()).length)"
    )
    assert shown == [1, 1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast(browser: Chrome, directory: Path, scheme: str) -> None:
    open_page(browser, directory / "suite.html", scheme=scheme)
    browser.execute_script("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    assert browser.execute_script(LOW_CONTRAST) == []


def test_every_link_resolves_and_every_claim_names_its_runs(browser: Chrome, directory: Path) -> None:
    open_page(browser, directory / "suite.html")
    links = browser.execute_script(
        "return [...document.querySelectorAll('a[href]')].map((a) => a.getAttribute('href'))"
    )
    files = [urllib.parse.unquote(link) for link in links if not link.startswith("#")]
    assert len(files) > 24
    assert [link for link in files if not (directory / link).is_file()] == []
    anchors = [link[1:] for link in links if link.startswith("#")]
    assert browser.execute_script("return arguments[0].filter((a) => !document.getElementById(a))", anchors) == []
    claims = browser.execute_script(
        "return [...document.querySelectorAll('.judged, .said li')].map((c) => c.querySelectorAll('.runs a').length)"
    )
    assert claims
    assert min(claims) >= 1


def test_a_pointer_reads_ratios_and_their_intervals(browser: Chrome, directory: Path) -> None:
    open_page(browser, directory / "suite.html")
    press = (
        "const f = document.querySelector('#chart-ratios-get'); f.focus();"
        "f.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}));"
        "return document.getElementById('tip').textContent"
    )
    told = browser.execute_script(press)
    assert "interval" in told
    assert "starts each" in told


def test_published_findings_are_small_files_that_stand_alone(directory: Path) -> None:
    root = directory.parents[2]
    house = Checkout(root)
    answer = Answer.read(directory / "answer.json")
    answer.state = "complete"
    answer.write(house.results)
    out = publish(house, "pages")
    assert out == root / "docs/findings/pages"
    for chart in ("ratios-get.svg", "latency-get.svg"):
        drawing = xml.etree.ElementTree.parse(out / chart).getroot()  # noqa: S314 - our own file
        assert drawing.tag.endswith("svg")
        style = (out / chart).read_text().partition("<style>")[2].partition("</style>")[0]
        assert style.count("{") == style.count("}")
        for rule in (":root {", "prefers-color-scheme: dark", ".line.side-b {", ".mark.estimate {", ".plot text {"):
            assert rule in style
        assert "sync-get" in (out / chart).read_text() or chart.startswith("ratios")
    text = (out / "README.md").read_text()
    targets = re.findall(r"\]\(([^)#]+)\)", text)
    assert targets
    assert [target for target in targets if not (out / target).is_file()] == []
    assert "report.html" not in text, "its runs are not kept with the source"
    assert max(path.stat().st_size for path in out.iterdir() if path.suffix == ".webp") <= 80_000
    assert "[Queue against stack against no pool](pages/README.md)" in (out.parent / "README.md").read_text()
    with pytest.raises(InputError, match="no complete suite 'none'"):
        publish(house, "none")
