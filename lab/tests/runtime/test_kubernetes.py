"""The kubernetes runtime with a kubectl that answers as told: its errors when something in the cluster fails."""

from __future__ import annotations

import json
import os
import platform
import tarfile
from pathlib import Path
from typing import Any

import pytest

from lab.cli import runtimes as select
from lab.errors import InputError, MissingToolError, RunError
from lab.kubernetes import waiting
from lab.kubernetes.instruments import PodProfiler
from lab.kubernetes.kubectl import Kubectl
from lab.kubernetes.runtime import KubernetesRuntime
from lab.kubernetes.waiting import wait_for_pods, why_lost
from lab.paths import Checkout
from lab.process.processes import Processes
from lab.runtime.base import ProfileSpec
from support.docker import DEAD_PID, PLAN, Alive, free_ports, quiet
from support.fake_docker import FakeDocker


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    fake = FakeDocker(tmp_path / "bin").install("kubectl")
    monkeypatch.setenv("PATH", f"{fake.directory}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(waiting, "UNSCHEDULABLE_GRACE_S", 0)
    monkeypatch.setattr(waiting, "POLL_S", 0)
    return fake


def pod(name: str, component: str = "service", **status: Any) -> dict[str, Any]:
    labels = {"app.kubernetes.io/component": component}
    return {"metadata": {"name": name, "labels": labels}, "spec": {"nodeName": "n1"}, "status": status}


def ready(name: str) -> dict[str, Any]:
    return pod(name, conditions=[{"type": "Ready", "status": "True"}])


def listed(*items: dict[str, Any]) -> str:
    return json.dumps({"items": items})


def waits(reason: str) -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": "as the node says"}}
    return {"containerStatuses": [{"name": "service", "image": "lsmlab-service:latest", "state": state}]}


def test_it_waits_until_all_pods_are_ready(kubectl: FakeDocker) -> None:
    kubectl.answers([{"match": "get pods", "stdout": listed(ready("service"), ready("load-0"))}])
    assert [found["metadata"]["name"] for found in wait_for_pods(Kubectl("x"), 2, quiet)] == ["service", "load-0"]


def test_an_image_that_is_missing_is_named_with_what_to_do(kubectl: FakeDocker) -> None:
    kubectl.answers([{"match": "get pods", "stdout": listed(pod("service", **waits("ErrImageNeverPull")))}])
    with pytest.raises(
        RunError, match="the image lsmlab-service:latest is missing on the node of pod service"
    ) as raised:
        wait_for_pods(Kubectl("x"), 1, quiet)
    assert "REGISTRY=" in raised.value.hint


def test_a_container_that_cannot_be_made_is_named(kubectl: FakeDocker) -> None:
    kubectl.answers([{"match": "get pods", "stdout": listed(pod("service", **waits("CreateContainerConfigError")))}])
    with pytest.raises(
        RunError, match="container service of pod service cannot be started: CreateContainerConfigError"
    ):
        wait_for_pods(Kubectl("x"), 1, quiet)


def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
    for name, value in {"SERVICE_CPUS": "2", **settings}.items():
        monkeypatch.setenv(name, value)
    runtime = KubernetesRuntime(Checkout(tmp_path))
    runtime.prepare("stack-get", threads=4, connections=64, data_bytes=1 << 30)
    runtime.build(tmp_path / "build.log", quiet)


def running(cpus: str, *, writable: bool = True) -> list[dict[str, Any]]:
    """Answer as a cluster whose pods run: the service on these CPUs, its store writable or not."""
    load = ready("load-0-abcde")
    load["metadata"]["labels"] |= {
        "app.kubernetes.io/component": "load",
        "batch.kubernetes.io/job-completion-index": "0",
    }
    return [
        {"match": "get pods", "stdout": listed(ready("service"), ready("converter"), load)},
        {"match": "Cpus_allowed_list", "stdout": f"Cpus_allowed_list:\t{cpus}\n"},
        {"match": "test -w /store", "stdout": "yes\n" if writable else ""},
    ]


def test_pods_that_run_as_they_should_are_accepted(
    kubectl: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl.answers(running("2-3"))
    built(tmp_path, monkeypatch)
    assert "kind: Job" in (tmp_path / "build.log").read_text()


def test_a_service_that_shares_its_cpus_is_refused_unless_that_is_accepted(
    kubectl: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.kubernetes.runtime.CPUS_LIMIT_S", 0)
    kubectl.answers(running("0-7"))
    with pytest.raises(
        RunError, match="asked for 2 CPUs of its own but may run on 8: its node has no static"
    ) as raised:
        built(tmp_path, monkeypatch)
    assert "EXCLUSIVE_CPUS=off" in raised.value.hint
    built(tmp_path, monkeypatch, EXCLUSIVE_CPUS="off")


def test_a_store_that_the_service_cannot_write_to_is_named(
    kubectl: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl.answers(running("2-3", writable=False))
    with pytest.raises(RunError, match=r"the store \(/mnt/nvme\) is not writable for user 1000") as raised:
        built(tmp_path, monkeypatch, STORE="/mnt/nvme")
    assert "chown 1000" in raised.value.hint


def test_a_pod_that_no_node_can_take_is_reported_with_the_schedulers_message(kubectl: FakeDocker) -> None:
    condition = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available: 1 Insufficient cpu."}
    kubectl.answers([{"match": "get pods", "stdout": listed(pod("service", conditions=[condition]))}])
    with pytest.raises(
        RunError, match="no node can take pod service: 0/1 nodes are available: 1 Insufficient"
    ) as raised:
        wait_for_pods(Kubectl("x"), 1, quiet)
    assert "SPREAD=off" in raised.value.hint


def test_a_quota_that_refuses_a_load_pod_is_reported(kubectl: FakeDocker) -> None:
    kubectl.answers(
        [
            {"match": "get pods", "stdout": listed(ready("service"))},
            {"match": "get events", "stdout": listed({"message": 'pods "load-0" is forbidden: exceeded quota: small'})},
        ]
    )
    with pytest.raises(RunError, match=r"the cluster refuses a load pod: .* exceeded quota: small"):
        wait_for_pods(Kubectl("x"), 2, quiet)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"stdout": listed()}, "pod service is gone: it was deleted, or its node was drained"),
        ({"stdout": listed(pod("service", phase="Failed", reason="Evicted"))}, "pod service has ended: Evicted"),
        ({"stderr": "connection refused", "code": 1}, "the API server does not answer"),
        ({"stdout": listed(ready("service"))}, ""),
    ],
)
def test_the_fate_of_a_lost_pod_is_reported(kubectl: FakeDocker, answer: dict[str, Any], message: str) -> None:
    kubectl.answers([{"match": "get pods", **answer}])
    assert why_lost(Kubectl("x"), "service").startswith(message)
    assert message or why_lost(Kubectl("x"), "service") == ""


def namespace(owner: str, part_of: str = "lsmlab") -> dict[str, str]:
    metadata = {"labels": {"app.kubernetes.io/part-of": part_of}, "annotations": {"lsmlab/owner": owner}}
    return {"match": "get namespace", "stdout": json.dumps({"metadata": metadata})}


def preflight(tmp_path: Path) -> None:
    KubernetesRuntime(Checkout(tmp_path)).preflight(PLAN, free_ports(), quiet)


def test_the_namespace_of_a_dead_lab_is_removed(kubectl: FakeDocker, tmp_path: Path) -> None:
    kubectl.answers([namespace(f"{platform.node()}:{DEAD_PID}"), {"match": "can-i", "stdout": "yes\n"}])
    preflight(tmp_path)
    assert len(kubectl.calls("delete namespace lsmlab")) == 1


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (namespace(f"{platform.node()}:{os.getppid()}"), r"another lab \(process \d+\) runs|removing"),
        (namespace("elsewhere:17"), r"belongs to a lab on another machine \(elsewhere:17\)"),
        (namespace("", part_of="shop"), "exists and does not belong to the lab"),
    ],
)
def test_a_namespace_of_others_is_left_alone(
    kubectl: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: dict[str, str], message: str
) -> None:
    monkeypatch.setattr("lab.kubernetes.leftovers.is_live_lab", lambda _: True)
    kubectl.answers([found, {"match": "can-i", "stdout": "yes\n"}])
    with pytest.raises(RunError, match=message):
        preflight(tmp_path)
    assert kubectl.calls("delete") == []


def test_a_cluster_that_does_not_answer_is_reported_before_anything_is_created(
    kubectl: FakeDocker, tmp_path: Path
) -> None:
    kubectl.answers([{"match": "/version", "stderr": "dial tcp: connection refused\n", "code": 1}])
    with pytest.raises(MissingToolError, match="no cluster answers: dial tcp: connection refused") as raised:
        preflight(tmp_path)
    assert "KUBECONFIG" in raised.value.hint


def test_without_kubectl_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolError, match="there is no kubectl"):
        preflight(tmp_path)


def test_a_recording_in_a_pod_ends_by_itself_if_nobody_stops_it(kubectl: FakeDocker, tmp_path: Path) -> None:
    spec = ProfileSpec(tmp_path, ("cpu", "alloc"), "1ms", "a title", (), depth=64)
    PodProfiler(Kubectl("x"), Processes()).start(spec, Alive(), 179.5)  # type: ignore[arg-type]
    (call,) = kubectl.calls("profile start")
    assert " --events cpu,alloc --interval 1ms --depth 64 --timeout 180s" in " ".join(call["words"])


def test_files_that_arrive_damaged_are_refused(kubectl: FakeDocker, tmp_path: Path) -> None:
    (tmp_path / "x.record").write_text("what is in the archive")
    archive = tmp_path / "archive.tar"
    with tarfile.open(archive, "w") as packed:
        packed.add(tmp_path / "x.record", "x.record")
    kubectl.answers(
        [
            {"match": "sha256sum", "stdout": f"{'0' * 64}  x.record\n"},
            {"match": "tar cf", "stdout": archive.read_text()},
        ]
    )
    with pytest.raises(RunError, match=r"x\.record arrived damaged: sha256 [0-9a-f]{64}, in the pod 0000"):
        Kubectl("x").pull("load-0", "loadgen", "/work", ["x.record"], tmp_path)


def test_only_single_runs_are_for_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="RUNTIME=kubernetes runs single experiments"):
        select.choose(Checkout(tmp_path), "kubernetes", quiet)
    assert select.choose(Checkout(tmp_path), "kubernetes", quiet, single=True).name == "kubernetes"


def test_another_load_generator_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOADGEN", "/usr/bin/wrk2")
    with pytest.raises(InputError, match="LOADGEN: RUNTIME=kubernetes supports only the lab's own load generator"):
        KubernetesRuntime(Checkout(tmp_path))
