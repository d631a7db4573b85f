"""The JSON of the load generator agrees with `loadgen/load.schema.json`, whatever became of its requests."""

from __future__ import annotations

import json
import socketserver
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET, socket
from typing import Any

import jsonschema
import pytest

from .conftest import CHECKOUT

LOADGEN = CHECKOUT / "loadgen/target/release/loadgen"
GET = CHECKOUT / "loadgen/scripts/get.lua"
SCHEMA = jsonschema.Draft202012Validator(json.loads((CHECKOUT / "loadgen/load.schema.json").read_text()))


def busy(connection: socket) -> None:
    """Answer every request."""
    with connection.makefile("rb") as received:
        for line in received:
            if line == b"\r\n":
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")


def silent(connection: socket) -> None:
    """Answer nothing."""
    while connection.recv(65536):
        pass


def broken(connection: socket) -> None:
    """Send the head of a response, and reset the connection."""
    if connection.recv(65536):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
        connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))


class Handler(socketserver.BaseRequestHandler):
    """Treats a connection as its server's manner says; a generator that has gone away ends it."""

    def handle(self) -> None:
        try:
            self.server.manner(self.request)  # type: ignore[attr-defined]
        except OSError:
            return


class Server(socketserver.ThreadingTCPServer):
    """Closes a connection without the shutdown that would send a FIN when a reset is wanted."""

    daemon_threads = True

    def shutdown_request(self, request: Any) -> None:
        request.close()


@contextmanager
def served(manner: Any) -> Iterator[str]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.manner = manner  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def errors(result: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(result)]


def answered_or_unfinished(load: Any) -> int:
    """Return the requests that were answered or still waited at the end, as the last one may on a busy machine."""
    return int(load["requests"] + load["unfinished"]["count"])


@pytest.mark.parametrize(
    ("manner", "flags", "outcome"),
    [
        (busy, "-t2 -c4 -d2s -R100", lambda load: answered_or_unfinished(load) == 200),
        (silent, "-t1 -c1 -d1s -R0.5", lambda load: load["unfinished"]["count"] == 1),
        (broken, "-t1 -c3 -d1500ms -R50", lambda load: load["errors"]["read"] > 0),
    ],
    ids=["busy", "silent", "broken"],
)
def test_the_json_of_a_load_is_valid_by_the_published_schema(
    manner: Any, flags: str, outcome: Any, tmp_path: Path
) -> None:
    file = tmp_path / "load.json"
    with served(manner) as url:
        subprocess.run([LOADGEN, *flags.split(), "--json", file, url], check=True, capture_output=True, timeout=60)
    load = json.loads(file.read_text())
    assert outcome(load), load
    assert errors(load) == []
    load["latency_us"]["count"] = -1
    assert errors(load) != [], "the schema can fail"


def test_the_merged_json_of_several_generators_is_valid_too(tmp_path: Path) -> None:
    start = (datetime.now(UTC) + timedelta(seconds=2)).isoformat().replace("+00:00", "Z")
    records = [tmp_path / f"{part}.record" for part in (1, 2)]
    with served(busy) as url:
        flags = ["-t2", "-c2", "-R100", "-d1s", "--start-at", start, "-s", GET]
        parts = [
            subprocess.Popen(
                [LOADGEN, *flags, "--part", f"{part}/2", "--record", record, url, "--", "pairs=1000"],
                stdout=subprocess.DEVNULL,
            )
            for part, record in enumerate(records, 1)
        ]
        assert [part.wait(60) for part in parts] == [0, 0]
    merged = tmp_path / "all.json"
    subprocess.run([LOADGEN, "merge", "--json", merged, *records], check=True, capture_output=True, timeout=60)
    load = json.loads(merged.read_text())
    assert len(load["generators"]) == 2
    assert answered_or_unfinished(load) == 100
    assert errors(load) == []
