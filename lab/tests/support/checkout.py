"""A small checkout in a temporary directory whose programs are fakes, so that a whole run takes seconds.

The lab is the real one, started as users start it; only what it measures is not.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lab.cpu_plan import cpu_list
from lab.machine.cpus import usable_cpus

SUPPORT = Path(__file__).resolve().parent
SOURCES = SUPPORT.parents[1] / "src"
SCHEMA = SOURCES / "lab/schemas/run.schema.json"
ALL_CPUS = cpu_list(tuple(usable_cpus()))
"""CPUs for labs that measure fakes: on one CPU they would wait for each other."""
LIMIT_S = 120.0
"""Time that a test waits for a process to end, which should take a second: a machine may be slow."""
LOOKS_MAX = 6_000
"""Number of looks for something that should take a second, 10 ms or more apart. A machine that stops does not count."""

EXPERIMENT: dict[str, Any] = {
    "title": "A fake",
    "service": {"variant": "stack"},
    "dataset": "tiny",
    "load": {"script": "get.lua", "rate": 100, "threads": 1, "connections": 1, "duration": "1s", "warmup": "1s"},
    "profile": {"events": ["cpu", "alloc"], "interval": "500us"},
}


_candidates = itertools.count(random.SystemRandom().randrange(10_000, 30_000))


def free_port() -> int:
    """Return a port below those that the kernel hands out, so that no other program gets it before it is used."""
    for port in _candidates:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("count() does not end")


@functools.cache
def _forking() -> subprocess.Popen[str]:
    """Start the process that forks labs. It ends with this one, which holds the other end of its standard input."""
    return subprocess.Popen(
        [sys.executable, str(SUPPORT / "lab_forked.py")],
        env={**os.environ, "PYTHONPATH": str(SOURCES), "OPENBLAS_NUM_THREADS": "1"},  # a fork has no other threads
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@dataclass
class FakeCheckout:
    """The checkout. `environment` is added to the lab's."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    _started: subprocess.Popen[str] | None = None

    def build(self) -> FakeCheckout:
        for place in ("bin", "loadgen/scripts", "loadgen/target/release", "profiler/target/release", "service"):
            (self.root / place).mkdir(parents=True)
        self.write("loadgen/scripts/get.lua", "-- lab: reads\n")
        self.write("loadgen/scripts/put.lua", "-- lab: writes\n")
        self.program("loadgen/target/release/loadgen", "fake_loadgen.py")
        self.program("profiler/target/release/profile", "fake_profile.py")
        shutil.copy(SUPPORT.parents[2] / "profiler/categories.toml", self.root / "profiler")
        self.program("jdk/bin/java", "fake_java.py")
        self.script("bin/find-jdk", f"echo {self.root}/jdk")
        self.write("Makefile", "build-service build-loadgen build-profiler:\n\t@echo $@ is up to date\n")
        jar = self.root / "service/server/target/service/lsmlab-server.jar"
        jar.parent.mkdir(parents=True)
        with zipfile.ZipFile(jar, "w") as archive:
            archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
        self.write("experiments/datasets.yaml", "tiny: {pairs: 100, value_bytes: 10, seed: 1, tables: 2}\n")
        self.experiment("fake")
        return self

    def experiment(self, name: str, **changes: Any) -> None:
        document = {**EXPERIMENT, **changes}
        self.write(f"experiments/{name}/experiment.yaml", yaml.safe_dump(document, sort_keys=False))

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def script(self, name: str, body: str) -> None:
        self.write(name, f"#!/bin/sh\n{body}\n")
        (self.root / name).chmod(0o755)

    def program(self, name: str, source: str) -> None:
        self.script(name, f'exec {sys.executable} {SUPPORT / source} "$@"')

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        """Start a lab as users do, in a process that the test can signal."""
        self._started = subprocess.Popen(
            [sys.executable, str(SUPPORT / "lab_unobserved.py"), *words],
            cwd=self.root,
            env=self._environment(**environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        return self._started

    def lab(self, *words: str, limit_s: float = 600, **environment: str) -> tuple[int, str]:
        """Run the lab to its end, forked from a process that has imported it; return its exit code and output."""
        forking = _forking()
        assert forking.stdin is not None
        assert forking.stdout is not None
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as output:
            asked = {"words": words, "directory": str(self.root), "output": output.name}
            print(
                json.dumps({**asked, "environment": self._environment(**environment)}), file=forking.stdin, flush=True
            )
            pid = int(forking.stdout.readline())
            timer = threading.Timer(limit_s, os.killpg, (pid, signal.SIGKILL))
            timer.start()
            code = int(forking.stdout.readline())
            timer.cancel()
            printed = output.read()
        assert code != -signal.SIGKILL, f"the lab did not end within {limit_s} s; it printed:\n{printed}"
        return code, printed

    def _environment(self, **environment: str) -> dict[str, str]:
        settings = ("RUNTIME", "LOADGEN", "PORT", "COLUMNS")
        clean = {key: value for key, value in os.environ.items() if key not in settings}
        return {
            **clean,
            "LAB_ROOT": str(self.root),
            "FAKE_LOADGEN_STARTED": str(self.root / ".cache/loads"),
            "FAKE_WARM_UP_TAKES_S": "0.1",  # nothing warms up
            "LAB_LOCK": str(self.root / ".cache/run.lock"),
            "PYTHONPATH": str(SOURCES),
            "RUNTIME": "local",
            "PORT": "0",
            "ADMIN_PORT": "0",
            "LOADGEN_METRICS_PORT": str(free_port()),
            "MONITORING": "off",
            "CPUS_OTHER": ALL_CPUS,
            **self.environment,
            **environment,
        }

    def runs(self, experiment: str = "fake") -> list[Path]:
        return sorted((self.root / "results" / experiment).glob("*Z*"))

    def manifest(self, experiment: str = "fake") -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.runs(experiment)[-1] / "run.json").read_text())
        return document

    def left_running(self) -> list[str]:
        """Return the command lines of processes of this checkout that still run, zombies left out."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                command = (entry / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
            if str(self.root) in command:
                found.append(command)
        return found

    def wait_for_load(self, source: str) -> None:
        """Wait until the load generator of this part of the newest run has sent its first request."""
        started = self.root / ".cache/loads"
        self.wait_until(
            f"a load of {source}",
            lambda: started.exists() and f"{self.runs()[-1] / source}/" in started.read_text(),
        )

    def wait_for_phase(self, phase: str) -> None:
        """Wait until the lab says in its textfile metrics that this phase is active."""
        path = self.root / ".cache/metrics/lab.prom"

        def reached() -> bool:
            with contextlib.suppress(FileNotFoundError):
                return re.search(rf'lab_run_info{{.*phase="{phase}"}} 1', path.read_text()) is not None
            return False

        self.wait_until(f"phase {phase}", reached)

    def wait_for_program(self, words: str) -> str:
        """Wait until a program of this checkout runs whose command line holds these words; return the command line."""
        found: list[str] = []

        def reached() -> bool:
            found.extend(command for command in self.left_running() if words in command)
            return bool(found)

        self.wait_until(f"a program {words}", reached)
        return found[0]

    def wait_until(self, what: str, reached: Callable[[], bool]) -> None:
        """Wait until a condition holds. If the lab that was started last ends before, fail with what it printed."""
        for _ in range(LOOKS_MAX):
            ended = self._started is not None and self._started.poll() is not None
            if reached():
                return
            if ended:
                assert self._started is not None
                raise AssertionError(f"the lab ended before {what}; it printed:\n{self._started.communicate()[0]}")
            time.sleep(0.01)
        raise AssertionError(f"{what} was not reached")

    def wait_until_nothing_runs(self) -> None:
        """Wait for the end of processes that were just killed."""
        for _ in range(LOOKS_MAX):
            if not self.left_running():
                return
            time.sleep(0.01)
        raise AssertionError(self.left_running())


def nothing_is_left(checkout: FakeCheckout) -> bool:
    """Whether no process and no scratch file of a run is left; a process that was just killed gets a moment."""
    checkout.wait_until_nothing_runs()
    work = checkout.root / ".cache/work"
    assert not work.exists() or list(work.iterdir()) == [], list(work.iterdir())
    assert not (checkout.root / ".cache/metrics/lab.prom").exists()
    assert not list((checkout.root / ".cache").glob("datasets/*.part"))
    return True
