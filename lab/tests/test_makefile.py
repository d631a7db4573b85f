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
def test_a_name_is_passed_to_the_lab(target: str) -> None:
    def asked(*words: str) -> str:
        return " ".join(make("-n", target, *words).replace("\\\n", " ").splitlines()[0].split())

    assert asked("NAME=stack-get") == f"bin/lab {target} -- 'stack-get'"
    assert asked() == f"bin/lab {target}"


def test_results_are_filtered_and_written_as_a_page() -> None:
    words = make("-n", "results", "VARIANT=queue", "SINCE=7d", "VALID=1", "LAST=5").replace("\\\n", " ").splitlines()
    assert words[0].split() == [
        "bin/lab",
        "results",
        "--variant",
        "'queue'",
        "--since",
        "'7d'",
        "--valid",
        "--last",
        "'5'",
    ]
    assert words[-1] == "bin/lab index"


def test_a_suite_gets_the_settings() -> None:
    given = ("NAME=queues", "SCALE=auto", "ROUNDS=7", "RESUME=1", "FORCE=1")
    words = make("-n", "suite", *given).replace("\\\n", " ").split()
    assert words == ["bin/lab", "suite", "'queues'", "--rounds", "'7'", "--scale", "'auto'", "--resume", "--force"]


def test_a_window_of_a_recording_has_its_bounds() -> None:
    given = ("RUN=stack-get/1", "FROM=10s", "TO=20s")
    assert "bin/lab profile-window 'stack-get/1' --from '10s' --to '20s'" in make("-n", "profile-window", *given)


@pytest.mark.parametrize(
    ("words", "unknown"),
    [
        ("suite NAME=queues RATE=20000", "RATE"),
        ("suite NAME=queues BLOCKS=10", "BLOCKS"),
        ("prune DRYRUN=1", "DRYRUN"),
        ("results ENGINE=lsm", "ENGINE"),
        ("search NAME=stack-get SLO=p99<1ms STEPS=3", "STEPS"),
        ("capacity NAME=stack-get SLO=p99<1ms", "SLO"),
        ("compare A=a B=b REPEAT=3", "REPEAT"),
        ("compare A=a B=b NAME=c", "NAME"),
        ("regress BASE=HEAD RUNTIME=docker", "RUNTIME"),
        ("findings NAME=queues ROUNDS=6", "ROUNDS"),
    ],
)
def test_a_setting_that_a_target_would_ignore_is_refused(words: str, unknown: str) -> None:
    told = make("-n", *words.split())
    assert f"no such setting: {unknown}; available: " in told
    assert told.index("exit 2") < told.index("bin/lab"), "before the lab is started"


def test_a_comparison_is_given_every_value_of_an_experiment() -> None:
    asked = make("-n", "compare", "A=a", "B=b", "SCALE=0.3", "ENGINE=null", "X=3%", "PORT=9000")
    assert asked.split() == ["bin/lab", "compare", "'a'", "'b'", "SCALE='0.3'", "ENGINE='null'", "X='3%'"]
