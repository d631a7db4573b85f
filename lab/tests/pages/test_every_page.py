"""Every page in headless Chromium, on a phone, a laptop and a wide screen, light and dark: no error, nothing that
overflows, every plot drawn once, every link leads somewhere, enough contrast, and what else axe-core finds.
"""

from __future__ import annotations

import functools
import urllib.parse
from collections.abc import Callable
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from pages.made import MAKERS
from support.chromium import (
    CLIPPED_TEXT,
    CUT_TABLES,
    OVERFLOWING,
    TOUCHING_TICKS,
    accessibility_problems,
    entries,
    low_contrast,
    open_page,
)

pytestmark = pytest.mark.browser
PageOf = Callable[[str], Path]

SHOWN_PLOTS = """
return [...document.querySelectorAll("figure.chart, .plot-over-time")].map(
  (f) => [...f.querySelectorAll("svg.plot, svg#over-time")].filter(
    (s) => s.checkVisibility() && s.querySelector("path, circle")).length);
"""
KEYS_OF_NOTHING = """
return [...document.querySelectorAll("figure.chart")].flatMap((f) => {
  const marks = [...f.querySelectorAll("svg.plot *")];
  return [...f.querySelectorAll(".legend .key > *")]
    .filter((key) => !marks.some((mark) => [...key.classList].every((name) => mark.classList.contains(name))))
    .map((key) => key.closest("span").textContent);
});
"""
"""Lines of legends that show a mark which their chart does not have."""
SCREEN = 1280
"""From this width on a table need not be scrolled sideways."""
PLOTS = {"report": 4, "suite": 3, "search": 2, "sweep": 2, "comparison": 2, "comparison of three": 2, "history": 1}
"""The fewest plots that each page has."""


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> PageOf:
    """Make a page, once."""
    return functools.cache(lambda name: MAKERS[name](tmp_path_factory.mktemp(name)))


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("width", [390, 1280, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_whole_and_readable(browser: Chrome, page_of: PageOf, name: str, width: int, scheme: str) -> None:
    open_page(browser, page_of(name), width, scheme)
    assert entries(browser, "browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    for script in (OVERFLOWING, CLIPPED_TEXT, TOUCHING_TICKS, KEYS_OF_NOTHING):
        assert browser.execute_script(script) == []
    if width >= SCREEN:
        assert browser.execute_script(CUT_TABLES) == []
    shown = browser.execute_script(SHOWN_PLOTS)
    assert set(shown) == {1}
    assert len(shown) >= PLOTS[name]
    if width <= SCREEN:  # a wider screen has the same rules of CSS, and the contrast of a page takes a second
        browser.execute_script("document.querySelectorAll('details').forEach((d) => (d.open = true))")
        assert low_contrast(browser) == []


@pytest.mark.parametrize("name", MAKERS)
def test_its_links_lead_somewhere_and_nothing_is_fetched(browser: Chrome, page_of: PageOf, name: str) -> None:
    page = page_of(name)
    open_page(browser, page)
    fetched = [
        entry["message"] for entry in entries(browser, "performance") if 'requestWillBeSent"' in entry["message"]
    ]
    assert [message for message in fetched if '"url":"data:' not in message and page.name not in message] == []
    links = browser.execute_script(
        "return [...document.querySelectorAll('a[href]')].map((a) => a.getAttribute('href'))"
    )
    files = [urllib.parse.unquote(link.partition("#")[0]) for link in links if not link.startswith("#")]
    assert files
    assert [file for file in files if not (page.parent / file).is_file()] == []
    anchors = [link[1:] for link in links if link.startswith("#")]
    assert browser.execute_script("return arguments[0].filter((a) => !document.getElementById(a))", anchors) == []


@pytest.mark.parametrize("name", MAKERS)
def test_axe_finds_nothing_else(browser: Chrome, page_of: PageOf, name: str) -> None:
    open_page(browser, page_of(name))
    assert accessibility_problems(browser) == []
