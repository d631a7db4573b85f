"""The dashboards over a real run: each expression returns data.

The run's Prometheus has ended with the run; another one is started over what it stored.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import pytest

from lab.runtime.local.monitoring import LOOKBACK, NODE_EXPORTER_NAMES
from support.checkout import free_port
from support.installed import require

from .conftest import CHECKOUT, FinishedRun, wait_until_ready

SCRAPES_MIN = 12
OF_THIS_MACHINE = (
    "node_pressure_cpu_waiting_seconds_total",
    "node_disk_io_time_seconds_total",
    'node_filesystem_avail_bytes{fstype!~"tmpfs|ramfs"}',
)


@dataclass(frozen=True)
class Stored:
    """A Prometheus over the metrics of a run, and the time of the run's load, in seconds since the epoch."""

    url: str
    begin: float
    end: float

    def words(self) -> list[str]:
        return ["--prometheus", self.url, "--window", f"{self.end - self.begin:.0f}", "--end", f"{self.end:.3f}"]


def when(run: FinishedRun) -> tuple[float, float]:
    phases = json.loads((run.directory / "run.json").read_text())["phases"]
    loaded = [phase for phase in phases if phase["name"] in ("measure", "profile")]
    assert loaded
    times = [[datetime.fromisoformat(phase[key]).timestamp() for key in ("start", "end")] for phase in loaded]
    return min(start for start, _ in times), max(end for _, end in times)


def total(url: str, query: str, end: float) -> float:
    words = urllib.parse.urlencode({"query": f"sum({query})", "time": end})
    with urllib.request.urlopen(f"{url}/api/v1/query?{words}", timeout=30) as answer:
        return sum(float(one["value"][1]) for one in json.load(answer)["data"]["result"])


@contextmanager
def prometheus_of_local_runs(port: int) -> Iterator[None]:
    require("prometheus", "prometheus")
    data = CHECKOUT / ".cache" / "prometheus" / "tsdb"
    words = [f"--storage.tsdb.path={data}", f"--web.listen-address=127.0.0.1:{port}", f"--config.file={os.devnull}"]
    process = subprocess.Popen(["prometheus", *words, LOOKBACK], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def prometheus_of_runs_in_containers(port: int) -> Iterator[None]:
    name = f"lsmlab-test-prometheus-{port}"
    place = ["--publish", f"127.0.0.1:{port}:9090", "--volume", "lsmlab_prometheus:/prometheus"]
    words = ["--storage.tsdb.path=/prometheus", f"--config.file={os.devnull}"]
    run = ["docker", "run", "--rm", "--detach", "--name", name, *place, "--entrypoint", "prometheus"]
    subprocess.run([*run, "lsmlab-prometheus", *words, LOOKBACK], check=True, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        subprocess.run(["docker", "stop", "--time", "60", name], check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def stored(finished_run: FinishedRun) -> Iterator[Stored]:
    if finished_run.runtime == "local" and not any(map(shutil.which, NODE_EXPORTER_NAMES)):
        require("prometheus-node-exporter", "prometheus-node-exporter")
    begin, end = when(finished_run)
    started = {"local": prometheus_of_local_runs, "docker": prometheus_of_runs_in_containers}
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with started[finished_run.runtime](port):
        wait_until_ready(url)
        window = f"[{end - begin:.0f}s]"
        for job in ("service", "loadgen", "node"):
            found = total(url, f'sum_over_time(up{{job="{job}"}}{window})', end)
            if found < SCRAPES_MIN:
                pytest.skip(f"Prometheus yields to the load, which left it CPU time for {found:.0f} scrapes of {job}")
        for series in OF_THIS_MACHINE:
            if total(url, f"count_over_time({series}{window})", end) == 0:
                pytest.skip(f"node-exporter has no {series} on this machine")
        yield Stored(url, begin, end)


def dashboards(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CHECKOUT / "dashboards" / program), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_every_expression_of_every_panel_variable_annotation_and_rule_returns_data(stored: Stored) -> None:
    done = dashboards("check.py", *stored.words())
    assert done.returncode == 0, done.stderr
    assert int(re.search(r"(\d+) expressions returned data", done.stdout)[1]) > 150
