"""The Makefile: its help lists every target that is for users, and settings reach the lab."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def make(*words: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", "--no-print-directory", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_help_lists_every_target_that_has_a_description() -> None:
    described = set(re.findall(r"^([\w-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    listed = {line.split()[0] for line in make("help").splitlines() if line.startswith("  ")}
    assert "test-e2e" in described
    assert described == listed


@pytest.mark.parametrize("target", ["results", "validate"])
def test_a_name_narrows_what_is_asked_for(target: str) -> None:
    assert make("-n", target, "NAME=stack-get").strip() == f"bin/lab {target} -- 'stack-get'"
    assert make("-n", target).strip() == f"bin/lab {target}"
