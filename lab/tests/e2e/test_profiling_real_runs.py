"""Hot spots, pauses, compactions and differences planted into real runs: the profile finds them.

A variant with the plants is built into a copy of the checkout, and measured there by `make experiment` as any other.
They measure, so they need a machine that is quiet otherwise: `make torture-profiling`.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import CHECKOUT
from .copied import VARIANTS, copy_of_checkout, make_in, register_variants
from .planted_compactions import Planted, compactions

SOURCE = Path(__file__).parent / "planted/PlantedVariant.java"
KINDS = ("hot", "pausing", "sleeping")
SELECTORS = 16
"""Selector threads of the variant that sleeps while it holds a lock. With so many, most of the service's threads wait
for the lock, and these waits show even if a busy machine delays some samples."""
POINTS = 0.03
CONVERSION_S_MAX = 20.0

pytestmark = pytest.mark.torture


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    """A copy of the checkout with the planted variants and an experiment of each."""
    with copy_of_checkout("planted") as directory:
        shutil.copy(SOURCE, directory / VARIANTS)
        register_variants(
            directory,
            [f'new Entry("planted-{kind}", PlantedVariant.SUMMARY, PlantedVariant::{kind})' for kind in KINDS],
        )
        for kind in ("hot", "pausing"):
            declare(directory, f"planted-{kind}", {"variant": f"planted-{kind}"})
        declare(directory, "planted-sleeping", {"variant": "planted-sleeping", "selectors": SELECTORS}, ["cpu", "wall"])
        declare(directory, "planted-compaction", {"variant": "sync"})
        declare(directory, "planted-none", {"variant": "queue"})
        yield directory


def declare(
    directory: Path, name: str, service: dict[str, str | int], events: Sequence[str] = ("cpu", "alloc", "lock")
) -> None:
    home = directory / "experiments" / name
    home.mkdir()
    load = {"script": "get.lua", "rate": 15_000, "threads": 1, "connections": 16, "duration": "60s", "warmup": "5s"}
    settings = {
        "title": name,
        "question": "Is what was planted found?",
        "service": service,
        "dataset": "pairs-200k",
        "load": load,
        "profile": {"events": list(events), "interval": "500us"},
    }
    (home / "experiment.yaml").write_text(yaml.safe_dump(settings))


def measure(copy: Path, name: str, **settings: str) -> Path:
    """Run an experiment; return its run."""
    before = set((copy / "results").glob("*/*Z"))
    words = {"RUNTIME": "local", **settings}
    make_in(copy, "experiment", f"NAME={name}", *(f"{key}={value}" for key, value in words.items()))
    (run,) = set((copy / "results").glob("*/*Z")) - before
    return run


@pytest.fixture(scope="module")
def hot_run(copy: Path) -> Path:
    return measure(copy, "planted-hot")


@pytest.fixture(scope="module")
def pausing_run(copy: Path) -> Path:
    return measure(copy, "planted-pausing")


@pytest.fixture(scope="module")
def sleeping_run(copy: Path) -> Path:
    return measure(copy, "planted-sleeping", DURATION="40s", RATE="5000", CONNECTIONS="64")


@pytest.fixture(scope="module")
def compacted_run(copy: Path) -> tuple[Path, Planted]:
    """A run in which nothing is compacted but what is planted, on one CPU, so that requests cannot go to another."""
    if os.geteuid() != 0:
        pytest.skip("raising the priority of a thread needs root")
    with compactions(copy / "results/planted-compaction") as planted:
        cpu = str(min(os.sched_getaffinity(0)))
        run = measure(copy, "planted-compaction", DURATION="40s", WARMUP="15s", CPUS_SERVICE=cpu)
    return run, planted


@pytest.fixture(scope="module")
def same_runs(copy: Path) -> list[Path]:
    """Five starts of one experiment: ten pairs of the same."""
    return [measure(copy, "planted-none", DURATION="15s") for _ in range(5)]


def document(run: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "profile" / name).read_text())
    return found


def truth(run: Path) -> dict[str, float]:
    """Return by how much the variant's own counters grew during the recording."""
    profile = document(run, "profile.json")
    start_ms, end_ms = profile["started_ms"], profile["started_ms"] + 1e3 * profile["duration_s"]
    lines = [line for line in (run / "service.log").read_text().splitlines() if line.startswith("planted {")]
    counters = [json.loads(line.removeprefix("planted ")) for line in lines]
    inside = [each for each in counters if start_ms <= each["at_ms"] <= end_ms]
    return {name: inside[-1][name] - inside[0][name] for name in inside[0]}


def widths(run: Path, event: str, method: str) -> tuple[float, float]:
    """Return the width of the stacks that this method is in, and of all, in the event's unit."""
    inside = whole = 0.0
    for line in (run / f"profile/{event}.collapsed").read_text().splitlines():
        stack, _, value = line.rpartition(" ")
        whole += float(value)
        inside += float(value) if f"PlantedVariant.{method};" in stack + ";" else 0.0
    return inside, whole


def test_a_method_that_burns_a_known_share_of_cpu(hot_run: Path) -> None:
    known = truth(hot_run)
    inside, whole = widths(hot_run, "cpu", "burn")
    profile = document(hot_run, "profile.json")
    print(f"cpu: {profile['cpu_sampled_s']:.1f} s sampled, {profile['cpu_s']:.1f} s used")
    print(f"cpu: {inside / whole:.4f} found, {known['burn_ns'] / known['process_ns']:.4f} planted")
    assert inside / whole == pytest.approx(known["burn_ns"] / known["process_ns"], abs=POINTS)
    assert known["burn_ns"] / known["process_ns"] == pytest.approx(0.3, abs=POINTS), "as planted"


def test_a_method_that_allocates_a_known_number_of_bytes_a_second(hot_run: Path) -> None:
    known = truth(hot_run)
    seconds = known["at_ms"] / 1e3
    inside, whole = widths(hot_run, "alloc", "allocate")
    print(f"alloc: {inside / whole:.4f} found, {known['hot_bytes'] / known['all_bytes']:.4f} planted")
    print(f"alloc: {inside / seconds / 1e6:.2f} MB/s found, {known['hot_bytes'] / seconds / 1e6:.2f} planted")
    assert inside / whole == pytest.approx(known["hot_bytes"] / known["all_bytes"], abs=POINTS)


def test_a_lock_that_is_held_for_a_known_share(hot_run: Path) -> None:
    known = truth(hot_run)
    inside, whole = widths(hot_run, "lock", "waitHot")
    waited = known["hot_wait_ns"] + known["cold_wait_ns"]
    print(f"lock: {inside / whole:.4f} found, {known['hot_wait_ns'] / waited:.4f} planted")
    assert inside / whole == pytest.approx(known["hot_wait_ns"] / waited, abs=POINTS)
    seconds = known["at_ms"] / 1e3
    print(f"lock: {inside / 1e9 / seconds:.4f} of the time found, {known['hot_wait_ns'] / 1e9 / seconds:.4f} planted")
    assert inside / 1e9 / seconds == pytest.approx(known["hot_wait_ns"] / 1e9 / seconds, abs=POINTS)


def test_a_pause_is_named_by_the_slowest_seconds(pausing_run: Path) -> None:
    assert truth(pausing_run)["pauses"] >= 10
    tail = document(pausing_run, "tail.json")
    first, *_ = tail["events"]["cpu"]["methods"]
    print(f"pause: {first}; seconds: {tail['seconds']}")
    assert (first["name"], first["significant"]) == ("lsmlab/server/variant/PlantedVariant.pause", True)
    assert all(second["latency_ms"] >= 100 for second in tail["seconds"])


def test_a_pause_that_sleeps_with_a_lock_is_named_by_the_wall_clock(sleeping_run: Path) -> None:
    assert truth(sleeping_run)["pauses"] >= 6
    tail = document(sleeping_run, "tail.json")
    first, *_ = tail["events"]["wall"]["methods"]
    print(f"sleep: {first}; seconds: {tail['seconds']}")
    assert (first["name"], first["significant"]) == ("lsmlab/server/variant/PlantedVariant.sleepWithLock", True)
    assert all(second["latency_ms"] >= 100 for second in tail["seconds"])


def test_a_compaction_is_named_by_the_slowest_seconds(compacted_run: tuple[Path, Planted]) -> None:
    run, planted = compacted_run
    tail = document(run, "tail.json")
    first, *_ = tail["events"]["cpu"]["categories"]
    print(f"compaction: {first}; planted: {planted.spans_ms}; seconds: {tail['seconds']}")
    for second in tail["seconds"]:
        start_ms, end_ms = second["start_ms"] - second["latency_ms"], second["start_ms"] + 1e3
        assert any(start < end_ms and end > start_ms for start, end in planted.spans_ms), f"not planted: {second}"
    assert (first["name"], first["significant"]) == ("compaction", True)
    _, _, after = (run / "report.md").read_text().partition("| Second | p99 | What went on |")
    rows = [line for line in after.partition("\n\n")[0].splitlines() if " s |" in line]
    assert len(rows) == len(tail["seconds"])
    assert all("compaction L" in row for row in rows), rows


def diff(copy: Path, a: Path, b: Path) -> dict[str, Any]:
    name_a, name_b = (str(run.relative_to(copy / "results")) for run in (a, b))
    make_in(copy, "diff", f"A={name_a}", f"B={name_b}")
    (found,) = (copy / "results/diff").glob("*/diff.json")
    result: dict[str, Any] = json.loads(found.read_text())
    shutil.rmtree(copy / "results/diff")
    return result


def test_a_planted_difference_tops_the_table(copy: Path, hot_run: Path, pausing_run: Path) -> None:
    first, *_ = diff(copy, pausing_run, hot_run)["events"]["cpu"]["methods"]
    print(f"difference: {first}")
    assert (first["name"], first["significant"]) == ("lsmlab/server/variant/PlantedVariant.burn", True)
    assert first["change"] > 0.2


def test_nothing_is_significant_between_starts_of_the_same_ten_times_of_ten(copy: Path, same_runs: list[Path]) -> None:
    alarms = []
    for a, b in itertools.combinations(same_runs, 2):
        for event, tables in diff(copy, a, b)["events"].items():
            lines = [line for table in ("categories", "groups", "methods") for line in tables[table]]
            alarms += [(a.name, b.name, event, line) for line in lines if line["significant"]]
    assert alarms == []


def test_a_minute_is_converted_in_twenty_seconds_on_one_cpu(pausing_run: Path, tmp_path: Path) -> None:
    for name in ("profile.jfr", "latency.hlog", "recorder.json"):
        shutil.copy(pausing_run / "profile" / name, tmp_path)
    home = subprocess.run([CHECKOUT / "bin/find-jdk"], capture_output=True, text=True, check=True).stdout.strip()
    program = CHECKOUT / "profiler/target/release/profile"
    words = ["convert", "--out", str(tmp_path), "--pprof", "--latency", str(tmp_path / "latency.hlog")]
    last = max(os.sched_getaffinity(0))
    began = time.monotonic()
    subprocess.run(
        ["taskset", "-c", str(last), str(program), *words], env={**os.environ, "JAVA_HOME": home}, check=True
    )
    took_s = time.monotonic() - began
    print(f"conversion: {took_s:.1f} s")
    assert took_s < CONVERSION_S_MAX
