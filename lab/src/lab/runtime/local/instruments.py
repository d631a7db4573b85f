"""The profiler as a process of this machine, attached to the service's JVM; and what the built service offers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from lab.errors import RunError
from lab.process.commands import run_text
from lab.process.processes import Processes
from lab.progress import Progress
from lab.runtime.instruments import Profiler, Service, ServiceCatalogue
from lab.runtime.specs import ProfileSpec

ANSWER_LIMIT_S = 60


class LocalProfiler(Profiler):
    """Runs `profile`. `java` returns the path of the JDK's java when it is first needed."""

    def __init__(self, processes: Processes, program: Path, java: Callable[[], str]) -> None:
        self._processes = processes
        self._program = program
        self._java = java

    def start(self, spec: ProfileSpec, service: Service, limit_s: float) -> None:
        """Run `profile start`."""
        self._run("start", spec, ["--pid", str(service.pid), *spec.start_words(limit_s)])

    def stop(self, spec: ProfileSpec, service: Service) -> None:
        """Run `profile stop`."""
        self._run("stop", spec, ["--pid", str(service.pid)])

    def convert(self, spec: ProfileSpec, progress: Progress) -> None:
        """Run `profile convert` off the CPUs of the service, which may still be ending."""
        self._run("convert", spec, [*spec.convert_words(), *spec.latency_words()], progress)

    def _run(self, command: str, spec: ProfileSpec, words: list[str], progress: Progress | None = None) -> None:
        environment = {**os.environ, "JAVA_HOME": str(Path(self._java()).parents[1])}
        self._processes.run(
            [str(self._program), command, "--out", str(spec.out), *words],
            log=spec.out / "profile.log",
            cpus=spec.cpus,
            env=environment,
            on_line=progress,
            name=f"profile {command}",
        )


class JarCatalogue(ServiceCatalogue):
    """Asks `java -jar JAR variants --json`. `java` returns the path of the JDK's java when it is first needed."""

    def __init__(self, jar: Path, cache_dir: Path, java: Callable[[], str]) -> None:
        super().__init__(cache_dir / "service.json")
        self._jar = jar
        self._java = java

    def _built(self, command: str) -> str:
        try:
            stat = self._jar.stat()
        except FileNotFoundError:
            hint = "Build it: make build-service"
            raise RunError(f"the service is not built yet, and only it knows its {command}", hint) from None
        return f"{stat.st_mtime_ns} {stat.st_size}"

    def _ask(self, command: str) -> str:
        argv = [self._java(), "-XX:TieredStopAtLevel=1", "-jar", str(self._jar), command, "--json"]
        done = run_text(argv, limit_s=ANSWER_LIMIT_S)
        if done.returncode != 0:
            raise RunError(f"the service's command {command!r} failed", log_tail=done.stderr[-2000:])
        return done.stdout
