"""Prometheus and node-exporter beside a local run, if they are on the PATH. A run never fails because they are missing.

Both yield to whatever else wants their CPU: on a small machine that is the load generator, which would be late. Their
niceness leaves them a twentieth of a CPU that two busy threads of the load generator share with them; they need less.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from lab.cpu_plan import CpuPlan
from lab.errors import RunError
from lab.machine.host import port_is_free
from lab.paths import Checkout
from lab.process.processes import Process, Processes, describe_exit
from lab.progress import Progress
from lab.runtime import scrapes
from lab.runtime.instruments import Monitoring
from lab.runtime.specs import Ports

HOST = "127.0.0.1"
PROMETHEUS, NODE_EXPORTER = "Prometheus", "node-exporter"
PROMETHEUS_PORT = 9090
NODE_EXPORTER_PORT = 9100
NODE_EXPORTER_NAMES = ("node_exporter", "prometheus-node-exporter")
NICENESS = 10
COLLECTORS = ("cpu", "diskstats", "filesystem", "meminfo", "pressure", "stat", "textfile")
"""The collectors that dashboards and rules use. All of node-exporter's collectors take several times the CPU time."""
COLLECTOR_WORDS = ("--collector.disable-defaults", *(f"--collector.{name}" for name in COLLECTORS))
RETENTION = ("--storage.tsdb.retention.time=30d", "--storage.tsdb.retention.size=4GB")
LOOKBACK = "--query.lookback-delta=20s"
"""Time for which a series is current after its last sample. The default of 5 minutes would show one run in the next."""


class LocalMonitoring(Monitoring):
    """Both programs, for one run. Prometheus keeps its data in .cache/prometheus across runs."""

    def __init__(self, checkout: Checkout, processes: Processes) -> None:
        self._checkout = checkout
        self._processes = processes
        self._started: list[Process] = []
        self._notes: list[str] = []
        self._loaded = scrapes.LoadedTime()

    def up(self, plan: CpuPlan, ports: Ports, progress: Progress) -> None:
        """Start the installed programs whose ports are free; the notes say what is missing."""
        self._checkout.metrics.mkdir(parents=True, exist_ok=True)
        exporter = next((path for name in NODE_EXPORTER_NAMES if (path := shutil.which(name))), None)
        prometheus = shutil.which("prometheus")
        notes: list[str] = []
        if exporter is None and prometheus is not None:
            notes.append("no node-exporter on the PATH: the dashboards lack the host's figures and the run's name")
        elif exporter is not None and prometheus is not None:
            self._start(
                notes, NODE_EXPORTER, NODE_EXPORTER_PORT, plan,
                [exporter, f"--web.listen-address={HOST}:{NODE_EXPORTER_PORT}",
                 f"--collector.textfile.directory={self._checkout.metrics}", *COLLECTOR_WORDS],
            )  # fmt: skip
        if prometheus is None:
            notes.append("no Prometheus on the PATH: metrics of this run are in timeline.csv only")
        else:
            data = self._checkout.cache / "prometheus"
            data.mkdir(parents=True, exist_ok=True)
            self._start(
                notes, PROMETHEUS, PROMETHEUS_PORT, plan,
                [prometheus, f"--config.file={self._config(data, ports)}", f"--storage.tsdb.path={data / 'tsdb'}",
                 *RETENTION, LOOKBACK, f"--web.listen-address={HOST}:{PROMETHEUS_PORT}"],
            )  # fmt: skip
        self._notes = notes
        for note in notes:
            progress(note)

    def loaded(self, begin: float) -> None:
        """Note a load that began at a Unix time and ends now."""
        self._loaded.add(begin)

    def notes(self) -> tuple[str, ...]:
        """Return what is missing, what ended during the run, and what Prometheus lacks of the run's loads."""
        names = [process.name for process in self._started]
        found = [
            f"{process.name} {describe_exit(process.exit_code())} during the run"
            for process in self._started
            if not process.alive()
        ]
        loaded = self._loaded.take()
        if loaded is not None and PROMETHEUS in names:
            stored = scrapes.missing(f"http://{HOST}:{PROMETHEUS_PORT}", *loaded)
            found += [note for note in stored if NODE_EXPORTER in names or NODE_EXPORTER not in note]
        return (*self._notes, *found)

    def running(self) -> bool:
        """Return whether one of the programs started here runs."""
        return any(process.alive() for process in self._started)

    def await_scrape(self, published_s: float) -> None:
        """Wait if both programs run."""
        if sum(process.alive() for process in self._started) == 2:
            scrapes.await_scrape(published_s)

    def down(self) -> None:
        """End the programs started here."""
        for process in self._started:
            process.end(10)
        self._started = []

    def _start(self, notes: list[str], name: str, port: int, plan: CpuPlan, argv: list[str]) -> None:
        if not port_is_free(HOST, port):
            notes.append(f"{name} was not started: port {port} is taken")
            return
        try:
            self._started.append(self._processes.start(argv, cpus=plan.other, niceness=NICENESS, name=name))
        except RunError as error:
            notes.append(f"{name} was not started: {error.message}")

    def _config(self, data: Path, ports: Ports) -> Path:
        """Write the stack's own configuration with this machine's addresses instead of the containers' names."""
        source = self._checkout.root / "dashboards" / "prometheus" / "prometheus.yml"
        document = yaml.safe_load(source.read_text(encoding="utf-8"))
        addresses = {"service": ports.admin, "loadgen": ports.loadgen_metrics, "node": NODE_EXPORTER_PORT}
        document["rule_files"] = [str(source.parent / name) for name in document.get("rule_files", [])]
        for job in document["scrape_configs"]:
            port = addresses.get(job["job_name"], PROMETHEUS_PORT)
            job["static_configs"] = [{"targets": [f"{HOST}:{port}"]}]
        path = data / "prometheus.yml"
        path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
        return path
