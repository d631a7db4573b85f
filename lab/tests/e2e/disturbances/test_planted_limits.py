"""The control group that other tests plant limits with, in a directory that stands in for the control groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import planted_limits


@pytest.mark.parametrize("left_by_a_killed_test", [False, True])
def test_a_group_is_made_again_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_by_a_killed_test: bool
) -> None:
    monkeypatch.setattr(planted_limits, "ROOT", tmp_path)
    stale = tmp_path / "cpu" / "lsmlab-test"
    (stale if left_by_a_killed_test else stale.parent).mkdir(parents=True)
    try:
        with planted_limits.group_with("cpu") as group:
            assert group == stale
            assert list(group.iterdir()) == []
    except pytest.skip.Exception as skipped:
        pytest.fail(f"skipped: {skipped}")
    assert not stale.exists()
