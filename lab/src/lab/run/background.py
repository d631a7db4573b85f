"""One piece of work beside the main thread, whose error is not lost."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Background:
    """Runs `work` in a daemon thread at once; `result()` waits for it and raises what it raised."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self) -> None:
        """Wait. The wait is divided into short pieces, so that a signal's exception reaches the main thread."""
        while self._thread.is_alive():
            self._thread.join(0.05)
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._error = error
