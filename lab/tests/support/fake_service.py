"""The part of the fake JVM that serves: a module of its own, because its imports take longer than other commands.

It speaks HTTP and reads its flat YAML by itself: importing `http.server` and `yaml` costs more than all else here, and
the tests start it a thousand times.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socketserver
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from known_server import KnownServer

REQUESTS = {"count": 0}


def cpu_s() -> float:
    """Return the CPU time of this process, or what its requests cost by `FAKE_CPU_US_PER_REQUEST`."""
    if (cost_us := os.environ.get("FAKE_CPU_US_PER_REQUEST")) is None:
        return time.process_time()
    return REQUESTS["count"] * float(cost_us) / 1e6


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    @property
    def server_port(self) -> int:
        return int(self.server_address[1])


class Quiet(socketserver.StreamRequestHandler):
    """Answers one request of a connection: `get` or `post`, at `path`."""

    path = ""

    def handle(self) -> None:
        words = self.rfile.readline().decode("ascii").split()
        if len(words) != 3:  # who only looks whether the port is open sends nothing
            return
        method, self.path, _ = words
        while self.rfile.readline().strip():
            pass
        getattr(self, method.lower())()

    def answer(self, status: int, body: bytes = b"") -> None:
        self.wfile.write(f"HTTP/1.0 {status} \r\nContent-Length: {len(body)}\r\n\r\n".encode("ascii") + body)


def read_settings(config_file: Path) -> dict[str, object]:
    """Return the keys and values of a YAML file that has nothing below them."""
    settings: dict[str, object] = {}
    text = re.sub(r"\\\n +(\\(?= ))?", "", config_file.read_text())  # a long text in quotes takes several lines
    for line in text.splitlines():
        key, value = line.split(": ", 1)
        if value[0] in "'\"":  # with \xFC and the like in double quotes, as JSON has it not
            settings[key] = value[1:-1].encode("ascii").decode("unicode_escape")
            continue
        try:
            settings[key] = json.loads(value)
        except ValueError:
            settings[key] = value
    return settings


def serve(config_file: Path) -> None:
    """Serve until the end of the process, as the YAML file says."""
    config = read_settings(config_file)
    variant = config["variant"]
    if variant == "dies-at-start":
        print("java.lang.IllegalStateException: the moon is in the wrong lab_checkout", flush=True)
        sys.exit(1)
    data_dir = Path(str(config["data_dir"]))
    files = sorted(path.name for path in data_dir.iterdir())
    print(f"store {data_dir} holds {files}", flush=True)
    (data_dir / "000001.wal").write_text("written by this start")

    class Data(Quiet):
        def get(self) -> None:
            REQUESTS["count"] += int(self.path.partition("/served?count=")[2] or 1)
            self.answer(200, b"200000" if variant == "slower-by-200-us" else b"value")

    class Admin(Quiet):
        def get(self) -> None:
            if self.path == "/config":
                flags = ["-Xmx1g", *os.environ.get("JAVA_TOOL_OPTIONS", "").split()]
                view = {"java_version": "25-fake", "jvm_flags": flags, "gc": "G1", "native_transport": True}
                self.answer(200, json.dumps({**config, **view, "libraries": {"one-nio": "2.3.0"}}).encode())
            elif self.path == "/metrics":
                if told := os.environ.get("FAKE_SCRAPES"):
                    with Path(told).open("a") as scrapes:
                        scrapes.write(f"{time.monotonic()}\n")
                text = f'lsmlab_requests_total{{method="get",status="200"}} {REQUESTS["count"]}\nlsmlab_tables 8\n'
                used = f"process_cpu_seconds_total {cpu_s()}\njvm_allocated_bytes_total {REQUESTS['count'] * 1000}\n"
                self.answer(200, (text + used).encode())
            else:
                self.answer(200)

        def post(self) -> None:
            if variant == "never-rests":
                time.sleep(600)
            if self.path == "/quiesce":
                print("rests", flush=True)
            self.answer(200)

    data: Server | KnownServer
    if known := os.environ.get("FAKE_SATURATION_PER_S"):
        from known_server import KnownServer

        data = KnownServer(int(str(config["data_port"])), float(known))
        data.start()
    else:
        data = Server(("127.0.0.1", int(str(config["data_port"]))), Data)
        threading.Thread(target=data.serve_forever, daemon=True).start()
    admin = Server(("127.0.0.1", int(str(config["admin_port"]))), Admin)
    threading.Thread(target=admin.serve_forever, daemon=True).start()
    if variant == "clings":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(3 if variant == "ends-badly" else 0))
    if variant != "never-ready":
        ports = f"data=127.0.0.1:{data.server_port} admin=127.0.0.1:{admin.server_port}"
        print(f"ready {ports}", flush=True)
    while True:
        if config.get("idle") != "spin":
            time.sleep(0.05)
        if variant == "dies-under-load" and REQUESTS["count"] > 0:
            print("# A fatal error has been detected by the Java Runtime Environment", flush=True)
            os._exit(134)
