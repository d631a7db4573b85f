"""The stack as plain `docker compose up` starts it from a fresh clone: what its containers may do, seen from inside."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import CHECKOUT, require

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1800)]
PROJECT = "lsmlab-plain"
PORTS = {"DATA": 28080, "ADMIN": 28081, "LOADGEN_METRICS": 29101, "PROMETHEUS": 29090, "ARTIFACTS": 28000}
STARTED = ("service", "prometheus", "node-exporter", "artifacts")
START_LIMIT_S = 60
CAPABILITIES = {"KILL": 5, "SETGID": 6, "SETUID": 7, "SYS_PTRACE": 19, "SYS_ADMIN": 21, "SYSLOG": 34}


def docker(*words: str, cwd: Path = CHECKOUT) -> str:
    environment = {**os.environ, **{f"LAB_PORT_{name}": str(port) for name, port in PORTS.items()}}
    done = subprocess.run(["docker", *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def compose(clone: Path, *words: str) -> str:
    return docker("compose", "--project-name", PROJECT, "--profile", "tools", *words, cwd=clone)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A fresh clone whose stack is up, with the profiler's sidecar; built from this checkout's cache."""
    require("docker")
    copy = tmp_path_factory.mktemp("clone") / "lab"
    subprocess.run(["git", "clone", "--quiet", str(CHECKOUT), str(copy)], check=True)
    try:
        compose(copy, "build", *STARTED, "profiler")
        compose(copy, "up", "--detach", "--no-build", *STARTED, "profiler")
        yield copy
    finally:
        compose(copy, "down", "--volumes", "--remove-orphans")


def inspect(service: str) -> dict[str, Any]:
    described: dict[str, Any] = json.loads(docker("inspect", f"{PROJECT}-{service}-1"))[0]
    return described


def status_inside(service: str) -> dict[str, str]:
    """Return /proc/1/status of the container; the profiler's first process is the service's, so its own is read."""
    process = "self" if service == "profiler" else "1"
    text = docker("exec", f"{PROJECT}-{service}-1", "cat", f"/proc/{process}/status")
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def fetch(url: str) -> str | None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=2) as response:
            text: str = response.read().decode()
            return text
    except (urllib.error.URLError, OSError):
        return None


def eventually(url: str) -> str:
    deadline = time.monotonic() + START_LIMIT_S
    while (text := fetch(url)) is None:
        assert time.monotonic() < deadline, f"{url} has not answered within {START_LIMIT_S} s"
        time.sleep(0.2)
    return text


def test_a_fresh_clone_comes_up_and_prometheus_reaches_the_service(clone: Path) -> None:
    assert "OK" in eventually(f"http://127.0.0.1:{PORTS['ADMIN']}/health").upper()
    eventually(f"http://127.0.0.1:{PORTS['ARTIFACTS']}/")
    query = f"http://127.0.0.1:{PORTS['PROMETHEUS']}/api/v1/query?query=up%7Bjob%3D~%22service%7Cnode%22%7D"
    deadline = time.monotonic() + START_LIMIT_S
    while True:
        found = json.loads(eventually(query))["data"]["result"]
        up = {series["metric"]["job"] for series in found if series["value"][1] == "1"}
        if up == {"service", "node"}:
            break
        assert time.monotonic() < deadline, f"only {up} are up"
        time.sleep(0.5)


def test_the_directories_that_are_mounted_still_belong_to_whoever_cloned(clone: Path) -> None:
    for directory in ("results", ".cache", ".cache/metrics"):
        assert (clone / directory).stat().st_uid == os.getuid()


@pytest.mark.parametrize("service", [*STARTED, "profiler"])
def test_a_container_has_no_more_rights_than_it_needs(clone: Path, service: str) -> None:
    inside = status_inside(service)
    allowed = sum(1 << bit for bit in CAPABILITIES.values()) if service == "profiler" else 0
    assert int(inside["CapBnd"], 16) == allowed
    assert int(inside["CapEff"], 16) == allowed
    assert inside["NoNewPrivs"] == "1"
    user = inside["Uid"].split()[0]
    assert (user == "0") == (service == "profiler")
    refused = subprocess.run(
        ["docker", "exec", f"{PROJECT}-{service}-1", "touch", "/opt/written"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode != 0
    assert "Read-only file system" in refused.stderr


@pytest.mark.parametrize("service", [*STARTED, "profiler"])
def test_a_container_is_bounded_in_processes_and_what_is_measured_not_in_memory_or_cpu(
    clone: Path, service: str
) -> None:
    limits = inspect(service)["HostConfig"]
    assert 0 < limits["PidsLimit"] <= 4096
    assert limits["NanoCpus"] == 0
    assert limits["CpuQuota"] == 0
    assert (limits["Memory"] > 0) == (service in ("prometheus", "node-exporter", "artifacts"))


def test_nothing_is_published_beyond_loopback(clone: Path) -> None:
    addresses = [
        binding["HostIp"]
        for service in STARTED
        for bindings in inspect(service)["NetworkSettings"]["Ports"].values()
        for binding in bindings or []
    ]
    assert len(addresses) == len(PORTS)
    assert set(addresses) == {"127.0.0.1"}


def test_what_publishes_nothing_has_no_way_out(clone: Path) -> None:
    networks = inspect("node-exporter")["NetworkSettings"]["Networks"]
    assert list(networks) == [f"{PROJECT}_scraped"]
    assert json.loads(docker("network", "inspect", f"{PROJECT}_scraped"))[0]["Internal"] is True
    assert inspect("profiler")["HostConfig"]["NetworkMode"] == "none"


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/run.json", "GET", 200),
        ("/.hidden", "GET", 404),
        ("/passwd", "GET", 403),
        ("/%2e%2e/etc/passwd", "GET", 400),
        ("/run.json", "PUT", 403),
        ("/run.json", "DELETE", 403),
    ],
)
def test_the_artifact_server_shows_results_and_nothing_else(clone: Path, path: str, method: str, status: int) -> None:
    results = clone / "results"
    (results / "run.json").write_text("{}")
    (results / ".hidden").write_text("hidden")
    if not (results / "passwd").is_symlink():
        (results / "passwd").symlink_to("/etc/passwd")
    url = f"http://127.0.0.1:{PORTS['ARTIFACTS']}"
    eventually(f"{url}/")
    curl = [
        "curl",
        "--silent",
        "--path-as-is",
        "--request",
        method,
        "--output",
        os.devnull,
        "--write-out",
        "%{http_code}",
    ]
    done = subprocess.run([*curl, url + path], capture_output=True, text=True, check=True)
    assert int(done.stdout) == status


def test_the_artifact_server_compresses_and_serves_ranges(clone: Path) -> None:
    (clone / "results" / "large.json").write_text("[" + "1," * 10_000 + "1]")
    url = f"http://127.0.0.1:{PORTS['ARTIFACTS']}/large.json"
    eventually(url)
    part = subprocess.run(
        ["curl", "-s", "-i", "-H", "Range: bytes=0-3", url], capture_output=True, text=True, check=True
    )
    assert part.stdout.startswith("HTTP/1.1 206")
    assert part.stdout.endswith("[1,1")
    packed = subprocess.run(
        ["curl", "-s", "-D", "-", "-o", os.devnull, "-H", "Accept-Encoding: gzip", url],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "content-encoding: gzip" in packed.stdout.lower()
