"""How a run or a comparison ended: for the terminal, and as an exit code."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from lab.errors import LabError, RunError
from lab.run.signals import TerminatedError
from lab.words import as_typed

INTERRUPTED_EXIT = 130
ERROR_FILE = "error.txt"
"""The traceback of an error of the lab itself, in the directory of what it ended."""


@dataclass(frozen=True)
class Outcome:
    """The end of a run or a comparison.

    `directory` is None if nothing was kept. `error` ended it in `phase`; None: it ended well. `left` names what may
    still be running, `remains` says what an incomplete directory holds.
    """

    directory: Path | None
    error: BaseException | None
    phase: str = "preflight"
    left: Sequence[str] = ()
    remains: str = ""

    @property
    def exit_code(self) -> int:
        """The exit code of the process."""
        if self.error is None:
            return 0
        if isinstance(self.error, KeyboardInterrupt):
            return self.error.exit_code if isinstance(self.error, TerminatedError) else INTERRUPTED_EXIT
        # 2 is for input that was refused before anything was started. A run that leaves a directory had begun.
        if isinstance(self.error, LabError) and self.directory is None:
            return self.error.exit_code
        return LabError.exit_code

    def tell(self, console: Console, result: Callable[[], None]) -> int:
        """Print the result if it ended well, or what went wrong; return the exit code."""
        if self.error is None:
            result()
        else:
            self._tell_error(console, self.error)
        return self.exit_code

    def _tell_error(self, console: Console, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt):
            ended = "." if self.left else "; nothing is left running."
            console.print(f"[yellow]Interrupted[/] in phase {self.phase}{ended}", soft_wrap=True)
        elif isinstance(error, LabError):
            print_error(console, error)
        else:
            console.print(Text(f"The lab itself failed: {type(error).__name__}: {error}", style="bold red"))
            if self.directory is None:
                console.print(Text("".join(traceback.format_exception(error))), soft_wrap=True)
            else:
                console.print(f"Where: {shown(self.directory / ERROR_FILE)}", highlight=False, soft_wrap=True)
        for what in self.left:
            console.print(Text(f"May still be running: {what}", style="bold red"), soft_wrap=True, highlight=False)
        if self.directory is not None:
            where = f"{shown(self.directory)} ({self.remains})"
            console.print(f"What was collected: {where}", highlight=False, soft_wrap=True)


def print_error(console: Console, error: LabError) -> None:
    """Print what is wrong, the log's end if there is one, what to do."""
    message = as_typed(error.message)
    console.print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True, highlight=False)
    if isinstance(error, RunError) and error.log_tail.strip():
        console.print(Text("the end of its log:", style="dim"))
        for line in error.log_tail.rstrip().splitlines():
            console.print(Text(f"  │ {line}", style="dim"), soft_wrap=True, highlight=False)
    if error.hint:
        console.print(Text(as_typed(error.hint)), soft_wrap=True, highlight=False)


def shown(path: Path) -> str:
    """Return the path for the user to paste: relative to their directory, if it lies below."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
