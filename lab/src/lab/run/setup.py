"""The setup that several runs share: the right to measure on this machine, the build, and a checked runtime."""

from __future__ import annotations

from lab.paths import Checkout
from lab.process.locks import RunLock


class Setup(RunLock):
    """The setup of one run, or of a whole series; owned by the main thread.

    `checked` and `built` say what is done already: the preflight of the runtime, and its build. A series sets `checked`
    back to False when it takes a new runtime.
    """

    def __init__(self, checkout: Checkout) -> None:
        super().__init__(checkout.run_lock)
        self.checked = False
        self.built = False
