"""The verdict of a report, and the marks at figures that need care."""

from __future__ import annotations

from pathlib import Path

from lab.analysis import judge
from lab.experiment.model import RateChoice
from lab.manifest import Distribution, Manifest
from report.pages import Page, report
from report.synthesis import Shape, make_run


def test_saturation_is_stated_beside_the_verdict(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(rate=3000, capacity=2500, seconds=4, profiled=False)))
    for text in (page.text, markdown):
        assert "one of an overloaded service" in text
        assert "Offered rate not reached: 2,500 of 3,000 requests/s." in text
    assert "valid saturated" in page.text


def test_another_finding_is_named_and_the_service_is_not_called_saturated(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(dirty=True, seconds=4, profiled=False)))
    for text in (page.text, markdown):
        assert "Read the finding before you quote them." in text
        assert "The source differs from commit" in text
    assert "saturated" not in page.text


def test_reasons_of_a_suspect_run_come_first(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(errors={"timeout": 30}, seconds=4, profiled=False)))
    for text in (page.text, markdown):
        assert text.index("30 errors in 8,000 requests (0.38%): 30 timed out.") < text.index("Latency p50")
    assert "suspect" in page.text


def test_a_run_that_never_became_steady_is_kept_and_marked(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(level=(6, 3.0), profiled=False)))
    for text in (page.text, markdown):
        assert "No steady state: from second 6 on the median latency is" in text
        assert "Latency p50" in text, "its figures are there"


def judged_again(run: Path, **changes: object) -> tuple[Page, str]:
    manifest = Manifest.read(run / "run.json")
    assert manifest.summary is not None
    for part in (manifest.summary, manifest.summary.repetitions[0]):
        for name, value in changes.items():
            setattr(part, name, value)
    manifest.validity = judge(run, manifest)
    manifest.write(run / "run.json")
    return report(run)


def test_a_percentile_that_the_generator_moved_is_marked_and_stands_beside_its_net_value(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(profiled=False, seconds=5, moved={"99": 3.0})))
    row = next(line for line in markdown.splitlines() if line.startswith("| p99 "))
    assert row.count("*") == 1
    assert "Net" in markdown
    assert "It moved this percentile by more than 10% and 100 µs" in page.text


def test_percentiles_among_unanswered_requests_are_lower_bounds(tmp_path: Path) -> None:
    run = make_run(tmp_path, Shape(profiled=False, seconds=5))
    latency = Distribution(
        count=8600, unanswered=1400, max=9.0, percentiles={"50": 0.25, "90": 9.0, "99": 9.0}, lower_bounds=["90", "99"]
    )
    page, markdown = judged_again(run, latency_ms=latency)
    rows = {line.split("|")[1].strip(): line.split("|")[2] for line in markdown.splitlines() if line.startswith("| p")}
    assert "≥" in rows["p90"]
    assert "≥" in rows["p99"]
    assert "≥" not in rows["p50"]
    assert "1,400 requests had no response at the end" in page.text


def test_refusals_put_goodput_and_the_latency_of_served_requests_in_front(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(profiled=False, seconds=5, errors={"status": 4000})))
    assert "Latency p50, served" in page.text
    assert "40.0% refused" in page.text
    assert "| With unserved |" in markdown


def test_a_load_of_several_methods_has_the_latency_of_each(tmp_path: Path) -> None:
    run = make_run(tmp_path, Shape(profiled=False, seconds=5))
    of_put = Distribution(count=2000, percentiles={"50": 7.5})
    page, markdown = judged_again(run, by_operation_ms={"GET": Distribution(count=8000), "PUT": of_put})
    assert "| PUT | 2,000 | 7.50 ms |" in markdown
    assert "Latency by method" in page.text
    _, markdown = judged_again(run, by_operation_ms={"PUT": of_put})
    assert "Latency by method" not in markdown


def test_lost_requests_are_shown_with_their_reasons(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(profiled=False, seconds=5, errors={"read": 40})))
    assert '| – malformed head: name "X : 1" | 40 |' in markdown
    assert "| Lost before their response | 40 |" in markdown
    assert "malformed head" in page.text


def test_the_report_states_how_the_rate_was_chosen(tmp_path: Path) -> None:
    make_run(tmp_path, Shape(seconds=2, profiled=False, rate=2000))
    manifest = Manifest.read(tmp_path / "run.json")
    manifest.experiment.rate = RateChoice(how="scaled", declared_per_s=20000, scale=0.1)
    manifest.write(tmp_path / "run.json")
    page, _ = report(tmp_path)
    assert "SCALE=0.1; declared are 20,000/s" in page.text
