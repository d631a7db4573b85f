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
from lab.history.index import read_tags, since_run_id
from lab.history.keeping import told
from lab.manifest import Check, Experiment, Manifest, Validity
from lab.paths import Checkout
from lab.process.locks import RunLock
from lab.series import PlannedRun, make_answer
from support.checkout import FakeCheckout


@pytest.fixture
def house(checkout: FakeCheckout, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    monkeypatch.setenv("LAB_LOCK", str(checkout.root / ".cache/run.lock"))
    return Checkout(checkout.root)


def run(house: Checkout, name: str, number: int, *, variant: str = "stack", complete: bool = True) -> str:
    run_id = f"20261101T{number // 3600:02d}{number // 60 % 60:02d}{number % 60:02d}Z"
    directory = house.results / name / run_id
    directory.mkdir(parents=True)
    Manifest(
        run_id=run_id,
        experiment=Experiment(
            name=name, title="made up", resolved={"service": {"variant": variant}}, overrides={"rate": number}
        ),
        runtime="local",
        complete=complete,
        validity=Validity(state="valid") if complete else None,
    ).write(directory / "run.json")
    return f"{name}/{run_id}"


def names(house: Checkout, wanted: Filter | None = None) -> list[str]:
    history = History(house)
    history.refresh()
    try:
        return [row.name for row in history.rows(wanted)]
    finally:
        history.close()


def test_a_run_that_something_else_on_the_machine_disturbed_is_marked(house: Checkout) -> None:
    quiet, disturbed = run(house, "a", 1), run(house, "a", 2)
    path = house.results / disturbed / "run.json"
    manifest = Manifest.read(path)
    steal = Check(name="steal", outcome="fail", detail="the hypervisor took 40%", environment=True)
    manifest.validity = Validity(state="invalid", reasons=[steal.detail], checks=[steal])
    manifest.write(path)
    history = History(house)
    history.refresh()
    assert [(row.name, bool(row.disturbed)) for row in history.rows()] == [(disturbed, True), (quiet, False)]
    history.close()


def test_the_index_follows_the_directories(house: Checkout) -> None:
    first, second = run(house, "a", 1), run(house, "b", 2)
    history = History(house)
    assert history.refresh() == 2
    assert history.refresh() == 0, "nothing changed"
    path = house.results / first / "run.json"
    path.write_text(path.read_text().replace('"complete": true', '"complete": false'))
    assert history.refresh() == 1
    assert [(row.name, row.state) for row in history.rows()] == [(second, "valid"), (first, "incomplete")]
    shutil.rmtree(house.results / second)
    history.refresh()
    assert [row.name for row in history.rows()] == [first]


@pytest.mark.parametrize("damage", ["no database", "of another version"])
def test_an_unusable_index_is_made_again(house: Checkout, damage: str) -> None:
    name = run(house, "a", 1)
    assert names(house) == [name]
    path = house.cache / "history.sqlite"
    if damage == "no database":
        path.write_bytes(b"this is no database" * 100)
    else:
        import sqlite3

        with sqlite3.connect(path) as database:
            database.execute("PRAGMA user_version = 99")
    assert names(house) == [name]
    path.unlink()
    assert names(house) == [name]


def test_older_manifests_are_read_through_their_migration(house: Checkout) -> None:
    name = run(house, "a", 1)
    path = house.results / name / "run.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "version": 1}))
    other = run(house, "a", 2)
    path = house.results / other / "run.json"
    path.write_text(json.dumps({**document, "version": 99}))
    history = History(house)
    history.refresh()
    assert [(row.name, row.state) for row in history.rows()] == [(other, "unreadable"), (name, "valid")]
    assert "version 99" in history.rows()[0].note


def test_filters_are_combined(house: Checkout) -> None:
    stack = run(house, "get", 1, variant="stack")
    queue = run(house, "get", 4000, variant="queue")
    half = run(house, "put", 8000, variant="queue", complete=False)
    assert names(house, Filter(name="get")) == [queue, stack]
    assert names(house, Filter(name="*t", variant="queue")) == [half, queue]
    assert names(house, Filter(variant="queue", valid=True)) == [queue]
    assert names(house, Filter(since="2026-11-01")) == [half, queue, stack]
    assert names(house, Filter(since="2026-11-02")) == []


def test_since_is_a_date_or_an_age() -> None:
    now = datetime(2026, 11, 23, 12, 0, 0, tzinfo=UTC)
    assert since_run_id("2026-11-20", now) == "20261120"
    assert since_run_id("7d", now) == "20261116T120000Z"
    assert since_run_id("12h", now) == "20261123T000000Z"
    for wrong in ("yesterday", "2026-13-01", "7", "d"):
        with pytest.raises(InputError, match=f"SINCE={wrong}: neither a date"):
            since_run_id(wrong, now)


def test_ten_thousand_runs_are_listed_from_the_index(checkout: FakeCheckout, house: Checkout) -> None:
    template = (house.results / run(house, "e0", 0) / "run.json").read_text()
    for number in range(1, 10_000):
        run_id = f"20261102T{number // 3600:02d}{number // 60 % 60:02d}{number % 60:02d}Z"
        directory = house.results / f"e{number % 60}" / run_id
        directory.mkdir(parents=True)
        (directory / "run.json").write_text(template.replace("20261101T000000Z", run_id))
    code, output = checkout.lab("results", "--last", "0")
    assert code == 0, output[-2000:]
    assert len(output.splitlines()) == 10_001
    history = History(house)
    assert history.refresh() == 0, "no run.json is read that the index knows"
    assert len(history.rows()) == 10_000
    history.close()


def test_results_name_what_is_left_out(checkout: FakeCheckout, house: Checkout) -> None:
    for number in range(5):
        run(house, "a", number)
    code, output = checkout.lab("results", "--last", "2")
    assert code == 0
    assert "the newest 2 of 5 runs; LAST=0 shows all" in output
    assert "None of the 5 runs matches" in checkout.lab("results", "--variant", "none-such")[1]
    code, output = checkout.lab("results", "--since", "soon")
    assert code == 2
    assert "SINCE=soon: neither a date" in output


def test_an_exported_run_unpacks_to_what_it_was(house: Checkout, tmp_path: Path) -> None:
    name = run(house, "a", 1)
    (house.results / name / "report.html").write_text("<p>report")
    path = export(house, name, tmp_path / "run.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path / "there", filter="data")
    unpacked = tmp_path / "there" / name
    assert Manifest.read(unpacked / "run.json") == Manifest.read(house.results / name / "run.json")
    assert (unpacked / "report.html").read_text() == "<p>report"
    with pytest.raises(InputError, match="no run 'a/none'"):
        export(house, "a/none")
    with pytest.raises(InputError, match="no run"):
        export(house, "../../etc")


def suite_of(house: Checkout, *runs: str) -> str:
    planned = [PlannedRun(experiment=name.partition("/")[0], run=name) for name in runs]
    answer = make_answer(house.results, "suite", "s", {}, planned, seed=1)
    return f"suite/{answer.id}"


def test_an_exported_suite_has_its_runs_with_it(house: Checkout, tmp_path: Path) -> None:
    first, _, third = (run(house, "a", number) for number in range(3))
    suite = suite_of(house, first, third)
    with tarfile.open(export(house, suite, tmp_path / "suite.tar.gz")) as archive:
        members = {member for member in archive.getnames() if member.endswith(".json")}
    assert members == {f"{suite}/answer.json", f"{first}/run.json", f"{third}/run.json"}


def test_prune_keeps_the_newest_and_what_something_refers_to(house: Checkout) -> None:
    runs = [run(house, "a", number) for number in range(6)]
    failed = run(house, "a", 3 * 3600, complete=False)
    old_failed = run(house, "a", 100, complete=False)
    newest = run(house, "a", 2 * 3600)
    lone = run(house, "b", 1, complete=False)
    suite_of(house, runs[0])
    tag(house, runs[1], "baseline")
    before = names(house)
    gone, kept = prune(house, 2, dry_run=True)
    assert names(house) == before, "a dry run removes nothing"
    assert {one.name for one in gone} == {runs[2], runs[3], runs[4], old_failed}
    assert {one.name for one in kept} == {runs[0], runs[1]}
    assert "tags.json" in next(one for one in kept if one.name == runs[1]).kept_for
    assert prune(house, 2)[0] == gone
    assert set(names(house)) == {runs[0], runs[1], runs[5], newest, failed, lone}
    assert told(gone).startswith("4 runs, ")


def test_prune_does_not_wait_for_a_run(house: Checkout) -> None:
    run(house, "a", 1)
    lock = RunLock(house.run_lock)
    lock.take("a run")
    with pytest.raises(RunError, match="another run is in progress"):
        prune(house)
    lock.release()
    with pytest.raises(InputError, match="KEEP=0"):
        prune(house, 0)


def test_tags_move_and_are_checked(house: Checkout) -> None:
    first, second = run(house, "a", 1), run(house, "a", 2)
    tag(house, first, "baseline")
    tag(house, second, "baseline")
    assert read_tags(house.results) == {"baseline": second}
    with pytest.raises(InputError, match="TAG=Not a tag"):
        tag(house, first, "Not a tag")
    with pytest.raises(InputError, match="no run 'a/none'"):
        tag(house, "a/none", "x")
    (house.results / "tags.json").write_text("[1]")
    with pytest.raises(InputError, match=r"tags\.json: not the tags of runs"):
        tag(house, first, "x")


def test_the_commands_report_what_they_did(checkout: FakeCheckout, house: Checkout) -> None:
    first = run(house, "a", 1)
    run(house, "a", 2)
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
