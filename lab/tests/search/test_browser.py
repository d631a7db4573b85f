"""The page of a search in headless Chromium: no errors, readable in light and dark, at every width, drawn once."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from lab.experiment import Catalogue
from lab.paths import Checkout
from lab.search.page import write_search_page
from lab.series import Answer
from support.chromium import CLIPPED_TEXT, LOW_CONTRAST, OVERFLOWING, TOUCHING_TICKS, entries, open_page

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[3]
ID = "20261123T120000Z"
RATES = (8_750, 17_500, 35_000, 24_700, 29_100, 27_000, 27_900, 28_600, 28_200, 28_350)
TRUE_PER_S = 28_300


def step(number: int, rate: int) -> dict[str, object]:
    holds, load = rate < TRUE_PER_S, min(rate / TRUE_PER_S, 0.985)
    ms = 0.3 / (1 - load) * (1 if rate < 1.1 * TRUE_PER_S else 90)
    disturbed = ["the hypervisor took 12% of a CPU of the service in second 4"] if rate == 29_100 else []
    return {
        "rate_per_s": rate,
        "holds": "yes" if holds else "no",
        "why": f"p99.9 is {ms * 8:.1f} ms",
        "run": f"stack-get/20261123T1200{number:02}Z",
        "served_per_s": min(rate, TRUE_PER_S) * 1.0,
        "requests": rate * 10,
        "percentiles_ms": {"50": ms, "99": ms * 4, "99.9": ms * 8, "100": ms * 12},
        "disturbed": disturbed,
        "counted": not disturbed,
    }


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("results")
    (results / "search" / ID).mkdir(parents=True)
    result = {"ended": "found", "rate_per_s": 28_240.0, "low_per_s": 27_700.0, "high_per_s": 28_900.0,
              "steps": [step(number, rate) for number, rate in enumerate(RATES)],
              "sentence": "stack-get: p99.9<100ms holds up to 28,240/s (90% interval 27,700 to 28,900/s)"}  # fmt: skip
    answer = Answer.model_validate(
        {"kind": "search", "id": ID, "name": "stack-get", "seed": 0, "runs": [], "result": result,
         "request": {"slo": "p99.9<100ms", "overrides": {"warmup": "5s"}}}
    )  # fmt: skip
    return write_search_page(results, answer, Catalogue(Checkout(ROOT)).read("stack-get"))


def test_it_opens_without_an_error_and_draws_each_chart_once(browser: Chrome, page: Path) -> None:
    open_page(browser, page)
    assert entries(browser, "browser") == []
    shown = browser.execute_script(
        "return [...document.querySelectorAll('figure.chart')].map("
        "(f) => [...f.querySelectorAll('svg.plot')].filter((s) => s.checkVisibility()).length)"
    )
    assert shown == [1, 1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast(browser: Chrome, page: Path, scheme: str) -> None:
    open_page(browser, page, scheme=scheme)
    assert browser.execute_script(LOW_CONTRAST) == []


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_it_fits_every_width(browser: Chrome, page: Path, width: int) -> None:
    open_page(browser, page, width=width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(OVERFLOWING) == []
    assert browser.execute_script(CLIPPED_TEXT) == []
    assert browser.execute_script(TOUCHING_TICKS) == []
