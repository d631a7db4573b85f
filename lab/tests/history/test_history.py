"""The runs are indexed, listed, exported and pruned; a lost or damaged index is made again from the run directories."""

from __future__ import annotations

import json
import shutil
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lab.errors import InputError, RunError
from lab.history import Filter, History, export, prune, tag
from lab.history.index import VERSION, read_tags, since_run_id
from lab.history.keeping import described
from lab.manifest import Check, Experiment, Manifest, Validity
from lab.paths import Checkout
from lab.process.locks import RunLock
from lab.series import PlannedRun, make_answer
from support.checkout import FakeCheckout
from support.made_up_experiment import made_up_experiment


@pytest.fixture
def lab_checkout(checkout: FakeCheckout, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    monkeypatch.setenv("LAB_LOCK", str(checkout.root / ".cache/run.lock"))
    return Checkout(checkout.root)


def run(lab_checkout: Checkout, name: str, number: int, *, variant: str = "stack", complete: bool = True) -> str:
    run_id = f"20261101T{number // 3600:02d}{number // 60 % 60:02d}{number % 60:02d}Z"
    directory = lab_checkout.results / name / run_id
    directory.mkdir(parents=True)
    Manifest(
        run_id=run_id,
        experiment=Experiment(
            name=name, title="made up", resolved=made_up_experiment(variant=variant), overrides={"rate": number}
        ),
        runtime="local",
        complete=complete,
        validity=Validity(state="valid") if complete else None,
    ).write(directory / "run.json")
    return f"{name}/{run_id}"


def names(lab_checkout: Checkout, wanted: Filter | None = None) -> list[str]:
    return [row.name for row in History(lab_checkout).rows(wanted)]


def test_a_run_that_something_else_on_the_machine_disturbed_is_marked(lab_checkout: Checkout) -> None:
    quiet, disturbed = run(lab_checkout, "a", 1), run(lab_checkout, "a", 2)
    path = lab_checkout.results / disturbed / "run.json"
    manifest = Manifest.read(path)
    steal = Check(name="steal", outcome="fail", detail="the hypervisor took 40%", environment=True)
    manifest.validity = Validity(state="invalid", reasons=[steal.detail], checks=[steal])
    manifest.write(path)
    rows = History(lab_checkout).rows()
    assert [(row.name, row.disturbed) for row in rows] == [(disturbed, True), (quiet, False)]


def test_the_index_follows_the_directories(lab_checkout: Checkout) -> None:
    first, second = run(lab_checkout, "a", 1), run(lab_checkout, "b", 2)
    assert History(lab_checkout).read == 2
    assert History(lab_checkout).read == 0, "nothing changed"
    path = lab_checkout.results / first / "run.json"
    path.write_text(path.read_text().replace('"complete": true', '"complete": false'))
    history = History(lab_checkout)
    assert history.read == 1
    assert [(row.name, row.state) for row in history.rows()] == [(second, "valid"), (first, "incomplete")]
    shutil.rmtree(lab_checkout.results / second)
    assert names(lab_checkout) == [first]
    assert names(lab_checkout) == [first]


@pytest.mark.parametrize(
    "damage", ["no JSON", '{"version": 99, "rows": []}', f'{{"version": {VERSION}, "rows": [[1, 2]]}}', "[]"]
)
def test_an_unusable_cache_is_made_again(lab_checkout: Checkout, damage: str) -> None:
    name = run(lab_checkout, "a", 1)
    assert names(lab_checkout) == [name]
    path = lab_checkout.cache / "history.json"
    path.write_text(damage)
    assert names(lab_checkout) == [name]
    path.unlink()
    assert names(lab_checkout) == [name]


def test_a_run_of_another_version_of_the_lab_is_listed_as_unreadable(lab_checkout: Checkout) -> None:
    name = run(lab_checkout, "a", 1)
    path = lab_checkout.results / name / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 1}))
    history = History(lab_checkout)
    assert [(row.name, row.state) for row in history.rows()] == [(name, "unreadable")]
    assert "version 1 of the manifest" in history.rows()[0].note


def test_filters_are_combined(lab_checkout: Checkout) -> None:
    stack = run(lab_checkout, "get", 1, variant="stack")
    queue = run(lab_checkout, "get", 4000, variant="queue")
    half = run(lab_checkout, "put", 8000, variant="queue", complete=False)
    assert names(lab_checkout, Filter(name="get")) == [queue, stack]
    assert names(lab_checkout, Filter(name="*t", service="queue")) == [half, queue]
    assert names(lab_checkout, Filter(service="queue", valid=True)) == [queue]
    assert names(lab_checkout, Filter(since="2026-11-01")) == [half, queue, stack]
    assert names(lab_checkout, Filter(since="2026-11-02")) == []


def test_since_is_a_date_or_an_age() -> None:
    now = datetime(2026, 11, 23, 12, 0, 0, tzinfo=UTC)
    assert since_run_id("2026-11-20", now) == "20261120"
    assert since_run_id("7d", now) == "20261116T120000Z"
    assert since_run_id("12h", now) == "20261123T000000Z"
    for wrong in ("yesterday", "2026-13-01", "7", "d"):
        with pytest.raises(InputError, match=f"SINCE={wrong}: neither a date"):
            since_run_id(wrong, now)


def test_ten_thousand_runs_are_listed_from_the_index(checkout: FakeCheckout, lab_checkout: Checkout) -> None:
    template = (lab_checkout.results / run(lab_checkout, "e0", 0) / "run.json").read_text()
    for number in range(1, 10_000):
        run_id = f"20261102T{number // 3600:02d}{number // 60 % 60:02d}{number % 60:02d}Z"
        directory = lab_checkout.results / f"e{number % 60}" / run_id
        directory.mkdir(parents=True)
        (directory / "run.json").write_text(template.replace("20261101T000000Z", run_id))
    code, output = checkout.lab("results", "--last", "0")
    assert code == 0, output[-2000:]
    assert len(output.splitlines()) == 10_001
    history = History(lab_checkout)
    assert history.read == 0, "no run.json is read that the cache knows"
    assert len(history.rows()) == 10_000


def test_results_name_what_is_left_out(checkout: FakeCheckout, lab_checkout: Checkout) -> None:
    for number in range(5):
        run(lab_checkout, "a", number)
    code, output = checkout.lab("results", "--last", "2")
    assert code == 0
    assert "the newest 2 of 5 runs; LAST=0 shows all" in output
    assert "None of the 5 runs matches" in checkout.lab("results", "--service", "none-such")[1]
    code, output = checkout.lab("results", "--since", "soon")
    assert code == 2
    assert "SINCE=soon: neither a date" in output


def test_an_exported_run_unpacks_to_what_it_was(lab_checkout: Checkout, tmp_path: Path) -> None:
    name = run(lab_checkout, "a", 1)
    (lab_checkout.results / name / "report.html").write_text("<p>report")
    path = export(lab_checkout, name, tmp_path / "run.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path / "there", filter="data")
    unpacked = tmp_path / "there" / name
    assert Manifest.read(unpacked / "run.json") == Manifest.read(lab_checkout.results / name / "run.json")
    assert (unpacked / "report.html").read_text() == "<p>report"
    with pytest.raises(InputError, match="no run 'a/none'"):
        export(lab_checkout, "a/none")
    with pytest.raises(InputError, match="no run"):
        export(lab_checkout, "../../etc")


def suite_of(lab_checkout: Checkout, *runs: str) -> str:
    planned = [PlannedRun(experiment=name.partition("/")[0], run=name) for name in runs]
    answer = make_answer(lab_checkout.results, "suite", "s", {}, planned, seed=1)
    return f"suite/{answer.id}"


def test_an_exported_suite_has_its_runs_with_it(lab_checkout: Checkout, tmp_path: Path) -> None:
    first, _, third = (run(lab_checkout, "a", number) for number in range(3))
    suite = suite_of(lab_checkout, first, third)
    with tarfile.open(export(lab_checkout, suite, tmp_path / "suite.tar.gz")) as archive:
        members = {member for member in archive.getnames() if member.endswith(".json")}
    assert members == {f"{suite}/record.json", f"{first}/run.json", f"{third}/run.json"}


def test_prune_keeps_the_newest_and_what_something_refers_to(lab_checkout: Checkout) -> None:
    runs = [run(lab_checkout, "a", number) for number in range(6)]
    failed = run(lab_checkout, "a", 3 * 3600, complete=False)
    old_failed = run(lab_checkout, "a", 100, complete=False)
    newest = run(lab_checkout, "a", 2 * 3600)
    lone = run(lab_checkout, "b", 1, complete=False)
    suite_of(lab_checkout, runs[0])
    tag(lab_checkout, runs[1], "baseline")
    before = names(lab_checkout)
    gone, kept = prune(lab_checkout, 2, dry_run=True)
    assert names(lab_checkout) == before, "a dry run removes nothing"
    assert {one.name for one in gone} == {runs[2], runs[3], runs[4], old_failed}
    assert {one.name for one in kept} == {runs[0], runs[1]}
    assert "tags.json" in next(one for one in kept if one.name == runs[1]).kept_for
    assert prune(lab_checkout, 2)[0] == gone
    assert set(names(lab_checkout)) == {runs[0], runs[1], runs[5], newest, failed, lone}
    assert described(gone).startswith("4 runs, ")


def test_prune_does_not_wait_for_a_run(lab_checkout: Checkout) -> None:
    run(lab_checkout, "a", 1)
    lock = RunLock(lab_checkout.run_lock)
    lock.take("a run")
    with pytest.raises(RunError, match="another run is in progress"):
        prune(lab_checkout)
    lock.release()
    with pytest.raises(InputError, match="KEEP=0"):
        prune(lab_checkout, 0)


def test_tags_move_and_are_checked(lab_checkout: Checkout) -> None:
    first, second = run(lab_checkout, "a", 1), run(lab_checkout, "a", 2)
    tag(lab_checkout, first, "baseline")
    tag(lab_checkout, second, "baseline")
    assert read_tags(lab_checkout.results) == {"baseline": second}
    with pytest.raises(InputError, match="TAG=Not a tag"):
        tag(lab_checkout, first, "Not a tag")
    with pytest.raises(InputError, match="no run 'a/none'"):
        tag(lab_checkout, "a/none", "x")
    (lab_checkout.results / "tags.json").write_text("[1]")
    with pytest.raises(InputError, match=r"tags\.json: not the tags of runs"):
        tag(lab_checkout, first, "x")


def test_the_commands_report_what_they_did(checkout: FakeCheckout, lab_checkout: Checkout) -> None:
    first = run(lab_checkout, "a", 1)
    run(lab_checkout, "a", 2)
    assert checkout.lab("tag", first, "old") == (0, "")
    code, output = checkout.lab("export", "old", "--out", "old.tar.gz")
    assert code == 0
    assert tarfile.is_tarfile(checkout.root / "old.tar.gz"), output
    code, output = checkout.lab("prune", "--keep", "1", "--dry-run")
    assert code == 0
    assert f"kept  {first}, for tags.json" in output
    code, output = checkout.lab("index")
    assert code == 0
    page = (checkout.root / "results/index.html").read_text()
    assert first in page
    assert "<script>" in page
