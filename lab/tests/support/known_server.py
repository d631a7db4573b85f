"""An HTTP server that saturates at an exactly known rate: one queue that is served at a constant rate (D/D/1).

Each request is answered at max(its arrival, the end of the one before) + 1 ÷ rate, whatever the timers of this process
do: a timer that fires late does not delay the requests after it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque

RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nvalue"


class KnownServer:
    """Serves GETs on 127.0.0.1 in a thread of its own, at most `rate_per_s` of them a second."""

    def __init__(self, port: int, rate_per_s: float) -> None:
        self.server_port = 0
        self._port, self._service_s = port, 1 / rate_per_s
        self._end_s = 0.0
        self._waiting: deque[tuple[float, asyncio.Transport]] = deque()
        self._started = threading.Event()

    def start(self) -> None:
        """Return once it listens; `server_port` is then known."""
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        self._started.wait()

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", self._port)
        self.server_port = server.sockets[0].getsockname()[1]
        self._started.set()
        with contextlib.suppress(asyncio.CancelledError):
            await server.serve_forever()

    def arrived(self, transport: asyncio.Transport) -> None:
        """Take a request in."""
        loop = asyncio.get_running_loop()
        self._end_s = max(self._end_s, loop.time()) + self._service_s
        self._waiting.append((self._end_s, transport))
        if len(self._waiting) == 1:
            loop.call_at(self._end_s, self._answer)

    def _answer(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting and self._waiting[0][0] <= loop.time():
            self._waiting.popleft()[1].write(RESPONSE)
        if self._waiting:
            loop.call_at(self._waiting[0][0], self._answer)


class _Connection(asyncio.Protocol):
    def __init__(self, server: KnownServer) -> None:
        self._server, self._read = server, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *requests, self._read = (self._read + data).split(b"\r\n\r\n")
        for _ in requests:
            self._server.arrived(self._transport)
