"""Checks of the nodes of a cluster. They replace those of the machine that drives the run, which carries no load."""

from __future__ import annotations

from lab.analysis.checks.check_input import CheckInput
from lab.manifest import Check, Cluster, Node
from lab.units import format_duration

STEAL_SHARE_MAX = 0.01
MEMORY_STALL_SHARE_MAX = 0.05
THROTTLED_SHARE_MAX = 0.01
"""Limits of the averages over a measured load."""


def of_nodes(known: CheckInput, cluster: Cluster) -> list[Check]:
    """Return the checks of the nodes."""
    elapsed_s = max((r.elapsed_s or 0.0 for r in known.summary.repetitions), default=0.0)
    return [_cpu_plan(cluster), _audit(cluster, elapsed_s), _other_load()]


def _cpu_plan(cluster: Cluster) -> Check:
    node = cluster.nodes[0]
    where = f"CPU {node.allowed_cpus or 'unknown'} of node {node.name}"
    if cluster.exclusive_cpus:
        return Check(name="CPU plan", outcome="pass", detail=f"the service had {where} alone", environment=True)
    detail = f"the service had no CPUs of its own: it ran on {where}, which others may use (EXCLUSIVE_CPUS=off)"
    return Check(name="CPU plan", outcome="warn", detail=detail, environment=True)


def _audit(cluster: Cluster, elapsed_s: float) -> Check:
    name = "nodes"
    troubles = [trouble for node in cluster.nodes for trouble in _troubles(node, elapsed_s)]
    if troubles:
        return Check(name=name, outcome="warn", detail="; ".join(troubles), environment=True)
    unknown = [node.name for node in cluster.nodes if _is_incomplete(node)]
    if unknown:
        detail = f"steal, throttling and waits for memory are not all known of node {', '.join(unknown)}"
        return Check(name=name, outcome="unknown", detail=detail, environment=True)
    detail = "no node lost CPU time to its hypervisor, to a quota or to waits for memory, averaged over the load"
    return Check(name=name, outcome="pass", detail=detail, environment=True)


def _other_load() -> Check:
    detail = "load of others on the nodes, and anything by the second, is unknown: only averages are read in a cluster"
    return Check(name="other load", outcome="unknown", detail=detail, environment=True)


def _is_incomplete(node: Node) -> bool:
    audit = node.audit
    return audit is None or None in (audit.steal_share, audit.throttled_s, audit.memory_stall_share)


def _troubles(node: Node, elapsed_s: float) -> list[str]:
    audit = node.audit
    if audit is None:
        return []
    found = []
    if (audit.steal_share or 0) > STEAL_SHARE_MAX:
        found.append(f"the hypervisor took {audit.steal_share:.1%} of the CPU time of node {node.name}")
    if audit.throttled_s is not None and audit.throttled_s > THROTTLED_SHARE_MAX * elapsed_s:
        held_back = format_duration(audit.throttled_s)
        found.append(f"a CPU quota held a pod of the run on node {node.name} back for {held_back}")
    if (audit.memory_stall_share or 0) > MEMORY_STALL_SHARE_MAX:
        found.append(f"processes on node {node.name} waited for memory {audit.memory_stall_share:.0%} of the time")
    return found
