"""The manifests of a run in a cluster, and the settings that are refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import lab
from lab.errors import InputError
from lab.kubernetes.manifests import PART_OF, PROFILE_CAPABILITIES, as_yaml, manifests
from lab.kubernetes.placement import check_division, read_placement


def made(**settings: str) -> dict[str, Any]:
    """Return the objects by kind and name, read back from the YAML."""
    objects = manifests(read_placement(settings), "stack-get", threads=4, store_bytes=5 << 30, owner="here:1")
    documents = list(yaml.safe_load_all(as_yaml(objects)))
    return {f"{document['kind']}/{document['metadata']['name']}": document for document in documents}


def containers(pod: dict[str, Any]) -> dict[str, Any]:
    return {container["name"]: container for container in pod["spec"]["containers"]}


def kept_apart_from(spec: dict[str, Any]) -> list[str]:
    terms = spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert [term["topologyKey"] for term in terms] == ["kubernetes.io/hostname"]
    return terms[0]["labelSelector"]["matchExpressions"][0]["values"]


def test_everything_is_in_one_labelled_namespace_that_comes_first() -> None:
    objects = made(NAMESPACE="mine")
    assert list(objects) == ["Namespace/mine", "Pod/service", "Job/load", "Pod/converter"]
    for name, document in objects.items():
        assert document["metadata"]["labels"][PART_OF] == "lsmlab", name
        assert document["metadata"].get("namespace", "mine") == "mine", name


def test_the_service_has_whole_cpus_in_a_guaranteed_pod() -> None:
    pod = made(SERVICE_CPUS="3", SERVICE_MEMORY="8Gi")["Pod/service"]
    for container in containers(pod).values():
        assert container["resources"]["limits"] == container["resources"]["requests"]
        assert set(container["resources"]["limits"]) == {"cpu", "memory"}
    assert containers(pod)["service"]["resources"]["limits"] == {"cpu": "3", "memory": "8Gi"}


def test_capabilities_are_the_sidecars_alone_and_it_sees_the_services_processes() -> None:
    objects = made()
    assert objects["Pod/service"]["spec"]["shareProcessNamespace"] is True
    sidecar = containers(objects["Pod/service"]).pop("profiler")["securityContext"]
    assert sidecar["capabilities"]["add"] == list(PROFILE_CAPABILITIES)
    job = {"spec": objects["Job/load"]["spec"]["template"]["spec"]}
    others = [containers(objects["Pod/service"])["service"], *containers(job).values()]
    for container in [*others, *containers(objects["Pod/converter"]).values()]:
        context = container["securityContext"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert (context["runAsNonRoot"], context["allowPrivilegeEscalation"]) == (True, False)


def test_the_load_is_an_indexed_job_with_a_node_for_each_pod() -> None:
    objects = made(GENERATORS="2")
    job = objects["Job/load"]["spec"]
    assert (job["completionMode"], job["completions"], job["parallelism"], job["backoffLimit"]) == ("Indexed", 2, 2, 0)
    assert kept_apart_from(job["template"]["spec"]) == ["service", "load"]
    assert kept_apart_from(objects["Pod/service"]["spec"]) == ["load"]
    generator = job["template"]["spec"]["containers"][0]
    assert generator["resources"]["limits"]["cpu"] == "2", "four threads, two generators"


def test_spread_off_lets_all_share_a_node() -> None:
    objects = made(SPREAD="off")
    for spec in (objects["Pod/service"]["spec"], objects["Job/load"]["spec"]["template"]["spec"]):
        assert "podAntiAffinity" not in spec["affinity"]


def test_metrics_are_where_the_annotations_say() -> None:
    objects = made()
    job = objects["Job/load"]["spec"]["template"]
    for pod, port in ((objects["Pod/service"], "8081"), (job, "9101")):
        annotations = pod["metadata"]["annotations"]
        assert (annotations["prometheus.io/scrape"], annotations["prometheus.io/port"]) == ("true", port)
        assert int(port) in [entry["containerPort"] for entry in pod["spec"]["containers"][0]["ports"]]


@pytest.mark.parametrize(
    ("store", "volume"),
    [
        ("", {"emptyDir": {}}),
        ("pvc", {"persistentVolumeClaim": {"claimName": "store"}}),
        ("/mnt/nvme", {"hostPath": {"path": "/mnt/nvme", "type": "DirectoryOrCreate"}}),
    ],
)
def test_the_store_is_at_the_configured_place(store: str, volume: dict[str, Any]) -> None:
    objects = made(STORE=store)
    assert {"name": "store", **volume} in objects["Pod/service"]["spec"]["volumes"]
    claimed = objects.get("PersistentVolumeClaim/store")
    assert (claimed is not None) == (store == "pvc")
    assert claimed is None or claimed["spec"]["resources"]["requests"]["storage"] == "5Gi"


def test_the_hosts_network_is_an_option() -> None:
    assert "hostNetwork" not in made()["Pod/service"]["spec"]
    objects = made(HOST_NETWORK="on")
    assert objects["Pod/service"]["spec"]["hostNetwork"] is True
    assert objects["Job/load"]["spec"]["template"]["spec"]["hostNetwork"] is True


def test_images_come_from_the_registry_that_is_named() -> None:
    objects = made(REGISTRY="registry.example/lab/", IMAGE_PULL="Always")
    service = containers(objects["Pod/service"])["service"]
    assert (service["image"], service["imagePullPolicy"]) == ("registry.example/lab/lsmlab-service:latest", "Always")


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("GENERATORS", "0", "a whole number from 1 to 256"),
        ("GENERATORS", "two", "a whole number from 1 to 256"),
        ("SPREAD", "no", "on or off"),
        ("STORE", "disk", "emptyDir, pvc, or an absolute path"),
        ("NAMESPACE", "My_Lab", "a name such as"),
        ("SERVICE_MEMORY", "4 GB", "such as 4Gi"),
        ("IMAGE_PULL", "sometimes", "IfNotPresent or Never or Always"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_name(name: str, value: str, wanted: str) -> None:
    with pytest.raises(InputError, match=f"{name}={value}: expected {wanted}"):
        read_placement({name: value})


def test_a_load_that_cannot_be_divided_evenly_is_refused_with_numbers_that_can() -> None:
    check_division(2, 4, 64)
    with pytest.raises(InputError, match="GENERATORS=3: 4 threads and 64 connections") as raised:
        check_division(3, 4, 64)
    assert "THREADS=6 CONNECTIONS=66" in raised.value.hint
    check_division(3, 6, 66)


def test_the_command_prints_manifests_and_refuses_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENERATORS", "2")
    command = [sys.executable, "-m", "lab", "manifests", "stack-get"]
    monkeypatch.setenv("PYTHONPATH", str(Path(lab.__file__).parents[1]))
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    kinds = [document["kind"] for document in yaml.safe_load_all(printed)]
    assert kinds == ["Namespace", "Pod", "Job", "Pod"]
    refused = subprocess.run([*command, "--threads", "3"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "3 threads and 64 connections cannot be divided evenly" in refused.stderr
