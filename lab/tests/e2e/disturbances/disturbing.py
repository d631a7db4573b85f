"""Runs of `make experiment` that something disturbs on purpose, and their verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.machine.sampler import cpu_idle_and_steal

from ..conftest import CHECKOUT, make

SERVICE_CPU, LOADGEN_CPU = 0, 1
"""The CPU plan on two CPUs."""
INTO_THE_MEASUREMENT_S = 10.0
QUIET_STEAL_MAX = 0.01
"""The share of one CPU that the hypervisor may take while a run is called quiet. Nothing here prevents more."""
_BUSY = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: pass"
_FILL = """
import mmap, os, sys, time
block, size = mmap.mmap(-1, 32 << 20), 256 << 20
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
os.unlink(sys.argv[1])
os.posix_fallocate(file, 0, size)
end, at = time.monotonic() + float(sys.argv[2]), 0
while time.monotonic() < end:
    os.pwrite(file, block, at % size)
    at += len(block)
    time.sleep(0.003)  # so that this is a load of the disk and not of a CPU
"""


@dataclass(frozen=True)
class Judged:
    """The verdict on a run. `stolen` is the share of a CPU that the hypervisor took from whichever CPU it took most."""

    run: Path
    stolen: float
    state: str
    reasons: list[str]
    checks: dict[str, dict[str, Any]]

    def warned(self) -> set[str]:
        """Return the checks that made the run suspect or invalid."""
        return {name for name, check in self.checks.items() if check["outcome"] in ("warn", "fail")}


class NoRunError(Exception):
    """`make experiment` failed; the end of what it printed."""


def run_with(
    plant: Callable[[Path], None],
    settings: dict[str, str],
    checkout: Path = CHECKOUT,
    after_s: float = INTO_THE_MEASUREMENT_S,
) -> Judged:
    """Run an experiment with these settings of make, and call `plant` during it; return its verdict.

    `plant` gets the run's directory, `after_s` seconds into the first measurement.

    Raises NoRunError.
    """
    results = checkout / "results" / settings["NAME"]
    before = set(results.glob("*T*Z"))
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            for run in set(results.glob("*T*Z")) - before:
                if (run / "measure" / "1").is_dir():
                    if not over.wait(after_s):
                        plant(run)
                    return

    steal, begin = steal_s(), time.monotonic()
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        done = make("experiment", *(f"{key}={value}" for key, value in settings.items()), directory=checkout)
    finally:
        over.set()
        watcher.join()
    stolen = max(end - steal[cpu] for cpu, end in steal_s().items()) / (time.monotonic() - begin)
    new = set(results.glob("*T*Z")) - before
    if done.returncode != 0 or len(new) != 1:
        raise NoRunError(f"exit code {done.returncode}: {done.stdout[-3000:]}")
    (run,) = new
    validity = json.loads((run / "run.json").read_text())["validity"]
    checks = {check["name"]: check for check in validity["checks"]}
    return Judged(run, stolen, validity["state"], validity["reasons"], checks)


def steal_s() -> dict[int, float]:
    """Return the CPU time that the hypervisor has taken since the start of the machine, in seconds, by CPU."""
    return cpu_idle_and_steal(Path("/proc/stat").read_text())[1]


def hog(cpu: int, seconds: float) -> None:
    """Keep a CPU busy, in a session of its own, which has as large a share of the CPU as the whole lab."""
    words = ["taskset", "-c", str(cpu), sys.executable, "-c", _BUSY.format(seconds)]
    subprocess.run(words, check=True, start_new_session=True)


def fill_disk(directory: Path, seconds: float) -> None:
    """Write to the disk of a directory, in blocks so large that even a fast disk has little rest."""
    words = ["taskset", "-c", str(LOADGEN_CPU), sys.executable, "-c", _FILL, str(directory / "filling"), str(seconds)]
    subprocess.run(words, check=True)
