"""Disturbances planted into the evidence: the verdict names each, and nothing else; without one, it names nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.analysis import judge
from lab.analysis.episode import Track, find
from lab.analysis.evidence import read_evidence
from lab.analysis.timeline import RowsError
from lab.manifest import Check, Manifest, Validity
from report.synthesis import Shape, make_evidence, make_run


def judged(directory: Path, **shape: Any) -> Validity:
    run = make_run(directory, Shape(**{"profiled": False, "seconds": 30, **shape}))
    return judge(run, Manifest.read(run / "run.json"))


def check(validity: Validity, name: str) -> Check:
    return next(check for check in validity.checks if check.name == name)


def warned(validity: Validity) -> set[str]:
    return {check.name for check in validity.checks if check.outcome in ("warn", "fail")}


PLANTED: dict[str, tuple[dict[str, Any], set[str], str]] = {
    "nothing": ({}, set(), ""),
    "hog on the service": (
        {"hog": {"service": (10, 3, 0.5)}},
        {"other load"},
        "used 50% of a CPU of the service in seconds",
    ),
    "hog on the generator": (
        {"hog": {"loadgen": (10, 3, 0.5)}},
        {"other load"},
        "of a CPU of the load generator in seconds",
    ),
    "generator stopped": (
        {"stop": (12, 0.9)},
        {"generator's error"},
        "the load generator stood still for 900 ms in second 12",
    ),
    "rate beyond the generator": (
        {"rate": 2500, "capacity": 2000, "busiest_share": 0.97},
        {"rate", "generator CPU"},
        "It is not certain that this was the service's limit (generator CPU)",
    ),
    "steal": ({"steal": 0.08}, {"steal"}, "the hypervisor took 8% of a CPU"),
    "quota": ({"throttled": 0.05}, {"throttling"}, "a cgroup quota held the service back for 5% of the time"),
    "CPU set": (
        {"unpinned_from": 27},
        {"CPU set"},
        "the service did not have the CPUs of the plan in seconds 27 to 29: its CPU set was changed",
    ),
    "memory stall": ({"memory_stall": 0.3}, {"memory pressure"}, "processes waited for memory 30% of the time"),
    "reclaim": (
        {"refaulting": 0.4, "episode": (10, 3)},
        {"memory pressure"},
        "processes waited for memory 40% of the time in seconds",
    ),
    "pages that are not cached": (
        {"reading": 0.4, "episode": (10, 3)},
        {"page cache"},
        "the service waited 40% of the time for data that were not in the page cache in seconds",
    ),
    "pages that are not cached, and a load that writes": ({"reading": 0.4, "power": True}, set(), ""),
    "disk of others": (
        {"power": True, "others_mb": 900, "episode": (10, 3)},
        {"other I/O"},
        "of the time for a disk that other programs used in seconds",
    ),
    "small writes of others": ({"power": True, "others_mb": 22, "episode": (10, 3)}, set(), ""),
    "a disk that only the service uses": ({"power": True}, set(), ""),
    "disk of others, and no response waits for it": ({"others_mb": 900}, set(), ""),
    "clock step": ({"clock_step_s": 1.5}, {"clock"}, "the wall clock was set by 1.5 s during the run"),
    "compaction": ({"compacts": True}, {"background work"}, "flush or compaction was running when repetition 1 began"),
    "compaction of few large tables": (
        {"compaction": (6, 5.0)},
        {"background work"},
        "flush or compaction was running when repetition 1 began",
    ),
    "compaction later": ({"compaction": (12, 5.0)}, set(), ""),
    "cold JVM": ({"level": (6, 3.0)}, {"steady state"}, "no steady state: from second 6 on the median latency is"),
    "JIT": ({"jit": 0.4}, {"steady state"}, "in the second half the JIT compiler still used 40% of a CPU"),
    "JIT of a saturated service": (
        {"rate": 2500, "capacity": 2000, "jit": 0.1},
        {"rate", "steady state"},
        "the JIT compiler still used 10% of a CPU, and the saturated service lacked it",
    ),
    "JIT of a service that waits for its data": (
        {"rate": 2500, "capacity": 2000, "jit": 0.1, "reading": 0.9},
        {"rate", "page cache"},
        "It is not certain that this was the service's limit (page cache)",
    ),
}
"""By name: the disturbance, the checks that name it, and words of its reason. No other check may warn or fail."""


@pytest.mark.parametrize(("planted", "names", "words"), PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_disturbance_is_named_and_no_other(
    tmp_path: Path, planted: dict[str, Any], names: set[str], words: str
) -> None:
    validity = judged(tmp_path, **planted)
    assert warned(validity) == names, validity.reasons
    assert (validity.state == "valid") == (not names), validity.reasons
    assert any(words in reason for reason in validity.reasons) or not words
    assert validity.findings == []


def test_a_dirty_tree_is_a_finding_and_no_other_is_one(tmp_path: Path) -> None:
    validity = judged(tmp_path, seconds=12, dirty=True)
    (finding,) = validity.findings
    assert finding.startswith("the source differs from commit 3f1c0ffee3f1")
    assert validity.state == "valid"


def test_a_change_of_level_shows_beside_a_disturbance(tmp_path: Path) -> None:
    """Seconds that a hog explains are left out, and not those before and after it."""
    validity = judged(tmp_path, hog={"service": (20, 3, 0.5)}, level=(8, 3.0))
    assert warned(validity) == {"other load", "steady state"}
    assert "from second 8 on" in check(validity, "steady state").detail


def test_if_most_seconds_are_disturbed_steadiness_is_unknown(tmp_path: Path) -> None:
    assert check(judged(tmp_path, hog={"service": (2, 24, 0.5)}), "steady state").outcome == "unknown"


def test_the_longest_episode_is_named_with_its_seconds_and_their_latencies(tmp_path: Path) -> None:
    detail = check(judged(tmp_path, hog={"service": (12, 3, 0.5)}), "other load").detail
    assert "in seconds 1" in detail
    assert "p99 latency was up to " in detail
    assert "otherwise" in detail


def test_one_bad_second_of_sixty_is_named_and_counts_by_its_size(tmp_path: Path) -> None:
    light = judged(tmp_path / "light", seconds=60, rate=200, hog={"service": (20, 1, 0.25)})
    assert check(light, "other load").outcome == "note"
    assert "used 25% of a CPU of the service in second" in check(light, "other load").detail
    assert light.state == "valid"
    heavy = judged(tmp_path / "heavy", seconds=60, rate=200, hog={"service": (20, 1, 0.9)})
    assert check(heavy, "other load").outcome == "warn"


def test_half_of_the_seconds_disturbed_is_invalid(tmp_path: Path) -> None:
    assert judged(tmp_path, hog={"service": (5, 20, 0.5)}).state == "invalid"


@pytest.mark.parametrize("second", [5, 0])
def test_one_second_without_the_cpus_of_the_plan_is_invalid(tmp_path: Path, second: int) -> None:
    validity = judged(tmp_path, unpinned_from=second)
    assert validity.state == "invalid"
    assert f"in seconds {second} to " in validity.unfit[0]


def test_pages_that_are_read_for_the_whole_run_make_it_suspect_and_stalls_invalid(tmp_path: Path) -> None:
    """The data may be larger than the memory: then it is no disturbance, and comparisons keep the run."""
    for name, size in (("again", {"refaulting": 0.4}), ("first", {"reading": 0.4})):
        read = judged(tmp_path / name, **size)
        assert (read.state, read.unfit) == ("suspect", [])
    stalled = judged(tmp_path / "stalled", memory_stall=0.4)
    assert stalled.state == "invalid"
    assert len(stalled.unfit) == 1


def test_a_service_whose_disk_traffic_is_not_known_is_not_called_undisturbed(tmp_path: Path) -> None:
    """The kernel tells nobody but root what the processes of another user read and write."""
    run = make_run(tmp_path, Shape(profiled=False, power=True))
    path = run / "machine.csv"
    path.write_text(path.read_text().replace("service_disk_bytes", "nothing", 1))
    assert check(judge(run, Manifest.read(run / "run.json")), "other I/O").outcome == "unknown"


def test_evidence_with_gaps_is_unknown(tmp_path: Path) -> None:
    validity = judged(tmp_path, missing_seconds=5)
    assert check(validity, "other load").outcome == "unknown"
    assert "evidence covers 8" in check(validity, "other load").detail


def test_with_gaps_in_the_evidence_a_light_disturbance_is_unknown_and_a_heavy_one_counts(tmp_path: Path) -> None:
    def found(share: float) -> Check:
        hog = {"service": (20, 1, share)}
        return check(judged(tmp_path / f"{share}", hog=hog, missing_seconds=5), "other load")

    light = found(0.25)
    assert light.outcome == "unknown"
    assert "used 25% of a CPU" in light.detail
    assert "evidence covers 8" in light.detail
    assert found(0.9).outcome == "warn"


def test_a_long_interval_is_no_evidence_by_the_second(tmp_path: Path) -> None:
    path = tmp_path / "machine.csv"
    path.write_text("time_s,interval_s,memory_stall_s\n1.0,1.0,0.5\n4.0,3.0,0.5\n5.0,1.0,\n6.0,1.0,0.2\n7.0,1")
    rows = read_evidence(path).within(0.0, 10.0)
    assert rows.end_s.tolist() == [1.0, 5.0, 6.0]
    assert np.array_equal(rows.per_s("memory_stall_s"), [0.5, np.nan, 0.2], equal_nan=True)
    assert np.isnan(rows.per_s("no such column")).all()


def test_damaged_evidence_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "machine.csv"
    path.write_text("time_s,interval_s\n1.0,1.0,3\n")
    with pytest.raises(RowsError, match=r"machine.csv:2: 3 cells under 2 columns"):
        read_evidence(path)


def test_episodes_do_not_reach_from_one_repetition_into_the_next() -> None:
    def track(repetition: int, values: list[float]) -> Track:
        n = len(values)
        return Track(repetition, float(n + 1), np.arange(n, dtype=float), np.ones(n), np.array(values))

    found = find([track(1, [0, 0, 1]), track(2, [1, 1, 0])], 0.5)
    assert found.longest is not None
    assert (found.longest.repetition, found.longest.start_s, found.longest.length_s) == (2, 0.0, 2.0)
    assert (found.bad_s, found.coverage) == (3.0, 1.0)


KINDS: tuple[tuple[str, Callable[[tuple[int, int], float], dict[str, Any]]], ...] = (
    ("other load", lambda episode, size: {"hog": {"service": (*episode, size)}}),
    ("other load", lambda episode, size: {"hog": {"loadgen": (*episode, size)}}),
    ("steal", lambda episode, size: {"steal": size, "episode": episode}),
    ("throttling", lambda episode, size: {"throttled": size, "episode": episode}),
    ("memory pressure", lambda episode, size: {"memory_stall": size, "episode": episode}),
    ("memory pressure", lambda episode, size: {"refaulting": size, "episode": episode}),
    ("page cache", lambda episode, size: {"reading": size, "episode": episode}),
    ("other I/O", lambda episode, size: {"power": True, "others_mb": 1000 * size, "episode": episode}),
)
"""The check that should name a disturbance, and the disturbance, by its episode of seconds and its size in CPUs."""
DELAYS: tuple[str, Callable[[tuple[int, int], float], dict[str, Any]]] = (
    "run delay",
    lambda episode, size: {"run_delay": size, "episode": episode},
)
OF_THE_WHOLE_RUN = {"CPU plan", "CPU set", "clock", "nodes", "other processes"}
"""Checks of the environment that do not count bad seconds: by what the run was told, one event, or averages."""


@pytest.mark.timeout(600)  # each is judged whole; the machine may be busy
def test_of_200_runs_clean_ones_stay_and_disturbed_ones_are_caught(tmp_path: Path) -> None:
    """At most 5% of clean runs excluded, at least 95% of disturbed ones caught, by the one check that should.

    A disturbance is 2 to 4 s long and takes 25 to 90% of a CPU, of the time, or of what the disk can write.
    """
    runs = {
        power: make_run(tmp_path / f"{power}", Shape(profiled=False, seconds=30, rate=60, power=power))
        for power in (False, True)
    }

    def with_evidence(seed: int, **shape: Any) -> set[str]:
        run = runs[shape.get("power", False)]
        manifest = Manifest.read(run / "run.json")
        make_evidence(run / "machine.csv", Shape(profiled=False, seconds=30, seed=seed, **shape), manifest.phases)
        return warned(judge(run, manifest))

    rng = np.random.default_rng(20)
    excluded = caught = 0
    for number in range(100):
        excluded += bool(with_evidence(number, power=bool(number % 2)))
        name, disturbance = KINDS[number % len(KINDS)]
        episode = (int(rng.integers(3, 24)), int(rng.integers(2, 5)))
        caught += with_evidence(1000 + number, **disturbance(episode, float(rng.uniform(0.25, 0.9)))) == {name}
    print(f"\nof 100 clean runs {excluded} were excluded, of 100 disturbed ones {caught} were caught")
    assert excluded <= 5
    assert caught >= 95


GRAVITY = {"pass": 0, "note": 1, "warn": 2, "fail": 3}
SUSPECT_AT_MOST = {"page cache"}


@pytest.mark.parametrize(
    ("name", "disturbance"), [*KINDS, DELAYS], ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_disturbance_that_lasts_longer_or_is_larger_is_judged_no_milder(
    tmp_path: Path, name: str, disturbance: Callable[[tuple[int, int], float], dict[str, Any]]
) -> None:
    """10, 45, 55 and 100% of the seconds, from the smallest that counts to the largest."""
    power = bool(disturbance((0, 1), 0.5).get("power"))
    run = make_run(tmp_path, Shape(profiled=False, seconds=40, rate=60, power=power))
    manifest = Manifest.read(run / "run.json")
    found: dict[float, list[int]] = {}
    for size in (0.06, 0.3, 0.9):
        for share in (0.1, 0.45, 0.55, 1.0):
            planted = disturbance((2, 4) if share == 0.1 else (0, round(share * 40)), size)
            make_evidence(run / "machine.csv", Shape(profiled=False, seconds=40, **planted), manifest.phases)
            outcome = check(judge(run, manifest), name).outcome
            found.setdefault(size, []).append(GRAVITY[outcome])
    assert all(outcomes == sorted(outcomes) for outcomes in found.values()), found
    assert all(list(column) == sorted(column) for column in zip(*found.values(), strict=True)), found
    refaulting = "refaulting" in disturbance((0, 1), 0.5)
    worst = GRAVITY["warn" if name in SUSPECT_AT_MOST or refaulting else "fail"]
    for size in (0.3, 0.9):
        assert found[size] == [2, 2, worst, worst], found


def test_every_check_of_the_environment_that_counts_seconds_is_disturbed_here() -> None:
    method = (Path(__file__).parents[3] / "docs/method.md").read_text(encoding="utf-8")
    rows = [row.split("|")[1] for row in method.splitlines() if row.startswith("|") and re.search(r", E\b", row)]
    marked = {re.sub(r"^ in a cluster.*?: | of the generator|, E\b.*", "", row).strip() for row in rows}
    assert marked == {name for name, _ in (*KINDS, DELAYS)} | OF_THE_WHOLE_RUN
