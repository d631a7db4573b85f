"""Disturbances planted into real runs: each makes the run suspect with its own reason; a quiet run has none of them.

They need a machine that is quiet otherwise, and take about 45 seconds each: `make torture-lab`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .conftest import CHECKOUT, make, runs_of

SETTINGS = {
    "NAME": "sync-get",
    "RATE": "20000",
    "DURATION": "30s",
    "WARMUP": "10s",
    "PROFILE": "off",
    "RUNTIME": "local",
}
INTO_THE_MEASUREMENT_S = 10.0
SERVICE_CPU, LOADGEN_CPU = 0, 1
BUSY = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: pass"
PLANTABLE = {"other load", "generator's error", "throttling", "memory pressure", "steady state"}

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(os.cpu_count() != 2, reason="the CPU plan of these tests is that of two CPUs"),
]


@dataclass(frozen=True)
class Judged:
    state: str
    checks: dict[str, dict[str, Any]]

    def warned(self) -> set[str]:
        return {name for name in PLANTABLE if self.checks[name]["outcome"] in ("warn", "fail")}


def run_with(plant: Callable[[Path], None], **settings: str) -> Judged:
    """Runs the experiment, and `plant` with its directory ten seconds into its first measurement."""
    before = runs_of("sync-get")
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            for run in runs_of("sync-get") - before:
                if (run / "measure" / "1").is_dir():
                    time.sleep(INTO_THE_MEASUREMENT_S)
                    plant(run)
                    return
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        done = make("experiment", *(f"{key}={value}" for key, value in {**SETTINGS, **settings}.items()))
    finally:
        over.set()
        watcher.join()
    (run,) = runs_of("sync-get") - before
    assert done.returncode == 0, done.stdout[-3000:]
    validity = json.loads((run / "run.json").read_text())["validity"]
    return Judged(validity["state"], {check["name"]: check for check in validity["checks"]})


def hog(cpu: int, seconds: float) -> None:
    subprocess.run(["taskset", "-c", str(cpu), sys.executable, "-c", BUSY.format(seconds)], check=True)


def pid_of(part: str) -> int:
    found = subprocess.run(["pgrep", "-f", f"^{CHECKOUT}/{part}"], capture_output=True, text=True, check=True)
    return int(found.stdout.split()[0])


def java_pid() -> int:
    found = subprocess.run(["pgrep", "-f", "lsmlab-server.jar serve"], capture_output=True, text=True, check=True)
    return int(found.stdout.split()[0])


@contextlib.contextmanager
def quota(pid: int, share: float) -> Iterator[None]:
    """A cgroup that gives a process `share` of a CPU."""
    version_1 = Path("/sys/fs/cgroup/cpu")
    base = version_1 if version_1.is_dir() else Path("/sys/fs/cgroup")
    home = next(
        line.split(":", 2)[2]
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        if line.startswith("0::") or ":cpu:" in line or ":cpu,cpuacct:" in line
    )
    group = base / "lsmlab-test"
    group.mkdir()
    try:
        if version_1.is_dir():
            (group / "cpu.cfs_quota_us").write_text(str(int(100_000 * share)))
        else:
            (base / "cgroup.subtree_control").write_text("+cpu")
            (group / "cpu.max").write_text(f"{int(100_000 * share)} 100000")
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        with contextlib.suppress(OSError):
            (base / home.lstrip("/") / "cgroup.procs").write_text(str(pid))
        for _ in range(100):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.1)


def test_a_quiet_run_has_none_of_these_reasons() -> None:
    assert run_with(lambda run: None).warned() == set()


@pytest.mark.parametrize(("cpu", "side"), [(SERVICE_CPU, "the service"), (LOADGEN_CPU, "the load generator")])
def test_a_hog_for_three_seconds_is_named_with_its_side(cpu: int, side: str) -> None:
    judged = run_with(lambda run: hog(cpu, 3.0))
    assert judged.state in ("suspect", "invalid")
    assert judged.checks["other load"]["outcome"] == "warn"
    assert f"of a CPU of {side} in second" in judged.checks["other load"]["detail"]


def test_a_generator_that_stood_still_is_named_as_the_reason() -> None:
    def stop(run: Path) -> None:
        pid = pid_of("loadgen/target/release/loadgen")
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.9)
        os.kill(pid, signal.SIGCONT)

    judged = run_with(stop)
    assert judged.warned() == {"generator's error"}
    assert "stood still for 9" in judged.checks["generator's error"]["detail"]


def test_a_quota_on_the_service_is_named() -> None:
    def throttle(run: Path) -> None:
        with quota(java_pid(), 0.2):
            time.sleep(3.0)

    judged = run_with(throttle)
    assert judged.checks["throttling"]["outcome"] == "warn"
    assert "a cgroup quota held the service back" in judged.checks["throttling"]["detail"]


def test_a_jvm_without_a_warm_up_is_no_steady_state() -> None:
    assert "steady state" in run_with(lambda run: None, WARMUP="0s").warned()
