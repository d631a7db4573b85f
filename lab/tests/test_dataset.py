"""Datasets: made once and completely, or not at all."""

from __future__ import annotations

import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from lab import dataset
from lab.errors import RunError
from lab.paths import Checkout
from lab.progress import Progress
from lab.runtime.base import DatasetSpec, Runtime

SPEC = DatasetSpec("tiny", pairs=10, value_bytes=10, seed=1, tables=2)


class Maker:
    """The one method of a runtime that datasets need."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.made = 0
        self._error = error

    def make_dataset(self, spec: DatasetSpec, directory: Path, log: Path, progress: Progress) -> dict[str, Any]:
        self.made += 1
        directory.mkdir()
        (directory / "000001.sst").write_text("table")
        if self._error is not None:
            raise self._error
        (directory / "MANIFEST").write_text("manifest")
        return {"bytes": 5}


def provide(tmp_path: Path, maker: Maker, spec: DatasetSpec = SPEC, table_format: str = "1") -> dataset.Dataset:
    runtime = cast(Runtime, maker)
    return dataset.provide(
        Checkout(tmp_path), runtime, spec, table_format=table_format, log=tmp_path / "log", progress=lambda _: None
    )


@pytest.mark.parametrize("error", [RunError("no"), KeyboardInterrupt()])
def test_an_interrupted_dataset_leaves_nothing_and_can_be_made_again(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)):
        provide(tmp_path, Maker(error))
    assert [path.suffix for path in (tmp_path / ".cache/datasets").iterdir()] == [".lock"]
    assert provide(tmp_path, Maker()).store.joinpath("MANIFEST").exists()


def test_two_labs_make_it_once(tmp_path: Path) -> None:
    maker = Maker()
    threads = [threading.Thread(target=provide, args=(tmp_path, maker)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert maker.made == 1


def test_the_hash_covers_exactly_what_determines_the_bytes() -> None:
    base = dataset.dataset_hash(SPEC, "1")
    assert dataset.dataset_hash(replace(SPEC, name="other"), "1") == base
    changed = [replace(SPEC, pairs=11), replace(SPEC, value_bytes=11), replace(SPEC, seed=2), replace(SPEC, tables=1)]
    hashes = {base, dataset.dataset_hash(SPEC, "2"), *(dataset.dataset_hash(spec, "1") for spec in changed)}
    assert len(hashes) == 6


def test_tables_are_linked_and_the_rest_copied(tmp_path: Path) -> None:
    made = provide(tmp_path, Maker())
    assert dataset.materialise(made, tmp_path / "a") == "linked"
    (tmp_path / "a/MANIFEST").write_text("changed by the service")
    assert made.store.joinpath("MANIFEST").read_text() == "manifest"
    assert (tmp_path / "a/000001.sst").samefile(made.store / "000001.sst")


def is_cached(path: Path, at_mib: int) -> bool:
    """Return whether a page is in memory. To ask may have the kernel read it and those after it: ask once for each."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.preadv(descriptor, [bytearray(4096)], at_mib << 20, os.RWF_NOWAIT)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_tables_are_read_into_the_page_cache_unless_they_are_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "store/000001.sst"
    table.parent.mkdir()
    with table.open("wb") as file:
        file.write(bytes(64 << 20))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if is_cached(table, 60):
        pytest.skip(f"{tmp_path} is on a file system that keeps its files in memory")
    monkeypatch.setattr(dataset, "memory_bytes", lambda: {"available": 127 << 20})
    assert not dataset.read_into_page_cache(tmp_path)
    assert not is_cached(table, 40)
    monkeypatch.undo()
    assert dataset.read_into_page_cache(tmp_path)
    assert is_cached(table, 20)


def test_if_links_are_impossible_tables_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = provide(tmp_path, Maker())

    def refuse(*_: object) -> None:
        raise OSError("another device")

    monkeypatch.setattr("os.link", refuse)
    assert dataset.materialise(made, tmp_path / "a") == "copied"
    assert (tmp_path / "a/000001.sst").read_text() == "table"


def test_a_copy_needs_disk_space_before_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = provide(tmp_path, Maker())

    def refuse(*_: object) -> None:
        raise OSError("another device")

    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("os.link", refuse)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage._replace(free=dataset.MARGIN_BYTES + 4))
    with pytest.raises(RunError, match=r"a copy of dataset tiny needs about"):
        dataset.materialise(made, tmp_path / "a")
    assert not (tmp_path / "a/000001.sst").exists()
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage._replace(free=dataset.MARGIN_BYTES + 5))
    assert dataset.materialise(made, tmp_path / "b") == "copied"


def test_the_trial_of_a_link_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = Checkout(tmp_path)
    assert dataset.can_link(checkout)
    checkout.datasets.mkdir(parents=True)
    checkout.work.mkdir()
    assert dataset.can_link(checkout)
    assert dataset.on_one_disk(checkout)

    def refuse(*_: object) -> None:
        raise OSError("not supported")

    monkeypatch.setattr("os.link", refuse)
    assert not dataset.can_link(checkout)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [".cache", "datasets", "work"]


def test_a_disk_without_space_is_refused_with_figures(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"has .* free; dataset x needs about 1,024 GiB") as caught:
        dataset.require_space(tmp_path / "not/yet/there", 1 << 40, "dataset x")
    assert "LAB_CACHE=" in caught.value.hint


@pytest.mark.parametrize("damage", ["MANIFEST", "000001.sst", "removed"])
def test_a_changed_dataset_in_the_cache_is_made_again(tmp_path: Path, damage: str) -> None:
    maker = Maker()
    made = provide(tmp_path, maker)
    if damage == "removed":
        (made.store / "000001.sst").unlink()
    else:
        with (made.store / damage).open("a") as file:
            file.write("more")
    again = provide(tmp_path, maker)
    assert maker.made == 2
    assert again.store.joinpath("MANIFEST").read_text() == "manifest"
    assert provide(tmp_path, maker).store == again.store
    assert maker.made == 2


def test_only_what_is_declared_reaches_load_dataset_and_the_hash() -> None:
    assert SPEC.words() == ["--pairs", "10", "--value-bytes", "10", "--seed", "1", "--tables", "2"]
    layout = replace(SPEC, overlapping=True, bloom_bits_per_key=0, compression="lz4")
    assert layout.words()[8:] == ["--overlapping", "--bloom-bits-per-key", "0", "--compression", "lz4"]
    hashes = {dataset.dataset_hash(spec, "2") for spec in (SPEC, replace(SPEC, name="other"), layout)}
    assert len(hashes) == 2


def test_a_dataset_is_written_for_the_engine_that_cannot_use_the_stores_of_lsm() -> None:
    for engine in ("lsm", "rocksdb", "memory", "null"):
        assert SPEC.written_for(engine) == SPEC
    textbook = SPEC.written_for("textbook")
    assert textbook.words() == [*SPEC.words(), "--engine", "textbook"]
    assert dataset.dataset_hash(textbook, "2") != dataset.dataset_hash(SPEC, "2")
