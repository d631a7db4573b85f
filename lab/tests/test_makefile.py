"""The Makefile: its help lists every target that is for users, and settings reach the lab."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from importlib import import_module
from pathlib import Path

import pytest
import typer

from lab.cli.app import COMMANDS
from lab.cli.settings import SETTINGS

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


def asked(*words: str) -> list[list[str]]:
    """The words of each command that make would run."""
    return [shlex.split(line) for line in make("-n", *words).replace("\\\n", " ").splitlines()]


@pytest.mark.parametrize("target", ["results", "check"])
def test_a_name_is_passed_to_the_lab(target: str) -> None:
    assert asked(target, "NAME=stack-get")[0] == ["bin/lab", target, "--", "stack-get"]
    assert asked(target)[0] == ["bin/lab", target]


def test_settings_become_options_and_flags_whatever_their_values() -> None:
    commands = asked("results", "SERVICE=it's a 'queue'", "SINCE=7d", "VALID=1", "LAST=5")
    words = " ".join(commands[0])
    for option in ("--service it's a 'queue'", "--since 7d", "--valid", "--last 5"):
        assert f" {option}" in words
    assert commands[-1] == ["bin/lab", "index"]
    (suite,) = asked("suite", "NAME=queues", "QUEUE_CAPACITY=3", "RESUME=0", "FORCE=1")
    assert suite[:2] + suite[-2:] == ["bin/lab", "suite", "--", "queues"]
    assert sorted(suite[2:-2]) == ["--force", "--queue-capacity", "3"]
    assert asked("suite", "NAME=queues", "RESUME=") == [["bin/lab", "suite", "--", "queues"]]
    assert asked("suite", "NAME=queues", "FORCE=yes")[0][2] == "--force=yes", "the lab refuses it"


def test_several_names_keep_their_order() -> None:
    (words,) = asked("compare", "B=b VARIANT=stack", "A=a", "X=3%")
    assert words == ["bin/lab", "compare", "--x", "3%", "--", "a", "b VARIANT=stack"]
    assert asked("compare", "D=d", "A=a", "C=c", "B=b") == [["bin/lab", "compare", "--", "a", "b", "c", "d"]]


def test_a_missing_name_is_an_error_before_the_lab_starts() -> None:
    for words, missing in ((["experiment"], "NAME"), (["compare", "A=a"], "B"), (["search", "NAME=a"], "SLO")):
        done = subprocess.run(["make", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert f"{missing} is missing" in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_setting_that_a_command_would_ignore_is_refused(command: str) -> None:
    group = typer.main.get_group(import_module(f"lab.cli.{COMMANDS[command].module}").commands)
    found = group.get_command(None, command)
    taken = {parameter.name for parameter in found.params}
    for name, setting in SETTINGS.items():
        option = "--" + name.replace("_", "-")
        words = [option] if setting.flag else [option, "1"]
        with pytest.raises(Exception) as caught:  # noqa: PT011 - the parser's classes are private
            found.make_context(command, [*words, "--no-such-option"])
        refused = getattr(caught.value, "option_name", "")
        assert refused == ("--no-such-option" if name in taken else option), f"{command} {option}"


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
