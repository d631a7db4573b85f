"""The stack as plain `docker compose up` starts it from a fresh clone: what its containers may do, seen from inside."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import tarfile
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
ONE_SHOT = ("loadgen", "converter", "lab")
LISTENING = {  # the service's network is the load generator's too
    "service": {8080, 8081},
    "prometheus": {9090},
    "node-exporter": {9100},
    "artifacts": {8000},
    "profiler": set(),
    "converter": set(),
}
RUN = "stack-get/20260101T000000Z"
LISTENING_TCP, UNCONNECTED_UDP = "0A", "07"
START_LIMIT_S = 180
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
        compose(copy, "build", *STARTED, "profiler", "loadgen", "lab")
        compose(copy, "up", "--detach", "--no-build", *STARTED, "profiler")
        yield copy
    finally:
        compose(copy, "down", "--volumes", "--remove-orphans")


def inspect(service: str) -> dict[str, Any]:
    described: dict[str, Any] = json.loads(docker("inspect", f"{PROJECT}-{service}-1"))[0]
    return described


def fetch(url: str) -> str | None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=10) as response:
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


def sh(clone: Path, service: str, script: str) -> str:
    """Run a script in the container of a service, or, of one that only runs a command, in a new one of its kind."""
    if service in ONE_SHOT:
        return compose(clone, "run", "--rm", "-T", "--no-deps", "--entrypoint", "sh", service, "-c", script)
    return docker("exec", f"{PROJECT}-{service}-1", "sh", "-c", script)


@pytest.mark.parametrize("service", [*STARTED, *ONE_SHOT, "profiler"])
def test_a_container_has_no_more_rights_than_it_needs(clone: Path, service: str) -> None:
    # The profiler's and the one-shot containers' own process is read: process 1 of the former is the service.
    process = "1" if service in STARTED else "self"
    inside = fields(sh(clone, service, f"cat /proc/{process}/status"))
    allowed = sum(1 << bit for bit in CAPABILITIES.values()) if service == "profiler" else 0
    for kind in ("CapBnd", "CapEff", "CapPrm"):
        assert int(inside[kind], 16) == allowed, kind
    for kind in ("CapInh", "CapAmb"):
        assert int(inside[kind], 16) == 0, kind
    assert inside["NoNewPrivs"] == "1"
    assert inside["Seccomp"] == "2", "filtered"
    users = {user for kind in ("Uid", "Gid") for user in inside[kind].split()}
    assert users == {"0"} if service == "profiler" else "0" not in users
    refused = sh(clone, service, "touch /opt/written 2>&1 || true; awk '$2 == \"/\" { print $4 }' /proc/mounts")
    assert "Read-only file system" in refused
    assert "ro" in refused.splitlines()[-1].split(",")


@pytest.mark.parametrize(("service", "place"), [("artifacts", "/results"), ("node-exporter", "/metrics")])
def test_a_container_that_only_shows_files_cannot_write_them(clone: Path, service: str, place: str) -> None:
    assert "Read-only file system" in sh(clone, service, f"touch {place}/written 2>&1 || true")


def fields(text: str) -> dict[str, str]:
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def test_every_service_of_the_stack_is_declared_with_the_same_limits(clone: Path) -> None:
    declared = json.loads(compose(clone, "--profile", "grafana", "config", "--format", "json"))["services"]
    assert {*STARTED, *ONE_SHOT, "profiler", "grafana"} == set(declared)
    for name, service in declared.items():
        assert service["read_only"] is True, name
        assert (service.get("user", "").split(":")[0] in ("", "0", "root")) == (name == "profiler"), name
        assert service["cap_drop"] == ["ALL"], name
        assert set(service.get("cap_add") or []) == (set(CAPABILITIES) if name == "profiler" else set()), name
        assert service["security_opt"] == ["no-new-privileges"], name
        assert service["pids_limit"] > 0, name


def test_nobody_logs_in_to_grafana(clone: Path) -> None:
    declared = json.loads(compose(clone, "--profile", "grafana", "config", "--format", "json"))["services"]["grafana"]
    settings = declared["environment"]
    assert settings["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    assert settings["GF_AUTH_DISABLE_LOGIN_FORM"] == "true"
    assert settings["GF_AUTH_BASIC_ENABLED"] == "false"
    assert settings["GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION"] == "true"


def listening(table: str) -> set[tuple[str, int]]:
    """Addresses (in the kernel's hexadecimal) and ports of the sockets in tables of /proc/net that wait for anybody."""
    rows = [line.split() for line in table.splitlines()]
    pairs = [row[1].split(":") for row in rows if len(row) > 3 and row[3] in (LISTENING_TCP, UNCONNECTED_UDP)]
    return {(address, int(port, 16)) for address, port in pairs}


@pytest.mark.parametrize("service", list(LISTENING))
def test_a_container_listens_on_its_published_ports_alone(clone: Path, service: str) -> None:
    table = sh(clone, service, "cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6")
    engines_dns = "0B00007F"  # 127.0.0.11, at a port of its own
    assert {port for address, port in listening(table) if address != engines_dns} == LISTENING[service]


def test_no_published_port_is_reached_but_over_loopback(clone: Path) -> None:
    loopback = {("0100007F", port) for port in PORTS.values()}
    tables = "".join(Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6"))
    assert {pair for pair in listening(tables) if pair[1] in PORTS.values()} == loopback
    bridge = json.loads(docker("network", "inspect", f"{PROJECT}_published"))[0]["IPAM"]["Config"][0]["Gateway"]
    for port in PORTS.values():
        with pytest.raises(OSError, match=r"refused|timed out"):
            socket.create_connection((bridge, port), timeout=2)


@pytest.mark.parametrize("service", [*STARTED, "profiler"])
def test_containers_have_a_limit_of_processes_and_measured_ones_none_of_memory_or_cpu(
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


def test_containers_without_published_ports_have_no_network_access(clone: Path) -> None:
    networks = inspect("node-exporter")["NetworkSettings"]["Networks"]
    assert list(networks) == [f"{PROJECT}_scraped"]
    assert json.loads(docker("network", "inspect", f"{PROJECT}_scraped"))[0]["Internal"] is True
    assert inspect("profiler")["HostConfig"]["NetworkMode"] == "none"


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/run.json", "GET", 200),
        ("/.hidden", "GET", 404),
        ("/%2ehidden", "GET", 404),
        ("/.cache/file", "GET", 404),
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
    (results / ".cache").mkdir(exist_ok=True)
    (results / ".cache" / "file").write_text("hidden")
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


def test_the_artifact_server_opens_with_the_history_and_names_the_type_of_each_file(clone: Path) -> None:
    (clone / "results" / "index.html").write_text("<p>history</p>")
    assert eventually(f"http://127.0.0.1:{PORTS['ARTIFACTS']}/") == "<p>history</p>"
    for name, kind in {
        "index.html": "text/html; charset=utf-8",
        "run.json": "application/json",
        "timeline.csv": "text/csv",
        "load.txt": "text/plain; charset=utf-8",
        "latency.hlog": "text/plain; charset=utf-8",
        "cpu.svg": "image/svg+xml",
        "cpu.png": "image/png",
        "profile.jfr": "application/octet-stream",
    }.items():
        (clone / "results" / name).touch()
        head = curl(f"/{name}", "--head", "--write-out", "%{content_type}", "-o", os.devnull).stdout.decode()
        assert head == kind, name


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


@pytest.fixture
def run(clone: Path) -> Path:
    """A run under results/, with a name that begins with a dot and a link out of it."""
    directory = clone / "results" / RUN
    if not directory.exists():
        (directory / "profile").mkdir(parents=True)
        (directory / "run.json").write_text("{}")
        (directory / "profile" / "cpu.svg").write_text("<svg/>")
        (directory / ".hidden").write_text("hidden")
        (directory / "passwd").symlink_to("/etc/passwd")
        (directory.parent / "20260102T000000Z").symlink_to("/etc")
        (clone / "results" / "outside").symlink_to("/etc")
    return directory


def curl(path: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    url = f"http://127.0.0.1:{PORTS['ARTIFACTS']}"
    eventually(f"{url}/")
    return subprocess.run(["curl", "-s", "-S", "--path-as-is", *words, url + path], capture_output=True, check=True)


def test_a_run_is_downloaded_as_an_archive_without_what_is_hidden_and_with_links_as_links(run: Path) -> None:
    head = curl(f"/{RUN}.tar.gz", "-D", "-", "-o", os.devnull).stdout.decode().lower()
    assert "content-type: application/gzip" in head
    assert 'filename="stack-get-20260101t000000z.tar.gz"' in head
    with tarfile.open(fileobj=io.BytesIO(curl(f"/{RUN}.tar.gz").stdout)) as archive:
        members = {member.name.removeprefix(RUN): member for member in archive}
        assert set(members) == {"", "/run.json", "/profile", "/profile/cpu.svg", "/passwd"}
        assert members["/passwd"].issym()
        assert archive.extractfile(members["/profile/cpu.svg"]).read() == b"<svg/>"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("path", "words", "status"),
    [
        (f"/{RUN}.tar.gz", ["--head"], 200),
        (f"/{RUN}.tar.gz", ["-X", "POST"], 403),
        ("/stack-get/20260101T000001Z.tar.gz", [], 404),  # no such run
        ("/stack-get/20260102T000000Z.tar.gz", [], 404),  # a link
        ("/outside/20260102T000000Z.tar.gz", [], 404),
        ("/..%2f..%2fetc/20260102T000000Z.tar.gz", [], 400),
        ("/outside/passwd", [], 404),
        ("/outside/", [], 404),
        ("/stack-get/20260102T000000Z/", [], 404),
        ("/stack-get/20260102T000000Z/passwd", [], 404),
        (f"/{RUN}/passwd", [], 403),
        (f"/{RUN}/.hidden", [], 404),
    ],
)
def test_an_archive_is_of_a_run_and_of_nothing_else(run: Path, path: str, words: list[str], status: int) -> None:
    done = curl(path, *words, "-o", os.devnull, "-w", "%{http_code}")
    assert int(done.stdout) == status
