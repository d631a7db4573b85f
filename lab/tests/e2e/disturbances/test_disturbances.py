"""Disturbances planted into real runs: each makes the run suspect with its own reason; a quiet run has none of them.

They need a machine that is quiet otherwise, and take about 55 seconds each: `make torture-lab`. A run from
which the hypervisor took over 1% of a CPU is repeated, whatever its verdict was, up to four times.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from lab.paths import Checkout

from ..conftest import CHECKOUT
from ..copied import copy_of_checkout
from ..planted_compactions import addresses, compact_all
from .disturbing import (
    INTO_THE_MEASUREMENT_S,
    LOADGEN_CPU,
    QUIET_STEAL_MAX,
    SERVICE_CPU,
    Judged,
    fill_disk,
    hog,
    run_with,
)
from .planted_limits import group_with, read_into_cache, take_memory, throttle

SETTINGS = {
    "NAME": "sync-get",
    "RATE": "10000",
    "DURATION": "30s",
    "WARMUP": "10s",
    "PROFILE": "off",
    "MONITORING": "off",
    "RUNTIME": "local",
}
REPEATED_MAX = 4
POWER = {"NAME": "put-power", "RATE": "2000"}
SEEN = (
    "CPU set",
    "other load",
    "steal",
    "throttling",
    "run delay",
    "memory pressure",
    "page cache",
    "other I/O",
    "clock",
)
"""Checks whose evidence may not be lost when a machine is busy."""
SLOW_SCRIPT = """
-- lab: reads
local before = "GET /v0/entity?id=k%09d HTTP/1.1\\r\\nHost: here\\r\\n\\r\\n"
local number = 0
function request()
  local free_at = os.clock() + 0.0001
  repeat until os.clock() >= free_at
  number = (number + 1) % 1000
  return string.format(before, number)
end
"""
"""Takes 100 µs of the load generator's CPU for each request: 10,000 a second at most."""
TEN_MS = """
import time
while True:
  end = time.process_time() + 0.01
  while time.process_time() < end: pass
  time.sleep(0.99)
"""
"""Uses 10 ms of CPU time each second."""

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(os.cpu_count() != 2, reason="the CPU plan of these tests is that of two CPUs"),
]


def run_of(
    plant: Callable[[Path], None] = lambda run: None, after_s: float = INTO_THE_MEASUREMENT_S, **settings: str
) -> Judged:
    """Run the experiment with a disturbance; whatever it is, the evidence is complete."""
    for _ in range(1 + REPEATED_MAX):
        judged = run_with(plant, {**SETTINGS, **settings}, after_s=after_s)
        print(judged.run.name, f"{judged.state}, steal of {judged.stolen:.1%}", *judged.reasons, sep="\n  ")
        assert [name for name in SEEN if judged.checks[name]["outcome"] == "unknown"] == []
        if judged.stolen <= QUIET_STEAL_MAX:
            break
    return judged


def pid_of(part: str) -> int:
    found = subprocess.run(["pgrep", "-f", f"^{CHECKOUT}/{part}"], capture_output=True, text=True, check=True)
    return int(found.stdout.split()[0])


def java_pid() -> int:
    found = subprocess.run(["pgrep", "-f", "lsmlab-server.jar serve"], capture_output=True, text=True, check=True)
    return int(found.stdout.split()[0])


def tables_of(name: str) -> list[Path]:
    """Make the dataset of an experiment, by a short run, if it is not cached; return its tables."""
    short = run_with(lambda run: None, {**SETTINGS, "NAME": name, "DURATION": "2s", "WARMUP": "0s"})
    dataset = json.loads((short.run / "run.json").read_text())["environment"]["dataset"]["hash"]
    return sorted((Checkout(CHECKOUT).datasets / dataset / "store").glob("*.sst"))


@pytest.mark.parametrize("settings", [{}, POWER], ids=["GET", "PUT that is synced"])
def test_a_quiet_run_has_no_reason(settings: dict[str, str]) -> None:
    judged = run_of(**settings)
    assert judged.warned() == set(), judged.checks["other processes"]["detail"]


def test_a_hog_on_the_services_cpu_is_the_only_reason() -> None:
    judged = run_of(lambda run: hog(SERVICE_CPU, 3.0))
    assert judged.warned() == {"other load"}
    assert "of a CPU of the service in second" in judged.checks["other load"]["detail"]


def test_a_process_that_is_too_small_for_a_bad_second_is_named(tmp_path: Path) -> None:
    program = tmp_path / "ten-ms"
    program.symlink_to(sys.executable)
    small = subprocess.Popen(["taskset", "-c", str(SERVICE_CPU), program, "-S", "-c", TEN_MS])
    try:
        judged = run_of()
    finally:
        small.kill()
        small.wait()
    detail = judged.checks["other processes"]["detail"]
    used = re.search(r"ten-ms (\d\.\d+)%", detail)
    assert used is not None, detail
    assert 0.8 < float(used[1]) < 1.2
    assert judged.checks["other load"]["outcome"] == "pass"


def test_a_hog_on_the_generators_cpu_is_the_reason_apart_from_its_effect_on_percentiles() -> None:
    judged = run_of(lambda run: hog(LOADGEN_CPU, 3.0))
    assert "other load" in judged.warned()
    assert judged.warned() <= {"other load", "generator's error"}
    assert "of a CPU of the load generator in second" in judged.checks["other load"]["detail"]


def test_a_generator_that_stood_still_is_the_only_reason() -> None:
    def stop(run: Path) -> None:
        pid = pid_of("loadgen/target/release/loadgen")
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.9)
        os.kill(pid, signal.SIGCONT)

    judged = run_of(stop)
    assert judged.warned() == {"generator's error"}
    assert "stood still for 9" in judged.checks["generator's error"]["detail"]


def test_a_quota_on_the_service_is_the_only_reason() -> None:
    with group_with("cpu") as group:
        judged = run_of(lambda run: throttle(java_pid(), group, share=0.1, seconds=3.0))
    assert judged.warned() == {"throttling"}
    assert "a cgroup quota held the service back" in judged.checks["throttling"]["detail"]


def test_reclaim_of_the_services_memory_is_the_only_reason() -> None:
    with group_with("memory") as group:
        read_into_cache(group, tables_of("sync-get"))
        judged = run_of(lambda run: take_memory(java_pid(), group, share=0.3, seconds=3.0))
    assert judged.warned() == {"memory pressure"}
    assert "processes waited for memory" in judged.checks["memory pressure"]["detail"]


def test_another_process_on_the_disk_that_responses_wait_for_is_the_only_reason() -> None:
    judged = run_of(lambda run: fill_disk(Checkout(CHECKOUT).cache, 3.0), **POWER)
    assert judged.warned() == {"other I/O"}
    assert "for a disk that other programs used" in judged.checks["other I/O"]["detail"]


def test_a_compaction_at_the_start_is_the_reason_apart_from_its_effect_on_the_median() -> None:
    def compact(run: Path) -> None:
        (start,) = addresses(run / "service.log")
        compact_all(*start)

    judged = run_of(compact, after_s=1.5, RATE="5000")
    assert "background work" in judged.warned()
    assert judged.warned() <= {"background work", "steady state"}


def test_a_jvm_without_a_warm_up_is_not_in_a_steady_state() -> None:
    judged = run_of(WARMUP="0s", DURATION="60s")
    assert judged.warned() == {"steady state"}
    assert "the JIT compiler" in judged.checks["steady state"]["detail"]


def test_a_rate_beyond_the_generator_is_not_called_the_services_limit() -> None:
    load = {"script": "slow.lua", "rate": 20_000, "threads": 1, "connections": 64, "duration": "12s", "warmup": "5s"}
    declared = {"title": "A slow script", "service": {"variant": "sync", "engine": "null"}, "profile": False}
    with copy_of_checkout("slow-script") as copy:
        (copy / "loadgen/scripts/slow.lua").write_text(SLOW_SCRIPT)
        home = copy / "experiments/slow-script"
        home.mkdir()
        (home / "experiment.yaml").write_text(yaml.safe_dump({**declared, "load": {**load, "expect": [404]}}))
        judged = run_with(
            lambda run: None, {"NAME": "slow-script", "RUNTIME": "local", "MONITORING": "off"}, checkout=copy
        )
    assert {"rate", "generator CPU"} <= judged.warned() <= {"rate", "generator CPU", "generator's error", "schedule"}
    assert "It is not certain that this was the service's limit" in judged.checks["rate"]["detail"]
    assert "generator CPU" in judged.checks["rate"]["detail"]
