"""Settings of RUNTIME=kubernetes in a real cluster, and its refusals. `make test-kubernetes` runs these."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

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
    only_in_a_cluster,
    run,
    wait_for,
)
from .conftest import CHECKOUT, runs_of

__all__ = ["run"]
pytestmark = only_in_a_cluster


def test_a_node_without_a_static_cpu_manager_is_refused(run: Start) -> None:
    subprocess.run([CLUSTER, "restart-kubelet", "none"], check=True, timeout=WAIT_S)
    try:
        output = failed(run(*SHORT))
        assert "its node has no static CPU manager" in " ".join(output.split()), output
        before = runs_of(NAME)
        validity = finished(run(*SHORT, EXCLUSIVE_CPUS="off"), before)["validity"]
        assert any("the service had no CPUs of its own" in reason for reason in validity["reasons"])
    finally:
        subprocess.run([CLUSTER, "restart-kubelet", "static"], check=True, timeout=WAIT_S)


@pytest.fixture
def default_storage(tmp_path: Path) -> Iterator[None]:
    """A default storage class with one volume, a directory of the node that only its owner may write to."""
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    in_here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}
    items = [
        {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "volumeBindingMode": "WaitForFirstConsumer",
         "metadata": {"name": "here", "annotations": annotations}, "provisioner": "kubernetes.io/no-provisioner"},
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "here"},
         "spec": {"capacity": {"storage": "20Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "here",
                  "persistentVolumeReclaimPolicy": "Retain", "local": {"path": str(tmp_path)},
                  "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [in_here]}]}}}},
    ]  # fmt: skip
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    subprocess.run(["kubectl", "apply", "-f", "-"], input=text, text=True, check=True, timeout=WAIT_S)
    yield
    subprocess.run(["kubectl", "delete", "-f", "-"], input=text, text=True, check=True, timeout=WAIT_S)


@pytest.mark.usefixtures("default_storage")
def test_the_store_may_be_a_persistent_volume(run: Start, tmp_path: Path) -> None:
    before = runs_of(NAME)
    manifest = finished(run(*SHORT, STORE="pvc"), before)
    assert manifest["environment"]["cluster"]["store"] == "pvc"
    assert list(tmp_path.glob("runs/*/data/*")), "the store is on that volume"


def test_the_store_may_be_a_directory_of_the_node_that_the_service_can_write_to(run: Start, tmp_path: Path) -> None:
    output = failed(run(*SHORT, STORE=str(tmp_path)))
    assert f"the store ({tmp_path}) is not writable for user 1000" in output.replace("\n", ""), output
    os.chown(tmp_path, 1000, 1000)
    before = runs_of(NAME)
    finished(run(*SHORT, STORE=str(tmp_path)), before)
    assert list(tmp_path.glob("runs/*/data/*")), "the store is in that directory"


def test_a_load_pod_that_the_cluster_refuses_is_reported_with_the_reason(run: Start) -> None:
    # A policy of the cluster. A quota works in the same way: the job's pods are refused, and an event says why.
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    allowed = "!has(object.metadata.generateName) || !object.metadata.generateName.startsWith('load-')"
    policy = {
        "matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": allowed, "message": "no load here"}],
    }
    items = [
        {"kind": "ValidatingAdmissionPolicy", "spec": policy},
        {"kind": "ValidatingAdmissionPolicyBinding", "spec": {"policyName": "test", "validationActions": ["Deny"]}},
    ]
    common = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "test"}}
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [{**common, **item} for item in items]})
    subprocess.run(["kubectl", "apply", "-f", "-"], input=text, text=True, check=True, timeout=WAIT_S)
    try:
        output = failed(run(*SHORT))
    finally:
        subprocess.run(["kubectl", "delete", "-f", "-"], input=text, text=True, check=True, timeout=WAIT_S)
    assert "the cluster refuses a load pod" in output
    assert "no load here" in " ".join(output.split())


def test_the_rights_that_are_documented_are_enough(run: Start, tmp_path: Path) -> None:
    kubectl("apply", "-f", str(CHECKOUT / "kubernetes/role.yaml"))
    kubectl("create", "clusterrolebinding", "lsmlab-test", "--clusterrole=lsmlab", "--user=somebody")
    config = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
    config["users"][0]["user"] |= {"as": "somebody", "as-groups": ["system:authenticated"]}
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    before = runs_of(NAME)
    try:
        manifest = finished(run(*SHORT, KUBECONFIG=str(tmp_path / "kubeconfig")), before)
    finally:
        kubectl("delete", "clusterrolebinding,clusterrole", "lsmlab-test", "lsmlab", "--ignore-not-found")
    assert manifest["environment"]["cluster"]["nodes"][0]["kernel"] == os.uname().release


def test_a_cluster_that_was_taken_down_has_left_nothing_on_the_machine() -> None:
    wait_for("the account of a pod", lambda: bool(kubectl("get", "serviceaccount", "default", "--ignore-not-found")))
    kubectl("run", "waits", "--image=docker.io/library/lsmlab-pause:latest", "--image-pull-policy=Never")
    kubectl("wait", "--for=condition=Ready", "pod/waits", f"--timeout={WAIT_S}s")
    subprocess.run([CLUSTER, "down"], check=True, timeout=WAIT_S)
    try:
        tables = subprocess.run(["iptables-save"], capture_output=True, text=True, check=True).stdout
        assert [line for line in tables.splitlines() if "KUBE" in line or "CNI" in line or "lsmlab0" in line] == []
        places = (
            "sys/fs/cgroup/kubepods*", "sys/fs/cgroup/*/kubepods*", "var/log/containers/*", "var/log/pods/*",
            "var/lib/cni/results/*", "run/netns/cni-*", "sys/class/net/lsmlab0", "run/lsmlab-cluster",
        )  # fmt: skip
        assert [str(found) for place in places for found in Path("/").glob(place)] == []
        assert "/run/lsmlab-cluster" not in Path("/proc/mounts").read_text(encoding="utf-8")
    finally:
        subprocess.run([CLUSTER, "up"], check=True, timeout=WAIT_S)
