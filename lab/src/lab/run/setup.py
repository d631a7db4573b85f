"""The setup that several runs share: the right to measure on this machine, the build, and a checked runtime."""

from __future__ import annotations

from lab.paths import Checkout
from lab.process.locks import RunLock


class Setup:
    """The setup of one run, or of a whole series; owned by the main thread.

    `checked` and `built` say what is done already: the preflight of the runtime, and its build. A series sets `checked`
    back to False when it takes a new runtime.
    """

    def __init__(self, checkout: Checkout) -> None:
        self._lock = RunLock(checkout.run_lock)
        self.checked = False
        self.built = False

    @property
    def locked(self) -> bool:
        """Whether the lock is held."""
        return self._lock.held

    def take_lock(self, what: str) -> None:
        """Take the lock of this machine's runs. RunError if another lab has it."""
        self._lock.take(what)

    def release(self) -> None:
        """Give the lock back. Idempotent."""
        self._lock.release()
