"""The docker runtime with the real engine and the real images: behaviour that a whole run does not show."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.errors import RunError
from lab.machine.cpus import plan_cpus
from lab.paths import Checkout
from lab.runtime import scrapes
from lab.runtime.base import LoadSpec, Ports, Runtime, Service, ServiceSpec

from .conftest import CHECKOUT, make, require, wait_until_it_answers, wait_until_ready

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1800)]
PORTS = Ports(data=18080, admin=18081, loadgen_metrics=19101)
PORT_WORDS = ["--port", str(PORTS.data), "--admin-port", str(PORTS.admin)]
LONG_S = 600.0
"""A load that is meant to be ended before its time."""


def quiet(_: str) -> None:
    pass


def stack(*filters: str) -> list[str]:
    """Return the names of all containers of the stack, those that stay up too."""
    words = ["docker", "ps", "-a", "--filter", "label=com.docker.compose.project=lsmlab", *filters]
    listed = subprocess.run([*words, "--format", "{{.Names}}"], capture_output=True, text=True, check=True)
    return listed.stdout.split()


def containers() -> list[str]:
    """Return the names of the stack's containers that belong to a run."""
    return stack("--filter", "label=lsmlab.owner")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> None:
    require("docker")
    from lab.runtime.docker.runtime import DockerRuntime

    DockerRuntime(Checkout(CHECKOUT)).build(tmp_path_factory.mktemp("build") / "build.log", quiet)


@pytest.fixture
def runtime(images: None) -> Iterator[Runtime]:
    from lab.runtime.docker.runtime import DockerRuntime

    made = DockerRuntime(Checkout(CHECKOUT))
    made.preflight(plan_cpus(os.environ), PORTS, quiet)
    yield made
    made.close()
    assert containers() == []


def start(runtime: Runtime, work: Path, **settings: str | int) -> Service:
    (work / "data").mkdir(parents=True)
    values = {"engine": "memory", "variant": "sync", **settings}
    log = work / "service.log"
    return runtime.start_service(
        ServiceSpec(work, values, ("-Xms256m", "-Xmx256m"), plan_cpus(os.environ).service, log)
    )


def load_spec(tmp_path: Path, **values: float) -> LoadSpec:
    out = tmp_path / "load"
    out.mkdir()
    script = CHECKOUT / "loadgen" / "scripts" / "put.lua"
    rate, seconds = int(values.get("rate", 500)), values.get("seconds", 2.0)
    return LoadSpec(script, rate, 1, 4, seconds, ("pairs=1000",), out, plan_cpus(os.environ).loadgen)


def wait_for_puts(admin_url: str, limit_s: float = 180) -> None:
    """Wait until the service has answered a PUT."""
    deadline = time.monotonic() + limit_s
    while True:
        with urllib.request.urlopen(f"{admin_url}/metrics", timeout=60) as response:
            text = response.read().decode()
        if re.search(r'^lsmlab_requests_total\{method="put",status="201"\} [1-9]', text, re.MULTILINE):
            return
        assert time.monotonic() < deadline, f"no PUT within {limit_s} s"
        time.sleep(0.2)


def test_a_service_starts_takes_load_and_ends_cleanly(runtime: Runtime, tmp_path: Path) -> None:
    service = start(runtime, tmp_path / "1")
    service.wait_ready(180)
    with urllib.request.urlopen(f"{service.admin_url}/config", timeout=60) as response:
        config = json.load(response)
    assert config["available_processors"] == len(plan_cpus(os.environ).service)
    assert "java" in (Path("/proc") / str(service.pid) / "cmdline").read_text()
    spec = load_spec(tmp_path)
    assert runtime.load(spec, service, quiet).exit_code == 0
    report = json.loads((spec.out / "load.json").read_text())
    assert report["status"] == {"201": report["requests"]}
    assert report["requests"] > 0
    assert (spec.out / "load.json").stat().st_uid == os.getuid()
    assert service.stop() == 0
    assert not service.alive()


def test_an_invalid_configuration_ends_the_start_with_the_services_message(runtime: Runtime, tmp_path: Path) -> None:
    service = start(runtime, tmp_path / "1", variant="no-such-variant")
    with pytest.raises(RunError, match="exit code 2") as raised:
        service.wait_ready(180)
    assert "no-such-variant" in raised.value.log_tail


def test_a_service_that_is_killed_under_load_ends_the_load(runtime: Runtime, tmp_path: Path) -> None:
    service = start(runtime, tmp_path / "1")
    service.wait_ready(180)
    spec = load_spec(tmp_path, seconds=LONG_S)

    def kill() -> None:
        wait_for_puts(service.admin_url)
        subprocess.run(["docker", "kill", "lsmlab-service-1"], stdout=subprocess.DEVNULL, check=True)

    killer = threading.Thread(target=kill)
    killer.start()
    began = time.monotonic()
    runtime.load(spec, service, quiet)
    assert time.monotonic() - began < LONG_S / 2
    killer.join()
    assert not service.alive()
    assert "requests/sec" in (spec.out / "load.txt").read_text().lower()


def test_monitoring_killed_under_load_is_reported_and_changes_nothing_else(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrapes, "GAP_MIN_S", 2.0)
    for part, port in (("PROMETHEUS", 19090), ("ARTIFACTS", 18000), ("GRAFANA", 13000)):
        monkeypatch.setenv(f"LAB_PORT_{part}", str(port))
    runtime.monitoring.up(plan_cpus(os.environ), PORTS, quiet)
    service = start(runtime, tmp_path / "1")
    service.wait_ready(60)
    spec = load_spec(tmp_path, seconds=15.0)
    loading = f"lsmlab-load-{os.getpid()}"
    kill = "docker kill lsmlab-prometheus-1 lsmlab-node-exporter-1; sleep 3; docker start lsmlab-prometheus-1"
    disturb = f"until docker ps --format '{{{{.Names}}}}' | grep -q {loading}; do sleep 0.2; done; {kill}"
    disturbing = subprocess.Popen(["sh", "-c", disturb], stdout=subprocess.DEVNULL)
    assert runtime.load(spec, service, quiet).exit_code == 0
    assert disturbing.wait(60) == 0
    wait_until_ready("http://127.0.0.1:19090")
    notes = runtime.facts().notes
    assert "node-exporter ended during the run with exit code 137" in notes
    assert any(note.startswith("Prometheus stored nothing for") for note in notes), notes
    assert json.loads((spec.out / "load.json").read_text())["requests"] > 0
    assert service.stop() == 0
    runtime.monitoring.down()


SMALL_VOLUME = "lsmlab-test-small"


@pytest.fixture
def clone_with_small_volume(tmp_path: Path) -> Iterator[Path]:
    """A clone whose Prometheus has a volume of its own, of 16 MiB."""
    clone = tmp_path / "lab"
    subprocess.run(["git", "clone", "--quiet", str(CHECKOUT), str(clone)], check=True)
    stack_file = clone / "docker-compose.yml"
    small = f"{{name: {SMALL_VOLUME}, driver_opts: {{type: tmpfs, device: tmpfs, o: 'size=16m,mode=1777'}}}}"
    text, volumes, declared = stack_file.read_text().rpartition("\nvolumes:\n")
    assert "\n  prometheus:\n" in declared
    stack_file.write_text(text + volumes + declared.replace("\n  prometheus:\n", f"\n  prometheus: {small}\n"))
    yield clone
    subprocess.run(["docker", "volume", "rm", "--force", SMALL_VOLUME], stdout=subprocess.DEVNULL, check=True)


def status_for(url: str, host: str) -> int:
    """Return the status of a response to a request with this Host."""
    connection = http.client.HTTPConnection(urllib.parse.urlparse(url).netloc, timeout=30)
    connection.request("GET", "/", headers={"Host": host})
    status = connection.getresponse().status
    connection.close()
    return status


def has_scraped_the_load(prometheus_url: str) -> bool:
    query = urllib.parse.urlencode({"query": "loadgen_requests_total > 0"})
    try:
        with urllib.request.urlopen(f"{prometheus_url}/api/v1/query?{query}", timeout=5) as answer:
            return bool(json.load(answer)["data"]["result"])
    except OSError:
        return False


def test_a_volume_that_fills_during_a_run_leaves_a_gap_that_the_report_names(
    images: None, clone_with_small_volume: Path, tmp_path: Path
) -> None:
    if stack():
        pytest.skip("the stack is up already, with another volume")
    output = tmp_path / "output"
    prometheus = "http://127.0.0.1:19090"
    words = ["--rate", "500", "--duration", "20s", "--warmup", "0s", "--profile", "off", "--runtime", "docker"]
    words += ["--monitoring", "on"]
    settings = {"LAB_ROOT": str(clone_with_small_volume), "LAB_PORT_PROMETHEUS": "19090", "LAB_PORT_ARTIFACTS": "18000"}
    with output.open("wb") as file:
        lab = subprocess.Popen(
            [str(CHECKOUT / "bin" / "lab"), "run", "sync-put", *words, *PORT_WORDS],
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        while not has_scraped_the_load(prometheus):
            assert lab.poll() is None, output.read_text()
            time.sleep(0.2)
        fill = "cat /dev/zero >/prometheus/full 2>/dev/null || df --output=avail /prometheus"
        filled = subprocess.run(
            ["docker", "exec", "lsmlab-prometheus-1", "sh", "-c", fill], capture_output=True, text=True, check=True
        )
        assert filled.stdout.split()[-1] == "0"
        assert lab.wait(300) == 0, output.read_text()
    finally:
        lab.terminate()
        lab.wait()
    (run,) = (clone_with_small_volume / "results" / "sync-put").glob("*T*Z")
    assert json.loads((run / "run.json").read_text())["complete"] is True
    report = " ".join((run / "report.html").read_text().split())
    assert "Prometheus stored nothing for" in report
    assert "Prometheus does not answer" not in report
    assert "prometheus ended" not in report
    assert containers() == []


def test_make_up_shows_pages_until_make_down_and_keeps_the_data(tmp_path: Path) -> None:
    require("docker")
    if stack():
        pytest.skip("the stack is up already, and make down would take it down")
    prometheus, results = "http://127.0.0.1:19090", "http://127.0.0.1:18000"
    browser = tmp_path / "xdg-open"
    browser.write_text(f'#!/bin/sh\necho "$1" >>{tmp_path}/opened\n')
    browser.chmod(0o755)
    settings = {
        "LAB_PORT_PROMETHEUS": "19090",
        "LAB_PORT_ARTIFACTS": "18000",
        "GRAFANA_IMAGE": "127.0.0.1:1/grafana:1",  # no registry answers there
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
    }
    up = make("up", **settings)
    try:
        assert up.returncode == 0, up.stdout
        assert "Grafana's image could not be pulled" in up.stdout
        shown = make("open", **settings)
        for url in (prometheus, results):
            assert url in up.stdout
            assert url in shown.stdout
            wait_until_it_answers(url)
        assert status_for(results, "localhost:18000") == 200
        assert status_for(results, "rebound.example") == 403, "a web page could read the results"
        deadline = time.monotonic() + 60
        while not (tmp_path / "opened").exists():
            assert time.monotonic() < deadline, shown.stdout
            time.sleep(0.1)
        assert (tmp_path / "opened").read_text() == f"{results}\n"
    finally:
        down = make("down", **settings)
    assert down.returncode == 0, down.stdout
    assert stack() == []
    volumes = subprocess.run(["docker", "volume", "ls", "--quiet"], capture_output=True, text=True, check=True)
    assert "lsmlab_prometheus" in volumes.stdout.split()


def test_the_lab_in_its_container_lists_the_experiments(images: None) -> None:
    listed = subprocess.run([str(CHECKOUT / "bin/lab-in-docker"), "list"], capture_output=True, text=True, check=False)
    assert listed.returncode == 0, listed.stderr[-2000:]
    experiments = {path.name for path in (CHECKOUT / "experiments").glob("*-get")}
    assert "stack-get" in experiments
    assert experiments <= {line.split()[0] for line in listed.stdout.splitlines() if line.strip()}


HOLDING = """
import sys, time, pathlib
sys.path[:0] = [{source!r}, {tests!r}]
from e2e.test_docker_runtime import *
from lab.runtime.base import ProfileSpec
from lab.runtime.docker.runtime import DockerRuntime
runtime = DockerRuntime(Checkout(CHECKOUT))
runtime.preflight(plan_cpus(os.environ), PORTS, quiet)
directory = pathlib.Path(sys.argv[1])
service = start(runtime, directory)
service.wait_ready(180)
if limit_s := float(sys.argv[2]):
    runtime.profiler.start(ProfileSpec(directory, ("cpu", "alloc"), "1ms", "", ()), service, limit_s)
print("ready", flush=True)
time.sleep(600)  # a lab, as far as its command line tells
"""


@contextlib.contextmanager
def held_service(work: Path, recorded_s: float = 0) -> Iterator[subprocess.Popen[str]]:
    """Start a lab that holds a service, and that asked for a recording of so many seconds; kill it in the end."""
    program = HOLDING.format(source=str(CHECKOUT / "lab" / "src"), tests=str(CHECKOUT / "lab" / "tests"))
    words = [sys.executable, "-c", program, str(work), str(recorded_s)]
    lab = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert lab.stdout is not None
        assert lab.stdout.readline() == "ready\n"
        yield lab
    finally:
        lab.send_signal(signal.SIGKILL)
        lab.wait()


def test_leftovers_of_a_killed_lab_are_gone_after_the_next_preflight(images: None, tmp_path: Path) -> None:
    from lab.runtime.docker.runtime import DockerRuntime

    with held_service(tmp_path / "1") as lab:
        another = DockerRuntime(Checkout(CHECKOUT))
        with pytest.raises(RunError, match=f"another lab \\(process {lab.pid}\\)"):
            another.preflight(plan_cpus(os.environ), PORTS, quiet)
        assert containers() == ["lsmlab-service-1"]
    another.preflight(plan_cpus(os.environ), PORTS, quiet)
    assert containers() == []
    another.close()


def in_sidecar(*words: str) -> subprocess.CompletedProcess[str]:
    argv = ["docker", "exec", "lsmlab-profiler-1", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def is_recording() -> bool:
    """Return whether the service's JVM has the recording open."""
    return "/profile/profile.jfr" in in_sidecar("sh", "-c", "ls -l /proc/[0-9]*/fd").stdout


def test_a_recording_ends_even_if_its_lab_was_killed(images: None, tmp_path: Path) -> None:
    """The service lives on in its container until the next run; the recording may not."""
    from lab.runtime.docker.runtime import DockerRuntime

    with held_service(tmp_path / "1", recorded_s=10):
        assert is_recording()
    deadline = time.monotonic() + 120
    while is_recording():
        assert time.monotonic() < deadline, "the recording goes on"
        time.sleep(0.5)
    stopped = in_sidecar(
        "/opt/lsmlab/profile", "stop", "--pid", "auto", "--libpath", "/profile/lib", "--out", "/profile"
    )
    assert "profile.jfr ended before this, by itself after --timeout" in stopped.stderr, "the service is still there"
    another = DockerRuntime(Checkout(CHECKOUT))
    another.preflight(plan_cpus(os.environ), PORTS, quiet)
    assert containers() == []
    another.close()


def test_ctrl_c_under_load_leaves_no_container_and_keeps_what_there_was(images: None, tmp_path: Path) -> None:
    output = tmp_path / "output"
    words = ["run", "sync-put", "--rate", "500", "--duration", "10m", "--warmup", "0s", "--runtime", "docker"]
    with output.open("wb") as file:
        lab = subprocess.Popen(
            [str(CHECKOUT / "bin" / "lab"), *words, *PORT_WORDS],
            env={**os.environ, "LAB_RESULTS": str(tmp_path / "results")},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        while f"lsmlab-load-{lab.pid}" not in containers():
            assert lab.poll() is None, output.read_text()
            time.sleep(0.1)
        wait_for_puts(f"http://127.0.0.1:{PORTS.admin}")
        lab.send_signal(signal.SIGINT)
        assert lab.wait(180) == 130, output.read_text()
    finally:
        lab.kill()
        lab.wait()
    assert containers() == []
    (run,) = (tmp_path / "results" / "sync-put").iterdir()
    assert json.loads((run / "run.json").read_text())["complete"] is False
    assert "requests/sec" in (run / "measure" / "1" / "load.txt").read_text().lower()
