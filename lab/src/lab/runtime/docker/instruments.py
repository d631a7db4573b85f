"""The profiler as a sidecar of the service, present only while it records; and what the service's image offers."""

from __future__ import annotations

from pathlib import Path

from lab.cpu_plan import cpu_list
from lab.errors import RunError
from lab.process.processes import Processes
from lab.progress import Progress
from lab.runtime.docker.engine import Docker
from lab.runtime.docker.service import DockerService
from lab.runtime.instruments import Profiler, Service, ServiceCatalogue
from lab.runtime.specs import RECORDED, ProfileSpec

SERVICE_IMAGE = "lsmlab-service"
PROFILE_DIR = "/profile"
"""The tmpfs volume that service and sidecar share: the JVM writes the recording into it."""


class DockerProfiler(Profiler):
    """Records in a sidecar, converts in a container without capabilities or network."""

    def __init__(self, docker: Docker, processes: Processes) -> None:
        self._docker = docker
        self._processes = processes

    def start(self, spec: ProfileSpec, service: Service, limit_s: float) -> None:
        """Start the sidecar and, in it, a recording."""
        docker = self._docker_of(service)
        docker.settings["LAB_CPUS_OTHER"] = cpu_list(spec.cpus)
        docker.up("profiler")
        earlier = [f"{PROFILE_DIR}/{name}" for name in RECORDED]
        _execute(docker, ["rm", "-f", *earlier], "making room for a recording")
        _profile(docker, "start", *spec.start_words(limit_s))

    def stop(self, spec: ProfileSpec, service: Service) -> None:
        """End the recording, copy it out, end the sidecar."""
        docker = self._docker_of(service)
        _profile(docker, "stop")
        sidecar = docker.container("profiler")
        for name in RECORDED:
            docker.ask(["docker", "cp", f"{sidecar}:{PROFILE_DIR}/{name}", str(spec.out)], "copying the recording", 300)
        docker.remove([sidecar])

    def convert(self, spec: ProfileSpec, progress: Progress) -> None:
        """Convert in a container of its own, on all CPUs: nothing is measured any more."""
        words = ["convert", "--out", str(spec.out), *spec.convert_words(), *spec.latency_words()]
        argv = self._docker.compose(
            "run", "--rm", "-T", "--no-deps", f"--volume={spec.out}:{spec.out}", "converter", *words
        )
        env = self._docker.environment(LAB_CPUS_OTHER="")
        self._processes.run(argv, log=spec.out / "profile.log", env=env, on_line=progress, name="profile convert")

    def _docker_of(self, service: Service) -> Docker:
        return service.docker if isinstance(service, DockerService) else self._docker


class ImageCatalogue(ServiceCatalogue):
    """Asks the service's image."""

    def __init__(self, docker: Docker, cache: Path) -> None:
        super().__init__(cache)
        self._docker = docker

    def _built(self, command: str) -> str:
        image = self._docker.image_id(SERVICE_IMAGE)
        if image is None:
            raise RunError(
                f"the service's image is not built yet, and only the service knows its {command}",
                "Build it: docker compose build service",
            )
        return image

    def _ask(self, command: str) -> str:
        # Without the options of an experiment, which would fill a large heap at once.
        argv = self._docker.compose(
            *("run", "--rm", "-T", "--no-deps", "--entrypoint", "java", "service", "-XX:TieredStopAtLevel=1"),
            *("-jar", "lsmlab-server.jar", command, "--json"),
        )
        return self._docker.ask(argv, f"asking the service for its {command}")


def _profile(docker: Docker, command: str, *words: str) -> None:
    # The library is in the shared volume, so that both containers see it at one path.
    fixed = ("--pid", "auto", "--libpath", f"{PROFILE_DIR}/lib", "--out", PROFILE_DIR)
    _execute(docker, ["/opt/lsmlab/profile", command, *fixed, *words], f"profile {command}")


def _execute(docker: Docker, words: list[str], what: str) -> None:
    docker.ask(["docker", "exec", docker.container("profiler"), *words], what)
