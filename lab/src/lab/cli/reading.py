"""Commands that only read: they write a report again, or print a load generator's text as JSON."""

from __future__ import annotations

import sys
from pathlib import Path

from lab import report
from lab.analysis import LoadError, parse_load_text


def report_again(directory: Path) -> Path:
    """Write the report of a finished run again, from its directory alone; return the page's path."""
    report.write(directory)
    return directory / "report.html"


def load_text_as_json(source: str) -> str:
    """Return the JSON of a load generator's text: of a file, or of standard input for "-". Raises LoadError."""
    if source == "-":
        text, where = sys.stdin.buffer.read().decode("utf-8", "replace"), "standard input"
    else:
        try:
            text, where = Path(source).read_text(encoding="utf-8", errors="replace"), source
        except OSError as error:
            raise LoadError(f"{source}: cannot be read: {error.strerror}") from error
    return parse_load_text(text, where).model_dump_json(indent=2, exclude_none=True)
