"""The docker runtime: every part of a run in a container of docker-compose.yml, pinned by cpuset.

What runs when
- service: one container a start, replaced by the next. The lab holds two docker commands on it: `docker wait`, whose
  end is the service's, and `docker logs --follow`, which fills the log.
- loadgen: one container a load, in the service's network, so that the load travels over loopback. It runs detached and
  its output is fetched when it has ended: an attached client that dies would lose it.
- profiler: a sidecar in the service's PID namespace, there only from `start_profile` to `stop_profile`. The JVM writes
  the recording into the tmpfs volume both mount; it is copied out before either ends.
- converter: one container a conversion, without capabilities or network.

Files are seen in a container at the path that they have outside, so no path is ever translated. Every container of a
run carries the lab's pid as a label: `close` removes what is this lab's, `preflight` what a dead lab left.

Longer than most files: it is one class, whose methods are the runtime's and share the engine, names and labels. What
can stand alone does: the engine, the image, a started service, the choice of a load generator, monitoring.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import IO, Any

import yaml

from lab.cpu_plan import CpuPlan, cpu_list
from lab.errors import InputError, RunError
from lab.machine.cpus import plan_cpus
from lab.machine.host import free_ports, listener_on, port_is_free
from lab.paths import Checkout
from lab.process.processes import Process, Processes, tail
from lab.progress import Progress
from lab.runtime import loadgen_override
from lab.runtime.base import (
    LIVENESS_S,
    Check,
    Choice,
    DatasetSpec,
    Facts,
    LoadResult,
    LoadSpec,
    Ports,
    ProfileSpec,
    Runtime,
    Service,
    ServiceSpec,
)
from lab.runtime.docker import engine
from lab.runtime.docker.engine import Docker, is_live_lab, owner_of
from lab.runtime.docker.image import SERVICE_IMAGE, ServiceImage
from lab.runtime.docker.monitoring import Monitoring
from lab.runtime.docker.service import DockerService
from lab.units import duration_word

BUILT_HERE = {"service": SERVICE_IMAGE, "loadgen": "lsmlab-loadgen", "profiler": "lsmlab-profiler"}
DATA_PORT, ADMIN_PORT, LOADGEN_METRICS_PORT = 8080, 8081, 9101  # inside; docker-compose.yml publishes them
EVERY_INTERFACE = "0.0.0.0"  # noqa: S104 - of the container; published on 127.0.0.1 only
PROFILE_DIR = "/profile"
LOADGEN_DIR = "/opt/lsmlab/other"  # where the program of LOADGEN lies inside
NO_HEALTH_CHECK = "24h"  # each check would be a process on the service's CPUs
INTERRUPT_GRACE_S = 5.0
BUILD_HINT = "Where no image registry is reached, docker/engine up builds the base image from Debian's packages"


class DockerRuntime(Runtime):
    """Runs everything through `docker compose`."""

    name = "docker"

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout
        self._ports = Ports()
        self._loadgen_image = os.environ.get("LOADGEN_IMAGE", "").strip()
        self._loadgen_program = loadgen_override.program()
        self.custom_loadgen = str(self._loadgen_program or self._loadgen_image)
        settings = {
            "LAB_HEALTH_INTERVAL": NO_HEALTH_CHECK,
            "LAB_METRICS": str(checkout.metrics),
            "LAB_RESULTS": str(checkout.results),
        }
        self._docker = Docker(checkout.root, settings)
        self._beside = Docker(checkout.root, settings, engine.BESIDE)
        self._beside_used = False
        self._processes = Processes()
        self._monitoring = Monitoring(checkout, self._docker, self._processes)
        self._service_image = ServiceImage(self._docker, checkout.cache / "docker-service.json")
        self._load_name: str | None = None

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
        """Raise where containers cannot be run; remove what a killed lab left."""
        self._require_engine()
        loadgen_override.check(self._loadgen_program)
        if 0 in (ports.data, ports.admin, ports.loadgen_metrics):
            raise InputError("port 0 is for the local runtime: name the port that the container's is published on")
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
                    "End what listens there, or name other ports: PORT=…, ADMIN_PORT=…",
                )

    def build(self, log: Path, progress: Progress) -> None:
        """Build the images; a second or two where nothing changed."""
        services = [service for service in BUILT_HERE if service != "loadgen" or not self._loadgen_image]
        if self._loadgen_image and not self._docker.image_id(self._loadgen_image):
            progress(f"pulling {self._loadgen_image}")
            self._processes.run(
                ["docker", "pull", self._loadgen_image],
                log=log,
                name=f"pulling {self._loadgen_image}",
                hint="LOADGEN_IMAGE must name an image that is here or can be pulled",
            )
        self._compose_build(services, log, progress)

    def build_service(self, log: Path, progress: Progress) -> None:
        """Build the service's image; a second or two where nothing changed."""
        self._compose_build(["service"], log, progress)

    def _compose_build(self, services: list[str], log: Path, progress: Progress) -> None:
        self._processes.run(
            self._docker.compose("build", *services),
            log=log,
            env=self._docker.environment(),
            on_line=lambda line: progress(line) if "[" in line and "] " in line else None,
            name="docker compose build",
            hint=BUILD_HINT,
        )

    def variants(self) -> list[Choice]:
        """Ask the built service."""
        return self._service_image.choices("variants")

    def engines(self) -> list[Choice]:
        """Ask the built service."""
        return self._service_image.choices("engines")

    def table_format(self) -> str:
        """Read it from the storage library of the built image, as the local runtime does from its own build."""
        return self._service_image.table_format()

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
        for line in reversed(output.splitlines()):  # Compose and stderr may have words after it
            if line.startswith("{"):
                document: dict[str, Any] = json.loads(line)
                return document
        raise RunError("load-dataset ended well but printed no JSON object", log_tail=output[-2000:])

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
        self._up("service", docker)
        return DockerService(docker, self._processes, spec, ports)

    def load(self, spec: LoadSpec, service: Service, progress: Progress) -> LoadResult:
        """Run the load generator in the service's network."""
        docker = self._docker_of(service)
        name = f"{engine.PROJECT}-load-{docker.owner}"
        docker.settings["LAB_CPUS_LOADGEN"] = cpu_list(spec.cpus)
        mounts = [f"--volume={spec.out}:{spec.out}", f"--volume={spec.script.parent}:{spec.script.parent}:ro"]
        if self._loadgen_program:
            inside = f"{LOADGEN_DIR}/{self._loadgen_program.name}"
            mounts += [f"--volume={self._loadgen_program}:{inside}:ro", f"--entrypoint={inside}"]
        docker.ask(
            docker.compose(
                *("run", "--detach", "--no-deps", "--name", name, *mounts, "loadgen", *self._load_words(spec))
            ),
            "starting the load generator",
        )
        self._load_name = name
        began = time.time()
        ended = self._processes.start(["docker", "wait", name], stdout=subprocess.PIPE, name="docker wait")
        try:
            while ended.wait(LIVENESS_S) is None and service.alive():
                pass
            if ended.alive():  # the service died; what it left is in its log
                self._interrupt(name, ended)
            code = _exit_code(ended)
        except BaseException:  # Ctrl-C, a phase's time limit
            self._interrupt(name, ended)
            raise
        finally:
            self._monitoring.loaded(began)
            self._collect_output(name, spec.out)
            ended.end()
            self._load_name = None
        return LoadResult(code, tail(spec.out / "load.err") if code else "")

    def loadgen_metrics_url(self, service: Service) -> str | None:
        """Return the published address, which is in the service's network; the original has none."""
        ports = service.ports if isinstance(service, DockerService) else self._ports
        return None if self.custom_loadgen else f"http://127.0.0.1:{ports.loadgen_metrics}/metrics"

    def loadgen_pid(self) -> int | None:
        """Return the load generator's pid here, where the engine's processes are this system's."""
        return self._docker.pid_of(self._load_name, "-R") if self._load_name else None

    def start_profile(self, spec: ProfileSpec, service: Service) -> None:
        """Start the sidecar and, in it, a recording."""
        docker = self._docker_of(service)
        docker.settings["LAB_CPUS_OTHER"] = cpu_list(spec.cpus)
        self._up("profiler", docker)
        recording = f"{PROFILE_DIR}/profile.jfr"
        self._in_profiler(docker, ["rm", "-f", recording], "making room for a recording")
        self._profile(docker, "start", "--events", ",".join(spec.events), "--interval", spec.interval)

    def stop_profile(self, spec: ProfileSpec, service: Service) -> None:
        """End the recording, copy it out, end the sidecar."""
        docker = self._docker_of(service)
        self._profile(docker, "stop")
        sidecar = docker.container("profiler")
        docker.ask(
            ["docker", "cp", f"{sidecar}:{PROFILE_DIR}/profile.jfr", str(spec.out)], "copying the recording", 300
        )
        docker.remove([sidecar])

    def convert_profile(self, spec: ProfileSpec, progress: Progress) -> None:
        """Convert in a container of its own, on all CPUs: nothing is measured any more."""
        words = ["convert", "--out", str(spec.out), "--title", spec.title, "--events", ",".join(spec.events)]
        words += spec.latency_words()
        argv = self._docker.compose(
            "run", "--rm", "-T", "--no-deps", f"--volume={spec.out}:{spec.out}", "converter", *words
        )
        env = self._docker.environment(LAB_CPUS_OTHER="")
        self._processes.run(argv, log=spec.out / "profile.log", env=env, on_line=progress, name="profile convert")

    def monitoring_up(self, progress: Progress) -> None:
        """Start Prometheus, node-exporter and the artifact server, and Grafana where its image is here."""
        try:
            self._monitoring.up_for_a_run(progress)
        except RunError as error:
            note = f"monitoring could not be started, the run goes on without it: {error.message}"
            self._monitoring.add_note(note)
            progress(note)

    def monitoring_down(self) -> None:
        """Stop them, unless they were up before."""
        self._monitoring.down_after_a_run()

    def stack_up(self, progress: Progress) -> dict[str, str]:
        """Bring the monitoring up to stay, on the CPUs that the plan leaves to it."""
        self._require_engine()
        self._docker.settings["LAB_CPUS_OTHER"] = cpu_list(plan_cpus(os.environ).other)
        return self._monitoring.up_to_stay(progress)

    def stack_addresses(self) -> dict[str, str]:
        """Return the addresses of the monitoring that is up, by service."""
        self._require_engine()
        return self._monitoring.addresses()

    def stack_down(self) -> None:
        """Remove every container of the stack."""
        self._require_engine()
        self._monitoring.down()

    def facts(self) -> Facts:
        """Return the images' identities and the engine's versions."""
        wanted = dict(BUILT_HERE)
        if self._loadgen_image:
            wanted["loadgen"] = self._loadgen_image
        images = {
            service: self._docker.image_id(image) for service, image in {**wanted, **self._monitoring.images()}.items()
        }
        return Facts(
            images={service: digest for service, digest in images.items() if digest},
            versions={
                "docker": engine.version_of("Docker Engine"),
                "docker compose": engine.version_of("docker compose"),
            },
            notes=self._monitoring.notes(),
        )

    def close(self) -> list[str]:
        """Remove every container of this run."""
        left = []
        with contextlib.suppress(Exception):  # tried again below, where a failure is told
            self._remove_own()
        try:
            self._monitoring.down_after_a_run()
        except Exception as error:  # whatever it is, the rest must be ended
            left.append(f"the monitoring ({error}): make down")
        left += self._processes.close()
        try:  # a command that was cut short may have made a container at the very end
            self._remove_own()
        except Exception as error:
            label = f"label={engine.OWNER_LABEL}={self._docker.owner}"
            left.append(f"containers of this run ({error}): docker rm -f $(docker ps -aq --filter {label})")
        if self._beside_used:  # its networks and volumes, which no later run would use
            self._beside.try_ask(self._beside.compose("down", "--volumes", "--timeout", "1"), 10)
            self._beside_used = False
        return left

    def _require_engine(self) -> None:
        problem = engine.first_problem()
        if problem is not None:
            raise problem.error()
        # A bind mount of a directory that is not there would be made by the engine, as root.
        for directory in (self._checkout.metrics, self._checkout.results, self._checkout.work):
            directory.mkdir(parents=True, exist_ok=True)

    def _docker_of(self, service: Service) -> Docker:
        return service.docker if isinstance(service, DockerService) else self._docker

    def _up(self, service: str, docker: Docker) -> None:
        docker.ask(
            docker.compose("up", "--detach", "--no-deps", "--no-build", "--force-recreate", "--timeout", "1", service),
            f"starting the {service} container",
        )

    def _profile(self, docker: Docker, command: str, *words: str) -> None:
        # The library lies in the volume that both containers have, so that both see it at one path.
        fixed = ("--pid", "auto", "--libpath", f"{PROFILE_DIR}/lib", "--out", PROFILE_DIR)
        self._in_profiler(docker, ["/opt/lsmlab/profile", command, *fixed, *words], f"profile {command}")

    def _in_profiler(self, docker: Docker, words: list[str], what: str) -> None:
        docker.ask(["docker", "exec", docker.container("profiler"), *words], what)

    def _service_command(self, words: list[str], *options: str) -> list[str]:
        return self._docker.compose(
            *("run", "--rm", "-T", "--no-deps", *options, "service", "-jar", "lsmlab-server.jar", *words)
        )

    def _load_words(self, spec: LoadSpec) -> list[str]:
        words = [
            f"-t{spec.threads}",
            f"-c{spec.connections}",
            f"-d{duration_word(spec.duration_s)}",
            f"-R{spec.rate_per_s}",
            "-L",
        ]
        words += ["-s", str(spec.script)]
        if spec.timeout_s is not None:
            words += ["--timeout", duration_word(spec.timeout_s)]
        if not self.custom_loadgen:  # the original has none of these
            words += [*spec.own_words(), "--metrics", f"{EVERY_INTERFACE}:{LOADGEN_METRICS_PORT}"]
        return [*words, f"http://127.0.0.1:{DATA_PORT}", "--", *spec.words]

    def _interrupt(self, name: str, ended: Process) -> None:
        self._docker.try_ask(["docker", "kill", "--signal", "INT", name])
        if ended.wait(INTERRUPT_GRACE_S) is None:
            self._docker.try_ask(["docker", "kill", name])
            ended.wait(INTERRUPT_GRACE_S)

    def _collect_output(self, name: str, out: Path) -> None:
        with (out / "load.txt").open("wb") as stdout, (out / "load.err").open("wb") as stderr:
            _copy_logs(name, stdout, stderr)
        if (out / "load.err").stat().st_size == 0:
            (out / "load.err").unlink()
        with contextlib.suppress(RunError):  # close() tries again; an error that is on its way is worth more
            self._docker.remove([name])

    def _remove_own(self) -> None:
        own = f"label={engine.OWNER_LABEL}={self._docker.owner}"
        if shutil.which("docker"):
            self._docker.remove([container["ID"] for container in self._docker.containers(own)], 10)

    def _remove_leftovers(self, progress: Progress) -> None:
        stale = []
        for container in self._docker.containers(f"label={engine.OWNER_LABEL}"):
            owner = owner_of(container)
            if owner is not None and is_live_lab(owner):
                raise RunError(
                    f"another lab (process {owner}) runs an experiment in containers",
                    "Wait for its end, or end it: two at once would measure each other",
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


def _exit_code(waiter: Process) -> int:
    waiter.wait(5.0)
    said = waiter.stdout.read().strip()
    return int(said) if said.isdigit() else 1


def _copy_logs(name: str, stdout: IO[bytes], stderr: IO[bytes]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            ["docker", "logs", name], stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, timeout=30, check=False
        )


def _quoted(flag: str) -> str:
    # The java launcher's argument files: a quoted word, with backslash as the escape.
    return '"' + flag.replace("\\", "\\\\").replace('"', '\\"') + '"'
