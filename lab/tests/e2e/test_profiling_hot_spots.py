"""Hot spots planted into a real JVM that counts what each takes: the profile's shares agree within 3 points.

One recording of 20 seconds for all: `make torture-profiling`.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import IO

import pytest

from .conftest import CHECKOUT

PROFILE = CHECKOUT / "profiler/target/release/profile"
PROGRAM = Path(__file__).parent / "planted/HotSpots.java"
WARMUP_S, RECORDED_S = 5.0, 20.0
POINTS = 0.03

pytestmark = pytest.mark.torture

Recorded = tuple[dict[str, float], Path]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Record the program; return by how much its counters grew, and the converted recording."""
    out = tmp_path_factory.mktemp("hot-spots")
    home = Path(subprocess.run([CHECKOUT / "bin/find-jdk"], capture_output=True, text=True, check=True).stdout.strip())
    java = [str(home / "bin/java"), "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints", "-Xmx256m"]
    process = subprocess.Popen([*java, str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(WARMUP_S)
        profile(home, "start", "--pid", str(process.pid), "--out", str(out))
        before = counters(process.stdin, process.stdout)
        time.sleep(RECORDED_S)
        after = counters(process.stdin, process.stdout)
        profile(home, "stop", "--pid", str(process.pid), "--out", str(out))
    finally:
        process.kill()
        process.wait()
    profile(home, "convert", "--out", str(out))
    return {name: after[name] - before[name] for name in after}, out


def profile(home: Path, *words: str) -> None:
    environment = {**os.environ, "JAVA_HOME": str(home)}
    done = subprocess.run([str(PROFILE), *words], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr


def counters(ask: IO[str], told: IO[str]) -> dict[str, float]:
    ask.write("\n")
    ask.flush()
    found: dict[str, float] = json.loads(told.readline())
    return found


def widths(out: Path, event: str, method: str) -> tuple[float, float]:
    """Return the width of the stacks that this method is in, and of all, in the event's unit."""
    inside = whole = 0.0
    for line in (out / f"{event}.collapsed").read_text().splitlines():
        stack, _, value = line.rpartition(" ")
        whole += float(value)
        inside += float(value) if f"HotSpots.{method}" in stack.split(";") else 0.0
    return inside, whole


def test_a_method_that_burns_a_known_share_of_cpu(recorded: Recorded) -> None:
    truth, out = recorded
    inside, whole = widths(out, "cpu", "burn")
    assert inside / whole == pytest.approx(truth["burn_ns"] / truth["process_ns"], abs=POINTS)
    assert truth["burn_ns"] / (truth["burn_ns"] + truth["rest_ns"]) == pytest.approx(0.3, abs=POINTS), "as planted"


def test_a_method_that_allocates_a_known_share_and_rate(recorded: Recorded) -> None:
    truth, out = recorded
    inside, _ = widths(out, "alloc", "allocateHot")
    others, _ = widths(out, "alloc", "allocateCold")
    planted = truth["hot_bytes"] + truth["cold_bytes"]
    assert inside / (inside + others) == pytest.approx(truth["hot_bytes"] / planted, abs=POINTS)
    assert inside + others == pytest.approx(planted, rel=0.1), "bytes"


def test_a_lock_that_is_waited_for_a_known_share_of_the_time(recorded: Recorded) -> None:
    truth, out = recorded
    inside, whole = widths(out, "lock", "waitHot")
    waited = truth["hot_wait_ns"] + truth["cold_wait_ns"]
    assert inside / whole == pytest.approx(truth["hot_wait_ns"] / waited, abs=POINTS)
    assert whole == pytest.approx(waited, rel=0.1), "nanoseconds"
