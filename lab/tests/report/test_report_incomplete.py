"""Reports of runs that were cut short, or whose files are damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.analysis import judge, summarise
from lab.manifest import Manifest, ManifestError
from lab.report import write
from report.pages import report
from report.synthesis import Shape, make_run


def test_a_run_that_was_interrupted_shows_what_it_left(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(outcome="interrupted", judged=False)))
    for text in (page.text, markdown):
        assert "This run was not judged: it ended before its analysis." in text
        assert "The phase measure was interrupted: interrupted by Ctrl-C." in text
        assert "The profiled repetition left no report" in text
    assert "chart-percentiles" in page.ids


def test_a_run_with_nothing_but_a_manifest_is_reported(tmp_path: Path) -> None:
    make_run(tmp_path, Shape(outcome="failed", judged=False, timeline=False))
    for path in sorted((tmp_path / "measure").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    page, markdown = report(tmp_path)
    for text in (page.text, markdown):
        assert "No repetition left a report" in text
        assert "There is no timeline.csv" in text
    assert "No latencies were recorded." in page.text


def test_a_load_without_a_single_answer_is_reported(tmp_path: Path) -> None:
    run = make_run(tmp_path, Shape(profiled=False, seconds=2, judged=False))
    document = json.loads((run / "measure/1/load.json").read_text())
    nothing: dict[str, object] = {"count": 0, "min": None, "mean": None, "stdev": None, "max": None, "percentiles": {}}
    document |= {"requests": 0, "requests_per_s": 0.0, "latency_us": nothing, "uncorrected_us": nothing, "series": []}
    document |= {"send_lag_us": nothing, "errors": {**document["errors"], "timeout": 64}, "status": {}}
    (run / "measure/1/load.json").write_text(json.dumps(document))
    for name in ("load.txt", "latency.hlog"):
        (run / "measure/1" / name).unlink()
    manifest = Manifest.read(run / "run.json")
    manifest.summary = summarise(run, rate_offered_per_s=2000)
    manifest.validity = judge(run, manifest)
    manifest.write(run / "run.json")
    assert manifest.validity.state == "invalid"
    page, markdown = report(run)
    assert "No latencies were recorded." in page.text
    for text in (page.text, markdown):
        assert "Do not use these figures." in text
        assert "64 timed out" in text


def test_another_load_generators_text_is_enough(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(hlog=False, json=False, profiled=False, timeline=False)))
    assert "chart-percentiles" in page.ids
    for text in (page.text, markdown):
        assert "wrote no histogram log" in text
        assert "does not write latency.hlog, load.json" in text or "does not write load.json, latency.hlog" in text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("timeline.csv", "nonsense\n", "timeline.csv:1: its columns do not begin with time"),
        ("profile/load.json", "{", "profile/load.json:1: not JSON"),
        ("profile/cpu.png", "no picture", "cpu.png cannot be decoded"),
        ("profile/categories.json", "[]", "12,874 samples"),
        ("profile/profile.json", "{}", "CPU engine perf_events"),
    ],
)
def test_a_damaged_file_affects_only_itself(tmp_path: Path, name: str, content: str, message: str) -> None:
    make_run(tmp_path, Shape(seconds=2))
    (tmp_path / name).write_text(content)
    page, _ = report(tmp_path)
    assert message in page.text
    assert "chart-percentiles" in page.ids


@pytest.mark.parametrize("content", [None, "{}"])
def test_without_a_manifest_there_is_no_report(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(ManifestError):
        write(tmp_path)
    assert not (tmp_path / "report.html").exists()
