"""Monitoring that is missing, killed, or has no room left: the run goes on, and its report says what is missing."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from rich.console import Console

from lab.cpu_plan import CpuPlan
from lab.experiment import Catalogue
from lab.http import fetch
from lab.machine.cpus import pin_self, plan_cpus, usable_cpus
from lab.paths import Checkout
from lab.process.processes import Processes
from lab.run import Run, RunPlan
from lab.run.show import Show
from lab.runtime import scrapes
from lab.runtime.base import Ports
from lab.runtime.docker.runtime import DockerRuntime
from lab.runtime.local import monitoring as local
from lab.runtime.local.runtime import LocalRuntime
from support.checkout import FakeCheckout, free_port, nothing_is_left
from support.docker import ANSWERS, PLAN, STACK, container, quiet
from support.fake_docker import FakeDocker
from support.installed import require

LIMIT_S = 60
ROOM = Path(__file__).resolve().parents[3] / "dashboards" / "prometheus"

# The queries to Prometheus at the end of a run.


@pytest.fixture
def answers() -> Iterator[tuple[str, dict[str, list[tuple[int, int]]]]]:
    """The address of a stand-in for Prometheus, and its samples of `up` by job: pairs of time and value."""
    stored: dict[str, list[tuple[int, int]]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            query = parse_qs(urlparse(self.path).query)["query"][0]
            values = next((pairs for job, pairs in stored.items() if f'"{job}"' in query), [])
            self.send_response(200)
            self.end_headers()
            result = [{"metric": {}, "values": [[at, str(value)] for at, value in values]}]
            self.wfile.write(json.dumps({"data": {"result": result if values else []}}).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", stored
    server.shutdown()
    server.server_close()


Answers = tuple[str, dict[str, list[tuple[int, int]]]]


def test_a_scrape_a_second_is_complete_whether_or_not_the_service_answers(answers: Answers) -> None:
    url, stored = answers
    stored.update(service=[(at, at % 2) for at in range(1000, 1060)], node=[(at, 1) for at in range(1000, 1060)])
    assert scrapes.missing(url, 1000, 1060) == []


def test_the_longest_gap_is_reported_with_its_time_and_the_others_together(answers: Answers) -> None:
    url, stored = answers
    there = [*range(1010, 1020), *range(1032, 1050)]
    stored.update(service=[(at, 1) for at in there], node=[(1010, 1)])
    (told,) = scrapes.missing(url, 1000, 1050)
    assert "stored nothing for 13 s from 00:16:59 UTC on (and 10 s in shorter gaps)" in told


def test_a_run_without_stored_samples_is_reported_once(answers: Answers) -> None:
    assert scrapes.missing(answers[0], 1000, 1050) == [
        "Prometheus stored nothing in 50 s under load: the dashboards do not have this run"
    ]


def test_a_node_exporter_that_never_answered_is_named(answers: Answers) -> None:
    url, stored = answers
    stored.update(service=[(at, 1) for at in range(1000, 1060)], node=[(at, 0) for at in range(1000, 1060)])
    (told,) = scrapes.missing(url, 1000, 1060)
    assert told.startswith("node-exporter did not answer")


def test_a_prometheus_that_does_not_answer_is_reported_without_an_error() -> None:
    (told,) = scrapes.missing(f"http://127.0.0.1:{free_port()}", 1000, 1060)
    assert told.startswith("Prometheus does not answer at the end of the run")


# The local runtime, with the real Prometheus.


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    for program in ("prometheus", "prometheus-node-exporter"):
        require(program, program)
    monkeypatch.setattr(local, "PROMETHEUS_PORT", free_port())
    monkeypatch.setattr(local, "NODE_EXPORTER_PORT", free_port())
    monkeypatch.setattr(scrapes, "GAP_MIN_S", 2.0)


def run_with(checkout: FakeCheckout, monkeypatch: pytest.MonkeyPatch, seconds: int, disturb: Callable[[], None]) -> str:
    """Run the real lab on a fake service and load in this process, and return its report without line breaks."""
    shutil.copytree(ROOM, checkout.root / "dashboards" / "prometheus")
    load = {"script": "get.lua", "rate": 100, "threads": 1, "connections": 1, "duration": f"{seconds}s", "warmup": "0s"}
    checkout.experiment("fake", dataset=None, profile=False, load=load)
    monkeypatch.setenv("LAB_ROOT", str(checkout.root))
    monkeypatch.setenv("LAB_LOCK", str(checkout.root / "run.lock"))
    cpus, real = tuple(usable_cpus()), Checkout(checkout.root)
    ports = Ports(free_port(), free_port(), free_port())
    experiment, runtime = Catalogue(real).read("fake"), LocalRuntime(real)
    plan = RunPlan(real, "fake", experiment, {}, runtime, plan_cpus({}), ports, monitoring=True)
    disturbing = threading.Thread(target=disturb)
    disturbing.start()
    try:
        assert Run(plan, Show(Console(quiet=True))).tell() == 0
    finally:
        pin_self(cpus)
        disturbing.join(LIMIT_S)
    assert checkout.manifest()["complete"] is True
    return " ".join((checkout.runs()[-1] / "report.html").read_text().split())


def process_of(program: str, mention: Path) -> tuple[int, list[str]]:
    """Pid and command line of the program that was started for this checkout."""
    found: list[tuple[int, list[str]]] = []

    def look() -> bool:
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_text().split("\0")[:-1] if entry.name.isdigit() else []
            except OSError:
                continue
            if words and Path(words[0]).name == program and str(mention) in " ".join(words):
                found.append((int(entry.name), words))
        return bool(found)

    wait_until(look)
    return found[0]


def test_node_exporter_collects_the_same_in_both_runtimes() -> None:
    dockerfile = (ROOM.parent / "node-exporter" / "Dockerfile").read_text()
    words = set(re.findall(r'"(--collector\.[a-z-]+)"', dockerfile))
    assert words == set(local.COLLECTOR_WORDS)


def test_prometheus_keeps_its_data_as_long_in_both_runtimes_and_within_the_same_bounds() -> None:
    dockerfile = (ROOM / "Dockerfile").read_text()
    for word in (*local.RETENTION, local.LOOKBACK):
        assert f'"{word}"' in dockerfile


def listening() -> set[tuple[str, int]]:
    """Addresses (in the kernel's hexadecimal) and ports of this machine's listening sockets."""
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    pairs = [row[1].split(":") for row in rows if row[3] == "0A"]
    return {(address, int(port, 16)) for address, port in pairs}


@pytest.fixture
def watching(programs: None, checkout: FakeCheckout) -> Iterator[None]:
    """Prometheus and node-exporter, as the local runtime starts them."""
    shutil.copytree(ROOM, checkout.root / "dashboards" / "prometheus")
    processes = Processes()
    monitoring = local.LocalMonitoring(Checkout(checkout.root), processes)
    try:
        monitoring.up(CpuPlan((), (), ()), Ports(free_port(), free_port(), free_port()), quiet)
        yield
    finally:
        monitoring.down()
        processes.close()


@pytest.mark.usefixtures("watching")
def test_prometheus_and_node_exporter_listen_on_the_loopback_address_only() -> None:
    ports = {local.PROMETHEUS_PORT, local.NODE_EXPORTER_PORT}
    wait_until(lambda: ports <= {port for _, port in listening()})
    assert {pair for pair in listening() if pair[1] in ports} == {("0100007F", port) for port in ports}


@pytest.mark.usefixtures("watching")
def test_service_load_generator_host_and_prometheus_itself_are_scraped_once_a_second() -> None:
    expected = dict.fromkeys(("service", "loadgen", "node", "prometheus"), "1s")
    intervals: dict[str, str] = {}

    def look() -> bool:
        """Prometheus lists the targets of one job after the other while it starts."""
        try:
            text = fetch(f"http://127.0.0.1:{local.PROMETHEUS_PORT}/api/v1/targets", LIMIT_S)
        except OSError:
            return False
        targets = json.loads(text)["data"]["activeTargets"]
        intervals.update({target["labels"]["job"]: target["scrapeInterval"] for target in targets})
        return len(intervals) >= len(expected)

    wait_until(look)
    assert intervals == expected


@pytest.mark.usefixtures("programs")
def test_prometheus_killed_and_started_again_leaves_a_gap_that_the_report_names(
    checkout: FakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def kill_and_restart() -> None:
        checkout.wait_for_phase("measure")
        exporter, _ = process_of("prometheus-node-exporter", checkout.root)
        pid, words = process_of("prometheus", checkout.root)
        os.kill(exporter, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        killed = time.time()
        time.sleep(3)  # longer than a gap that is reported
        started.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        wait_until(lambda: "stored nothing for" in told(f"http://127.0.0.1:{local.PROMETHEUS_PORT}", killed - 1))
        enough.touch()

    enough = checkout.root / "enough"
    monkeypatch.setenv("FAKE_LOADGEN_UNTIL", str(enough))
    try:
        report = run_with(checkout, monkeypatch, LIMIT_S, kill_and_restart)
    finally:
        for process in started:
            process.terminate()
            process.wait(LIMIT_S)
    assert "Prometheus was killed by SIGKILL during the run" in report
    assert "node-exporter was killed by SIGKILL during the run" in report
    assert "Prometheus stored nothing for" in report
    assert nothing_is_left(checkout)


@pytest.mark.usefixtures("programs")
def test_without_node_exporter_the_run_continues_and_the_report_says_so(
    checkout: FakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "NODE_EXPORTER_NAMES", ("no-such-exporter",))
    report = run_with(checkout, monkeypatch, 1, lambda: None)
    assert "no node-exporter on the PATH: the dashboards lack" in report
    assert checkout.manifest()["environment"]["monitoring"] is True


@pytest.fixture
def small_volume(checkout: FakeCheckout) -> Iterator[Path]:
    """Prometheus's directory, as a file system of 16 MiB."""
    volume = checkout.root / ".cache" / "prometheus"
    volume.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", volume], check=False)
    if mounted.returncode != 0:
        pytest.skip("a small file system cannot be mounted here: that takes root")
    yield volume
    subprocess.run(["umount", volume], check=True)


@pytest.mark.usefixtures("programs")
def test_a_full_volume_does_not_end_prometheus_and_the_report_names_the_gap(
    checkout: FakeCheckout, small_volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_it() -> None:
        checkout.wait_for_phase("measure")
        url = f"http://127.0.0.1:{local.PROMETHEUS_PORT}"
        wait_until(lambda: told(url, time.time() - 2) == "")
        fill(small_volume / "full")
        filled = time.time()
        wait_until(lambda: told(url, filled).startswith("Prometheus stored nothing"))
        enough.touch()

    enough = checkout.root / "enough"
    monkeypatch.setenv("FAKE_LOADGEN_UNTIL", str(enough))
    report = run_with(checkout, monkeypatch, LIMIT_S, fill_it)
    assert "Prometheus stored nothing for" in report
    assert "Prometheus does not answer" not in report
    assert nothing_is_left(checkout)


def fill(path: Path) -> None:
    def write_without_end() -> None:
        with path.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    with pytest.raises(OSError, match="No space left"):
        write_without_end()


def told(url: str, began: float) -> str:
    return " ".join(scrapes.missing(url, began, time.time()))


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {LIMIT_S} s"
        time.sleep(0.2)


# The docker runtime.


def test_a_container_that_ended_during_the_run_is_named_with_its_exit_code(
    docker: FakeDocker, runtime: DockerRuntime
) -> None:
    def running(*names: str) -> list[dict[str, Any]]:
        listed = "".join(container(name, 0).replace(",lsmlab.owner=0", "") for name in names)
        return [
            *ANSWERS,
            {"match": "ps -a", "stdout": listed},
            {"match": "config --format json", "stdout": STACK.replace("9090", str(port))},
            {"match": "State.ExitCode", "stdout": "137\n"},
            {"match": "image inspect", "code": 1},
        ]

    port = free_port()
    docker.answers(running("prometheus", "node-exporter", "artifacts"))
    runtime.monitoring.up(PLAN, Ports(), quiet)
    assert runtime.monitoring.running()
    docker.answers(running())
    assert not runtime.monitoring.running()
    docker.answers(running("node-exporter", "artifacts"))
    notes = runtime.facts().notes
    assert "prometheus ended during the run with exit code 137" in notes
    assert any("Grafana's image is not here" in note for note in notes)


def test_monitoring_that_could_not_be_started_is_in_the_notes(docker: FakeDocker, runtime: DockerRuntime) -> None:
    docker.answers([*ANSWERS, {"match": "config --format json", "stdout": STACK}, {"match": " build ", "code": 1}])
    runtime.monitoring.up(PLAN, Ports(), quiet)
    assert any("monitoring could not be started" in note for note in runtime.facts().notes)
