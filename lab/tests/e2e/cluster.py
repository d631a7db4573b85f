"""Shared by the tests in a real cluster: kubectl, runs of an experiment, and waits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import CHECKOUT, IN_A_CLUSTER, runs_of

only_in_a_cluster = pytest.mark.skipif(
    not IN_A_CLUSTER, reason="no cluster: make test-kubernetes makes one and runs these"
)
CLUSTER = CHECKOUT / "kubernetes" / "cluster"
NODE = "localhost"
WAIT_S = 240
NAME = "sync-put"
"""The experiment. It needs no dataset, which would take longer to make than the rest of a run."""
SHORT = ["DURATION=2s", "PROFILE=off"]
LONG = [f"NAME={NAME}", "RATE=500", "DURATION=300s", "WARMUP=0s", "RUNTIME=kubernetes"]
Start = Callable[..., "subprocess.Popen[str]"]
"""Starts `make experiment`, LONG unless the words say otherwise; keywords are environment variables."""


def kubectl(*words: str, check: bool = True) -> str:
    done = subprocess.run(["kubectl", *words], capture_output=True, text=True, timeout=WAIT_S, check=check)
    return done.stdout


def namespaces() -> str:
    return kubectl("get", "namespace", "lsmlab", "--ignore-not-found")


def wait_for(what: str, happened: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    deadline = time.monotonic() + WAIT_S
    while not happened():
        assert time.monotonic() < deadline, f"{what}: not within {WAIT_S} s"
        assert process is None or process.poll() is None, (
            f"{what}: the run ended before; it said:\n{process.stdout.read()}"
        )
        time.sleep(0.2)


@pytest.fixture
def run() -> Iterator[Start]:
    """Starts `make experiment`. The run and its namespace end with the test, even if it fails."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            ["make", "experiment", *LONG, *words],
            cwd=CHECKOUT,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    kubectl("delete", "namespace", "lsmlab", "--ignore-not-found")


def loading() -> bool:
    """Whether both generators send."""
    script = (
        "for p in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$p; echo; done | grep -c '^/opt/lsmlab/loadgen .*--record'"
    )
    return all(
        kubectl("-n", "lsmlab", "exec", pod, "--", "sh", "-c", script, check=False).strip() == "1"
        for pod in load_pods()
    )


def load_pods() -> list[str]:
    output = kubectl("-n", "lsmlab", "get", "pods", "-l", "app.kubernetes.io/component=load", "-o", "name", check=False)
    return output.split() or ["pod/none"]


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=WAIT_S)
    return process.returncode, output


def loaded(process: subprocess.Popen[str]) -> subprocess.Popen[str]:
    """Wait until both generators of a run send; return the run."""
    wait_for("the load", loading, process)
    return process


def failed(process: subprocess.Popen[str]) -> str:
    """Wait for a run that must fail and remove its namespace; return what it printed."""
    code, output = ended(process)
    assert code != 0, output
    assert namespaces() == "", output
    return output


def finished(process: subprocess.Popen[str], before: set[Path]) -> dict[str, Any]:
    """Wait for a run that must end well; return its run.json."""
    code, output = ended(process)
    assert code == 0, output
    assert namespaces() == "", output
    (directory,) = runs_of(NAME) - before
    manifest: dict[str, Any] = json.loads((directory / "run.json").read_text())
    assert manifest["complete"] is True
    return manifest
