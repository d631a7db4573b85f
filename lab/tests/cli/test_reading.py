"""`lab report` and `lab parse-load`, as a user calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from report.synthesis import Shape, make_run

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
    done = lab("report", str(run))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(run / "report.html")
    assert (run / "report.html").stat().st_size > 10_000
