"""Errors for the user, shown without a traceback: what was wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LabError(Exception):
    """An error that the user can act on.

    `message` says what was wrong and where; `hint`, if there is one, says what to do, on a line of its own. `exit_code`
    is the process's: 2 for bad input (nothing was started), 1 for a run that failed.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class InputError(LabError):
    """Bad input: an experiment file, an option, a setting. Nothing was started and nothing changed."""

    exit_code = 2


class RefusedError(InputError):
    """A run that is refused for its settings, after its directory was made: the directory holds nothing to keep."""


class MissingToolError(LabError):
    """This machine lacks something; `hint` is the command that installs it."""


class RunError(LabError):
    """A phase of a run failed. `log_tail` is the end of the log of whatever failed, for the user to read."""

    def __init__(self, message: str, hint: str = "", log_tail: str = "") -> None:
        super().__init__(message, hint)
        self.log_tail = log_tail


class NoSpaceError(RunError):
    """The disk has no room for what a run needs."""


class CannotRunHereError(RunError):
    """A run that was refused: this machine has no room for it, or the built service lacks what it asks for."""


class PhaseTimeoutError(RunError):
    """A phase took longer than its limit."""


def close_matches(word: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return the known words that `word` may be a misspelling of, closest first."""
    return difflib.get_close_matches(word, sorted(known), n=limit, cutoff=0.6)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return '; did you mean a or b?', or nothing if no known word is close."""
    found = close_matches(word, known)
    return f"; did you mean {' or '.join(found)}?" if found else ""
