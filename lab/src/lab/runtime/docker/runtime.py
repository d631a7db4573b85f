"""The docker runtime: every part of a run in a container of docker-compose.yml, pinned by cpuset.

What runs when
- service: one container a start, replaced by the next. The lab holds two docker commands on it: `docker wait`, whose
  end is the service's, and `docker logs --follow`, which fills the log.
- loadgen: one container a load, in the service's network (load.py).
- profiler: a sidecar in the service's PID namespace, present only from `profiler.start` to `profiler.stop`. The JVM
  writes the recording into a tmpfs volume that both mount; it is copied out before either ends.
- converter: one container a conversion, without capabilities or network.

Files are seen in a container at the path that they have outside, so no path is ever translated. Every container of a
run carries the lab's pid as a label: `close` removes what is this lab's, `preflight` what a dead lab left.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Any

import yaml

from lab.cpu_plan import CpuPlan, cpu_list
from lab.errors import InputError, RunError
from lab.machine.host import free_ports, listener_on, port_is_free
from lab.paths import Checkout
from lab.process.processes import Processes
from lab.progress import Progress
from lab.runtime.base import (
    Check,
    DatasetSpec,
    Facts,
    LoadResult,
    LoadSpec,
    Ports,
    Runtime,
    Service,
    ServiceSpec,
)
from lab.runtime.docker import engine
from lab.runtime.docker.engine import Docker, is_live_lab, label_of, owner_of, require_engine, settings_of
from lab.runtime.docker.instruments import SERVICE_IMAGE, DockerProfiler, ImageCatalogue
from lab.runtime.docker.load import Load
from lab.runtime.docker.monitoring import DockerMonitoring
from lab.runtime.docker.service import ADMIN_PORT, DATA_PORT, EVERY_INTERFACE, DockerService
from lab.runtime.specs import check_loadgen_program, loadgen_program

BUILT_HERE = {"service": SERVICE_IMAGE, "loadgen": "lsmlab-loadgen", "profiler": "lsmlab-profiler"}
BUILD_HINT = "If no image registry can be reached, docker/engine up builds the base image from Debian's packages"


class DockerRuntime(Runtime):
    """Runs everything through `docker compose`."""

    name = "docker"

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout
        self._ports = Ports()
        self._loadgen_image = os.environ.get("LOADGEN_IMAGE", "").strip()
        self._loadgen_program = loadgen_program()
        self.custom_loadgen = str(self._loadgen_program or self._loadgen_image)
        settings = settings_of(checkout)
        self._docker = Docker(checkout.root, settings)
        self._beside = Docker(checkout.root, settings, engine.BESIDE)
        self._beside_used = False
        self._processes = Processes()
        self.monitoring: DockerMonitoring = DockerMonitoring(checkout, self._docker, self._processes)
        self.profiler = DockerProfiler(self._docker, self._processes)
        self.catalogue = ImageCatalogue(self._docker, checkout.cache / "docker-service.json")
        self._load = Load(self._docker, self._processes, self._loadgen_program, self._loadgen_image)

    @classmethod
    def checks(cls) -> list[Check]:
        """Return what this machine has and lacks for containers."""
        checks = []
        for name, find in (
            ("docker", engine.client_problem),
            ("Docker Engine", engine.engine_problem),
            ("docker compose", engine.compose_problem),
        ):
            problem = find()
            if problem is not None:
                checks.append(Check(name, ok=False, detail=problem.what, command=problem.hint))
                break  # the later ones need this one
            checks.append(Check(name, ok=True, detail=engine.version_of(name)))
        return checks

    def preflight(self, plan: CpuPlan, ports: Ports, progress: Progress) -> None:
        """Raise if containers cannot be run; remove what a killed lab left."""
        for place, setting in ((self._checkout.results, "LAB_RESULTS"), (self._checkout.cache, "LAB_CACHE")):
            if ":" in str(place):
                raise InputError(f"{place} has a colon in its name, at which Docker splits {setting}: rename it")
        require_engine(self._checkout)
        check_loadgen_program(self._loadgen_program)
        if 0 in (ports.data, ports.admin, ports.loadgen_metrics):
            raise InputError(
                "port 0 works only in the local runtime: name the port on which the container's port is published"
            )
        self._ports = ports
        plans = {
            "LAB_CPUS_SERVICE": cpu_list(plan.service),
            "LAB_CPUS_LOADGEN": cpu_list(plan.loadgen),
            "LAB_CPUS_OTHER": cpu_list(plan.other),
        }
        self._docker.settings |= plans | _published(ports)
        self._beside.settings |= plans
        self._remove_leftovers(progress)
        for port in (ports.data, ports.admin, ports.loadgen_metrics):
            if not port_is_free("127.0.0.1", port):
                holder = listener_on(port)
                raise RunError(
                    f"port {port} on 127.0.0.1 is taken{f' by {holder}' if holder else ''}",
                    "Stop the program that listens there, or name other ports: PORT=…, ADMIN_PORT=…",
                )

    def build(self, log: Path, progress: Progress, *, service_only: bool = False) -> None:
        """Build the images; a second or two if nothing changed."""
        if service_only:
            self._compose_build(["service"], log, progress)
            return
        if self._loadgen_image and not self._docker.image_id(self._loadgen_image):
            progress(f"pulling {self._loadgen_image}")
            self._processes.run(
                ["docker", "pull", self._loadgen_image],
                log=log,
                name=f"pulling {self._loadgen_image}",
                hint="LOADGEN_IMAGE must name an image that is here or can be pulled",
            )
        self._compose_build(list(BUILT_HERE), log, progress)

    def _compose_build(self, services: list[str], log: Path, progress: Progress) -> None:
        self._processes.run(
            self._docker.compose("build", *services),
            log=log,
            env=self._docker.environment(LOADGEN_IMAGE=""),  # the image that is built here is the lab's own
            on_line=lambda line: progress(line) if "[" in line and "] " in line else None,
            name="docker compose build",
            hint=BUILD_HINT,
        )

    def make_dataset(self, spec: DatasetSpec, directory: Path, log: Path, progress: Progress) -> dict[str, Any]:
        """Run load-dataset in a container that sees the directory's parent and nothing else."""
        words = ["load-dataset", "--dir", str(directory), *spec.words()]
        mount = f"{directory.parent}:{directory.parent}"
        output = self._processes.run(
            self._service_command(words, "--volume", mount),
            log=log,
            env=self._docker.environment(LAB_CPUS_SERVICE=""),  # nothing is measured: all CPUs
            on_line=progress,
            name="load-dataset",
        )
        return spec.read_output(output)

    def start_service(self, spec: ServiceSpec) -> DockerService:
        """Start the service on `spec.work_dir`."""
        inside = {
            "data_host": EVERY_INTERFACE,
            "data_port": DATA_PORT,
            "admin_host": EVERY_INTERFACE,
            "admin_port": ADMIN_PORT,
            "data_dir": str(spec.data_dir),
        }
        (spec.work_dir / "service.yaml").write_text(yaml.safe_dump({**spec.settings, **inside}), encoding="utf-8")
        flags = "".join(f"{_quoted(flag)}\n" for flag in spec.jvm_flags)
        (spec.work_dir / "jvm.args").write_text(flags, encoding="utf-8")
        docker, ports = self._docker, self._ports
        if spec.beside:
            docker, ports = self._beside, Ports(*free_ports(3))
            docker.settings |= _published(ports)
            self._beside_used = True
        docker.settings["LAB_SERVICE_DIR"] = str(spec.work_dir)
        docker.settings["LAB_CPUS_SERVICE"] = cpu_list(spec.cpus)
        docker.up("service")
        return DockerService(docker, self._processes, spec, ports)

    def load(self, spec: LoadSpec, service: Service, progress: Progress) -> LoadResult:
        """Run the load generator in the service's network."""
        docker = service.docker if isinstance(service, DockerService) else self._docker
        return self._load.run(docker, spec, service, self.monitoring.loaded)

    def loadgen_metrics_url(self, service: Service) -> str | None:
        """Return the published address, which is in the service's network; wrk2 has none."""
        ports = service.ports if isinstance(service, DockerService) else self._ports
        return None if self.custom_loadgen else f"http://127.0.0.1:{ports.loadgen_metrics}/metrics"

    def loadgen_pid(self) -> int | None:
        """Return the load generator's pid here; None if the engine runs on another system."""
        return self._load.pid()

    def facts(self) -> Facts:
        """Return the images' identities and the engine's versions."""
        wanted = dict(BUILT_HERE)
        if self._loadgen_image:
            wanted["loadgen"] = self._loadgen_image
        images = {
            service: self._docker.image_id(image) for service, image in {**wanted, **self.monitoring.images()}.items()
        }
        return Facts(
            images={service: digest for service, digest in images.items() if digest},
            versions={
                "docker": engine.version_of("Docker Engine"),
                "docker compose": engine.version_of("docker compose"),
            },
            notes=self.monitoring.notes(),
        )

    def close(self) -> list[str]:
        """Remove every container of this run."""
        left = []
        with contextlib.suppress(Exception):  # tried again below, which reports a failure
            self._remove_own()
        try:
            self.monitoring.down()
        except Exception as error:  # whatever the error is, the rest must be ended
            left.append(f"the monitoring ({error}): make down")
        left += self._processes.close()
        try:  # an interrupted command may have made a container at the very end
            self._remove_own()
        except Exception as error:
            label = f"label={engine.OWNER_LABEL}={self._docker.owner}"
            left.append(f"containers of this run ({error}): docker rm -f $(docker ps -aq --filter {label})")
        if self._beside_used:  # its networks and volumes, which no later run would use
            self._beside.try_ask(self._beside.compose("down", "--volumes", "--timeout", "1"), 10)
            self._beside_used = False
        return left

    def _service_command(self, words: list[str], *options: str) -> list[str]:
        return self._docker.compose(
            *("run", "--rm", "-T", "--no-deps", *options, "service", "-jar", "lsmlab-server.jar", *words)
        )

    def _remove_own(self) -> None:
        own = f"label={engine.OWNER_LABEL}={self._docker.owner}"
        if shutil.which("docker"):
            self._docker.remove([container["ID"] for container in self._docker.containers(own)], 10)

    def _remove_leftovers(self, progress: Progress) -> None:
        stale = []
        for container in self._docker.containers(f"label={engine.OWNER_LABEL}"):
            if label_of(container, "com.docker.compose.project") not in (engine.PROJECT, engine.BESIDE):
                continue  # somebody's `docker compose --project-name …`, which disturbs no run
            owner = owner_of(container)
            if owner is not None and is_live_lab(owner):
                raise RunError(
                    f"another lab (process {owner}) runs an experiment in containers",
                    "Wait until it ends, or end it: two runs at once would disturb each other",
                )
            stale.append(container)
        if stale:
            progress(f"removing what an earlier run left: {', '.join(container['Names'] for container in stale)}")
            self._docker.remove([container["ID"] for container in stale])


def _published(ports: Ports) -> dict[str, str]:
    return {
        "LAB_PORT_DATA": str(ports.data),
        "LAB_PORT_ADMIN": str(ports.admin),
        "LAB_PORT_LOADGEN_METRICS": str(ports.loadgen_metrics),
    }


def _quoted(flag: str) -> str:
    # The java launcher's argument files: a quoted word, with backslash as the escape.
    return '"' + flag.replace("\\", "\\\\").replace('"', '\\"') + '"'
