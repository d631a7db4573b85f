"""The environment of a run in a cluster: the nodes, and the network between them."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from lab.errors import RunError
from lab.kubernetes import readings
from lab.kubernetes.cluster import Cluster, ClusterMeasured, Node, NodeAudit, NodeMeasured
from lab.kubernetes.kubectl import Kubectl
from lab.kubernetes.load import Load
from lab.kubernetes.placement import Placement
from lab.kubernetes.waiting import component_of, name_of

KIB = 1024
FACTS = {
    "cpu_model": "grep -m 1 '^model name' /proc/cpuinfo | cut -d: -f2-",
    "allowed_cpus": "grep '^Cpus_allowed_list' /proc/self/status | cut -d: -f2-",
    "architecture": "uname -m",
    "clock_source": "cat /sys/devices/system/clocksource/clocksource0/current_clocksource",
    "governor": "cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "halt_poll_ns": "cat /sys/module/haltpoll/parameters/guest_halt_poll_ns",
    "huge_pages": "cut -d[ -f2 /sys/kernel/mm/transparent_hugepage/enabled | cut -d] -f1",
    "kernel_build": "uname -v",
    "kernel_command_line": "cat /proc/cmdline",
    "microcode": "grep -m 1 '^microcode' /proc/cpuinfo | cut -d: -f2-",
    "no_turbo": "cat /sys/devices/system/cpu/intel_pstate/no_turbo",
    "smt": "cat /sys/devices/system/cpu/smt/control",
    "swappiness": "cat /proc/sys/vm/swappiness",
}
"""Facts about a node, and the commands that print them in a pod. A fact that is not there is left out."""


def read_cluster(
    kubectl: Kubectl,
    placement: Placement,
    pods: list[dict[str, Any]],
    load: Load,
    round_trip_us: float | None,
) -> Cluster:
    """Return the nodes that take part, each once, the service's first."""
    described: dict[str, dict[str, Any]] = {}
    with contextlib.suppress(RunError):  # nodes belong to the cluster, and an account may lack the right to read them
        nodes = json.loads(kubectl.ask(["get", "nodes", "--output=json"], "asking for the nodes"))
        described = {node["metadata"]["name"]: node for node in nodes["items"]}
    order = {"service": 0, "load": 1}
    taking_part = sorted((pod for pod in pods if component_of(pod) in order), key=lambda pod: order[component_of(pod)])
    names = dict.fromkeys(str(pod["spec"]["nodeName"]) for pod in taking_part)
    return Cluster(
        version=_version(kubectl),
        network="host" if placement.host_network else "cluster",
        store=placement.store,
        generators=placement.generators,
        exclusive_cpus=placement.exclusive_cpus,
        nodes=[
            _node(
                kubectl,
                name,
                described.get(name, {}),
                [p for p in taking_part if p["spec"]["nodeName"] == name],
                load,
            )
            for name in names
        ],
        measured=ClusterMeasured(round_trip_us=round_trip_us),
    )


def _node(kubectl: Kubectl, name: str, described: dict[str, Any], pods: list[dict[str, Any]], load: Load) -> Node:
    status = described.get("status", {})
    info, capacity = status.get("nodeInfo", {}), status.get("capacity", {})
    memory = str(capacity.get("memory", ""))
    clock = next((load.clocks[name_of(pod)] for pod in pods if name_of(pod) in load.clocks), None)
    facts = _facts(kubectl, pods[0])
    return Node(
        name=name,
        kernel=info.get("kernelVersion"),
        os=info.get("osImage"),
        cpu_model=facts.pop("cpu_model", None),
        cpus=int(capacity["cpu"]) if str(capacity.get("cpu", "")).isdigit() else None,
        allowed_cpus=facts.pop("allowed_cpus", None),
        memory_bytes=int(memory[:-2]) * KIB if memory.endswith("Ki") and memory[:-2].isdigit() else None,
        host=facts,
        measured=NodeMeasured(
            parts=[name_of(pod) for pod in pods],
            clock_ahead_ms=None if clock is None else round(clock.ahead_s * 1e3, 3),
            clock_uncertainty_ms=None if clock is None else round(clock.uncertainty_s * 1e3, 3),
            audit=readings.worst(load.audits.get(name_of(pod), NodeAudit()) for pod in pods),
        ),
    )


def _facts(kubectl: Kubectl, pod: dict[str, Any]) -> dict[str, str]:
    name, container = name_of(pod), {"service": "service", "load": "loadgen"}[component_of(pod)]
    script = "\n".join(f'printf "%s\\n" "{fact}=$({command})"' for fact, command in FACTS.items())
    try:
        command = ["sh", "-c", f"exec 2>/dev/null\n{script}"]
        output = kubectl.run(name, container, command, f"asking pod {name} for its node")
    except RunError:
        return {}  # the pod may be lost by now; the run has ended well without it
    pairs = (line.partition("=") for line in output.splitlines())
    return {fact: value.strip() for fact, _, value in pairs if fact in FACTS and value.strip()}


def _version(kubectl: Kubectl) -> str | None:
    try:
        return str(json.loads(kubectl.ask(["get", "--raw", "/version"], "asking for the version"))["gitVersion"])
    except (RunError, ValueError, KeyError):
        return None
