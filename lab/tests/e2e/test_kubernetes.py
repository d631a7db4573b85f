"""Runs in a real cluster, and their failures. `make test-kubernetes` brings the cluster up.

The whole run is in test_main_job.py, whose tests are of this runtime then.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

from .cluster import (
    CLUSTER,
    NAME,
    NODE,
    SHORT,
    WAIT_S,
    Start,
    failed,
    finished,
    kubectl,
    load_pods,
    loaded,
    namespaces,
    only_in_a_cluster,
    run,
)
from .conftest import CHECKOUT, RATE, FinishedRun, runs_of

__all__ = ["run"]
pytestmark = only_in_a_cluster


def test_both_generators_did_half_and_started_together(finished_run: FinishedRun) -> None:
    load = json.loads((finished_run.directory / "measure/1/load.json").read_text())
    first, second = load["generators"]
    assert (first["part"], second["part"]) == ("1/2", "2/2")
    assert first["requests_due"] == second["requests_due"] == load["requests_due"] / 2
    assert load["requests_due"] == RATE * load["duration_s"]
    assert load["start"]["missed_by_us"] == 0
    assert first["started_at"] == second["started_at"]
    report = (finished_run.directory / "report.md").read_text()
    for row in ("1/2", "2/2", "While profiled, 1/2", "While profiled, 2/2"):
        assert f"| {row} | {NODE} |" in report


def test_the_run_records_its_cluster_and_node(finished_run: FinishedRun) -> None:
    environment = json.loads((finished_run.directory / "run.json").read_text())["environment"]
    cluster, (node,) = environment["cluster"], environment["cluster"]["nodes"]
    assert (cluster["network"], cluster["generators"], cluster["store"]) == ("cluster", 2, "emptyDir")
    of_run = node["measured"]
    assert cluster["measured"]["round_trip_us"] > 0
    assert (node["name"], len(of_run["parts"])) == (NODE, 3)
    assert node["kernel"] == os.uname().release == environment["kernel"]
    assert node["allowed_cpus"].isdigit(), "one CPU, of its own"
    assert 0 < of_run["clock_uncertainty_ms"] < 50
    assert abs(of_run["clock_ahead_ms"]) <= of_run["clock_uncertainty_ms"], "it is this machine's clock"
    assert of_run["audit"]["busy_share"] > 0
    assert of_run["audit"]["throttled_s"] is not None
    assert node["host"]["kernel_build"] == os.uname().version
    assert f"Node {NODE}" in (finished_run.directory / "report.md").read_text()


def test_ctrl_c_leaves_no_namespace(run: Start) -> None:
    process = loaded(run())
    os.killpg(process.pid, signal.SIGINT)
    failed(process)


def test_a_generator_that_is_lost_ends_the_run_and_what_there_is_is_kept(run: Start) -> None:
    before = runs_of(NAME)
    process = loaded(run())
    kubectl("-n", "lsmlab", "delete", load_pods()[1], "--now", "--wait=false")
    assert f"generator 2 of 2 on node {NODE}" in failed(process)
    (directory,) = runs_of(NAME) - before
    manifest = json.loads((directory / "run.json").read_text())
    assert manifest["complete"] is False
    assert (directory / "service.log").stat().st_size > 0


def test_a_service_whose_pod_is_deleted_ends_the_run(run: Start) -> None:
    process = loaded(run())
    kubectl("-n", "lsmlab", "delete", "pod", "service", "--now", "--wait=false")
    assert "the service died during the measurement" in failed(process)


def test_an_api_server_that_is_restarted_ends_the_run_with_that_reason(run: Start) -> None:
    process = loaded(run())
    subprocess.run([CLUSTER, "restart-api-server"], check=True, timeout=WAIT_S)
    output = failed(process)
    assert "was the API server restarted?" in " ".join(output.split()), output


def test_an_image_that_is_missing_is_named(run: Start) -> None:
    output = failed(run(REGISTRY="nowhere.example/lab"))
    assert "the image nowhere.example/lab/lsmlab-" in output
    assert "REGISTRY=" in output


def test_more_cpus_than_exist_are_refused_with_what_to_do(run: Start) -> None:
    output = failed(run(SERVICE_CPUS="64"))
    assert "no node can take pod service" in output
    assert "Insufficient cpu" in " ".join(output.split())


def test_the_namespace_of_a_lab_that_was_killed_is_removed_by_the_next(run: Start) -> None:
    process = loaded(run())
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert namespaces() != ""
    before = runs_of(NAME)
    finished(run(*SHORT), before)


def test_a_start_that_was_missed_makes_the_run_invalid_with_that_reason() -> None:
    before = runs_of(NAME)
    # The common start is two seconds in the past.
    late = "from lab.cli import main; from lab.kubernetes import load; load.LEAD_S = -2.0; main()"
    words = ["run", NAME, "--rate", "500", "--duration", "2s", "--warmup", "0s", "--profile", "off"]
    process = subprocess.Popen(
        [sys.executable, "-c", late, *words, "--runtime", "kubernetes"],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT / "lab/src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    validity = finished(process, before)["validity"]
    assert validity["state"] == "invalid"
    assert re.search(r"generator \d/2 missed the common start by [2-9]\.\d s", " ".join(validity["reasons"]))


def test_a_drained_node_ends_the_run_with_that_reason(run: Start) -> None:
    process = loaded(run())
    try:
        kubectl("drain", NODE, "--force", "--delete-emptydir-data", "--timeout=60s")
        output = failed(process)
    finally:
        kubectl("uncordon", NODE)
    assert "drained" in output, output
