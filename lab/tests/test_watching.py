"""Observing a run: metrics, the timeline, the host."""

from __future__ import annotations

import csv
import itertools
import os
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.machine.host import cpu_times, listener_on, port_is_free
from lab.prometheus import parse_metrics, scrape, warm_up_scrapes
from lab.timeline import Timeline, Watched

TEXT = """\
# HELP lsmlab_requests_total Requests.
# TYPE lsmlab_requests_total counter
lsmlab_requests_total{status="200",method="get"} 12
lsmlab_requests_total{method="get",status="404"} 1 1700000000000
lsmlab_request_seconds_bucket{le="0.001"} 5
lsmlab_request_seconds_sum 0.25
lsmlab_odd{text="a \\"quoted\\", b"} 3
lsmlab_queue_depth NaN
not a sample
"""


def test_samples_are_read_with_sorted_labels_and_without_buckets() -> None:
    samples = parse_metrics(TEXT)
    assert samples['lsmlab_requests_total{method="get",status="200"}'] == 12
    assert samples['lsmlab_requests_total{method="get",status="404"}'] == 1
    assert samples["lsmlab_request_seconds_sum"] == 0.25
    assert samples['lsmlab_odd{text="a \\"quoted\\", b"}'] == 3
    assert not any("bucket" in name for name in samples)
    assert len(samples) == 5


def test_counters_keep_the_name_that_they_have_in_the_page() -> None:
    page = "# TYPE a counter\na 1\n# TYPE b_total counter\nb_total 2\n# TYPE c histogram\nc_sum 3\nc_count 4\n"
    assert parse_metrics(page) == {"a": 1, "b_total": 2, "c_sum": 3, "c_count": 4}


def test_labels_that_differ_only_in_what_is_escaped_stay_apart() -> None:
    series = [
        r'a{b="1",c="2"}',
        r'a{b="1\",c=\"2"}',
        r'a{b="1\\",c="2"}',
        r'a{b="\n"}',
        r'a{b="\\n"}',
        'a{b="{x},\u2028y"}',
    ]
    page = "\n".join(f"{name} {value}" for value, name in enumerate(series))
    assert parse_metrics(page) == {name: value for value, name in enumerate(series)}


def test_a_damaged_line_affects_no_other_sample() -> None:
    damaged = ['a{b="1', 'a{b="1"}', 'a{b="1"} x', "a{b} 1", 'a{="1"} 1', 'a{b="1", ="2"} 1', "a", "a 1_0", "1 2"]
    damaged.append('lsm}ab{a="1"} 0')
    for line in [*damaged, "a 1 " + "9" * 400, "a " + "9" * 400]:
        assert parse_metrics(f"before 1\n{line}\nafter 2") == {"before": 1, "after": 2}, line


@given(st.text(st.sampled_from('ab_:{}=",\\ \t\r\n#19.e+-N\u2028'), max_size=60))
def test_no_page_is_an_error(page: str) -> None:
    for name, value in parse_metrics(page).items():
        assert name
        assert isinstance(value, float)


def test_nothing_is_read_if_nobody_answers() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        assert scrape(f"http://127.0.0.1:{probe.getsockname()[1]}/metrics", timeout_s=0.2) == {}


def test_a_service_is_scraped_over_and_over_until_the_time_is_over_or_it_does_not_respond() -> None:
    counts = {"/all/metrics": 0, "/100/metrics": 0}

    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            counts[self.path] += 1
            self.send_response(500 if self.path == "/100/metrics" and counts[self.path] > 100 else 200)
            self.end_headers()
            self.wfile.write(b"lsmlab_tables 8\n")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    warm_up_scrapes(f"{url}/100/metrics", duration_s=3600)
    warm_up_scrapes(f"{url}/all/metrics", duration_s=0)
    server.shutdown()
    server.server_close()
    assert counts == {"/100/metrics": 101, "/all/metrics": 1}


def test_scrapes_of_a_warm_up_end_at_once_if_the_service_does_not_respond() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    begin = time.monotonic()
    warm_up_scrapes(f"http://127.0.0.1:{port}/metrics", duration_s=60)
    assert time.monotonic() - begin < 30


def rows_of(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def wait_for_row(path: Path, condition: Callable[[dict[str, str]], object]) -> None:
    deadline = time.monotonic() + 60
    while not any(map(condition, rows_of(path))):
        assert time.monotonic() < deadline, rows_of(path)
        time.sleep(0.02)


def test_a_timeline_keeps_no_written_row_in_memory_and_appends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, timeline = tmp_path / "timeline.csv", Timeline(Watched(service_metrics_url="http://a.service"))
    numbers = itertools.count()

    def values(_: str) -> dict[str, float]:
        number = next(numbers)
        wide = {f"column_{i}": float(number) for i in range(50)}
        return wide | ({"late": 1.0} if number >= 900 else {})

    monkeypatch.setattr("lab.timeline.scrape", values)
    timeline.write_to(path)
    files = set()
    for number in range(1_000):
        timeline._collect()
        files.add(path.stat().st_ino)
        if number == 99:
            tracemalloc.start()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 100_000, "900 rows of 52 columns are megabytes"
    assert len(files) <= 3, "the first row, and the late column, make the file again"
    rows = rows_of(path)
    assert [float(row["column_7"]) for row in rows] == list(range(1_000))
    assert [row["late"] for row in rows] == [""] * 900 + ["1"] * 100


def test_the_timeline_takes_in_columns_that_come_later_and_stays_readable(tmp_path: Path) -> None:
    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"lsmlab_tables 8\n")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    watched = Watched()
    timeline = Timeline(watched)
    path = tmp_path / "timeline.csv"
    timeline.start()
    timeline.write_to(path)
    wait_for_row(path, lambda row: True)
    watched.service_metrics_url = f"http://127.0.0.1:{server.server_port}/metrics"
    wait_for_row(path, lambda row: row.get("lsmlab_tables"))
    timeline.stop()
    server.shutdown()
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 3
    assert list(rows[0])[:2] == ["time", "t_s"]
    assert rows[0]["lsmlab_tables"] == ""
    assert rows[-1]["lsmlab_tables"] == "8"
    assert float(rows[-1]["t_s"]) >= 1
    assert None not in rows[-1], "no row is longer than the header"


def test_the_cpus_add_up_to_the_machine() -> None:
    times = cpu_times()
    assert times["cpu"].total >= times["cpu"].busy >= times["cpu"].steal
    assert len(times) == 1 + len([name for name in times if name != "cpu"])


def test_the_owner_of_a_port_is_found() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert not port_is_free("127.0.0.1", port)
        assert f"process {os.getpid()} (" in (listener_on(port) or "")
    assert port_is_free("127.0.0.1", port)
    assert listener_on(port) is None


def test_a_timeline_on_a_full_disk_reports_that_and_loses_no_row(tmp_path: Path) -> None:
    place = tmp_path / "place"
    timeline = Timeline(Watched())
    timeline.write_to(place / "timeline.csv")  # the directory is missing, which is like a full disk
    for _ in range(3):
        timeline._collect()
    assert timeline.problem == "timeline.csv cannot be written: No such file or directory"
    place.mkdir()
    timeline._collect()
    assert timeline.problem == ""
    with (place / "timeline.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 4


def test_a_timeline_that_fails_reports_that(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise RuntimeError("no memory")

    timeline = Timeline(Watched(service_metrics_url="http://a.service"))
    monkeypatch.setattr("lab.timeline.scrape", fail)
    timeline.start()
    timeline.stop()
    assert timeline.problem == "the timeline ended early: RuntimeError: no memory"
