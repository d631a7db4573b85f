"""Checks that every server in servers/ keeps the contract in README.md: python3 -m unittest discover -s examples.

Needs the servers built (make build-servers), a JDK 25 as JAVA_HOME, and nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SERVERS = Path(__file__).parent / "servers"
NAMES = [name for name in re.findall("<module>(.*)</module>", (SERVERS / "pom.xml").read_text()) if name != "contract"]
JAVA = Path(os.environ["JAVA_HOME"], "bin/java") if "JAVA_HOME" in os.environ else Path("java")

SECONDS_TO_START = 60.0
SECONDS_TO_END = 20.0
# Some servers' default is to close a connection after 100 requests.
REQUESTS_A_CONNECTION = 250
TEXT = b"0123456789" * 10
DOCUMENT = b'{"text":"' + "ä".encode() * 506 + b'!"}'  # 1 KiB
LINES_AT_MOST = 60


@dataclass
class Server:
    """A server that runs: its process, its port, and the file that has all it printed."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def wait_until_ready(self) -> None:
        """Wait for the line that says that requests can come."""
        give_up = time.monotonic() + SECONDS_TO_START
        while f"ready on port {self.port}\n" not in self.log.read_text():
            if self.process.poll() is not None or time.monotonic() > give_up:
                raise AssertionError(f"not ready, exit code {self.process.poll()}:\n{self.log.read_text()}")
            time.sleep(0.02)


@contextlib.contextmanager
def started(name: str, port: int, *arguments: str, **environment: str) -> Iterator[Server]:
    """Start a server, and kill it at the end if it still runs."""
    inherited = {key: value for key, value in os.environ.items() if key not in ("PORT", "SERVER_PORT")}
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory, "log")
        # Tomcat leaves an empty directory for its work.
        options = [f"@{SERVERS / 'jvm.options'}", f"-Djava.io.tmpdir={directory}"]
        words = [str(JAVA), *options, "-jar", str(SERVERS / name / "target/server.jar"), *arguments]
        with log.open("wb") as output:
            process = subprocess.Popen(
                words, cwd=directory, env=inherited | environment, stdout=output, stderr=subprocess.STDOUT
            )
        try:
            yield Server(process, port, log)
        finally:
            process.kill()
            process.wait()


def free_port() -> int:
    """Return a port that no process listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class ServersTest(unittest.TestCase):
    """Each server alone, one after the other."""

    def each(self, check: Callable[[str], None]) -> None:
        for name in NAMES:
            with self.subTest(name):
                begin = time.monotonic()
                check(name)
                print(f"{name}: {self._testMethodName[5:]}, {time.monotonic() - begin:.1f} s", file=sys.stderr)

    def test_contract(self) -> None:
        self.each(self.check_contract)

    def check_contract(self, name: str) -> None:
        port = free_port()
        with started(name, port, PORT=str(port)) as server:
            server.wait_until_ready()
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
                self.check_requests(connection)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(SECONDS_TO_END), 128 + signal.SIGTERM)

    def check_requests(self, connection: http.client.HTTPConnection) -> None:
        """All requests go through one connection, which the server must not close."""
        connection.connect()
        opened = connection.sock
        for _ in range(REQUESTS_A_CONNECTION):
            self.check_get(connection)
            self.check_post(connection, DOCUMENT)
        for length in (1, 65_536):
            self.check_post(connection, b"1" * length)
        response, _ = self.exchange(connection, "GET", "/unknown")
        self.assertEqual(response.status, 404)
        self.check_get(connection)
        self.assertIs(connection.sock, opened, "the server closed the connection")

    def check_get(self, connection: http.client.HTTPConnection) -> None:
        self.check_response(*self.exchange(connection, "GET", "/"), "text/plain", TEXT)

    def check_post(self, connection: http.client.HTTPConnection, sent: bytes) -> None:
        self.check_response(*self.exchange(connection, "POST", "/", sent), "application/json", sent)

    def exchange(
        self, connection: http.client.HTTPConnection, method: str, path: str, sent: bytes | None = None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """Send a request; return the response and its body."""
        connection.request(method, path, sent, {} if sent is None else {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response, response.read()

    def check_response(
        self, response: http.client.HTTPResponse, received: bytes, content_type: str, body: bytes
    ) -> None:
        self.assertEqual(response.status, 200)
        self.assertEqual(response.getheader("Content-Type"), content_type)
        self.assertEqual(response.getheader("Content-Length"), str(len(body)))
        self.assertIsNone(response.getheader("Transfer-Encoding"))
        self.assertEqual(received, body)

    def test_taken_port(self) -> None:
        self.each(self.check_taken_port)

    def check_taken_port(self, name: str) -> None:
        with socket.socket() as taken:
            taken.bind(("0.0.0.0", 0))
            taken.listen()
            port = taken.getsockname()[1]
            with started(name, port, str(port)) as server:
                self.assertEqual(server.process.wait(SECONDS_TO_START), 1)
                self.assertNotIn("ready on port", server.log.read_text())

    def test_argument_comes_before_environment(self) -> None:
        port = free_port()
        with started("jdk-pool", port, str(port), PORT="1") as server:
            server.wait_until_ready()

    def test_wrong_ports_are_refused(self) -> None:
        for wrong in ("", "0", "65536", "-1", "http"):
            with self.subTest(wrong), started("jdk-pool", 0, PORT=wrong) as server:
                self.assertEqual(server.process.wait(SECONDS_TO_START), 2)
                said = f"the port (first argument, or PORT) must be 1 to 65535: {wrong}\n"
                self.assertEqual(server.log.read_text(), said)

    def test_servers_are_short(self) -> None:
        for source in SERVERS.glob("*/src/main/java/**/*.java"):
            with self.subTest(source.name):
                self.assertLessEqual(len(source.read_text().splitlines()), LINES_AT_MOST)


if __name__ == "__main__":
    unittest.main()
