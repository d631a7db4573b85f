"""Runs in a real cluster, and what goes wrong there. `make test-kubernetes` brings the cluster up.

The whole run is in test_main_job.py, whose tests are of this runtime then.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from .conftest import CHECKOUT, IN_A_CLUSTER, RATE, FinishedRun, runs_of

pytestmark = pytest.mark.skipif(not IN_A_CLUSTER, reason="no cluster: make test-kubernetes makes one and runs these")
WAIT_S = 120
LONG = ["NAME=sync-get", "RATE=500", "DURATION=300s", "WARMUP=0s", "RUNTIME=kubernetes"]


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
def run() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `make experiment`; whatever becomes of the test, the run and its namespace end."""
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
    said = kubectl("-n", "lsmlab", "get", "pods", "-l", "app.kubernetes.io/component=load", "-o", "name", check=False)
    return said.split() or ["pod/none"]


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    said, _ = process.communicate(timeout=WAIT_S)
    return process.returncode, said


def test_both_generators_did_half_and_started_together(finished_run: FinishedRun) -> None:
    load = json.loads((finished_run.directory / "measure/1/load.json").read_text())
    first, second = load["generators"]
    assert (first["part"], second["part"]) == ("1/2", "2/2")
    assert first["requests_due"] == second["requests_due"] == load["requests_due"] / 2
    assert load["requests_due"] == RATE * load["duration_s"]
    assert load["start"]["missed_by_us"] == 0
    assert first["started_at"] == second["started_at"]


def test_the_run_says_where_it_was(finished_run: FinishedRun) -> None:
    environment = json.loads((finished_run.directory / "run.json").read_text())["environment"]
    cluster, (node,) = environment["cluster"], environment["cluster"]["nodes"]
    assert (cluster["network"], cluster["generators"], cluster["store"]) == ("cluster", 2, "emptyDir")
    assert cluster["round_trip_us"] > 0
    assert (node["name"], len(node["parts"])) == ("localhost", 3)
    assert node["kernel"] == os.uname().release == environment["kernel"]
    assert node["allowed_cpus"].isdigit(), "one CPU, of its own"
    assert node["clock_uncertainty_ms"] > 0
    assert "Node localhost" in (finished_run.directory / "report.md").read_text()


def test_ctrl_c_leaves_no_namespace(run: Callable[..., subprocess.Popen[str]]) -> None:
    process = run()
    wait_for("the load", loading, process)
    os.killpg(process.pid, signal.SIGINT)
    code, said = ended(process)
    assert code != 0, said
    assert namespaces() == "", said


def test_a_generator_that_is_lost_ends_the_run_and_what_there_is_is_kept(
    run: Callable[..., subprocess.Popen[str]],
) -> None:
    before = runs_of("sync-get")
    process = run()
    wait_for("the load", loading, process)
    kubectl("-n", "lsmlab", "delete", load_pods()[1], "--now", "--wait=false")
    code, said = ended(process)
    assert code != 0
    assert "generator 2 of 2 on node localhost" in said
    assert namespaces() == "", said
    (directory,) = runs_of("sync-get") - before
    manifest = json.loads((directory / "run.json").read_text())
    assert manifest["complete"] is False
    assert (directory / "service.log").stat().st_size > 0


def test_a_service_whose_pod_is_deleted_ends_the_run(run: Callable[..., subprocess.Popen[str]]) -> None:
    process = run()
    wait_for("the load", loading, process)
    kubectl("-n", "lsmlab", "delete", "pod", "service", "--now", "--wait=false")
    code, said = ended(process)
    assert code != 0
    assert "the service died during the measurement" in said
    assert namespaces() == "", said


def test_an_api_server_that_is_restarted_ends_the_run_with_that_reason(
    run: Callable[..., subprocess.Popen[str]],
) -> None:
    process = run()
    wait_for("the load", loading, process)
    subprocess.run([CHECKOUT / "kubernetes" / "cluster", "restart-api-server"], check=True, timeout=WAIT_S)
    code, said = ended(process)
    assert code != 0
    assert "was the API server restarted?" in " ".join(said.split()), said
    assert namespaces() == "", said


def test_an_image_that_is_missing_is_named(run: Callable[..., subprocess.Popen[str]]) -> None:
    code, said = ended(run(REGISTRY="nowhere.example/lab"))
    assert code != 0
    assert "the image nowhere.example/lab/lsmlab-" in said
    assert "REGISTRY=" in said
    assert namespaces() == "", said


def test_more_cpus_than_there_are_is_told_with_what_to_do(run: Callable[..., subprocess.Popen[str]]) -> None:
    code, said = ended(run(SERVICE_CPUS="64"))
    assert code != 0
    assert "no node can take pod service" in said
    assert "Insufficient cpu" in " ".join(said.split())
    assert namespaces() == "", said


def test_the_namespace_of_a_lab_that_was_killed_is_removed_by_the_next(
    run: Callable[..., subprocess.Popen[str]],
) -> None:
    process = run()
    wait_for("the load", loading, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert namespaces() != ""
    code, said = ended(run("DURATION=2s", "PROFILE=off"))
    assert code == 0, said
    assert namespaces() == "", said
