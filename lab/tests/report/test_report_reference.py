"""Published figures are shown beside those of a run only if both have the same load."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.manifest import Manifest
from lab.report import write
from report.pages import report
from report.synthesis import Shape, make_run


@pytest.mark.parametrize(
    ("name", "comparable"),
    [("warmup", True), ("repeat", True)]
    + [(name, False) for name in ("engine", "duration", "workers", "selectors", "queue_capacity", "variant")],
)
def test_a_published_figure_is_one_of_the_experiment_as_declared(tmp_path: Path, name: str, comparable: bool) -> None:
    run = make_run(tmp_path, Shape(profiled=False, seconds=2))
    manifest = Manifest.read(run / "run.json")
    manifest.experiment.overrides = {name: "another"}
    manifest.write(run / "run.json")
    write(run)
    assert ("was set for this run" not in (run / "report.md").read_text()) == comparable


def test_published_shares_stand_beside_ours_as_sentences(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(seconds=2)))
    for text in (page.text, markdown.replace("\\", "")):
        assert "Synchronisation: 6.0% [5.7, 6.3] of CPU; the published report found 20–25%." in text
        waiting = "of the time spent waiting for locks; the published report found at least 70%."
        assert re.search(rf"The queue: 87\.0% \[82\.[67], 91\.[34]\] {waiting}", text)


def test_a_published_figure_is_not_compared_with_another_load(tmp_path: Path) -> None:
    make_run(tmp_path, Shape(seconds=2, profiled=False))
    page, _ = report(tmp_path)
    assert "published 1.60 ms" in page.text
    manifest = Manifest.read(tmp_path / "run.json")
    manifest.experiment.overrides["rate"] = 2000
    manifest.write(tmp_path / "run.json")
    page, _ = report(tmp_path)
    assert "published 1.60 ms" not in page.text
    assert "another rate was set for this run" in page.text


def test_a_reference_with_a_load_of_its_own_is_named_with_both_figures(tmp_path: Path) -> None:
    make_run(tmp_path, Shape(seconds=2, profiled=False, rate=2000))
    manifest = Manifest.read(tmp_path / "run.json")
    own = {"rate_per_s": 70000, "connections": 64, "duration_s": 60.0, "cpus": 8}
    reference = manifest.experiment.resolved.reference
    assert reference is not None
    changed = {"reference": reference.model_copy(update=own)}
    manifest.experiment.resolved = manifest.experiment.resolved.model_copy(update=changed)
    manifest.write(tmp_path / "run.json")
    page, _ = report(tmp_path)
    assert "rate 70,000/s there, 2,000/s here; duration 60 s there, 2 s here." in page.text
    assert "That machine had 8 CPUs in all; here are 1 for the service and 1 for the load generator." in page.text
    assert "published 1.60 ms" not in page.text
