"""Latencies at 40 ms: those of delayed ACKs are a finding, those of a service that takes that long are not."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lab.analysis import judge
from lab.analysis.checks.conditions import delayed_ack_share
from lab.analysis.histogram import Sample
from lab.manifest import Check, Manifest
from report.synthesis import Shape, make_run

HEAD, BODY = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", b"value"
REQUESTS = 100


def apart(connection: socket.socket) -> None:
    connection.send(HEAD)
    connection.send(BODY)


def together(connection: socket.socket) -> None:
    connection.send(HEAD + BODY)


def latencies_of(answer: Callable[[socket.socket], None]) -> Sample:
    """Send requests to a server on this machine, one after the other over one connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                while connection.recv(1000):
                    answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        taken_ns = []
        with socket.create_connection(server.getsockname()) as client:
            for _ in range(REQUESTS):
                began_ns, left = time.monotonic_ns(), len(HEAD + BODY)
                client.send(b"GET / HTTP/1.1\r\n\r\n")
                while left:
                    left -= len(client.recv(1000))
                taken_ns.append(time.monotonic_ns() - began_ns)
        thread.join()
    return sample(np.array(taken_ns))


def sample(taken_ns: np.ndarray) -> Sample:
    values, counts = np.unique(taken_ns.astype(np.int64), return_counts=True)
    return Sample(values, values, counts.astype(np.int64))


@pytest.mark.skipif(sys.platform != "linux", reason="other kernels delay ACKs by other times")
def test_a_server_that_writes_head_and_body_apart_is_found() -> None:
    assert delayed_ack_share(latencies_of(apart)) > 0.3


def test_a_server_that_writes_a_response_at_once_is_not() -> None:
    assert delayed_ack_share(latencies_of(together)) == 0.0


def test_a_few_latencies_of_a_busy_machine_are_no_cluster() -> None:
    few, many = (sample(np.array([100_000] * 1000 + [44_000_000] * number)) for number in (5, 50))
    assert delayed_ack_share(few) == 0.0
    assert delayed_ack_share(many) > 0.04


@pytest.mark.parametrize("spread_ms", [5, 8, 20])
def test_a_service_that_takes_40_ms_is_not(spread_ms: float) -> None:
    rng = np.random.default_rng(1)
    for mean_ms in (30, 36, 40, 43, 46, 48, 50, 60):
        assert delayed_ack_share(sample(1e6 * np.maximum(1, rng.normal(mean_ms, spread_ms, 10_000)))) == 0.0


def test_a_tail_that_reaches_over_40_ms_is_not() -> None:
    rng = np.random.default_rng(2)
    assert delayed_ack_share(sample(1e6 * rng.exponential(8, 100_000))) == 0.0
    assert delayed_ack_share(sample(1e6 * rng.lognormal(0, 1.5, 100_000))) == 0.0


def found(run: Path) -> tuple[Check, list[str]]:
    validity = judge(run, Manifest.read(run / "run.json"))
    return next(check for check in validity.checks if check.name == "delayed ACK"), validity.findings


def test_a_run_whose_latencies_cluster_there_has_a_finding_and_stays_valid(tmp_path: Path) -> None:
    """Of the run's own stall of 38 ms and its recovery, nothing is said."""
    usual, _ = found(make_run(tmp_path / "usual", Shape(profiled=False)))
    assert usual.outcome == "pass"
    check, findings = found(make_run(tmp_path / "apart", Shape(profiled=False, acked_late=0.02)))
    assert check.outcome == "note"
    (finding,) = findings
    assert finding.startswith("latencies cluster at 40 ms, the time of a delayed ACK: ")
