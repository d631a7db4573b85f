"""`lab profile-window`: a part of a recording, drawn beside the run and not over its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.checkout import FakeCheckout

PROFILER = """#!/bin/sh
case "$*" in *"--to 1ms"*) echo "profile: the window is empty" >&2; exit 1;; esac
out=$3
test -f "$out/profile.jfr" && test -n "$JAVA_HOME" && echo "$@" >"$out/words"
"""
RUN = "stack-get/20261121T091433Z"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with a profiled run and a profiler that notes its words."""
    recording = tmp_path / "results" / RUN / "profile"
    recording.mkdir(parents=True)
    (recording / "profile.json").write_text('{"title": "LIFO"}')
    (recording / "profile.jfr").write_text("FLR")
    program = tmp_path / "profiler/target/release/profile"
    program.parent.mkdir(parents=True)
    program.write_text(PROFILER)
    program.chmod(0o755)
    finder = tmp_path / "bin/find-jdk"
    finder.parent.mkdir()
    finder.write_text("#!/bin/sh\necho /a/jdk\n")
    finder.chmod(0o755)
    return tmp_path


def window(root: Path, *words: str) -> tuple[int, str]:
    return FakeCheckout(root).lab("profile-window", *words)


@pytest.mark.parametrize("name", [RUN, "stack-get"])
def test_a_window_is_drawn_into_a_directory_of_its_own(root: Path, name: str) -> None:
    code, output = window(root, name, "--from", "10s", "--to", "0.5m")
    out = root / "results/window/stack-get-20261121T091433Z-from-10000ms-to-30000ms"
    assert (code, output) == (0, f"{out}\n")
    title = "LIFO · from 10s to 0.5m"
    assert (out / "words").read_text() == f"convert --out {out} --title {title} --from 10000ms --to 30000ms\n"
    assert not (out / "profile.jfr").exists(), "the recording is in the run"
    assert sorted(path.name for path in (root / "results" / RUN / "profile").iterdir()) == [
        "profile.jfr",
        "profile.json",
    ]


@pytest.mark.parametrize(
    ("words", "expected", "message"),
    [
        ([RUN], 2, "FROM and TO are missing: give one or both, such as FROM=10s TO=20s"),
        ([RUN, "--from", "10"], 2, "FROM: '10' is not a number with a unit of us, ms, s, m or h"),
        ([RUN, "--to", "../../x"], 2, "TO: '../../x' is not a number with a unit"),
        ([RUN, "--from=-1s"], 2, "FROM: '-1s' is before the recording's beginning"),
        (["stack-gte", "--from", "1s"], 2, "did you mean stack-get"),
        ([RUN, "--to", "1ms"], 1, "the window is empty"),
    ],
)
def test_a_wrong_window_is_refused_and_leaves_nothing(
    root: Path, words: list[str], expected: int, message: str
) -> None:
    code, output = window(root, *words)
    assert code == expected, output
    assert message in output
    assert not list((root / "results").glob("window/*"))


def test_a_run_without_its_recording_is_named(root: Path) -> None:
    (root / "results" / RUN / "profile/profile.jfr").unlink()
    code, output = window(root, RUN, "--from", "1s")
    assert code == 2
    assert "profile.jfr is missing" in output
