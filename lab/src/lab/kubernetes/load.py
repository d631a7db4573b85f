"""One load: the generators of all load pods, started together, and the one report of them all."""

from __future__ import annotations

import contextlib
import datetime
import json
import time
from dataclasses import dataclass
from pathlib import Path

from lab.errors import RunError
from lab.experiment import tenant
from lab.kubernetes import readings
from lab.kubernetes.cluster import NodeAudit
from lab.kubernetes.kubectl import Kubectl
from lab.kubernetes.manifests import DATA_PORT, METRICS_PORT, WORK_DIR
from lab.kubernetes.readings import Clock, Counters, read_clock
from lab.kubernetes.service import POD as SERVICE
from lab.kubernetes.service import KubernetesService
from lab.kubernetes.waiting import why_lost
from lab.process.processes import Process, Processes, tail
from lab.runtime.base import LIVENESS_S, LoadResult, LoadSpec

CONTAINER = "loadgen"
LOADGEN = "/opt/lsmlab/loadgen"
LEAD_S = 3.0
CONNECTIONS_PER_S = 5000
"""Time between the decision to start and the common start, in which the generators open their connections: LEAD_S, and
a second for each CONNECTIONS_PER_S."""
INTERRUPT_GRACE_S = 5.0
MEASURED = "measure"
"""The directory of a run whose subdirectories belong to the measured loads."""
IDLE_RATE_PER_S, IDLE_DURATION_S = 20, 2


@dataclass(frozen=True)
class Generator:
    """One load pod. `number` counts from 1."""

    number: int
    pod: str
    node: str


class Load:
    """All generators of a run, in the order of their numbers."""

    def __init__(self, kubectl: Kubectl, processes: Processes, generators: list[Generator]) -> None:
        self._kubectl = kubectl
        self._processes = processes
        self.generators = generators
        self.clocks: dict[str, Clock] = {}
        self.audits: dict[str, NodeAudit] = {}
        """Counts of each node's kernel during the measured loads, by pod."""

    def idle_round_trip_us(self, address: str) -> float | None:
        """Return the median time of a GET of a missing key from the first pod, on an idle service."""
        words = [LOADGEN, "-t1", "-c1", f"-R{IDLE_RATE_PER_S}", f"-d{IDLE_DURATION_S}s", "--expect", "404"]
        words += ["--json", "/dev/stderr", f"http://{address}:{DATA_PORT}{tenant.IDLE_REQUEST}"]
        command = ["sh", "-c", '"$@" 2>&1 >/dev/null', "sh", *words]
        output = self._kubectl.run(self.generators[0].pod, CONTAINER, command, "measuring the idle round trip")
        # Messages about read errors may follow.
        found = json.JSONDecoder().raw_decode(output)[0]["uncorrected_us"]["percentiles"]["50"]
        return None if found is None else float(found)

    def run(self, spec: LoadSpec, service: KubernetesService, *, polling: bool) -> LoadResult:
        """Apply the load; its three files are in `spec.out` when this returns, if all generators took part."""
        for generator in self.generators:
            command = ["sh", "-c", f"rm -rf {WORK_DIR}/*"]
            self._kubectl.run(generator.pod, CONTAINER, command, f"clearing pod {generator.pod}")
            if spec.script is None:
                raise RunError("RUNTIME=kubernetes: a load needs a script, not get", "Set RUNTIME=local or docker")
            self._kubectl.push(generator.pod, CONTAINER, {"script.lua": spec.script}, WORK_DIR)
            self.clocks[generator.pod] = read_clock(self._kubectl, generator.pod, CONTAINER)
        before = self._counters()
        lead_s = LEAD_S + spec.connections / CONNECTIONS_PER_S
        start = time.time() + self.clocks[self.generators[0].pod].ahead_s + lead_s
        running = [self._start(spec, service, generator, start, polling) for generator in self.generators]
        try:
            self._wait(running, service)
        except BaseException:  # Ctrl-C, a phase's time limit
            self._interrupt(running)
            raise
        finally:
            for process in running:
                process.end()
        failed = [(g, p.exit_code()) for g, p in zip(self.generators, running, strict=True) if p.exit_code() != 0]
        if failed:
            return self._failure(spec, failed)
        if spec.out.parent.name == MEASURED:
            self._audit(before, self._counters())
        self._merge(spec)
        return LoadResult(0)

    def _counters(self) -> dict[str, Counters | None]:
        pods = [(SERVICE, SERVICE), *((generator.pod, CONTAINER) for generator in self.generators)]
        return {pod: readings.read_counters(self._kubectl, pod, container) for pod, container in pods}

    def _audit(self, before: dict[str, Counters | None], after: dict[str, Counters | None]) -> None:
        for pod, counters in before.items():
            audits = (self.audits.get(pod, NodeAudit()), readings.between(counters, after[pod]))
            self.audits[pod] = readings.worst(audits) or NodeAudit()

    def _start(
        self, spec: LoadSpec, service: KubernetesService, generator: Generator, start: float, polling: bool
    ) -> Process:
        at = datetime.datetime.fromtimestamp(start, datetime.UTC).isoformat(timespec="microseconds")
        words = [LOADGEN, *spec.wrk2_words(f"{WORK_DIR}/script.lua")]
        words += ["--part", f"{generator.number}/{len(self.generators)}", "--start-at", at]
        words += ["--record", f"{WORK_DIR}/{generator.number}.record", "--metrics", f"0.0.0.0:{METRICS_PORT}"]
        # The system refuses a higher priority to a pod without capabilities; the generator then goes on without it.
        words += spec.own_load_words(polling=polling)
        words += [f"http://{service.address}:{DATA_PORT}", "--", *spec.words]
        command = ["sh", "-c", f'echo $$ >{WORK_DIR}/pid; exec "$@"', "sh", *words]
        with _output(spec.out, generator).open("wb") as log:
            return self._processes.start(
                self._kubectl.exec_words(generator.pod, CONTAINER, command),
                stdout=log,
                name=f"generator {generator.number}",
            )

    def _wait(self, running: list[Process], service: KubernetesService) -> None:
        """Return when all have ended. If one failed or the service died, the others are ended early."""
        while any(process.alive() for process in running):
            if not service.alive() or any(process.exit_code() not in (None, 0) for process in running):
                self._interrupt(running)
                return
            time.sleep(LIVENESS_S)

    def _interrupt(self, running: list[Process]) -> None:
        for name in ("INT", "KILL"):
            for generator, process in zip(self.generators, running, strict=True):
                if process.alive():
                    command = ["sh", "-c", f"kill -{name} $(cat {WORK_DIR}/pid)"]
                    with contextlib.suppress(RunError):  # the process may be gone, or its pod with it
                        self._kubectl.run(generator.pod, CONTAINER, command, "ending a generator", limit_s=5)
            deadline = time.monotonic() + INTERRUPT_GRACE_S
            for process in running:
                process.wait(max(0.0, deadline - time.monotonic()))
            if not any(process.alive() for process in running):
                return

    def _failure(self, spec: LoadSpec, failed: list[tuple[Generator, int | None]]) -> LoadResult:
        """Return the most telling exit code: one that ended by itself counts before one that was interrupted."""
        by_itself = [(generator, code) for generator, code in failed if code not in (130, 143, None)] or failed
        generator, code = by_itself[0]
        lost = why_lost(self._kubectl, generator.pod)
        head = f"generator {generator.number} of {len(self.generators)} on node {generator.node}"
        output = tail(_output(spec.out, generator), 15)
        return LoadResult(code or 1, f"{head}: {lost}\n{output}" if lost else f"{head}\n{output}")

    def _merge(self, spec: LoadSpec) -> None:
        """Let the first pod merge all records into one report, and fetch it."""
        first = self.generators[0]
        for generator in self.generators[1:]:
            name = f"{generator.number}.record"
            self._kubectl.pull(generator.pod, CONTAINER, WORK_DIR, [name], spec.out)
            self._kubectl.push(first.pod, CONTAINER, {name: spec.out / name}, WORK_DIR)
            (spec.out / name).unlink()
        records = [f"{generator.number}.record" for generator in self.generators]
        command = (
            f"cd {WORK_DIR} && {LOADGEN} merge --json load.json --hdr-log latency.hlog {' '.join(records)} >load.txt"
        )
        self._kubectl.run(first.pod, CONTAINER, ["sh", "-c", command], "merging the generators' records")
        self._kubectl.pull(first.pod, CONTAINER, WORK_DIR, ["load.txt", "load.json", "latency.hlog"], spec.out)
        for generator in self.generators:
            _output(spec.out, generator).unlink()


def _output(out: Path, generator: Generator) -> Path:
    return out / f"generator-{generator.number}.txt"
