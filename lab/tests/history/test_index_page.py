"""results/index.html in headless Chromium: filters, sorting and the plot work."""

from __future__ import annotations

import json
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from lab.history.page import write_index
from lab.paths import Checkout
from report.synthesis import Shape, make_run
from support.checkout import FakeCheckout
from support.chromium import low_contrast, open_page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    fake = FakeCheckout(tmp_path_factory.mktemp("history") / "checkout").build()
    lab_checkout = Checkout(fake.root)
    source = make_run(fake.root / "made", Shape(seconds=3, profiled=False))
    for number in range(30):
        experiment = ("stack-get", "queue-get", "<b>odd")[number % 3]
        run = lab_checkout.results / experiment / f"202611{1 + number // 3:02d}T0914{number:02d}Z"
        shutil.copytree(source, run)
        (run / "report.html").write_text("<!doctype html><title>report</title><p>a report")
        document = json.loads((run / "run.json").read_text())
        document["run_id"], document["experiment"]["name"] = run.name, experiment
        document["summary"]["latency_ms"]["percentiles"]["99"] = 1.0 + number
        (run / "run.json").write_text(json.dumps(document))
    return write_index(lab_checkout)


ROWS = "return [...document.querySelectorAll('#runs tbody tr')].map((r) => r.firstElementChild.textContent)"
CHOOSE = (
    "const f = document.getElementById('filters'); f.elements[arguments[0]].value = arguments[1];"
    "f.dispatchEvent(new Event('input'))"
)


def test_filters_narrow_the_rows_and_the_plot(browser: Chrome, page: Path) -> None:
    open_page(browser, page)
    assert len(browser.execute_script(ROWS)) == 30
    browser.execute_script(CHOOSE, "experiment", "queue-get")
    rows = browser.execute_script(ROWS)
    assert len(rows) == 10
    assert all(row.startswith("queue-get/") for row in rows)
    assert browser.execute_script("return document.querySelectorAll('#over-time circle').length") == 10
    browser.execute_script(CHOOSE, "since", "2026-11-08")
    assert len(browser.execute_script(ROWS)) == 3
    browser.execute_script(CHOOSE, "text", "nothing is like this")
    assert browser.execute_script(ROWS) == []
    assert browser.execute_script("return document.getElementById('no-points').checkVisibility()")


def test_every_figure_has_its_number_of_requests(browser: Chrome, page: Path) -> None:
    open_page(browser, page)
    cells = "return [...document.querySelectorAll('#runs tbody tr:first-child > *')].map((c) => c.textContent)"
    heads = "return [...document.querySelectorAll('#runs thead th')].map((c) => c.textContent)"
    row = dict(zip(browser.execute_script(heads), browser.execute_script(cells), strict=True))
    run = row["Run"].split()[0]
    requests = json.loads((page.parent / run / "run.json").read_text())["summary"]["requests"]
    assert row["Requests"] == f"{requests:,}"
    title = browser.execute_script("return document.querySelector('#over-time title').textContent")
    assert f"n = {requests:,}, " in title


def test_a_column_sorts_both_ways(browser: Chrome, page: Path) -> None:
    open_page(browser, page)
    click = "[...document.querySelectorAll('#runs thead button')].find((b) => b.textContent === 'p99').click();" + ROWS
    down, up = (browser.execute_script(click) for _ in range(2))
    assert down == list(reversed(up))
    assert down[0].endswith("29Z")


def test_names_are_text_whatever_they_hold_and_links_resolve(browser: Chrome, page: Path) -> None:
    open_page(browser, page)
    assert browser.execute_script("return document.querySelectorAll('#runs b').length") == 0
    links = browser.execute_script("return [...document.querySelectorAll('#runs a')].map((a) => a.href)")
    assert len(links) == 30
    browser.get(links[0])
    assert "a report" in browser.page_source


def test_from_a_server_each_run_has_a_link_to_its_archive(browser: Chrome, page: Path) -> None:
    links = "return [...document.querySelectorAll('#runs a.archive')].map((link) => link.href)"
    open_page(browser, page)
    assert browser.execute_script(links) == [], "a file has no server that packs a run"
    handler = partial(SimpleHTTPRequestHandler, directory=str(page.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser.get(f"http://127.0.0.1:{server.server_port}/index.html")
        found = browser.execute_script(links)
        server.shutdown()
    assert len(found) == 30
    assert found[0].endswith("Z.tar.gz")
    assert low_contrast(browser) == []
