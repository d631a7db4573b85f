"""`lab diff`: which recordings a name means, and the error if there are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from lab.cli.comparisons import print_difference
from lab.diff import ProfilerError, recordings
from lab.errors import InputError
from lab.paths import Checkout


def _run(root: Path, name: str, *, profiled: bool = True) -> Path:
    directory = root / "results" / name
    (directory / "profile").mkdir(parents=True)
    (directory / "run.json").write_text("{}")
    if profiled:
        (directory / "profile/profile.json").write_text("{}")
    return directory / "profile"


def test_a_name_means_a_run_or_all_runs_of_an_experiment(tmp_path: Path) -> None:
    first, second = _run(tmp_path, "stack-get/20261121T091433Z"), _run(tmp_path, "stack-get/20261122T091433Z")
    _run(tmp_path, "stack-get/20261123T091433Z", profiled=False)
    checkout = Checkout(tmp_path)
    assert recordings(checkout, "stack-get") == [first, second]
    assert recordings(checkout, "stack-get/20261122T091433Z") == [second]
    assert recordings(checkout, str(first.parent)) == [first]


def test_missing_recordings_and_a_missing_profiler_are_errors(tmp_path: Path) -> None:
    _run(tmp_path, "stack-get/1")
    _run(tmp_path, "queue-get/1", profiled=False)
    checkout = Checkout(tmp_path)
    with pytest.raises(InputError, match="stack-get"):
        recordings(checkout, "stack-gte")
    with pytest.raises(InputError, match="PROFILE=off"):
        recordings(checkout, "queue-get/1")
    with pytest.raises(ProfilerError, match="make build-profiler"):
        print_difference(Console(), checkout, "stack-get", "stack-get/1", force=False)


def test_into_a_pipe_the_tables_are_plain_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _run(tmp_path, "stack-get/1")
    program = tmp_path / "profiler/target/release/profile"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho '| Category | A [%] |'\n")
    program.chmod(0o755)
    console = Console(width=1000)
    print_difference(console, Checkout(tmp_path), "stack-get/1", "stack-get/1", force=False)
    assert capsys.readouterr().out.splitlines()[0] == "| Category | A [%] |"
