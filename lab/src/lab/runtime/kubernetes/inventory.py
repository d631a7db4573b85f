"""The environment of a run in a cluster: the nodes, and the network between them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from lab.errors import RunError
from lab.manifest import Cluster, Node
from lab.runtime.kubernetes.kubectl import Kubectl
from lab.runtime.kubernetes.load import Clock
from lab.runtime.kubernetes.placement import Placement
from lab.runtime.kubernetes.waiting import component_of, name_of

KIB = 1024


def read_cluster(
    kubectl: Kubectl,
    placement: Placement,
    pods: list[dict[str, Any]],
    clocks: Mapping[str, Clock],
    round_trip_us: float | None,
) -> Cluster:
    """Return the nodes that take part, each once, the service's first."""
    described: dict[str, dict[str, Any]] = {}
    with contextlib.suppress(RunError):  # nodes belong to the cluster, and an account may lack the right to read them
        said = json.loads(kubectl.ask(["get", "nodes", "--output=json"], "asking for the nodes"))
        described = {node["metadata"]["name"]: node for node in said["items"]}
    order = {"service": 0, "load": 1}
    taking_part = sorted((pod for pod in pods if component_of(pod) in order), key=lambda pod: order[component_of(pod)])
    names = dict.fromkeys(str(pod["spec"]["nodeName"]) for pod in taking_part)
    return Cluster(
        version=_version(kubectl),
        network="host" if placement.host_network else "cluster",
        round_trip_us=round_trip_us,
        store=placement.store,
        generators=placement.generators,
        nodes=[
            _node(
                kubectl,
                name,
                described.get(name, {}),
                [p for p in taking_part if p["spec"]["nodeName"] == name],
                clocks,
            )
            for name in names
        ],
    )


def _node(
    kubectl: Kubectl, name: str, described: dict[str, Any], pods: list[dict[str, Any]], clocks: Mapping[str, Clock]
) -> Node:
    status = described.get("status", {})
    info, capacity = status.get("nodeInfo", {}), status.get("capacity", {})
    memory = str(capacity.get("memory", ""))
    clock = next((clocks[name_of(pod)] for pod in pods if name_of(pod) in clocks), None)
    command = ["sh", "-c", "grep -m 1 'model name' /proc/cpuinfo; grep Cpus_allowed_list /proc/self/status"]
    facts: dict[str, str] = {}
    container = {"service": "service", "load": "loadgen"}[component_of(pods[0])]
    with contextlib.suppress(RunError):  # the pod may be lost by now; the run has ended well without it
        said = kubectl.run(name_of(pods[0]), container, command, f"asking pod {name_of(pods[0])} for its CPU")
        facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in said.splitlines())}
    return Node(
        name=name,
        parts=[name_of(pod) for pod in pods],
        kernel=info.get("kernelVersion"),
        os=info.get("osImage"),
        cpu_model=facts.get("model name"),
        cpus=int(capacity["cpu"]) if str(capacity.get("cpu", "")).isdigit() else None,
        allowed_cpus=facts.get("Cpus_allowed_list"),
        memory_bytes=int(memory[:-2]) * KIB if memory.endswith("Ki") and memory[:-2].isdigit() else None,
        clock_ahead_ms=None if clock is None else round(clock.ahead_s * 1e3, 3),
        clock_uncertainty_ms=None if clock is None else round(clock.uncertainty_s * 1e3, 3),
    )


def _version(kubectl: Kubectl) -> str | None:
    try:
        return str(json.loads(kubectl.ask(["get", "--raw", "/version"], "asking for the version"))["gitVersion"])
    except (RunError, ValueError, KeyError):
        return None
