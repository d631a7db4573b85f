"""Work directories, and the locks of a run: kernel locks, so they end with the process, however it ends.

They do not use filelock: in a sticky directory such as /tmp it refuses a lock file that another user made. And asking
it whether a lock is held would create the file.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from pathlib import Path
from typing import IO

from lab.errors import RunError
from lab.paths import Checkout
from lab.progress import Progress

LOCK = "lock"
"""The file in a work directory that its lab has locked."""


class WorkDirectory:
    """The scratch directory of this run; the lock is held until `remove()` or the process's death."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self._lock: IO[str] | None = (path / LOCK).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def fresh(self, name: str) -> Path:
        """Return a new directory in it, and remove the earlier ones: only one service runs at a time."""
        for older in self.path.iterdir():
            if older.is_dir():
                shutil.rmtree(older)
        directory = self.path / name
        directory.mkdir()
        return directory

    def remove(self) -> None:
        """Remove it with everything in it. Idempotent."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()
            self._lock = None


class RunLock:
    """The right to measure on this machine: one lab holds it from preflight to its end, or death."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    @property
    def held(self) -> bool:
        """Whether this lab holds it."""
        return self._file is not None

    def take(self, what: str) -> None:
        """Take it. RunError, which names the holder, if another lab measures: each would disturb the other."""
        try:
            file = _open_for_all(self._path)
        except OSError as error:
            raise RunError(
                f"the lock of this machine's runs cannot be opened: {self._path}: {error.strerror}",
                "Remove it, or name another file: LAB_LOCK=/path/to/lock",
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip()
            file.close()
            raise RunError(
                f"another run is in progress on this machine{f': {holder}' if holder else ''}",
                "Wait until it ends, or end it: two runs at once would disturb each other",
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


def _open_for_all(path: Path) -> IO[str]:
    """Open the lock so that every user of this machine can open it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        descriptor = os.open(path, flags | os.O_CREAT, 0o666)
        os.fchmod(descriptor, 0o666)  # despite the umask
    return os.fdopen(descriptor, "r+")


def remove_stale(checkout: Checkout, progress: Progress) -> None:
    """Remove the work directories of labs that are dead."""
    with contextlib.suppress(FileNotFoundError):
        for path in checkout.work.iterdir():
            if path.is_dir() and not is_held(path):
                progress(f"removing {path.name}, left by a run that was killed")
                shutil.rmtree(path, ignore_errors=True)


def is_held(work_dir: Path) -> bool:
    """Whether a living lab owns this work directory."""
    try:
        with (work_dir / LOCK).open("r") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
