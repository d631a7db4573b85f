"""Files that are written as a whole: a reader sees the old one or the new one, and a failure leaves the old one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a scratch file beside `path`, which replaces it at the end of the block, or is removed by an exception."""
    scratch = path.with_name(f".{path.name}")
    try:
        yield scratch
        scratch.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            scratch.unlink()
        raise


def write_whole(path: Path, text: str) -> None:
    """Write a text file as a whole. Raises OSError."""
    with replacing(path) as scratch:
        scratch.write_text(text, encoding="utf-8")
