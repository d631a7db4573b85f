"""`lab report` and `lab parse-load`, as a user calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from report.synthesis import Shape, make_run
from support.checkout import FakeCheckout

REPORT = Path(__file__).parents[1] / "analysis/testdata/wrk2/stack-get-t4-c64-R70000-d1m.txt"


def lab(*words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lab", *words]
    source = str(Path(__file__).parents[2] / "src")
    return subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": source, "COLUMNS": "200"},
    )


def test_a_text_becomes_json() -> None:
    done = lab("parse-load", str(REPORT))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["format"] == "lsmlab-load"
    assert document["requests"] == 3593938
    assert document["latency_us"]["percentiles"]["99"] == 8320000
    assert "send_lag_us" not in document, "unknown, not zero"


def test_a_text_is_read_from_standard_input() -> None:
    done = lab("parse-load", "-", stdin=f"$ wrk2 -R70k\n{REPORT.read_text()}")
    assert json.loads(done.stdout)["rate_per_s"] == 70_000


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_a_text_may_be_encoded_as_windows_does_it(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "load.txt").write_text(REPORT.read_text(), encoding=encoding, newline="\r\n")
    done = lab("parse-load", str(tmp_path / "load.txt"))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(lab("parse-load", str(REPORT)).stdout)


def test_a_count_of_too_many_digits_is_no_count() -> None:
    done = lab("parse-load", "-", stdin=REPORT.read_text().replace("3593938 requests", f"{'9' * 400} requests"))
    assert (done.returncode, json.loads(done.stdout)["text"]["missing"]) == (0, ["… requests in …"])


def test_several_reports_are_a_list_each_with_the_rate_of_its_own_command_line() -> None:
    text = REPORT.read_text()
    done = lab("parse-load", "-", stdin=f"$ wrk2 -R70k\n{text}\nonce more:\n$ wrk2 -R80k\n\xff{text}\n{text}")
    assert done.returncode == 0, done.stderr
    documents = json.loads(done.stdout)
    assert [document["requests"] for document in documents] == [3593938] * 3
    assert [document.get("rate_per_s") for document in documents] == [70_000, 80_000, None]
    assert done.stderr == ""


def test_a_report_that_is_cut_off_is_read_as_far_as_it_goes_and_the_rest_is_named() -> None:
    text = REPORT.read_text()
    done = lab("parse-load", "-", stdin=text[: text.index("  3593938 requests")])
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["latency_us"]["percentiles"]["99"] == 8320000
    assert "requests" not in document, "unknown, not zero"
    lines = ["… requests in …", "Requests/sec: …", "Transfer/sec: …"]
    assert document["text"]["missing"] == lines
    named = ", ".join(f"'{line}'" for line in lines)
    assert done.stderr.strip() == f"standard input: the report is cut off: it lacks {named}"
    done = lab("parse-load", "-", stdin=text[: text.index("Transfer/sec")] + text)
    assert [document["requests"] for document in json.loads(done.stdout)] == [3593938] * 2
    assert "standard input, report 1: the report is cut off: it lacks 'Transfer/sec: …'" in done.stderr


@pytest.mark.parametrize(
    ("told", "instead", "doubt"),
    [
        ("requests in 1.00m", "requests in 1.25ms", "it ran for 0.00125 s and its first line says 60 s"),
        ("requests in 1.00m", "requests in 307445734491.24m", "it ran for 1.84467e+13 s and its first line says 60 s"),
        ("59899.55", "5989.55", "3,593,938 requests in 60 s are 59,898.97/s, and it says 5,989.55/s"),
        ("59899.55", "-nan", "no number in 'Requests/sec: …'"),
        ("59899.55", "NaN", "no number in 'Requests/sec: …'"),
        ("59899.55", "-5.00", "no number in 'Requests/sec: …'"),
        (" 99.900%    8.53s ", " 99.900%    -8.53s ", "no number at 99.9% of the latency"),
        ("37.22MB", "-nanB", "no number in 'Transfer/sec: …'"),
        ("2.18GB read", "infB read", "no number in '… requests in …'"),
        (" 99.900%    8.53s ", " 99.900%    nan ", "no number at 99.9% of the latency"),
        (" 99.900%    8.53s ", " 99.900%    -nans ", "no number at 99.9% of the latency"),
        (" 99.900%    8.53s ", " 99.900%    9.53s ", "the latency at 99.9% is 9.53 s and at 99.99% 8.56 s"),
        ("100.000%    8.58s ", "100.000%    5.00ms ", "the latency at 99.999% is 8.58 s and at 100% 0.005 s"),
        ("100.000%    8.58s ", "150.000%    8.58s ", "a latency at 150%"),
        (
            "    8552.447     0.999707",
            "     552.447     0.999707",
            "the spectrum of the latency falls after its row 0.999658",
        ),
        ("=     4485.914,", "=     9485.914,", "the mean of the latency is 9.48591 s and its maximum 8.56883 s"),
        ("=     4485.914,", "=         -nan,", "no number as mean of the latency"),
    ],
)
def test_figures_that_contradict_each_other_are_doubted(told: str, instead: str, doubt: str) -> None:
    text = REPORT.read_text()
    assert told in text
    done = lab("parse-load", "-", stdin=text.replace(told, instead, 1))
    assert done.returncode == 0
    assert any(doubt in found for found in json.loads(done.stdout)["text"]["doubts"])
    assert doubt in done.stderr


WRK = """\
Running 30s test @ http://127.0.0.1:8080/index.html
  12 threads and 400 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   635.91us    0.89ms  12.92ms   93.69%
    Req/Sec    56.20k     8.07k   62.00k    86.54%
  Latency Distribution
     50%  250.00us
     99%    5.80ms
  22464657 requests in 30.00s, 17.76GB read
Requests/sec: 748868.53
Transfer/sec:    606.33MB
"""
"""What wrk prints with --latency."""


def test_latencies_of_wrk_are_uncorrected() -> None:
    done = lab("parse-load", "-", stdin=WRK)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["generator"] == {"name": "wrk"}
    assert (document["requests"], document["requests_per_s"]) == (22464657, 748868.53)
    uncorrected = document["uncorrected_us"]
    assert (uncorrected["percentiles"], uncorrected["mean"]) == ({"50": 250, "99": 5800}, 635.91)
    assert not document["latency_us"].get("percentiles"), "unknown"
    assert "mean" not in document["latency_us"], "unknown"
    assert "standard input: a report of wrk: it has no constant rate, so its latencies are uncorrected" in done.stderr


@pytest.mark.parametrize(
    ("words", "stdin", "message"),
    [
        (("parse-load", "-"), "nothing of the kind", "standard input: not wrk2's output"),
        (("parse-load", "/nowhere.txt"), None, "/nowhere.txt: cannot be read: No such file"),
        (("report", "/nowhere"), None, "/nowhere/run.json: cannot be read: No such file"),
    ],
)
def test_an_unreadable_input_is_reported_without_a_traceback(
    words: tuple[str, ...], stdin: str | None, message: str
) -> None:
    done = lab(*words, stdin=stdin)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_report_is_written_again(tmp_path: Path) -> None:
    run = make_run(tmp_path, Shape(seconds=2, profiled=False))
    assert FakeCheckout(tmp_path).lab("report", str(run)) == (0, f"{run}/report.html\n")
    assert (run / "report.html").stat().st_size > 10_000


def test_a_run_is_named_as_in_the_list_of_runs(tmp_path: Path) -> None:
    run = make_run(tmp_path / "results/sync-get/20261123T101501Z", Shape(seconds=2, profiled=False))
    assert FakeCheckout(tmp_path).lab("report", f"sync-get/{run.name}") == (0, f"{run}/report.html\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="it stands for a full disk")
@pytest.mark.parametrize("page", ["report.md", "report.html"])
def test_on_a_full_disk_the_page_stays_as_it_was_and_no_part_of_a_new_one_is_left(tmp_path: Path, page: str) -> None:
    run = make_run(tmp_path, Shape(seconds=2, profiled=False))
    (run / page).write_text("as it was")
    (run / f".{page}").symlink_to("/dev/full")
    code, output = FakeCheckout(tmp_path).lab("report", str(run))
    assert (code, output.count("No space left on device")) == (1, 1), output
    assert (run / page).read_text() == "as it was"
    assert not os.path.lexists(run / f".{page}")
