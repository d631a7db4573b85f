"""Brief commands leave nothing behind, whenever they are interrupted."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.process import commands
from lab.process.commands import run_bytes, run_text
from lab.process.interrupts import interrupt


@pytest.fixture
def child(tmp_path: Path) -> Iterator[list[str]]:
    """A command that waits for a child of its own, whose lock says whether it lives."""
    lock = tmp_path / "lock"
    lock.touch()
    yield ["sh", "-c", f"flock {lock} sleep 600 & wait"]
    assert subprocess.run(["flock", "-w", "60", str(lock), "true"], check=False).returncode == 0


def test_the_output_and_the_exit_code_are_the_commands() -> None:
    done = run_text(["sh", "-c", "cat; echo 'a\\377b'; echo no >&2; exit 3"])
    assert (done.stdout, done.stderr, done.returncode) == ("a\udcffb\n", "no\n", 3)
    assert run_bytes(["cat"], stdin=b"text").stdout == b"text"


def test_a_command_that_takes_too_long_ends_with_its_children(child: list[str]) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run_bytes(child, limit_s=0.2)


def test_an_interrupt_in_the_middle_of_a_start_leaves_nothing_running(
    child: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *words: object, **options: object) -> None:
            super().__init__(*words, **options)  # type: ignore[call-overload]
            interrupt(KeyboardInterrupt())

    monkeypatch.setattr(commands.subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_bytes(child)
    monkeypatch.undo()
