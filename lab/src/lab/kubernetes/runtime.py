"""The kubernetes runtime: the service on one node of a cluster, the load from others.

`build` makes the namespace and its pods (manifests.py), which wait for the rest of the run. Every process of the run is
a `kubectl exec` into one of them, held by the lab like any other process. When such a process ends, its pod's state
tells whether it died or was lost. Files go through the API server, with checksums.

Datasets are made in the service's pod, because making a gigabyte is faster than sending it. If the store outlives the
pod, they are made only once.

The namespace names the lab that made it. `close` deletes it; `preflight` deletes one that a dead lab
of this machine left, and refuses to touch any other.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from pathlib import Path
from typing import Any

import yaml

from lab.cpu_plan import CpuPlan
from lab.errors import InputError, MissingToolError, RunError
from lab.kubernetes import kubectl
from lab.kubernetes.instruments import PodCatalogue, PodProfiler
from lab.kubernetes.inventory import read_cluster
from lab.kubernetes.kubectl import Kubectl
from lab.kubernetes.leftovers import remove_leftover, this_lab
from lab.kubernetes.load import Generator, Load
from lab.kubernetes.manifests import (
    ADMIN_PORT,
    DATA_PORT,
    GIB,
    PART_OF,
    STORE_DIR,
    USER,
    as_yaml,
    manifests,
)
from lab.kubernetes.placement import Placement, check_division, read_placement
from lab.kubernetes.service import KubernetesService
from lab.kubernetes.waiting import component_of, name_of, wait_for_pods
from lab.manifest import Environment
from lab.paths import Checkout
from lab.process.processes import Processes
from lab.progress import Progress
from lab.runtime.base import (
    Check,
    DatasetSpec,
    Elsewhere,
    Facts,
    LoadResult,
    LoadSpec,
    Monitoring,
    Ports,
    Runtime,
    Service,
    ServiceSpec,
)

JAVA = ("java", "@/opt/lsmlab/jvm.options")
CLOSE_LIMIT_S = 35.0
PODS_LIMIT_S = 4.0
CPUS_LIMIT_S = 10.0
"""Time after which the CPU manager must have moved the service's container."""


class KubernetesRuntime(Runtime, Elsewhere):
    """Runs the parts of one experiment in pods of a namespace of its own."""

    name = "kubernetes"

    def __init__(self, checkout: Checkout) -> None:
        for other in ("LOADGEN", "LOADGEN_IMAGE"):
            if os.environ.get(other):
                raise InputError(f"{other}: RUNTIME=kubernetes supports only the lab's own load generator")
        self.elsewhere = self
        self._placement = read_placement(os.environ)
        self._kubectl = Kubectl(self._placement.namespace)
        self._processes = Processes()
        self.catalogue = PodCatalogue(self._kubectl)
        self.profiler = PodProfiler(self._kubectl, self._processes)
        self.monitoring = Monitoring()  # a Prometheus in the cluster finds the pods by their annotations
        self._objects: list[dict[str, Any]] = []
        self._pods: list[dict[str, Any]] = []
        self._load: Load | None = None
        self._made = False
        self._started = 0
        self._dataset = ""
        self._round_trip_us: float | None = None

    @classmethod
    def checks(cls) -> list[Check]:
        """Return whether a cluster answers."""
        problem = kubectl.problem()
        if problem is not None:
            return [Check("cluster", ok=False, detail=problem[0], command=problem[1])]
        return [Check("cluster", ok=True, detail="kubectl reaches its API server")]

    def prepare(self, name: str, threads: int, connections: int, data_bytes: int) -> None:
        """Make the manifests."""
        self._objects = objects_of(self._placement, name, threads, connections, data_bytes, owner=this_lab())

    def preflight(self, plan: CpuPlan, ports: Ports, progress: Progress) -> None:
        """Raise if no cluster answers or it refuses a namespace; remove what a killed lab left."""
        problem = kubectl.problem()
        if problem is not None:
            raise MissingToolError(f"RUNTIME=kubernetes: {problem[0]}", problem[1])
        remove_leftover(self._kubectl, progress)
        allowed = self._kubectl.ask(["auth", "can-i", "create", "namespaces", "--all-namespaces"], "asking for rights")
        if allowed.strip() != b"yes":  # pragma: no cover - kubectl ends with 1 then
            raise RunError("this account may not create namespaces in the cluster")

    def build(self, log: Path, progress: Progress, *, service_only: bool = False) -> None:
        """Make the namespace and wait for its pods. Images are built beforehand and pulled by the nodes."""
        if service_only:
            return
        text = as_yaml(self._objects)
        log.write_text(text, encoding="utf-8")
        self._made = True
        self._kubectl.ask(
            ["apply", "--server-side", "--field-manager=lsmlab", "--validate=strict", "--filename=-"],
            "applying the manifests",
            stdin=text.encode(),
        )
        self._pods = wait_for_pods(self._kubectl, self._placement.generators + 2, progress)
        generators = []
        for pod in self._pods:
            if component_of(pod) == "load":
                index = int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"])
                generators.append(Generator(index + 1, name_of(pod), pod["spec"]["nodeName"]))
        self._load = Load(self._kubectl, self._processes, sorted(generators, key=lambda one: one.number))
        self._check_cpus()
        self._check_store()

    def make_dataset(self, spec: DatasetSpec, directory: Path, log: Path, progress: Progress) -> dict[str, Any]:
        """Refuse: a dataset of this machine has no use in a cluster."""
        raise AssertionError("a dataset is kept in the store: keep_dataset()")

    def keep_dataset(self, spec: DatasetSpec, name: str, log: Path, progress: Progress) -> dict[str, Any]:
        """Make the dataset in the store, if it is not there."""
        self._dataset = name
        place, info = f"{STORE_DIR}/datasets/{name}", f"{STORE_DIR}/datasets/{name}.json"
        known = self._in_service(f"if [ -e {info} ]; then cat {info}; fi", "looking for the dataset")
        if not known.strip():
            words = shlex.join([*JAVA, "-jar", "lsmlab-server.jar", "load-dataset", "--dir", place, *spec.words()])
            script = (
                f"rm -rf {place} && mkdir -p {STORE_DIR}/datasets && {words} >{info}.part"
                f" && mv {info}.part {info} && cat {info}"
            )
            argv = self._kubectl.exec_words("service", "service", ["sh", "-c", script])
            known = self._processes.run(argv, log=log, on_line=progress, name="load-dataset")
        return spec.read_output(known)

    def start_service(self, spec: ServiceSpec) -> KubernetesService:
        """Start the service in its pod, on links to the dataset."""
        if spec.beside or spec.root is not None:
            raise InputError("RUNTIME=kubernetes runs one service of one checkout at a time")
        self._started += 1
        directory = f"{STORE_DIR}/runs/{self._started}"
        inside = {
            "data_host": "0.0.0.0",  # noqa: S104 - of the pod
            "data_port": DATA_PORT,
            "admin_host": "0.0.0.0",  # noqa: S104
            "admin_port": ADMIN_PORT,
            "data_dir": f"{directory}/data",
        }
        self._in_service(f"rm -rf {STORE_DIR}/runs", "clearing the store")
        files: dict[str, bytes | Path] = {
            "service.yaml": yaml.safe_dump({**spec.settings, **inside}).encode(),
            "jvm.args": "".join(f'"{_escaped(flag)}"\n' for flag in spec.jvm_flags).encode(),
        }
        self._kubectl.push("service", "service", files, directory)
        if self._dataset:
            # Tables never change and are linked; the service rewrites every other file, so it gets copies of them.
            self._in_service(
                f"cd {STORE_DIR}/datasets/{self._dataset} && mkdir -p {directory}/data"
                f" && find . -type d -exec mkdir -p {directory}/data/{{}} ';'"
                f" && find . -type f -name '*.sst' -exec ln {{}} {directory}/data/{{}} ';'"
                f" && find . -type f ! -name '*.sst' -exec cp {{}} {directory}/data/{{}} ';'",
                "linking the dataset",
            )
        pod = next(pod for pod in self._pods if component_of(pod) == "service")
        return KubernetesService(self._kubectl, self._processes, spec, directory, pod["status"]["podIP"])

    def load(self, spec: LoadSpec, service: Service, progress: Progress) -> LoadResult:
        """Start all generators at the same time and merge their reports."""
        if self._load is None or not isinstance(service, KubernetesService):
            raise AssertionError("build() and start_service() come first")
        check_division(self._placement.generators, spec.threads, spec.connections)
        if self._round_trip_us is None:
            self._round_trip_us = self._load.idle_round_trip_us(service.address)
        return self._load.run(spec, service, polling=self._placement.load_cpus != 0)

    def loadgen_metrics_url(self, service: Service) -> str | None:
        """Return None: the generators' metrics are for a Prometheus in the cluster."""
        return None

    def loadgen_pid(self) -> int | None:
        """Return None: the generators are on other machines."""
        return None

    def facts(self) -> Facts:
        """Return the images."""
        images = {}
        for pod in self._kubectl.documents("pods", f"--selector={PART_OF}=lsmlab"):
            for status in pod["status"].get("containerStatuses", []):
                images[status["name"]] = str(status.get("imageID") or status.get("image"))
        return Facts(images=images)

    def describe(self, environment: Environment) -> None:
        """Put the cluster and its nodes into the environment."""
        if self._load is not None:
            read_cluster(self._kubectl, self._placement, self._pods, self._load, self._round_trip_us).describe(
                environment
            )

    def close(self) -> list[str]:
        """End all processes and delete the namespace with everything in it."""
        left = self._processes.close()
        if not self._made:
            return left
        name, deadline = self._placement.namespace, time.monotonic() + CLOSE_LIMIT_S
        with contextlib.suppress(RunError):
            # Deleting the namespace would give each pod its grace period, and check again only much later.
            words = ["delete", "job,pod", "--all", "--now", f"--timeout={PODS_LIMIT_S:g}s"]
            self._kubectl.ask(words, "deleting the pods", limit_s=PODS_LIMIT_S + 1)
        while self._made and (left_s := deadline - time.monotonic()) > 0:
            words = ["delete", "namespace", name, "--ignore-not-found", f"--timeout={left_s:.0f}s"]
            try:
                self._kubectl.ask(words, "deleting the namespace", limit_s=left_s + 1)
                self._made = False
            except RunError:
                time.sleep(1)  # an API server that is being restarted may be back by then
        if self._made:
            left.append(
                f"namespace {name}: the cluster may still be removing it; see kubectl get namespace {name}, "
                f"and if it is Active: kubectl delete namespace {name}"
            )
        return left

    def _check_cpus(self) -> None:
        if not self._placement.exclusive_cpus:
            return
        wanted, deadline = self._placement.service_cpus, time.monotonic() + CPUS_LIMIT_S
        while (given := len(cpus_of_service(self._kubectl))) != wanted and time.monotonic() < deadline:
            time.sleep(0.5)  # the CPU manager moves a container some time after its start
        if given != wanted:
            raise RunError(
                f"the service asked for {wanted} CPUs of its own but may run on {given}: "
                "its node has no static CPU manager",
                "Set cpuManagerPolicy: static in the kubelet's configuration, or accept it: EXCLUSIVE_CPUS=off",
            )

    def _check_store(self) -> None:
        if self._in_service(f"if test -w {STORE_DIR}; then echo yes; fi", "looking at the store").strip() != "yes":
            raise RunError(
                f"the store ({self._placement.store}) is not writable for user {USER}, which runs the service",
                f"A path on the node: chown {USER} it there. A volume: its driver must support fsGroup",
            )

    def _in_service(self, script: str, what: str) -> str:
        return self._kubectl.run("service", "service", ["sh", "-c", script], what)


def objects_of(
    placement: Placement, name: str, threads: int, connections: int, data_bytes: int, *, owner: str = ""
) -> list[dict[str, Any]]:
    """Return the manifests of an experiment. InputError if its load cannot be divided among the generators."""
    check_division(placement.generators, threads, connections)
    return manifests(placement, name, threads=threads, store_bytes=3 * data_bytes + 2 * GIB, owner=owner)


def cpus_of_service(client: Kubectl) -> list[int]:
    """Return the CPUs that the service may run on, as its node numbers them."""
    command = ["sh", "-c", "grep Cpus_allowed_list /proc/self/status"]
    output = client.run("service", "service", command, "asking for the service's CPUs")
    cpus: list[int] = []
    for part in output.split()[1].split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def _escaped(flag: str) -> str:
    # The java launcher's argument files: a quoted word, with backslash as the escape.
    return flag.replace("\\", "\\\\").replace('"', '\\"')
