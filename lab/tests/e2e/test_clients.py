"""Clients that others wrote, each with PUT, GET, DELETE and a range: what HTTP means is not ours to define.

A client that is missing is skipped, and its package named; if CI is set its test fails instead.
"""

from __future__ import annotations

import http.client
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from support.installed import require

from .conftest import CHECKOUT

CLIENTS = Path(__file__).parent / "clients"
SERVICE = CHECKOUT / "service/server/target/service/lsmlab-server.jar"


def run(*command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Runs a client; its output, or a failure that shows it."""
    done = subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module", params=["sync", "queue"])
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """HOST:PORT of a service that stores its pairs."""
    directory = tmp_path_factory.mktemp("service")
    config = directory / "service.yaml"
    config.write_text(f"data_dir: {directory}/store\ndata_port: 0\nadmin_port: 0\nvariant: {request.param}\n")
    java = Path(run(CHECKOUT / "bin/find-jdk").strip()) / "bin/java"
    flags = ["-Xmx256m", "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"]
    with subprocess.Popen(
        [java, *flags, "-jar", SERVICE, "serve", "--config", config], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            ready = process.stdout.readline()
            match = re.match(r"ready data=(\S+) ", ready)
            assert match, f"not ready but {ready!r}"
            yield match.group(1)
            process.terminate()
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_python_http_client(address: str) -> None:
    connection = http.client.HTTPConnection(address, timeout=60)

    def exchange(method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        connection.request(method, f"/v0/{path}", body)
        response = connection.getresponse()
        return response.status, response.read()

    pairs = {"py-1": b"one", "py 2": b"\x00\xff\r\n", "py-é": b"", "py-\N{GRINNING FACE}": b"x" * 1_000_000}
    for key, value in pairs.items():
        assert exchange("PUT", f"entity?id={quote(key)}", value) == (201, b"")
    for key, value in pairs.items():
        assert exchange("GET", f"entity?id={quote(key)}") == (200, value)
    expected = b"".join(key.encode() + b"\n" + pairs[key] for key in sorted(pairs, key=str.encode))
    assert exchange("GET", "entities?start=py&end=pz") == (200, expected)
    for key in pairs:
        assert exchange("DELETE", f"entity?id={quote(key)}") == (202, b"")
        assert exchange("GET", f"entity?id={quote(key)}") == (404, b"")
    assert exchange("GET", "entities?start=py&end=pz") == (200, b"")
    connection.close()


def test_curl(address: str, tmp_path: Path) -> None:
    require("curl", "curl")
    value = tmp_path / "value"
    value.write_bytes(b"large " * 50_000)  # large enough for curl to send Expect: 100-continue first
    base = f"http://{address}/v0"

    def curl(*arguments: str) -> tuple[str, bytes]:
        answer = tmp_path / "answer"
        answer.unlink(missing_ok=True)
        status = run("curl", "-sS", "--max-time", "60", "-o", str(answer), "-w", "%{http_code}", *arguments)
        return status, answer.read_bytes() if answer.exists() else b""

    leave = ("-H", "Expect: 100-continue")
    assert curl("-T", str(value), *leave, f"{base}/entity?id=curl-1") == ("201", b"")
    assert curl("-X", "PUT", "-d", "two", f"{base}/entity?id=curl-2") == ("201", b"")
    assert curl(f"{base}/entity?id=curl-1") == ("200", value.read_bytes())
    assert curl("--http1.0", f"{base}/entity?id=curl-2") == ("200", b"two")
    range_of_both = b"curl-1\n" + value.read_bytes() + b"curl-2\ntwo"
    assert curl(f"{base}/entities?start=curl&end=curm") == ("200", range_of_both)
    status, reason = curl("--http1.0", f"{base}/entities?start=curl&end=curm")
    assert (status, reason) == ("505", b"a range is sent in chunks: use HTTP/1.1\n")
    assert curl("-X", "DELETE", f"{base}/entity?id=curl-1") == ("202", b"")
    assert curl(f"{base}/entity?id=curl-1") == ("404", b"")
    assert curl("-X", "PUT", "-T", "-", "-H", "Transfer-Encoding: chunked", f"{base}/entity?id=curl-3")[0] == "411"


def test_go_net_http(address: str, tmp_path: Path) -> None:
    require("go", "golang-go")
    program = tmp_path / "client"
    run(
        "go",
        "build",
        "-o",
        program,
        CLIENTS / "client.go",
        env={**os.environ, "GOFLAGS": "-mod=mod", "GO111MODULE": "off"},
    )
    assert run(program, f"http://{address}/v0") == "all as expected\n"


def test_wrk(address: str) -> None:
    require("wrk", "wrk")
    output = run("wrk", "-t1", "-c1", "-d3s", "-s", CLIENTS / "every-method.lua", f"http://{address}")
    match = re.search(r"answered (\d+) wrong (\d+)", output)
    assert match, output
    assert int(match.group(1)) >= 7, f"not every step was made: {output}"
    assert int(match.group(2)) == 0, output
    assert "Socket errors" not in output


def test_h2load(address: str, tmp_path: Path) -> None:
    require("h2load", "nghttp2-client")
    value = tmp_path / "value"
    value.write_text("12345")
    base = f"http://{address}/v0"
    count = 200

    def h2load(target: str, *arguments: str) -> int:
        """Send the same request again and again on four connections; return the bytes of all bodies."""
        output = run("h2load", "--h1", "-n", str(count), "-c", "4", *arguments, f"{base}/{target}")
        assert f"{count} succeeded, 0 failed, 0 errored, 0 timeout" in output, output
        assert f"status codes: {count} 2xx, 0 3xx, 0 4xx, 0 5xx" in output, output
        match = re.search(r"\((\d+)\) data", output)
        assert match, output
        return int(match.group(1))

    assert h2load("entity?id=h2load", "-d", str(value), "-H", ":method: PUT") == 0
    assert h2load("entity?id=h2load") == 5 * count
    assert h2load("entities?start=h2load&end=h2loae") == len("h2load\n12345") * count
    assert h2load("entity?id=h2load", "-H", ":method: DELETE") == 0
