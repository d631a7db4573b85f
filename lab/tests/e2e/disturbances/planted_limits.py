"""Limits planted on a running process by a control group: a quota of CPU time, and memory that is taken away.

They need root, and control groups of version 1 or 2 with the controller; without them a test is skipped.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
_READ_AS_MEMBER = 'echo $$ > "$1/cgroup.procs" && shift && exec cat "$@"'


@contextlib.contextmanager
def group_with(controller: str) -> Iterator[Path]:
    """Make a control group, in place of one that a killed test left; the test is skipped if that is impossible."""
    version_1 = (ROOT / controller).is_dir()
    group = (ROOT / controller if version_1 else ROOT) / "lsmlab-test"
    try:
        if not version_1:
            (ROOT / "cgroup.subtree_control").write_text(f"+{controller}")
        if group.exists():
            group.rmdir()  # fails while processes are in it
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group with the controller {controller} can be made: {error}")
    try:
        yield group
    finally:
        for _ in range(100):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.1)


def throttle(pid: int, group: Path, share: float, seconds: float) -> None:
    """Give a process `share` of a CPU for some seconds."""
    quota_us = int(PERIOD_US * share)
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
    else:
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    with _member(pid, group, "cpu"):
        time.sleep(seconds)


def read_into_cache(group: Path, files: Sequence[Path]) -> None:
    """Have the cached pages of files belong to the group: a page belongs to the group that reads it first.

    Pages that a process has mapped stay in their group.
    """
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
    words = ["sh", "-c", _READ_AS_MEMBER, "sh", str(group), *map(str, files)]
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)


def take_memory(pid: int, group: Path, share: float, seconds: float) -> None:
    """Put a process into the group, and take `share` of its memory from the group for some seconds."""
    version_1 = (group / "memory.usage_in_bytes").exists()
    used, limit, none = ("usage_in_bytes", "limit_in_bytes", "-1") if version_1 else ("current", "high", "max")
    with _member(pid, group, "memory"):
        used_bytes = int((group / f"memory.{used}").read_text())
        try:
            (group / f"memory.{limit}").write_text(str(int(used_bytes * (1 - share))))
            time.sleep(seconds)
        finally:
            (group / f"memory.{limit}").write_text(none)


@contextlib.contextmanager
def _member(pid: int, group: Path, controller: str) -> Iterator[None]:
    """Have a process in the group, and then back where it was."""
    line = next(
        line
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        if line.startswith("0::") or controller in line.split(":")[1].split(",")
    )
    home = group.parent / line.split(":", 2)[2].lstrip("/")
    (group / "cgroup.procs").write_text(str(pid))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            (home / "cgroup.procs").write_text(str(pid))
