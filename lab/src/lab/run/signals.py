"""Signals as exceptions of the main thread, and a time in which they are held off.

SIGINT is a KeyboardInterrupt (exit 130), SIGTERM and SIGHUP a `TerminatedError`, which is one too (exit 143, 129). A
phase's limit is a `PhaseTimeoutError`, raised by SIGALRM, so that it ends any wait.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from lab.errors import PhaseTimeoutError
from lab.process.interrupts import interrupt
from lab.units import format_duration


class TerminatedError(KeyboardInterrupt):
    """The lab was asked to end by a signal other than Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def signals_raise() -> Iterator[None]:
    """During the body, SIGINT, SIGTERM and SIGHUP raise in the main thread. Has no effect in other threads."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(number: int, _frame: FrameType | None) -> None:
        interrupt(KeyboardInterrupt() if number == signal.SIGINT else TerminatedError(number))

    with _handled_by(terminate):
        yield


_held: list[int] = []


@contextlib.contextmanager
def signals_held_off() -> Iterator[None]:
    """During the body, the ending signals do nothing: for a short clean-up that must not be interrupted.

    `raise_held` tells of them afterwards to what has more to do than to end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, 0)
    _held.clear()
    with _handled_by(lambda number, _: _held.append(number)):
        yield


def raise_held() -> None:
    """Raise the error of a signal that came during the last `signals_held_off`."""
    for number in _held[:1]:
        raise KeyboardInterrupt if number == signal.SIGINT else TerminatedError(number)


@contextlib.contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> Iterator[None]:
    """During the body, the ending signals have this handler; afterwards those that they had before."""
    before = {number: signal.getsignal(number) for number in _ENDING}
    try:
        for number in _ENDING:
            signal.signal(number, handler)
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


@contextlib.contextmanager
def time_limit(seconds: float, what: str) -> Iterator[None]:
    """Raise PhaseTimeoutError in the main thread when the body takes longer. Limits do not nest."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(_number: int, _frame: FrameType | None) -> None:
        interrupt(PhaseTimeoutError(f"{what} did not end within its limit of {format_duration(seconds)}"))

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
