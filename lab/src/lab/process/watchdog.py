"""Kills what a lab leaves behind when it dies without a chance to clean up (kill -9, out of memory).

Runs as a process of its own, in a session of its own, as `python watchdog.py`, with only the standard library. It reads
lines from its standard input: `+PGID` adds a process group, `-PGID` removes it. The lab alone holds the write end of
that pipe, so the end of the file means that the lab has died; then every remaining group gets SIGKILL.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def main() -> None:
    """Serve until the end of standard input."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        group = int(line[1:])
        if line[0] == "+":
            groups.add(group)
        else:
            groups.discard(group)
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
