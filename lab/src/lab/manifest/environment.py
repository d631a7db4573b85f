"""The fingerprint of a run: machine, software."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from lab.manifest.base import Count, Strict


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


class Environment(Strict):
    """The fingerprint of machine and software. Runs with different fingerprints are not comparable.

    ``host`` has facts from the kernel, ``fingerprint`` is the hash of all facts that can change a number
    (lab/machine/fingerprint.py). ``cluster`` is the section of a run in a cluster (lab/kubernetes/cluster.py).
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
    cluster: dict[str, Any] | None = None
    git: Git | None = None
    dataset: Dataset | None = None
    load_generator: Tool | None = None
    host: dict[str, str] = Field(default_factory=dict)
    fingerprint: str | None = None
