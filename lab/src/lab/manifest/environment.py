"""The fingerprint of a run: machine, cluster, software."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from lab.manifest.base import Amount, Count, Finite, Strict


class Cpu(Strict):
    """The processor. Governor and turbo cannot be seen from inside most virtual machines: ``None`` is unknown."""

    model: str
    logical: Annotated[int, Field(ge=1)]
    cores: Annotated[int, Field(ge=1)] | None = None
    threads_per_core: Annotated[int, Field(ge=1)] | None = None
    governor: str | None = None
    turbo: bool | None = None
    hypervisor: str | None = None


class CpuPlan(Strict):
    """Logical CPUs by role. Sets may overlap on a small machine; a run with such sets is suspect."""

    service: list[int]
    loadgen: list[int]
    other: list[int]


class Git(Strict):
    """The lab's own source: commit, whether files differed from it, and the hash of the difference."""

    commit: str
    dirty: bool
    diff_hash: str | None = None


class Dataset(Strict):
    """The dataset's name and the hash that it is cached under."""

    name: str
    hash: str


class Tool(Strict):
    """A program by name and version; ``custom`` when it replaced the lab's own."""

    name: str
    version: str
    custom: bool = False


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


class Node(Strict):
    """A node of a cluster that took part. ``parts`` are the run's pods on it.

    ``allowed_cpus`` are those of its first pod, as the kernel lists them: the service's own, on the service's node.
    ``clock_ahead_ms`` is relative to the lab's machine, plus or minus ``clock_uncertainty_ms``; None if no load pod
    ran. ``host`` has facts from the kernel, as those of a machine without a cluster.
    """

    name: str
    parts: list[str]
    kernel: str | None = None
    os: str | None = None
    cpu_model: str | None = None
    cpus: Count | None = None
    allowed_cpus: str | None = None
    memory_bytes: Count | None = None
    clock_ahead_ms: Finite | None = None
    clock_uncertainty_ms: Amount | None = None
    host: dict[str, str] = Field(default_factory=dict)
    audit: NodeAudit | None = None


class Cluster(Strict):
    """The cluster of a run: its network between generators and service, and the nodes, the service's first.

    ``round_trip_us`` is the median time of a GET of a missing key over one connection on an idle service.
    ``exclusive_cpus``: the service had CPUs of its own, which was checked.
    """

    version: str | None = None
    network: Literal["cluster", "host"]
    round_trip_us: Amount | None = None
    store: str
    generators: Count
    exclusive_cpus: bool = False
    nodes: list[Node]


class Environment(Strict):
    """The fingerprint of machine and software. Runs with different fingerprints are not comparable.

    ``host`` has facts from the kernel, ``fingerprint`` is the hash of all facts that can change a number
    (lab/machine/fingerprint.py).
    """

    cpu: Cpu | None = None
    kernel: str | None = None
    os: str | None = None
    memory_bytes: Count | None = None
    jvm: str | None = None
    jvm_flags: list[str] = Field(default_factory=list)
    gc: str | None = None
    libraries: dict[str, str] = Field(default_factory=dict)
    images: dict[str, str] = Field(default_factory=dict)
    native_transport: bool | None = None
    profiling_engine: str | None = None
    cpu_plan: CpuPlan | None = None
    monitoring: bool | None = None
    cluster: Cluster | None = None
    git: Git | None = None
    dataset: Dataset | None = None
    load_generator: Tool | None = None
    host: dict[str, str] = Field(default_factory=dict)
    fingerprint: str | None = None
