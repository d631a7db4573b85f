"""The local runtime: the service, the load generator and the profiler as processes of this machine, pinned by taskset.

It needs a JDK 25, Maven, Cargo with a C compiler, and make; Prometheus and node-exporter join in if they are on the
PATH. `LOADGEN=/path/to/wrk2` replaces the lab's own load generator; it is then started without the lab's own options
(`--json`, `--hdr-log`, `--metrics`).
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import yaml

from lab.cpu_plan import CpuPlan
from lab.errors import InputError, MissingToolError, RunError
from lab.machine.host import command_line, listener_on, port_is_free, processes_mentioning
from lab.paths import Checkout
from lab.process.processes import Process, Processes, tail
from lab.progress import Progress
from lab.runtime.base import (
    LIVENESS_S,
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
from lab.runtime.local import requirements
from lab.runtime.local.foreign import ForeignService
from lab.runtime.local.instruments import JarCatalogue, LocalProfiler
from lab.runtime.local.monitoring import LocalMonitoring
from lab.runtime.local.service import SERVICE_NAME, LocalService
from lab.runtime.specs import check_loadgen_program, loadgen_program

HOST = "127.0.0.1"
SERVICE_JAR = Path("service/server/target/service/lsmlab-server.jar")
INTERRUPT_GRACE_S = 5.0


class LocalRuntime(Runtime):
    """One run's processes on this machine."""

    name = "local"

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout
        self._processes = Processes()
        self._ports = Ports()
        self._java_home: Path | None = None
        self._loadgen: Process | None = None
        self.monitoring: LocalMonitoring = LocalMonitoring(checkout, self._processes)
        self.profiler = LocalProfiler(self._processes, self.profile_program, self._java)
        self.catalogue = JarCatalogue(self.service_jar, checkout.cache, self._java)
        self._loadgen_program = loadgen_program()
        self.custom_loadgen = str(self._loadgen_program or "")

    @property
    def service_jar(self) -> Path:
        """The built service."""
        return self._checkout.root / SERVICE_JAR

    @property
    def own_loadgen(self) -> Path:
        """The load generator: `LOADGEN`, or the lab's own."""
        return self._checkout.root / "loadgen" / "target" / "release" / "loadgen"

    @property
    def profile_program(self) -> Path:
        """The profiler's command."""
        return self._checkout.root / "profiler" / "target" / "release" / "profile"

    @classmethod
    def checks(cls) -> list[Check]:
        """Return whether this machine has a JDK, Maven, Cargo and so on."""
        return requirements.checks()

    def preflight(self, plan: CpuPlan, ports: Ports, progress: Progress) -> None:
        """Check tools and ports; kill processes that a killed lab left behind."""
        self._ports = ports
        missing = [check for check in requirements.checks() if check.required and not check.ok]
        if missing:
            what = "; ".join(f"{check.name}: {check.detail}" for check in missing)
            commands = dict.fromkeys(check.command for check in missing if check.command)
            raise MissingToolError(f"the local runtime cannot work here: {what}", "\n".join(commands))
        check_loadgen_program(self._loadgen_program)
        if os.environ.get("LOADGEN_IMAGE", "").strip():
            raise InputError(
                "LOADGEN_IMAGE is for the docker runtime, and this is the local one",
                "LOADGEN=/path/to/wrk2 names a program; RUNTIME=docker runs in containers",
            )
        self._end_leftovers(progress)
        for port, setting in ((ports.data, "PORT"), (ports.admin, "ADMIN_PORT"), (ports.loadgen_metrics, "")):
            if port and not port_is_free(HOST, port):
                owner = listener_on(port)
                other = f", or take another port: {setting}={port + 1000}" if setting else ""
                raise RunError(
                    f"port {port} on {HOST} is taken" + (f" by {owner}" if owner else ""),
                    f"Stop the program that listens there{other}",
                )

    def build(self, log: Path, progress: Progress, *, service_only: bool = False) -> None:
        """Run make's targets; each does nothing if nothing changed."""
        self._make(("build-service",), log, progress)
        if not service_only:
            self.build_tools(log, progress)

    def _make(self, targets: tuple[str, ...], log: Path, progress: Progress) -> None:
        for target in targets:
            progress(f"make {target}")
            self._processes.run(
                ["make", "--no-print-directory", target],
                log=log,
                cwd=self._checkout.root,
                env=_environment_of_make(),
                on_line=progress,
                name=f"make {target}",
            )

    def make_dataset(self, spec: DatasetSpec, directory: Path, log: Path, progress: Progress) -> dict[str, Any]:
        """Run load-dataset on all CPUs."""
        words = ["--dir", str(directory), *spec.words()]
        output = self._processes.run(
            [*self._service_command(()), "load-dataset", *words], log=log, on_line=progress, name="load-dataset"
        )
        return spec.read_output(output)

    def build_tools(self, log: Path, progress: Progress) -> None:
        """Run make's targets of everything but the lab's own service."""
        self._make(("build-loadgen", "build-profiler"), log, progress)

    def start_service(self, spec: ServiceSpec) -> Service:
        """Write service.yaml and start the JVM; or start the user's own service."""
        if spec.declared is not None:
            return ForeignService(spec, spec.declared, self._processes, self._java())
        settings: dict[str, Any] = {
            **spec.settings,
            "data_host": HOST,
            "data_port": 0 if spec.beside else self._ports.data,
            "admin_host": HOST,
            "admin_port": 0 if spec.beside else self._ports.admin,
            "data_dir": str(spec.data_dir),
        }
        config = spec.work_dir / "service.yaml"
        config.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
        with spec.log.open("ab") as log:
            log_start = log.tell()
            process = self._processes.start(
                [*self._service_command(spec.jvm_flags, spec.root), "serve", "--config", str(config)],
                cpus=spec.cpus,
                stdout=log,
                cwd=self._checkout.root,
                name=SERVICE_NAME,
            )
        return LocalService(process, spec, log_start)

    def load(self, spec: LoadSpec, service: Service, progress: Progress) -> LoadResult:
        """Run the load generator with its stdout in load.txt."""
        errors = spec.out / "load.err"
        began = time.time()
        with (spec.out / "load.txt").open("wb") as stdout, errors.open("wb") as stderr:
            process = self._processes.start(
                self._where(service, spec), cpus=spec.cpus, stdout=stdout, stderr=stderr, name="loadgen"
            )
        self._loadgen = process
        try:
            while process.wait(LIVENESS_S) is None:
                if not service.alive():
                    process.end(INTERRUPT_GRACE_S, signal.SIGINT)
                    break
        except BaseException:
            process.end(INTERRUPT_GRACE_S, signal.SIGINT)
            raise
        finally:
            self._loadgen = None
            process.end()
            self.monitoring.loaded(began)
            error_tail = tail(errors, 15)
            if not error_tail:
                errors.unlink(missing_ok=True)
        code = process.exit_code()
        return LoadResult(1 if code is None else code, error_tail)

    def _where(self, service: Service, spec: LoadSpec) -> list[str]:
        """Return the command that applies the load, in the network of the service."""
        if isinstance(service, ForeignService):
            return [*service.joining(), *self.load_command(spec, service.load_url)]
        return self.load_command(spec, service.data_url)

    def load_command(self, spec: LoadSpec, url: str) -> list[str]:
        """Return the load generator's command line: wrk2's, and the lab's own options if it is the lab's own."""
        other = None if spec.own else self._loadgen_program
        command = [str(other or self.own_loadgen), *spec.wrk2_words(str(spec.script))]
        if other is None:
            command += [*spec.own_words(), "--metrics", f"{HOST}:{self._ports.loadgen_metrics}"]
        return [*command, url + spec.path, *(["--", *spec.words] if spec.script else [])]

    def loadgen_metrics_url(self, service: Service) -> str | None:
        """Return the address that the load generator was given, or a way to it in the service's network."""
        if self.custom_loadgen:
            return None
        port = self._ports.loadgen_metrics
        where = service.door(port) if isinstance(service, ForeignService) else f"http://{HOST}:{port}"
        return f"{where}/metrics"

    def loadgen_pid(self) -> int | None:
        """Return the running load generator's pid."""
        process = self._loadgen
        return None if process is None else process.pid

    def facts(self) -> Facts:
        """Return the notes of the monitoring; a local run has no images."""
        return Facts(notes=self.monitoring.notes())

    def close(self) -> list[str]:
        """End every process."""
        return self._processes.close()

    def _end_leftovers(self, progress: Progress) -> None:
        """Kill services that a dead lab left: their command line names a work directory whose lock is free."""
        for pid in processes_mentioning(f"{self._checkout.work}/"):
            if requirements.is_stale(self._checkout, command_line(pid)):
                progress(f"ending process {pid}, left by a run that was killed")
                os.kill(pid, signal.SIGKILL)

    def _java(self) -> str:
        if self._java_home is None:
            self._java_home = requirements.find_jdk()
        return str(self._java_home / "bin" / "java")

    def _service_command(self, flags: tuple[str, ...], root: Path | None = None) -> list[str]:
        root = root or self._checkout.root
        return [self._java(), f"@{root / 'service' / 'jvm.options'}", *flags, "-jar", str(root / SERVICE_JAR)]


def _environment_of_make() -> dict[str, str]:
    """Leave out the flags and the command line of a make above this one: they are not meant for ours."""
    return {
        key: value
        for key, value in os.environ.items()
        if key not in ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL")
    }
