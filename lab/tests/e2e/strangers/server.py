"""A server that takes no argument about its port, and misbehaves as its argument says: server.py [BEHAVIOUR]."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BEHAVIOUR = sys.argv[1] if len(sys.argv) > 1 else ""
PORT = int(os.environ.get("STRANGER_PORT", "9999" if BEHAVIOUR == "another-port" else "8080"))
DIES_AFTER = 60


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_port = BEHAVIOUR == "shared-port"
    served = 0

    def server_bind(self) -> None:
        if self.allow_reuse_port:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        super().server_bind()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        Server.served += 1
        if BEHAVIOUR == "dies" and Server.served > DIES_AFTER:
            print("out of luck", flush=True)
            os._exit(9)
        self.send_response(500 if BEHAVIOUR == "answers-500" else 200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_: object) -> None:
        pass


if BEHAVIOUR == "ignores-sigterm":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if BEHAVIOUR == "never-ready":
    time.sleep(3600)
Server(("127.0.0.1", PORT), Handler).serve_forever()
