"""Compares the profiles of the two sides by `profile diff`, into the comparison's directory."""

from __future__ import annotations

from pathlib import Path

from lab.compare.page import DIFF
from lab.diff import RECORDING, diff_recordings
from lab.errors import LabError
from lab.paths import Checkout


def compare_profiles(checkout: Checkout, directory: Path, sides: tuple[Path, Path], titles: tuple[str, str]) -> None:
    """Write diff/ if both sides were profiled. If that fails, diff/problem.txt says why; the page shows it too."""
    recordings = [(side / RECORDING).parent for side in sides if (side / RECORDING).is_file()]
    if len(recordings) != 2:
        return
    try:
        diff_recordings(checkout, ([recordings[0]], [recordings[1]]), titles, directory / DIFF)
    except LabError as error:
        (directory / DIFF).mkdir(exist_ok=True)
        (directory / DIFF / "problem.txt").write_text(f"{error.message}\n", encoding="utf-8")
