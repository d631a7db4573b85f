"""Work directories: the scratch of one run under .cache/work, with a lock that says whether its lab still lives."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from pathlib import Path
from typing import IO

from lab.paths import House
from lab.runtime.base import Progress
from lab.runtime.local_checks import LOCK, is_held


class WorkDirectory:
    """The scratch directory of this run; the lock is held until `remove()` or the process's death."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self._lock: IO[str] | None = (path / LOCK).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def fresh(self, name: str) -> Path:
        """Return a new directory in it, and remove those made before: only one service runs at a time."""
        for older in self.path.iterdir():
            if older.is_dir():
                shutil.rmtree(older)
        directory = self.path / name
        directory.mkdir()
        return directory

    def remove(self) -> None:
        """Remove it with all that is in it. Idempotent."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def remove_stale(house: House, progress: Progress) -> None:
    """Remove the work directories of labs that are dead."""
    with contextlib.suppress(FileNotFoundError):
        for path in house.work.iterdir():
            if path.is_dir() and not is_held(path):
                progress(f"removing {path.name}, left by a run that was killed")
                shutil.rmtree(path, ignore_errors=True)
