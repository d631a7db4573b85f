"""The parts of the runtime beside the service and its load, in pods: what the service offers, and the profiler."""

from __future__ import annotations

from pathlib import Path

from lab.kubernetes.kubectl import Kubectl
from lab.kubernetes.manifests import PROFILE_DIR, WORK_DIR
from lab.process.processes import Processes
from lab.progress import Progress
from lab.runtime.instruments import Profiler, Service, ServiceCatalogue
from lab.runtime.specs import RECORDED, ProfileSpec


class PodCatalogue(ServiceCatalogue):
    """Asks the service of the image, in the pod of the run."""

    def __init__(self, kubectl: Kubectl) -> None:
        super().__init__()
        self._kubectl = kubectl

    def _built(self, command: str) -> str:
        return ""

    def _ask(self, command: str) -> str:
        words = ["java", "-XX:TieredStopAtLevel=1", "-jar", "lsmlab-server.jar", command, "--json"]
        return self._kubectl.run("service", "service", words, f"asking the service for its {command}")


class PodProfiler(Profiler):
    """Records in the sidecar of the service's pod, and converts in a pod of its own."""

    def __init__(self, kubectl: Kubectl, processes: Processes) -> None:
        self._kubectl = kubectl
        self._processes = processes

    def start(self, spec: ProfileSpec, service: Service, limit_s: float) -> None:
        """Start a recording in the sidecar."""
        self._profile("start", *spec.start_words(limit_s))

    def stop(self, spec: ProfileSpec, service: Service) -> None:
        """End the recording and fetch it."""
        self._profile("stop")
        self._kubectl.pull("service", "profiler", PROFILE_DIR, RECORDED, spec.out)
        left = [f"{PROFILE_DIR}/{name}" for name in RECORDED]
        self._kubectl.run("service", "profiler", ["rm", *left], "removing the recording")

    def convert(self, spec: ProfileSpec, progress: Progress) -> None:
        """Convert in the converter's pod and fetch the pictures."""
        given = {name: spec.out / name for name in (*RECORDED, "latency.hlog")}
        there: dict[str, bytes | Path] = {name: path for name, path in given.items() if path.is_file()}
        self._kubectl.push("converter", "converter", there, WORK_DIR)
        words = ["/opt/lsmlab/profile", "convert", "--out", WORK_DIR, *spec.convert_words()]
        words += ["--latency", f"{WORK_DIR}/latency.hlog"] if "latency.hlog" in there else []
        argv = self._kubectl.exec_words("converter", "converter", words)
        self._processes.run(argv, log=spec.out / "profile.log", on_line=progress, name="profile convert")
        listed = self._kubectl.run("converter", "converter", ["ls", WORK_DIR], "listing the pictures")
        names = [name for name in listed.split() if name not in there]
        self._kubectl.pull("converter", "converter", WORK_DIR, names, spec.out)

    def _profile(self, command: str, *words: str) -> None:
        fixed = ("--pid", "auto", "--libpath", f"{PROFILE_DIR}/lib", "--out", PROFILE_DIR)
        argv = ["/opt/lsmlab/profile", command, *fixed, *words]
        self._kubectl.run("service", "profiler", argv, f"profile {command}")
