"""Processes that cannot outlive the lab.

Each is started in a process group of its own. So a terminal's Ctrl-C reaches the lab alone, which decides the order in
which things end, and a group can be killed with all its descendants. A watchdog kills the groups when
the lab itself is killed. `taskset` sets CPU affinity, `nice` niceness, and a shell adds the process to the watchdog's
groups; all replace themselves by the program.

All stay in the lab's session. Linux gives each session an equal share of a CPU (sched(7), "The autogroup feature") and
compares niceness and scheduling classes only within one.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from signal import SIGTERM
from typing import IO

from lab.cpu_plan import cpu_list
from lab.errors import RunError
from lab.process.interrupts import shielded

TERM_GRACE_S = 3.0
KILL_WAIT_S = 5.0
POLL_S = 0.02
# Adds its process to the groups of the watchdog, whose pipe is its standard input, and becomes the program. As the
# child does so, and holds the pipe open until then, the lab may be killed at any moment of a start. If the watchdog was
# killed, the program runs nevertheless.
WATCHED = """trap '' PIPE; echo "+$$" 2>/dev/null >&0; trap - PIPE; exec "$@" </dev/null"""


class Process:
    """One started program and its descendants."""

    def __init__(self, popen: subprocess.Popen[bytes], name: str, owner: Processes) -> None:
        self._popen = popen
        self._owner = owner
        self._reaping = threading.Lock()
        self.name = name

    @property
    def pid(self) -> int:
        """The program's pid: what starts it replaces itself by it."""
        return self._popen.pid

    @property
    def stdout(self) -> IO[bytes]:
        """The read end of its output, if it was started with a pipe."""
        if self._popen.stdout is None:
            raise RuntimeError(f"{self.name} was started without a pipe")
        return self._popen.stdout

    def alive(self) -> bool:
        """Whether it still runs; reaps it if it does not."""
        return self.exit_code() is None

    def exit_code(self) -> int | None:
        """Return the exit code, negative for a signal as in subprocess; None while it runs.

        When the program has ended, the rest of its group is killed before it is reaped: afterwards its pid may be
        another process's.
        """
        with self._reaping:
            if self._popen.returncode is None and _has_ended(self.pid):
                self._signal_group(signal.SIGKILL)
                self._popen.poll()
                self._owner.release(self)
            return self._popen.poll()

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for the end; return the exit code, or None after the timeout."""
        deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        while self.alive() and (left_s := deadline - time.monotonic()) > 0:
            if not _waited_in_the_kernel(self.pid, left_s):
                time.sleep(min(POLL_S, left_s))
        return self.exit_code()

    def signal(self, number: int) -> None:
        """Send a signal to the whole group; does nothing if the program has ended."""
        with self._reaping:
            if self._popen.returncode is None:
                self._signal_group(number)

    def end(self, grace_s: float = TERM_GRACE_S, first: int = SIGTERM) -> int | None:
        """Ask it to end, wait `grace_s`, kill it; afterwards nothing of the group remains. Idempotent."""
        if self.alive():
            self.signal(first)
            self.wait(grace_s)
        if self.alive():
            self.signal(signal.SIGKILL)
        code = self.wait(KILL_WAIT_S)
        self._owner.release(self)
        return code

    def _signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


class Processes:
    """All processes of one run. Thread-safe. `close()` ends them all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: dict[int, Process] = {}
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._closed = False

    def start(
        self,
        argv: Sequence[str],
        *,
        cpus: Sequence[int] = (),
        niceness: int = 0,
        stdout: int | IO[bytes] = subprocess.DEVNULL,
        stderr: int | IO[bytes] = subprocess.STDOUT,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        name: str = "",
    ) -> Process:
        """Start a program pinned to `cpus` (none: not pinned); with a niceness from 1 to 19 it yields to the others.

        RunError if it cannot be started, or after close().
        """
        name = name or Path(argv[0]).name
        if shutil.which(argv[0], path=os.pathsep.join(os.get_exec_path(env))) is None:
            raise RunError(f"{name} cannot be started: no such program: {argv[0]}")
        as_nice = ["nice", "-n", str(niceness)] if niceness else []
        command = [*_pinning(cpus), *as_nice, "/bin/sh", "-c", WATCHED, "sh", *argv]
        try:
            with shielded(), self._lock:
                if self._closed:
                    raise RunError(f"{name} is not started: the run is ending")
                popen = subprocess.Popen(
                    command,
                    stdin=self._watched_by(),
                    stdout=stdout,
                    stderr=stderr,
                    cwd=cwd,
                    env=None if env is None else dict(env),
                    process_group=0,
                )
                process = Process(popen, name, self)
                self._live[popen.pid] = process
        except OSError as error:
            raise RunError(f"{name} cannot be started: {error.strerror}: {argv[0]}") from error
        return process

    def run(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        cpus: Sequence[int] = (),
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        name: str = "",
        hint: str = "",
    ) -> str:
        """Run a program to its end, its output appended to `log` line by line; return its stdout and stderr together.

        RunError with the log's end if it fails. If anything interrupts the wait, the program is ended too.
        """
        process = self.start(argv, cpus=cpus, stdout=subprocess.PIPE, cwd=cwd, env=env, name=name)
        lines: deque[str] = deque(maxlen=5000)
        try:
            with log.open("a", encoding="utf-8") as file, process.stdout as pipe:
                file.write(f"$ {' '.join(argv)}\n")
                for raw in pipe:
                    line = raw.decode("utf-8", "replace").rstrip("\n")
                    file.write(line + "\n")
                    file.flush()
                    lines.append(line)
                    if on_line is not None and line.strip():
                        on_line(line.strip())
            code = process.wait()
        finally:
            process.end()
        if code != 0:
            raise RunError(
                f"{process.name} {describe_exit(code)}; its whole output is in {log}",
                hint,
                "\n".join(list(lines)[-30:]),
            )
        return "\n".join(lines)

    def release(self, process: Process) -> None:
        """Forget a process that has ended."""
        with self._lock:
            if self._live.pop(process.pid, None) is not None:
                self._tell_watchdog(f"-{process.pid}\n")

    def close(self) -> list[str]:
        """End everything, gently first, the youngest first; takes at most some seconds. Never raises.

        Returns the processes that even SIGKILL did not end in time.
        """
        with self._lock:
            self._closed = True
            live = list(self._live.values())[::-1]
        for process in live:
            process.signal(signal.SIGTERM)
        deadline = time.monotonic() + TERM_GRACE_S
        for process in live:
            process.wait(max(0.0, deadline - time.monotonic()))
        for process in live:
            process.end(0)
        left = [f"{process.name} (process {process.pid}): kill -9 {process.pid}" for process in live if process.alive()]
        with self._lock:
            watchdog, self._watchdog = self._watchdog, None
        if watchdog is not None and watchdog.stdin is not None:
            with contextlib.suppress(OSError):
                watchdog.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                watchdog.wait(5)
        return left

    def _watched_by(self) -> IO[bytes] | None:
        """Return the pipe to a watchdog that runs."""
        if self._watchdog is None or self._watchdog.poll() is not None:
            script = Path(__file__).with_name("watchdog.py")
            self._watchdog = subprocess.Popen(
                [sys.executable, "-I", "-S", str(script)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            for pid in self._live:
                self._tell_watchdog(f"+{pid}\n")
        return self._watchdog.stdin

    def _tell_watchdog(self, line: str) -> None:
        if self._watchdog is not None and self._watchdog.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # the watchdog was killed: the next start makes a new one
                self._watchdog.stdin.write(line.encode())
                self._watchdog.stdin.flush()


def _has_ended(pid: int) -> bool:
    """Return whether a child has ended, without reaping it, so that its pid stays its own.

    False where the system cannot tell (macOS). There, what a program leaves behind when it ends by itself stays.
    """
    if not hasattr(os, "waitid"):
        return False
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _waited_in_the_kernel(pid: int, timeout_s: float) -> bool:
    """Wait for the end of a process or for the timeout; False, at once, if the system cannot.

    subprocess checks twenty times a second whether a process has ended, on a CPU that a measurement may need.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, a version that is too old, or the process has ended
        return False
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll(None if timeout_s == math.inf else max(0.0, timeout_s) * 1000)
    finally:
        os.close(descriptor)
    return True


def _pinning(cpus: Sequence[int]) -> list[str]:
    if not cpus or not hasattr(os, "sched_setaffinity"):
        return []
    taskset = shutil.which("taskset")
    if taskset is None:
        raise RunError("taskset is missing, so processes cannot be pinned to CPUs", "Debian: apt install util-linux")
    return [taskset, "-c", cpu_list(cpus)]


def yield_to_others() -> None:
    """Put the calling thread into SCHED_IDLE: any other thread of the session that wakes on its CPU runs at once."""
    if hasattr(os, "sched_setscheduler"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def describe_exit(code: int | None) -> str:
    """Return how a program ended, in words."""
    if code is None:
        return "did not end"
    if code < 0:
        try:
            return f"was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"was killed by signal {-code}"
    return f"ended with exit code {code}"


def tail(path: Path, lines: int = 30, start: int = 0) -> str:
    """Return the last lines of a file, of what was written after byte `start`; nothing if there is no file."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(start, size - 64 * 1024))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
