"""The report of a whole run, in both of its forms, without a browser."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

from lab.manifest import Manifest
from lab.report import write
from report.pages import Page, report
from report.synthesis import Shape, make_run


def test_the_page_needs_nothing_from_elsewhere(whole: tuple[Page, str], run: Path) -> None:
    page, _ = whole
    assert all(source.startswith("data:") for source in page.sources)
    text = (run / "report.html").read_text(encoding="utf-8")
    rules = re.sub(r"url\(data:[^)]*\)", "", text)
    assert "url(" not in rules
    assert "@import" not in rules
    for link in page.links:
        assert link.startswith("#") or (run / link).is_file(), link
        assert not link.startswith("/")
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_the_page_stays_light(run: Path, whole: tuple[Page, str]) -> None:
    assert (run / "report.html").stat().st_size < 1_500_000


def test_headings_and_pictures_can_be_read_aloud(whole: tuple[Page, str]) -> None:
    page, _ = whole
    assert page.headings[0] == "h1"
    assert page.headings.count("h1") == 1
    levels = [int(heading[1]) for heading in page.headings]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.images_without_alt == 0
    assert len(page.ids) == len(set(page.ids))


def test_figures_tables_and_charts_are_those_of_the_manifest(whole: tuple[Page, str], run: Path) -> None:
    page, markdown = whole
    manifest = Manifest.read(run / "run.json")
    assert manifest.summary is not None
    p99 = manifest.summary.latency_ms.percentiles["99"]
    for text in (page.text, markdown):
        assert f"{p99 * 1e3:.0f} µs" in text
        assert "80,000" in text, "samples of both repetitions"
        assert "AMD EPYC 7R13" in text
        assert "12,874" in text, "CPU samples"
        assert "dao get" in text
        assert "measure 2" in text
        assert "Published" in text
        assert "Set for this run: warmup 2s" in text
        assert "In the queue 45.0 µs" in re.sub(r"[|\s]+", " ", text)
        assert "Written by flushes" in text
    for chart in (
        "percentiles",
        "latency-time",
        "lsm-time",
        "rate-time",
        "activity-flush",
        "activity-garbage-collection",
    ):
        assert f"chart-{chart}" in page.ids
    assert "Nothing to see of: Compaction, Held-back writes, Steal." in page.text


def test_every_artifact_is_listed_with_its_hash(whole: tuple[Page, str], run: Path) -> None:
    page, markdown = whole
    for artifact in Manifest.read(run / "run.json").artifacts:
        assert artifact.path in page.links
        assert artifact.sha256 in page.text
        assert artifact.sha256 in markdown


def test_both_forms_have_the_same_rows(whole: tuple[Page, str], run: Path) -> None:
    _, markdown = whole
    html = (run / "report.html").read_text(encoding="utf-8")
    rows_html = len(re.findall(r"<tr>", html)) - len(re.findall(r"<thead", html))
    body = [line for line in markdown.splitlines() if line.startswith("| ")]
    tables = len([line for line in markdown.splitlines() if re.fullmatch(r"\|(---:?\|)+", line)])
    assert rows_html == len(body) - tables - 1, "all but the headings and the row of key figures"


def test_stops_of_charts_are_json_inside_the_plot(run: Path, whole: tuple[Page, str]) -> None:
    html = (run / "report.html").read_text(encoding="utf-8")
    found = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    assert len(found) > 8
    for text in found:
        stops = json.loads(text)
        assert all(0 <= at <= 1 and title and lines for at, title, lines, *_ in stops)


def test_a_title_is_text_never_markup(tmp_path: Path) -> None:
    title = '</script><script>alert("x")</script> <b>&amp; | *bold* _`[a](b)`'
    make_run(tmp_path, Shape(title=title, profiled=False, seconds=2))
    page, markdown = report(tmp_path)
    assert title in "".join(page.words)
    assert "<script>alert" not in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>" not in markdown.replace("\\<", "")
    assert "\\*bold\\*" in markdown


def test_writing_twice_gives_the_same_report(tmp_path: Path) -> None:
    make_run(tmp_path, Shape(seconds=2))
    write(tmp_path)
    first = [(tmp_path / name).read_bytes() for name in ("report.html", "report.md")]
    write(tmp_path)
    assert [(tmp_path / name).read_bytes() for name in ("report.html", "report.md")] == first
    assert not list(tmp_path.glob(".report*"))
