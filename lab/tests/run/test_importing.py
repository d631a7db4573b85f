"""A service whose engine first imports the pairs gets time for the import, and its progress is reported."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from lab.dataset import Dataset
from lab.run.repetition import Repetition
from lab.run.session import import_limit_s, import_status
from lab.runtime.base import DatasetSpec

SPEC = DatasetSpec("pairs-2m", pairs=2_000_000, value_bytes=500, seed=1, tables=8)


def repetition(directory: Path, engine: str, spec: DatasetSpec | None = SPEC) -> Repetition:
    made = None if spec is None else Dataset(spec, "hash", directory, {})
    experiment = SimpleNamespace(service=SimpleNamespace(parameter={"engine": engine}.get))
    return cast(Repetition, SimpleNamespace(dataset=made, experiment=experiment, log=directory / "service.log"))


@pytest.mark.parametrize("engine", ["rocksdb", "mvstore", "memory", "somebodys-own"])
def test_the_time_grows_with_the_dataset(tmp_path: Path, engine: str) -> None:
    assert import_limit_s(repetition(tmp_path, engine)) == 216
    assert import_limit_s(repetition(tmp_path, engine, None)) == 0


@pytest.mark.parametrize("engine", ["lsm", "textbook", "null"])
def test_an_engine_that_needs_no_copy_is_given_no_time_for_one(tmp_path: Path, engine: str) -> None:
    assert import_limit_s(repetition(tmp_path, engine)) == 0
    (tmp_path / "service.log").write_text("copying the dataset into engine x: 1 of 2 pairs\n")
    assert import_status(repetition(tmp_path, engine)) == ""


def test_the_status_is_the_services_last_line(tmp_path: Path) -> None:
    importing = repetition(tmp_path, "rocksdb")
    assert import_status(importing) == ""
    log = tmp_path / "service.log"
    last = "copying the dataset into engine rocksdb: 400384 of 2000000 pairs"
    log.write_text("[main] INFO StoreOpener - copying the dataset into engine rocksdb: 1024 of 2000000 pairs\n")
    with log.open("a") as more:
        more.write(f"[main] INFO StoreOpener - {last}\nother\n")
    assert import_status(importing) == last
