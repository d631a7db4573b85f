"""The objects of a run in a cluster, as `make manifests NAME=…` prints them and the runtime applies them.

    namespace NAME         everything is in it and goes with it
      pod service          container `service` (whole CPUs, no capability) and sidecar `profiler` (the capabilities),
                           which sees its processes; Guaranteed, because both have limits that equal their requests
      job load             Indexed: N pods, a generator each, on nodes of their own
      pod converter        makes the pictures of a recording; no capability, no special node

The pods wait. The lab starts the service, the generators and the recordings in them by `kubectl exec`, as it starts
processes on one machine. So every repetition has the same node, the same CPUs and the same store.

Manifests are plain data. The API server checks them when they are applied, unknown fields included
(`--validate=strict`).
"""

from __future__ import annotations

from typing import Any

import yaml

from lab.kubernetes.placement import Placement

Manifest = dict[str, Any]

OWNER = "lsmlab/owner"
"""The annotation of the namespace that says which lab made it: host name and pid."""
PART_OF = "app.kubernetes.io/part-of"
COMPONENT = "app.kubernetes.io/component"
DATA_PORT, ADMIN_PORT, METRICS_PORT = 8080, 8081, 9101
USER = 1000
STORE_DIR, PROFILE_DIR, WORK_DIR = "/store", "/profile", "/work"
SIDECAR = {"cpu": "200m", "memory": "512Mi"}
PROFILE_CAPABILITIES = ("SYS_ADMIN", "SYS_PTRACE", "KILL", "SETUID", "SETGID", "SYSLOG")
"""docker-compose.yml explains them."""
GIB = 1 << 30


def manifests(
    placement: Placement, experiment: str, *, threads: int, store_bytes: int, owner: str = ""
) -> list[Manifest]:
    """Return all objects of a run of `experiment`, in the order in which they must be applied.

    `threads` are those of all generators, `store_bytes` is the size that the store may need.
    """
    made = [_namespace(placement, experiment, owner)]
    if placement.store == "pvc":
        made.append(_claim(placement, experiment, store_bytes))
    load_cpus = threads // placement.generators if placement.load_cpus is None else placement.load_cpus
    return [
        *made,
        _service(placement, experiment),
        _load(placement, experiment, load_cpus),
        _converter(placement, experiment),
    ]


def as_yaml(objects: list[Manifest]) -> str:
    """Return the objects as one YAML stream."""
    return str(yaml.safe_dump_all(objects, sort_keys=False, width=120))


def _labels(experiment: str, component: str = "") -> dict[str, str]:
    labels = {PART_OF: "lsmlab", "app.kubernetes.io/managed-by": "lsmlab", "lsmlab/experiment": experiment}
    return {**labels, COMPONENT: component} if component else labels


def _metadata(placement: Placement, experiment: str, component: str) -> Manifest:
    return {"name": component, "namespace": placement.namespace, "labels": _labels(experiment, component)}


def _namespace(placement: Placement, experiment: str, owner: str) -> Manifest:
    metadata: Manifest = {"name": placement.namespace, "labels": _labels(experiment)}
    # The sidecar's capabilities need the pod security standard `privileged`.
    metadata["labels"]["pod-security.kubernetes.io/enforce"] = "privileged"
    if owner:
        metadata["annotations"] = {OWNER: owner}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _claim(placement: Placement, experiment: str, store_bytes: int) -> Manifest:
    size = f"{max(1, -(-store_bytes // GIB))}Gi"
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": _metadata(placement, experiment, "store"),
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
    }


def _service(placement: Placement, experiment: str) -> Manifest:
    resources = {"cpu": str(placement.service_cpus), "memory": placement.service_memory}
    service = _container("service", placement, "service", resources)
    service["ports"] = [
        {"name": "data", "containerPort": DATA_PORT},
        {"name": "admin", "containerPort": ADMIN_PORT},
    ]
    service["volumeMounts"] = [_mount("store", STORE_DIR), _mount("profile", PROFILE_DIR), _mount("tmp", "/tmp")]  # noqa: S108
    sidecar = _container("profiler", placement, "profiler", SIDECAR)
    del sidecar["securityContext"]["allowPrivilegeEscalation"]  # SYS_ADMIN is one
    sidecar["securityContext"] |= {
        "runAsUser": 0,
        "runAsNonRoot": False,
        "capabilities": {"drop": ["ALL"], "add": list(PROFILE_CAPABILITIES)},
        # The default profile forbids perf_event_open.
        "seccompProfile": {"type": "Unconfined"},
    }
    sidecar["volumeMounts"] = [_mount("profile", PROFILE_DIR), _mount("tmp", "/tmp")]  # noqa: S108
    metadata = _metadata(placement, experiment, "service")
    metadata["annotations"] = _scraped(ADMIN_PORT)
    spec = _pod(placement, [service, sidecar], nodes="service")
    spec["shareProcessNamespace"] = True
    spec["volumes"] = [
        {"name": "store", **_store(placement)},
        {"name": "profile", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {"name": "tmp", "emptyDir": {}},
    ]
    if placement.spread:
        spec["affinity"] |= _apart("load")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _load(placement: Placement, experiment: str, cpus: int) -> Manifest:
    # Without CPUs of its own a generator still has a fair share of the node's remaining CPU time.
    resources = {"cpu": str(cpus), "memory": "1Gi"} if cpus else None
    generator = _container("loadgen", placement, "loadgen", resources)
    generator["ports"] = [{"name": "metrics", "containerPort": METRICS_PORT}]
    generator["volumeMounts"] = [_mount("work", WORK_DIR)]
    spec = _pod(placement, [generator], nodes="load")
    spec["restartPolicy"] = "Never"
    spec["volumes"] = [{"name": "work", "emptyDir": {}}]
    if placement.spread:
        spec["affinity"] |= _apart("service", "load")
    labels = _labels(experiment, "load")
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(placement, experiment, "load"),
        "spec": {
            "completionMode": "Indexed",
            "completions": placement.generators,
            "parallelism": placement.generators,
            "backoffLimit": 0,
            "template": {"metadata": {"labels": labels, "annotations": _scraped(METRICS_PORT)}, "spec": spec},
        },
    }


def _converter(placement: Placement, experiment: str) -> Manifest:
    converter = _container("converter", placement, "profiler", None)
    converter["volumeMounts"] = [_mount("work", WORK_DIR), _mount("tmp", "/tmp")]  # noqa: S108
    spec = _pod(placement, [converter], nodes="")
    spec["volumes"] = [{"name": "work", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]
    spec.pop("hostNetwork", None)
    metadata = _metadata(placement, experiment, "converter")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _pod(placement: Placement, containers: list[Manifest], nodes: str) -> Manifest:
    spec: Manifest = {
        "containers": containers,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"fsGroup": USER, "seccompProfile": {"type": "RuntimeDefault"}},
    }
    if placement.host_network:
        spec["hostNetwork"] = True
    if nodes:
        # A node with the label lsmlab/role is preferred for that role; a node without it will do.
        term = {"matchExpressions": [{"key": "lsmlab/role", "operator": "In", "values": [nodes]}]}
        preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": term}]}
        spec["affinity"] = {"nodeAffinity": preferred}
    return spec


def _apart(*components: str) -> Manifest:
    selector = {"matchExpressions": [{"key": COMPONENT, "operator": "In", "values": list(components)}]}
    term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _container(name: str, placement: Placement, part: str, resources: dict[str, str] | None) -> Manifest:
    container: Manifest = {
        "name": name,
        "image": placement.image(part),
        "imagePullPolicy": placement.image_pull,
        "command": ["sleep", "infinity"],
        "securityContext": {
            "runAsUser": USER,
            "runAsGroup": USER,
            "runAsNonRoot": True,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    if resources is not None:
        container["resources"] = {"requests": dict(resources), "limits": dict(resources)}
    return container


def _mount(volume: str, path: str) -> Manifest:
    return {"name": volume, "mountPath": path}


def _store(placement: Placement) -> Manifest:
    if placement.store == "pvc":
        return {"persistentVolumeClaim": {"claimName": "store"}}
    if placement.store == "emptyDir":
        return {"emptyDir": {}}
    return {"hostPath": {"path": placement.store, "type": "DirectoryOrCreate"}}


def _scraped(port: int) -> dict[str, str]:
    return {"prometheus.io/scrape": "true", "prometheus.io/port": str(port), "prometheus.io/path": "/metrics"}
