"""Reports a comparison that failed or was interrupted."""

from __future__ import annotations

import traceback
from pathlib import Path

from rich.console import Console

from lab.errors import LabError
from lab.run.signals import TerminatedError
from lab.run.summary import INTERRUPTED_EXIT, print_error


def tell_error(
    console: Console, error: BaseException, failed: str, left: list[str], collected: tuple[Path, int] | None
) -> int:
    """Print what ended the comparison in the phase `failed`, and which blocks it left; return the exit code.

    `left` names what may still be running. `collected` is the directory and its number of whole blocks, None if there
    is no directory.
    """
    code = 1
    if isinstance(error, KeyboardInterrupt):
        code = error.exit_code if isinstance(error, TerminatedError) else INTERRUPTED_EXIT
        console.print(f"[yellow]Interrupted[/] in phase {failed}{'.' if left else '; nothing is left running.'}")
    elif isinstance(error, LabError):
        code = error.exit_code if collected is None else 1
        print_error(console, error)
    else:
        console.print(f"The lab itself failed: {type(error).__name__}: {error}", style="bold red", markup=False)
        if collected is None:
            console.print("".join(traceback.format_exception(error)), markup=False, highlight=False, soft_wrap=True)
    for what in left:
        console.print(f"May still be running: {what}", style="bold red", markup=False, highlight=False)
    if collected is not None:
        where, blocks = collected
        console.print(
            f"What was collected: {where} ({blocks} whole blocks; incomplete, so it is not judged)",
            highlight=False,
            soft_wrap=True,
        )
    return code
