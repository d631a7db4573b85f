"""Profiled code in a report: shares, the slowest seconds, the timeline of the engine."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lab.manifest import Manifest
from lab.report import write
from report.pages import Page, report
from report.synthesis import Shape, make_run
from report.synthesis_service import engine_event


def test_shares_of_code_have_intervals_and_the_recording_states_its_quality(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(seconds=2)))
    for text in (page.text, markdown.replace("\\", "")):
        assert "21.0% [19.9, 22.1]" in text  # select
        assert "workers" in text
        assert "account for 6.4 s of the 6.6 s of CPU" in text
        assert "12 samples were lost" in text
        assert "a reason to doubt" in text
        assert "synchronisation takes 6.0% (queue 6.0% [5.7, 6.3])" in text


def test_the_slowest_seconds_name_the_code_and_what_went_on(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape()))
    for text in (page.text, re.sub(r"[|\s]+", " ", markdown.replace("\\", ""))):
        assert "The 3 slowest of 59 seconds of the profiled repetition, whose 99th percentile" in text
        assert "of latency was 12.2 ms or more" in text
        assert "CPU flush 131.0 samples 100.0 samples +31.0%" in text
        assert "CPU lsmlab/storage/lsm/Flusher.add 60.0 samples 0.0 samples only there" in text
        assert "select 80.0" not in text, "chance explains it"
        assert re.search(r"38\.0 ms (\| )?flush 700 ms", text)
        assert re.search(r"; collections 4\.\d+ ms; safepoints 6\.\d+ ms", text)
        assert "compaction L0 → L1" in text
    links = re.findall(r'<a href="([^"]*-tail[^"]*)">(CPU|Lock)', (tmp_path / "report.html").read_text())
    assert links == [("profile/cpu-tail.svg", "CPU"), ("profile/cpu-tail-reverse.svg", "CPU")], "locks show noise"


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ({"refused": "6 seconds in common: at least 9 are needed"}, "6 seconds in common: at least 9 are needed."),
        ({"events": {"cpu": {}}, "seconds": [{"start_ms": 0, "latency_ms": 3.0}]}, "profile/tail.json is damaged"),
        ({"events": {"cpu": {"categories": [], "methods": []}}, "seconds": [{"start_ms": 0, "latency_ms": 3.0}]},
         "No category of code and no method ran more or less"),
        ({}, ""),
    ],
)  # fmt: skip
def test_a_tail_that_cannot_be_attributed_is_marked(tmp_path: Path, tail: dict[str, object], message: str) -> None:
    make_run(tmp_path, Shape(seconds=2))
    (tmp_path / "profile/tail.json").write_text(json.dumps(tail))
    page, markdown = report(tmp_path)
    assert message in page.text
    assert message in markdown.replace("\\", "")
    assert ("The slowest seconds" in page.text) == bool(tail)


def test_the_timeline_of_the_engine_has_a_bar_for_each_event(run: Path, whole: tuple[Page, str]) -> None:
    html = (run / "report.html").read_text(encoding="utf-8")
    figure = html[html.index('id="chart-lsm-time"') :]
    figure = figure[: figure.index("</figure>")]
    loads = 3  # two repetitions and the profiled one
    for kind, number in (("flush", 1), ("compaction", 2), ("stall", 1), ("sync", 1)):
        bars = re.findall(rf'<rect class="block {kind}" data-stop="(\d+)"', figure)
        assert len(bars) == number * loads, kind
    text = re.search(r'<script type="application/json">(.*?)</script>', figure, re.DOTALL)
    assert text is not None
    stops = json.loads(text[1])
    bar = re.search(r'class="block compaction" data-stop="(\d+)"', figure)
    assert bar is not None
    _, title, lines, only_on_its_mark = stops[int(bar[1])]
    assert title.endswith("compaction L0 → L1")
    assert only_on_its_mark
    assert ["written", "141 MiB"] in lines
    assert ["took", "1.90 s"] in lines
    for lane in ("flush", "L0 → L1", "L1 → L2", "stalls", "syncs"):
        assert f">{lane}</text>" in figure
    order = [figure.index(f">{lane}</text>") for lane in ("flush", "L0 → L1", "L1 → L2", "stalls")]
    assert order == sorted(order)
    for css in ("side-a", "side-b", "side-c"):
        assert re.search(rf'<path class="line {css}"', figure), css
    over_time = [dict(lines) for _, _, lines, *mark in stops if not mark]
    assert {each["read amplification"] for each in over_time} == {"1.25"}
    written = [float(each["write amplification"]) for each in over_time]
    assert min(written) == 1.0
    assert max(written) >= 1.5, "it grows by the flush in the middle of each repetition"


def test_more_events_than_can_be_drawn_are_counted(tmp_path: Path) -> None:
    make_run(tmp_path, Shape(seconds=4, profiled=False))
    start = Manifest.read(tmp_path / "run.json").phases[-3].start
    assert Manifest.read(tmp_path / "run.json").phases[-3].name == "measure"
    lines = [engine_event(start, event="flush", ms=1.0 + i / 1000, bytes=1000) for i in range(1_100)]
    (tmp_path / "service.log").write_text("\n".join(lines) + "\n")
    page, _ = report(tmp_path)
    assert "The 100 shortest events are not drawn." in page.text


def test_the_cost_of_profiling_is_stated_only_with_repetitions(tmp_path: Path) -> None:
    one, two = (make_run(tmp_path / str(n), Shape(repetitions=n, seconds=3)) for n in (1, 2))
    for run in (one, two):
        write(run)
    assert "What profiling cost is not known" in (one / "report.md").read_text()
    assert "One profiled repetition against 2 others" in (two / "report.md").read_text()
