"""Work directories, and the locks of a run: kernel locks, so they are gone with the process, however it ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from pathlib import Path
from typing import IO

from lab.errors import RunError
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


class OneAtATime:
    """The right to measure in this checkout: held by one lab from preflight to its end, or death."""

    def __init__(self, house: House) -> None:
        self._path = house.cache / "run.lock"
        self._file: IO[str] | None = None

    @property
    def held(self) -> bool:
        """Whether this lab has it."""
        return self._file is not None

    def take(self, what: str) -> None:
        """Take it. RunError, naming who has it, where another lab measures: each would be the other's noise."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip()
            file.close()
            raise RunError(
                f"another run goes on in this checkout{f': {holder}' if holder else ''}",
                "Wait for its end, or end it: two at once would measure each other",
            ) from None
        file.truncate(0)
        file.write(f"process {os.getpid()}, {what}\n")
        file.flush()
        self._file = file

    def release(self) -> None:
        """Give it back. Idempotent."""
        file, self._file = self._file, None
        if file is not None:
            file.truncate(0)
            file.close()


def remove_stale(house: House, progress: Progress) -> None:
    """Remove the work directories of labs that are dead."""
    with contextlib.suppress(FileNotFoundError):
        for path in house.work.iterdir():
            if path.is_dir() and not is_held(path):
                progress(f"removing {path.name}, left by a run that was killed")
                shutil.rmtree(path, ignore_errors=True)
