"""A chart for the page: its drawings, its legend, and the values that a pointer reads off it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from lab.report.svg import Size, Stop

WIDE = Size("wide", 1040, 380)
NARROW = Size("narrow", 360, 300, left=48, right=10)


@dataclass(frozen=True)
class Key:
    """A line of the legend: the class that draws it (``line``, ``dot``, ``mark`` or ``block``), and its name."""

    css: str
    name: str


@dataclass(frozen=True)
class Chart:
    """A finished chart. ``drawings`` are the same figure for wide and for narrow pages."""

    name: str
    label: str
    drawings: Sequence[str]
    legend: Sequence[Key]
    stops: Sequence[Stop]

    @property
    def svg(self) -> Markup:
        """The drawings as markup; every text in them was escaped when it was drawn."""
        return Markup("".join(self.drawings))  # noqa: S704

    @property
    def stops_json(self) -> Markup:
        """The stops as JSON that may stand inside a script element."""
        rows = [
            [round(stop.at, 4), stop.title, [list(line) for line in stop.lines], *([1] if stop.on_mark else [])]
            for stop in self.stops
        ]
        text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
        return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))  # noqa: S704
