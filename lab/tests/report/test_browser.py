"""The report in headless Chromium: no errors, nothing fetched, readable in light and dark, wide, narrow and printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import ActionChains, Chrome, Keys

from lab.report import write
from report.synthesis import Shape, make_run
from support.chromium import CLIPPED_TEXT, OVERFLOWING, TOUCHING_TICKS, entries, low_contrast, open_page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    shapes = {
        "one": Shape(),
        "several": Shape(repetitions=3, seconds=6),
        "saturated": Shape(rate=3000, capacity=2500, seconds=6),
        "many": Shape(repetitions=2, rate=6000, seconds=10),
        "interrupted": Shape(outcome="interrupted", judged=False, seconds=6),
        "bare": Shape(hlog=False, json=False, profiled=False, reference=False, timeline=False, seconds=6),
        "suspect": Shape(errors={"status": 900, "timeout": 12}, steal=0.04, lag_us=120, dirty=True, seconds=6),
    }
    root = tmp_path_factory.mktemp("runs")
    made = {name: make_run(root / name, shape) for name, shape in shapes.items()}
    for run in made.values():
        write(run)
    return made


NAMES = ("one", "several", "many", "saturated", "interrupted", "bare", "suspect")


@pytest.mark.parametrize("name", NAMES)
def test_it_opens_without_an_error_and_fetches_nothing(browser: Chrome, runs: dict[str, Path], name: str) -> None:
    open_page(browser, runs[name] / "report.html")
    assert entries(browser, "browser") == []
    requested = [
        entry["message"] for entry in entries(browser, "performance") if 'requestWillBeSent"' in entry["message"]
    ]
    assert [message for message in requested if '"url":"data:' not in message and "report.html" not in message] == []
    assert browser.execute_script("return document.querySelectorAll('h2').length") >= 6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast(browser: Chrome, runs: dict[str, Path], name: str, scheme: str) -> None:
    open_page(browser, runs[name] / "report.html", scheme=scheme)
    browser.execute_script("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    assert low_contrast(browser) == []


def test_light_and_dark_differ(browser: Chrome, runs: dict[str, Path]) -> None:
    papers = []
    for scheme in ("light", "dark"):
        open_page(browser, runs["one"] / "report.html", scheme=scheme)
        papers.append(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert papers[0] != papers[1]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [340, 390, 700, 1024, 1920])
def test_it_fits_every_width(browser: Chrome, runs: dict[str, Path], name: str, width: int) -> None:
    open_page(browser, runs[name] / "report.html", width=width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(OVERFLOWING) == []
    assert browser.execute_script(CLIPPED_TEXT) == []
    assert browser.execute_script(TOUCHING_TICKS) == []


def test_each_chart_is_shown_once_at_every_width(browser: Chrome, runs: dict[str, Path]) -> None:
    for width in (390, 1280):
        open_page(browser, runs["one"] / "report.html", width=width)
        shown = browser.execute_script(
            "return [...document.querySelectorAll('figure.chart')].map("
            "(f) => [...f.querySelectorAll('svg.plot')].filter((s) => s.checkVisibility()).length)"
        )
        assert shown
        assert set(shown) == {1}


def test_the_pointer_reads_values_off_a_chart(browser: Chrome, runs: dict[str, Path]) -> None:
    open_page(browser, runs["one"] / "report.html")
    figure = "document.querySelector('#chart-percentiles')"
    browser.execute_script(
        f"const plot = {figure}.querySelector('svg.plot'); const box = plot.getBoundingClientRect();"
        "const at = {clientX: box.left + box.width / 2, clientY: box.top + 50};"
        "plot.dispatchEvent(new PointerEvent('pointermove', at))"
    )
    tip: Any = browser.execute_script(
        "const t = document.getElementById('tip'); return t.hidden ? null : t.textContent"
    )
    assert tip is not None
    assert "slower" in tip
    assert "measured" in tip
    assert browser.execute_script(f"return {figure}.querySelectorAll('.cursor').length") == 1
    browser.execute_script(f"{figure}.querySelector('svg.plot').dispatchEvent(new PointerEvent('pointerleave'))")
    assert browser.execute_script("return document.getElementById('tip').hidden") is True


def test_a_bar_of_the_engines_timeline_names_its_event(browser: Chrome, runs: dict[str, Path]) -> None:
    open_page(browser, runs["one"] / "report.html")
    hover = (
        "const bar = document.querySelector(`#chart-lsm-time svg.plot ${arguments[0]}`);"
        "const box = bar.getBoundingClientRect();"
        "const at = {clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true};"
        "bar.dispatchEvent(new PointerEvent('pointermove', at));"
        "return document.getElementById('tip').textContent"
    )
    compaction = browser.execute_script(hover, ".block.compaction")
    assert "compaction L0 → L1" in compaction
    assert "141 MiB" in compaction
    assert "writes that waited12" in browser.execute_script(hover, ".block.stall")
    assert "memtables" in browser.execute_script(hover, ".area")
    assert "write amplification" in browser.execute_script(hover, ".line.side-a")
    press = (
        "const f = document.querySelector('#chart-lsm-time');"
        "f.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'}));"
        "return document.getElementById('tip').textContent"
    )
    assert any("flush" in browser.execute_script(press) for _ in range(60))


def test_a_click_on_a_bar_keeps_its_event_and_a_search_finds_others(browser: Chrome, runs: dict[str, Path]) -> None:
    open_page(browser, runs["one"] / "report.html")
    figure = browser.find_element("id", "chart-lsm-time")
    bar = figure.find_element("css selector", "svg.plot .block.compaction")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", bar)
    ActionChains(browser).move_to_element(bar).click().perform()
    tip, beside = browser.find_element("id", "tip"), figure.find_element("css selector", "figcaption")
    ActionChains(browser).move_to_element(beside).perform()
    assert tip.is_displayed()
    assert "compaction L0 → L1" in tip.text
    ActionChains(browser).move_to_element(bar).click().perform()
    ActionChains(browser).move_to_element(beside).perform()
    assert not tip.is_displayed()
    field, found = (figure.find_element("css selector", name) for name in ("input", "output"))
    field.send_keys("stall")
    bars = figure.find_elements("css selector", "svg.plot .block")
    missed = figure.find_elements("css selector", "svg.plot .block.missed")
    assert 0 < len(missed) < len(bars)
    assert found.text == f"{len(bars) - len(missed)} of {len(bars)}"
    assert {"stall"} == {
        name for mark in bars if mark not in missed for name in str(mark.get_attribute("class")).split()[1:]
    }
    field.send_keys(Keys.BACKSPACE * len("stall"))
    assert not figure.find_elements("css selector", ".missed")
    assert entries(browser, "browser") == []


def test_the_keyboard_reads_values_off_a_chart(browser: Chrome, runs: dict[str, Path]) -> None:
    open_page(browser, runs["one"] / "report.html")
    press = (
        "const f = document.querySelector('#chart-latency-time'); f.focus();"
        "f.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0]}));"
        "return document.getElementById('tip').textContent"
    )
    first, second = (browser.execute_script(press, "ArrowRight") for _ in range(2))
    assert first != second
    assert "p99" in second
    browser.execute_script(press, "Escape")
    assert browser.execute_script("return document.getElementById('tip').hidden") is True


def test_flame_graphs_are_inside_the_page_and_link_to_the_interactive_ones(
    browser: Chrome, runs: dict[str, Path]
) -> None:
    open_page(browser, runs["one"] / "report.html")
    pictures = browser.execute_script(
        "return [...document.querySelectorAll('.flame img')].map("
        "(i) => [i.complete && i.naturalWidth, i.closest('a').getAttribute('href')])"
    )
    assert [href for _, href in pictures] == ["profile/cpu.html", "profile/alloc.html", "profile/lock.html"]
    assert all(width >= 800 for width, _ in pictures)


def test_it_prints_in_dark_ink_on_white(browser: Chrome, runs: dict[str, Path]) -> None:
    open_page(browser, runs["several"] / "report.html", scheme="dark", media="print", width=800)
    assert browser.execute_script("return getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert low_contrast(browser) == []
    pages = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})["data"]
    assert len(pages) > 10_000
