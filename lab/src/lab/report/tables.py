"""The tables of a report: report.html and report.md are made from the same `Table`, so they show the same rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

EVENT_NAMES = {
    "cpu": "CPU",
    "alloc": "Allocation",
    "lock": "Lock",
    "wall": "Wall clock",
    "nativemem": "Native memory",
}


def slug(name: str) -> str:
    """Return a name as the name of an element of a page."""
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


@dataclass(frozen=True)
class Cell:
    """One cell: its text, and optionally a CSS class, a link, and a bar (0…1)."""

    text: str
    css: str = ""
    href: str = ""
    bar: float | None = None


@dataclass(frozen=True)
class Table:
    """A table. ``numeric`` has the columns that are aligned to the right; the first cell of each row is its heading."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: list[list[Cell]]
    numeric: frozenset[int] = field(default_factory=frozenset)
    note: str = ""


def table(
    name: str,
    caption: str,
    columns: Iterable[str],
    rows: list[list[Cell]],
    *,
    numeric: Iterable[int] = (),
    note: str = "",
) -> Table:
    """Return a table from any iterables."""
    return Table(name, caption, tuple(columns), rows, frozenset(numeric), note)
