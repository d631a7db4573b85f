"""Brief commands, run to their end.

`subprocess.run` leaves its process behind if a signal's exception comes between the start and its first wait.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from lab.process.interrupts import shielded


def run_bytes(
    argv: Sequence[str],
    *,
    limit_s: float | None = None,
    stdin: bytes | None = None,
    stdout: int | IO[bytes] = subprocess.PIPE,
    stderr: int | IO[bytes] = subprocess.PIPE,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end. Raises OSError if it cannot be started, TimeoutExpired after `limit_s`.

    Whatever ends the wait kills the command's whole group, which a terminal's Ctrl-C does not reach.
    """
    process: subprocess.Popen[bytes] | None = None
    source = subprocess.DEVNULL if stdin is None else subprocess.PIPE
    try:
        with shielded():
            process = subprocess.Popen(
                list(argv), stdin=source, stdout=stdout, stderr=stderr, cwd=cwd, env=env, process_group=0
            )
        output, errors = process.communicate(stdin, limit_s)
    except BaseException:
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        raise
    return subprocess.CompletedProcess(list(argv), process.returncode, output, errors)


def run_text(
    argv: Sequence[str],
    *,
    limit_s: float | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command as `run_bytes` does, and read its output as UTF-8.

    Other bytes of stdout become surrogates, because a path may have them; those of stderr, which is
    printed, are replaced.
    """
    done = run_bytes(argv, limit_s=limit_s, cwd=cwd, env=env)
    output, errors = done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode("utf-8", "replace")
    return subprocess.CompletedProcess(done.args, done.returncode, output, errors)
