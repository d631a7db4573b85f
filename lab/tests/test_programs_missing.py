"""If the browser's driver is missing, tests that open pages are skipped, with the package to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent


@pytest.mark.parametrize(
    ("there", "missing"),
    [(["chromium"], "chromedriver is missing (Debian: apt install chromium-driver)"), ([], "Chromium is missing")],
)
def test_a_missing_browser_or_driver_is_one_line_that_names_the_package(
    tmp_path: Path, there: list[str], missing: str
) -> None:
    for tool in there:
        (tmp_path / tool).write_text("#!/bin/sh\n")
        (tmp_path / tool).chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", str(TESTS / "report/test_browser.py")],
        cwd=TESTS.parent,
        env={"PATH": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    skipped = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    assert len(skipped) == 1, done.stdout
    assert missing in skipped[0]
