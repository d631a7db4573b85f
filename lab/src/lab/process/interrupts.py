"""Interruptions of the main thread that can be postponed for a moment.

A signal's exception can come between any two steps. If it came between starting a process and noting that it was
started, the lab would not know the process. So such pairs of steps are `shielded`: the exception is raised right after
them. (Blocking the signals instead would be wrong: a child inherits the mask.)
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class _State:
    depth = 0
    pending: BaseException | None = None


@contextlib.contextmanager
def shielded() -> Iterator[None]:
    """Postpone what `interrupt` raises until the body is over.

    Has no effect in other threads, which receive no signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _State.depth += 1
    try:
        yield
    finally:
        _State.depth -= 1
        if _State.depth == 0 and _State.pending is not None:
            pending, _State.pending = _State.pending, None
            raise pending


def interrupt(error: BaseException) -> None:
    """Raise this error in the main thread, from a signal's handler: now, or right after a shielded body."""
    if _State.depth:
        _State.pending = error
    else:
        raise error
