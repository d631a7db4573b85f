"""Tests that need a program that is missing are skipped, with the package to install; under CI they fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
PAGES = ["report/test_browser.py"]
PROMETHEUS = ["runtime/test_monitoring.py", "-k", "loopback or once_a_second or killed_and_started"]


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
    ("tests", "there", "missing"),
    [
        (PAGES, ["chromium"], "chromedriver is missing (Debian: apt install chromium-driver)"),
        ([*PAGES, "-n", "2"], [], "Chromium is missing (Debian: apt install chromium chromium-driver)"),
        (PROMETHEUS, [], "prometheus is missing (Debian: apt install prometheus)"),
        (PROMETHEUS, ["prometheus"], "prometheus-node-exporter is missing"),
    ],
)
def test_what_is_missing_is_named_with_its_package(
    tmp_path: Path, tests: list[str], there: list[str], missing: str
) -> None:
    told = tmp_path / "told"
    done = run_tests(tmp_path, there, tests, TESTS_LEFT_OUT=str(told))
    assert done.returncode == 0, done.stdout
    skipped = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    assert skipped
    assert all(missing in line for line in skipped), done.stdout
    (line,) = told.read_text().splitlines()
    assert line.startswith("not run: ")
    assert missing in line


@pytest.mark.parametrize("tests", [PAGES, PROMETHEUS])
def test_under_ci_nothing_may_be_missing(tmp_path: Path, tests: list[str]) -> None:
    done = run_tests(tmp_path, [], tests, CI="true")
    assert done.returncode == 1, done.stdout
    assert "is missing (Debian: apt install " in done.stdout
    assert "under CI this test must run" in done.stdout
