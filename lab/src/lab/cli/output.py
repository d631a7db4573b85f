"""Prints for commands: results to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.table import Table

from lab.errors import LabError
from lab.words import as_typed

UNLIMITED_WIDTH = 1000


def console() -> Console:
    """Return the console of stdout. Lines are not wrapped when stdout is a pipe or a file."""
    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=UNLIMITED_WIDTH if piped else None)


def plain_table() -> Table:
    """Return an empty table without lines around its cells."""
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))


def tell(line: str) -> None:
    """Print a progress line to stderr."""
    Console(stderr=True).print(as_typed(line), highlight=False, soft_wrap=True)


def show_error(error: LabError) -> None:
    """Print an expected error to stderr, without a traceback."""
    from lab.run.outcome import print_error  # noqa: PLC0415

    print_error(Console(stderr=True), error)
