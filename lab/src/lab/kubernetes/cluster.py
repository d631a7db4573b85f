"""The section `cluster` of run.json: what a run in a cluster knows of it, judged and shown.

The rest of the lab calls `cluster_of` and the methods of `Cluster`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lab.manifest import Check, Cpu, Environment
from lab.manifest.base import Amount, Count, Finite, Strict
from lab.units import format_duration

STEAL_SHARE_MAX = 0.01
MEMORY_STALL_SHARE_MAX = 0.05
THROTTLED_SHARE_MAX = 0.01
"""Limits of the averages over a measured load."""


class NodeAudit(Strict):
    """Counts of a node's kernel, from just before a measured load until just after it; None is unknown.

    With several loads, each figure is the worst of them. ``busy_share`` and ``steal_share`` are shares of the time of
    all the node's CPUs; ``busy_share`` includes the run's own work. ``memory_stall_share`` is the share of time in
    which a process waited for memory. ``throttled_s`` is the longest time for which a CPU quota held back a pod of the
    run.
    """

    busy_share: Amount | None = None
    steal_share: Amount | None = None
    memory_stall_share: Amount | None = None
    throttled_s: Amount | None = None

    def __str__(self) -> str:
        shares = {"busy": self.busy_share, "steal": self.steal_share, "waits for memory": self.memory_stall_share}
        parts = [f"{name} {'unknown' if share is None else f'{share:.1%}'}" for name, share in shares.items()]
        throttled = "unknown" if self.throttled_s is None else format_duration(self.throttled_s)
        return f"under the load {', '.join(parts)}, held back by a quota {throttled}"


class NodeMeasured(Strict):
    """What is measured of a node in each run, or named for it. ``parts`` are the run's pods on it.

    ``clock_ahead_ms`` is relative to the lab's machine, plus or minus ``clock_uncertainty_ms``; None if no load pod
    ran.
    """

    parts: list[str]
    clock_ahead_ms: Finite | None = None
    clock_uncertainty_ms: Amount | None = None
    audit: NodeAudit | None = None


class Node(Strict):
    """A node of a cluster that took part.

    ``allowed_cpus`` are those of its first pod, as the kernel lists them: the service's own, on the service's node.
    ``host`` has facts from the kernel, as those of a machine without a cluster.
    """

    name: str
    kernel: str | None = None
    os: str | None = None
    cpu_model: str | None = None
    cpus: Count | None = None
    allowed_cpus: str | None = None
    memory_bytes: Count | None = None
    host: dict[str, str] = Field(default_factory=dict)
    measured: NodeMeasured

    def describe(self, service: Node) -> str:
        """Return the node as one line; facts of its kernel only where they differ from those of the service's node."""
        of_run = self.measured
        facts = [", ".join(of_run.parts), self.cpu_model, None if self.cpus is None else f"{self.cpus} CPUs"]
        facts.append(self.kernel)
        if self.allowed_cpus is not None:
            facts.append(f"{of_run.parts[0]} on CPU {self.allowed_cpus}")
        if of_run.clock_ahead_ms is not None:
            facts.append(f"clock {of_run.clock_ahead_ms:+.1f} ms ± {of_run.clock_uncertainty_ms or 0:.1f} ms")
        own = dict(self.host.items() - service.host.items())
        facts += [f"{name.replace('_', ' ')} {fact}" for name, fact in sorted(own.items())]
        facts.append(str(of_run.audit or "what its kernel counted under the load is unknown"))
        return "; ".join(fact for fact in facts if fact)

    def troubles(self, elapsed_s: float) -> list[str]:
        """Return what disturbed the run on this node, on average over `elapsed_s` of load."""
        audit, found = self.measured.audit or NodeAudit(), []
        if (audit.steal_share or 0) > STEAL_SHARE_MAX:
            found.append(f"the hypervisor took {audit.steal_share:.1%} of the CPU time of node {self.name}")
        if audit.throttled_s is not None and audit.throttled_s > THROTTLED_SHARE_MAX * elapsed_s:
            held_back = format_duration(audit.throttled_s)
            found.append(f"a CPU quota held a pod of the run on node {self.name} back for {held_back}")
        if (audit.memory_stall_share or 0) > MEMORY_STALL_SHARE_MAX:
            found.append(f"processes on node {self.name} waited for memory {audit.memory_stall_share:.0%} of the time")
        return found

    def is_known(self) -> bool:
        """Return whether everything is known that `troubles` looks at."""
        audit = self.measured.audit
        return audit is not None and None not in (audit.steal_share, audit.throttled_s, audit.memory_stall_share)


class ClusterMeasured(Strict):
    """``round_trip_us`` is the median time of a GET of a missing key over one connection on an idle service."""

    round_trip_us: Amount | None = None


class Cluster(Strict):
    """The cluster of a run: its network between generators and service, and the nodes, the service's first.

    ``exclusive_cpus``: the service had CPUs of its own, which was checked. Keys named ``measured`` hold what never
    repeats, so the fingerprint leaves them out.
    """

    version: str | None = None
    network: Literal["cluster", "host"]
    store: str
    generators: Count
    exclusive_cpus: bool = False
    nodes: list[Node]
    measured: ClusterMeasured = ClusterMeasured()

    def describe(self, environment: Environment) -> None:
        """Replace the lab's machine, which only drove the run, by the service's node, and add this section."""
        node = self.nodes[0]
        environment.cluster = self.model_dump(mode="json")
        environment.kernel, environment.os, environment.memory_bytes = node.kernel, node.os, node.memory_bytes
        environment.cpu = None
        if node.cpu_model is not None and node.cpus:
            turbo = {"0": True, "1": False}.get(node.host.get("no_turbo", ""))
            governor = node.host.get("governor")
            environment.cpu = Cpu(model=node.cpu_model, logical=node.cpus, governor=governor, turbo=turbo)
        environment.cpu_plan = None
        environment.host = {name: fact for name, fact in node.host.items() if name not in ("governor", "no_turbo")}

    def checks(self, elapsed_s: float) -> list[Check]:
        """Return the checks of the nodes. They replace those of the machine that drives the run, which has no load."""
        return [self._cpu_plan(), self._audit(elapsed_s), _other_load()]

    def network_check(self) -> Check:
        """State where the cost of the network is counted."""
        path = "one node" if len(self.nodes) == 1 else f"{len(self.nodes)} nodes"
        time_us = self.measured.round_trip_us
        idle = "unknown" if time_us is None else f"{time_us:,.0f} µs"
        detail = f"the network is the {self.network}'s, over {path}: an idle round trip with its GET takes {idle}"
        return Check(name="network", outcome="note", detail=detail)

    def rows(self) -> list[tuple[str, str | None]]:
        """Return names and values for the report's table of the environment."""
        time_us = self.measured.round_trip_us
        return [
            ("Kubernetes", self.version),
            ("Network", f"the {self.network}’s"),
            ("Idle round trip", None if time_us is None else f"{time_us:,.0f} µs, a GET included"),
            ("Store", self.store),
            ("Generators", str(self.generators)),
            *((f"Node {node.name}", node.describe(self.nodes[0])) for node in self.nodes),
        ]

    def node_of(self, generator: str) -> str | None:
        """Return the node of a generator, such as `1/2`: the pod of the first is `load-0` with a suffix."""
        pod = f"load-{int(generator.partition('/')[0]) - 1}-"
        return next((node.name for node in self.nodes if any(p.startswith(pod) for p in node.measured.parts)), None)

    def _cpu_plan(self) -> Check:
        node = self.nodes[0]
        where = f"CPU {node.allowed_cpus or 'unknown'} of node {node.name}"
        if self.exclusive_cpus:
            return Check(name="CPU plan", outcome="pass", detail=f"the service had {where} alone", environment=True)
        detail = f"the service had no CPUs of its own: it ran on {where}, which others may use (EXCLUSIVE_CPUS=off)"
        return Check(name="CPU plan", outcome="warn", detail=detail, environment=True)

    def _audit(self, elapsed_s: float) -> Check:
        name = "nodes"
        troubles = [trouble for node in self.nodes for trouble in node.troubles(elapsed_s)]
        if troubles:
            return Check(name=name, outcome="warn", detail="; ".join(troubles), environment=True)
        unknown = [node.name for node in self.nodes if not node.is_known()]
        if unknown:
            detail = f"steal, throttling and waits for memory are not all known of node {', '.join(unknown)}"
            return Check(name=name, outcome="unknown", detail=detail, environment=True)
        detail = "no node lost CPU time to its hypervisor, to a quota or to waits for memory, averaged over the load"
        return Check(name=name, outcome="pass", detail=detail, environment=True)


def cluster_of(environment: Environment) -> Cluster | None:
    """Return the cluster that a run was in; None if it was on one machine."""
    return None if environment.cluster is None else Cluster.model_validate(environment.cluster)


def _other_load() -> Check:
    detail = "other load on the nodes was not observed; in a cluster only averages over a load are available"
    return Check(name="other load", outcome="unknown", detail=detail, environment=True)
