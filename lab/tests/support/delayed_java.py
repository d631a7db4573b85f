"""Stands in for the JVM with a service whose time of service is known: variant `delay-200` spins 200 µs a request.

One thread answers one request after another, so the delay is in every latency and nothing else differs between two
variants. What is not `serve` is fake_java.py's affair.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nvalue"


class Admin(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        body = f"process_cpu_seconds_total {time.process_time()}\n" if self.path == "/metrics" else json.dumps({})
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    do_POST = do_GET  # noqa: N815


def serve(config: dict[str, object]) -> None:
    delay_ns = int(str(config["variant"]).removeprefix("delay-")) * 1000
    admin = ThreadingHTTPServer(("127.0.0.1", int(str(config["admin_port"]))), Admin)
    threading.Thread(target=admin.serve_forever, daemon=True).start()
    data = socket.create_server(("127.0.0.1", int(str(config["data_port"]))), backlog=128)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print(f"ready data=127.0.0.1:{data.getsockname()[1]} admin=127.0.0.1:{admin.server_port}", flush=True)
    ready = selectors.DefaultSelector()
    ready.register(data, selectors.EVENT_READ)
    while True:
        for key, _ in ready.select():
            if key.fileobj is data:
                connection, _ = data.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                ready.register(connection, selectors.EVENT_READ)
            else:
                answer(key.fileobj, ready, delay_ns)  # type: ignore[arg-type]


def answer(connection: socket.socket, ready: selectors.BaseSelector, delay_ns: int) -> None:
    with contextlib.suppress(OSError):
        requests = connection.recv(65536).count(b"\r\n\r\n")
        for _ in range(requests):
            end = time.perf_counter_ns() + delay_ns
            while time.perf_counter_ns() < end:
                pass
            connection.sendall(RESPONSE)
        if requests:
            return
    ready.unregister(connection)
    connection.close()


def main() -> None:
    words = sys.argv[1:]
    if "serve" in words:
        serve(yaml.safe_load(Path(words[words.index("--config") + 1]).read_text()))
    runpy.run_path(str(Path(__file__).with_name("fake_java.py")), run_name="__main__")


main()
