"""The page of a suite in headless Chromium, and its published form; pages/ has the tests of every page."""

from __future__ import annotations

import re
import xml.etree.ElementTree
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from lab.errors import InputError
from lab.paths import Checkout
from lab.series import Answer, make_answer
from lab.suite.publish import publish
from pages.made import make_suite
from support.chromium import open_page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lab_checkout, answer = make_suite(tmp_path_factory.mktemp("suite") / "checkout")
    return answer.directory(lab_checkout.results)


def test_every_claim_links_to_its_runs(browser: Chrome, directory: Path) -> None:
    open_page(browser, directory / "suite.html")
    claims = browser.execute_script(
        "const claims = [...document.querySelectorAll('.judged, .sentences li')];"
        "return claims.map((claim) => claim.querySelectorAll('.runs a').length);"
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
    assert "rounds" in told


def test_published_findings_are_small_files_that_stand_alone(directory: Path) -> None:
    root = directory.parents[2]
    lab_checkout = Checkout(root)
    answer = Answer.read(directory / "record.json")
    answer.state = "complete"
    answer.write(lab_checkout.results)
    out = publish(lab_checkout, "pages")
    assert out == root / "docs/findings/pages"
    assert "](rates-swept.svg)" in (out / "README.md").read_text()
    for chart in ("ratios-get.svg", "latency-get.svg"):
        drawing = xml.etree.ElementTree.parse(out / chart).getroot()  # noqa: S314 - our own file
        assert drawing.tag.endswith("svg")
        assert drawing.get("viewBox") == f"0 0 {drawing.get('width')} {drawing.get('height')}", (
            "its own size, as a picture"
        )
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
        publish(lab_checkout, "none")


def test_a_newer_suite_of_too_few_rounds_is_not_published(directory: Path) -> None:
    lab_checkout = Checkout(directory.parents[2])
    answer = Answer.read(directory / "record.json").model_copy(update={"state": "complete"})
    answer.write(lab_checkout.results)
    short = [run for run in answer.runs if run.round == 1]
    quick = make_answer(lab_checkout.results, "suite", "pages", {}, short, seed=1).model_copy(
        update={"state": "complete"}
    )
    quick.write(lab_checkout.results)
    assert f"n = {max(run.round for run in answer.runs)}" in (publish(lab_checkout, "pages") / "README.md").read_text()
    (directory / "record.json").unlink()
    with pytest.raises(InputError, match="has fewer than 6 rounds") as caught:
        publish(lab_checkout, "pages")
    assert caught.value.hint == "make suite NAME=pages ROUNDS=6 makes one that does"
    answer.write(lab_checkout.results)
    (quick.directory(lab_checkout.results) / "record.json").unlink()
