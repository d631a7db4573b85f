"""`LOADGEN=/path/to/wrk2`: a load generator that replaces the lab's own."""

from __future__ import annotations

import os
from pathlib import Path

from lab.errors import InputError


def program() -> Path | None:
    """Return the program that `LOADGEN` names, absolute; None for the lab's own."""
    named = os.environ.get("LOADGEN", "").strip()
    return Path(named).expanduser().absolute() if named else None


def check(program: Path | None) -> None:
    """Raise `InputError` if `program` cannot be run."""
    if program is None or (program.is_file() and os.access(program, os.X_OK)):
        return
    what = "is no executable file" if program.exists() else "does not exist"
    raise InputError(f"LOADGEN={program}: {what}", "It must be a program that takes wrk2's command line")
