"""The part of the fake JVM that serves: a module of its own, because its imports take longer than other commands."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from known_server import KnownServer

REQUESTS = {"count": 0}


def cpu_s() -> float:
    """Return the CPU time of this process, or what its requests cost by `FAKE_CPU_US_PER_REQUEST`."""
    if (cost_us := os.environ.get("FAKE_CPU_US_PER_REQUEST")) is None:
        return time.process_time()
    return REQUESTS["count"] * float(cost_us) / 1e6


class Quiet(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve(config_file: Path) -> None:
    """Serve until the end of the process, as the YAML file says."""
    config: dict[str, object] = yaml.safe_load(config_file.read_text())
    variant = config["variant"]
    if variant == "dies-at-start":
        print("java.lang.IllegalStateException: the moon is in the wrong lab_checkout", flush=True)
        sys.exit(1)
    data_dir = Path(str(config["data_dir"]))
    files = sorted(path.name for path in data_dir.iterdir())
    print(f"store {data_dir} holds {files}", flush=True)
    (data_dir / "000001.wal").write_text("written by this start")

    class Data(Quiet):
        def do_GET(self) -> None:
            REQUESTS["count"] += int(self.path.partition("/served?count=")[2] or 1)
            self.answer(200, b"200000" if variant == "slower-by-200-us" else b"value")

    class Admin(Quiet):
        def do_GET(self) -> None:
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

        def do_POST(self) -> None:
            if variant == "never-rests":
                time.sleep(600)
            self.answer(200)

    data: ThreadingHTTPServer | KnownServer
    if known := os.environ.get("FAKE_SATURATION_PER_S"):
        from known_server import KnownServer

        data = KnownServer(int(str(config["data_port"])), float(known))
        data.start()
    else:
        data = ThreadingHTTPServer(("127.0.0.1", int(str(config["data_port"]))), Data)
        threading.Thread(target=data.serve_forever, daemon=True).start()
    admin = ThreadingHTTPServer(("127.0.0.1", int(str(config["admin_port"]))), Admin)
    threading.Thread(target=admin.serve_forever, daemon=True).start()
    if variant == "clings":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(3 if variant == "ends-badly" else 0))
    if variant != "never-ready":
        ports = f"data=127.0.0.1:{data.server_port} admin=127.0.0.1:{admin.server_port}"
        print(f"ready {ports}", flush=True)
    while True:
        time.sleep(0.05)
        if variant == "dies-under-load" and REQUESTS["count"] > 0:
            print("# A fatal error has been detected by the Java Runtime Environment", flush=True)
            os._exit(134)
