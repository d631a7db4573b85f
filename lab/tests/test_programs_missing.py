"""Tests that need a program that is missing are skipped, with the package to install; under CI they fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
WORDS = ["report/test_browser.py", "runtime/test_monitoring.py", "-k", "browser or loopback or killed_and_started"]


def run_tests(
    directory: Path, there: list[str], words: list[str], **environment: str
) -> subprocess.CompletedProcess[str]:
    for tool in there:
        (directory / tool).write_text("#!/bin/sh\n")
        (directory / tool).chmod(0o755)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *words],
        cwd=TESTS,
        env={"PATH": str(directory), "HOME": str(directory), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("there", "missing", "more"),
    [
        ([], ["Chromium is missing (Debian: apt install chromium chromium-driver)",
              "prometheus is missing (Debian: apt install prometheus)"], ["-n", "2"]),
        (["chromium", "prometheus"], ["chromedriver is missing (Debian: apt install chromium-driver)",
                                      "prometheus-node-exporter is missing (Debian: "], []),
    ],
)  # fmt: skip
def test_what_is_missing_is_named_with_its_package(
    tmp_path: Path, there: list[str], missing: list[str], more: list[str]
) -> None:
    told = tmp_path / "told"
    done = run_tests(tmp_path, there, [*WORDS, *more], TESTS_LEFT_OUT=str(told))
    assert done.returncode == 0, done.stdout
    skipped = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    left_out = told.read_text().splitlines()
    assert len(left_out) == len(missing), left_out
    assert all(line.startswith("not run: ") for line in left_out)
    for lines in (skipped, left_out):
        assert [line for line in lines if not any(one in line for one in missing)] == []
        assert [one for one in missing if not any(one in line for line in lines)] == []


def test_under_ci_nothing_may_be_missing(tmp_path: Path) -> None:
    done = run_tests(tmp_path, [], WORDS, CI="true")
    assert done.returncode == 1, done.stdout
    for tool in ("Chromium", "prometheus"):
        assert f"{tool} is missing (Debian: apt install " in done.stdout
    assert "under CI this test must run" in done.stdout
    assert " passed" not in done.stdout
