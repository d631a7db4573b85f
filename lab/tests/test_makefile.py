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


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A checkout with the real Makefile, whose tools note how they were called; those that `broken` names fail."""
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    tool = f"""#!/bin/bash
echo "$0 $*" >>{tmp_path}/calls
case " $0 $* " in
  *check.py*) echo "not run: the rules" >>"$TESTS_LEFT_OUT" ;;
esac
while read -r broken; do case "$0 $*" in *"$broken"*) exit 1 ;; esac; done <{tmp_path}/broken
"""
    for name in ("bin/lab", "bin/find-jdk", ".venv/bin/pytest", ".venv/bin/python", "tools/mvn", "tools/cargo"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tool)
        path.chmod(0o755)
    built = (
        "service/server/target/service",
        "loadgen/target/release",
        "profiler/target/release",
        "profiler/target/lib",
    )
    for directory in built:
        (tmp_path / directory).mkdir(parents=True)
    (tmp_path / "profiler/pom.xml").touch()
    (tmp_path / "broken").touch()
    return tmp_path


def run_all_tests(room: Path) -> tuple[int, list[str], str]:
    """Run `make test`; return its exit code, the lines that it ends with, and the calls of its tools."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    environment["PATH"] = f"{room}/tools:{environment['PATH']}"
    done = subprocess.run(["make", "test"], cwd=room, env=environment, capture_output=True, text=True, check=False)
    told = [line for line in done.stdout.splitlines() if line.startswith(("failed: ", "not run: "))]
    return done.returncode, told, (room / "calls").read_text()


def test_all_tests_end_with_what_was_left_out(room: Path) -> None:
    code, told, _ = run_all_tests(room)
    assert (code, told) == (0, ["not run: the rules"])


@pytest.mark.parametrize(
    ("broken", "failed"),
    [
        ("--ignore lab/tests/e2e", ["make test-lab"]),
        ("-ra -n 2 lab/tests/e2e", ["make test-e2e"]),
        ("cargo build", ["make build", "make test-e2e"]),
        ("cargo test", ["make compile-loadgen-tests", "make test-profiler", "make test-loadgen"]),
        ("service/pom.xml test", ["make test-service"]),
    ],
)
def test_a_room_that_fails_keeps_no_other_from_running(room: Path, broken: str, failed: list[str]) -> None:
    """What needs a build that failed fails too; everything else is tested, and the last lines say what failed."""
    (room / "broken").write_text(f"{broken}\n")
    code, told, calls = run_all_tests(room)
    assert code != 0
    assert sorted(told) == sorted([*(f"failed: {name}" for name in failed), "not run: the rules"])
    for room_test in ("--ignore lab/tests/e2e", "service/pom.xml test", "test --quiet", "check.py", "-pl bench"):
        assert room_test in calls, room_test
