"""The disk space that a run needs, checked before anything is started: to the byte, and in words."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import cast

import pytest

from lab import dataset
from lab.cpu_plan import CpuPlan
from lab.errors import RunError
from lab.experiment import Catalogue
from lab.paths import Checkout
from lab.run.preflight import check_places, check_space
from lab.run.state import RunPlan
from lab.runtime.base import Ports, Runtime
from lab.units import format_bytes
from support.checkout import FakeCheckout

PAIRS = 100 * (10 + dataset.KEY_AND_OVERHEAD_BYTES)
PUTS = 2 * 100 * (1 + 1) * 540


def plan(checkout: FakeCheckout, engine: str, script: str) -> RunPlan:
    load = {"script": script, "rate": 100, "threads": 1, "connections": 1, "duration": "1s", "warmup": "1s"}
    checkout.experiment("x", service={"variant": "stack", "engine": engine}, load=load)
    place = Checkout(checkout.root)
    return RunPlan(place, "x", Catalogue(place).read("x"), {}, cast(Runtime, None), CpuPlan((), (), ()), Ports())


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The free space of each disk, by the name of a place on it; 'else' for all others."""
    room = {"else": 0}
    usage = shutil.disk_usage("/")

    def disk_usage(path: Path) -> object:
        return usage._replace(free=dataset.MARGIN_BYTES + room.get(path.name, room["else"]))

    monkeypatch.setattr("shutil.disk_usage", disk_usage)
    return room


def refuse(*_: object) -> None:
    raise OSError("not supported")


def needs_exactly(wanted: RunPlan, free: dict[str, int], needed: int, words: str) -> None:
    free["else"] = needed - 1
    with pytest.raises(RunError) as caught:
        check_space(wanted)
    assert f" free; {words} needs about" in caught.value.message
    free["else"] = needed
    check_space(wanted)


LINKED = [
    ("lsm", "get.lua", PAIRS, "dataset tiny"),
    ("lsm", "put.lua", PAIRS + PUTS, "dataset tiny and what put.lua may write"),
    ("rocksdb", "get.lua", 3 * PAIRS, "dataset tiny and its pairs in engine rocksdb"),
    ("memory", "get.lua", PAIRS, "dataset tiny"),
    ("textbook", "get.lua", PAIRS, "dataset tiny"),
]


@pytest.mark.parametrize("case", LINKED)
def test_the_writes_of_a_run_are_counted(
    checkout: FakeCheckout, free: dict[str, int], case: tuple[str, str, int, str]
) -> None:
    engine, script, needed, words = case
    needs_exactly(plan(checkout, engine, script), free, needed, words)


@pytest.mark.parametrize("case", LINKED)
def test_without_links_the_copy_of_the_dataset_is_counted_too(
    checkout: FakeCheckout, free: dict[str, int], monkeypatch: pytest.MonkeyPatch, case: tuple[str, str, int, str]
) -> None:
    engine, script, needed, words = case
    wanted = plan(checkout, engine, script)
    monkeypatch.setattr("os.link", refuse)
    copy = "dataset tiny and a copy of dataset tiny (it cannot be hard-linked here)"
    needs_exactly(wanted, free, needed + PAIRS, words.replace("dataset tiny", copy, 1))


def test_datasets_on_a_disk_of_their_own_are_counted_there(
    checkout: FakeCheckout, free: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = plan(checkout, "rocksdb", "get.lua")
    wanted.checkout.datasets.mkdir(parents=True)
    wanted.checkout.work.mkdir()
    monkeypatch.setattr(dataset, "on_one_disk", lambda _: False)
    monkeypatch.setattr(dataset, "can_link", lambda _: False)
    free |= {"datasets": PAIRS, "work": 3 * PAIRS}
    check_space(wanted)
    free["datasets"] = PAIRS - 1
    with pytest.raises(RunError, match=r"/datasets has .* dataset tiny needs"):
        check_space(wanted)
    free |= {"datasets": PAIRS, "work": 3 * PAIRS - 1}
    with pytest.raises(RunError, match=r"/work has .* a copy of dataset tiny .* and its pairs in engine rocksdb needs"):
        check_space(wanted)


def test_a_run_needs_room_for_its_results(
    checkout: FakeCheckout, free: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    free |= {"else": 10**9, "results": -1}
    place = checkout.root / "elsewhere" / "results"
    place.mkdir(parents=True)
    monkeypatch.setenv("LAB_RESULTS", str(place))
    with pytest.raises(RunError) as caught:
        check_places(Checkout(checkout.root))
    margin = re.escape(format_bytes(dataset.MARGIN_BYTES))
    assert re.fullmatch(rf"the disk of {place} has \S+ \S+ free; {margin} must stay free", caught.value.message)
    assert "LAB_RESULTS=/path/on/a/larger/disk" in caught.value.hint
