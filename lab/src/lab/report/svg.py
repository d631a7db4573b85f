"""Charts as SVG text: a plot area with axes, lines, bands and points; colours are classes of the page's style sheet.

Each chart is drawn twice, wide and narrow, and the style sheet shows the one that fits: text keeps its size on a phone,
in print and without scripts. A list of stops, shared by both, holds the values that a pointer reads off a chart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

from lab.report.scales import Scale


@dataclass(frozen=True)
class Size:
    """A drawing's size in user units; one is a CSS pixel at the width that it is made for."""

    name: str
    width: int
    height: int
    left: int = 56
    right: int = 14
    top: int = 14
    bottom: int = 30


@dataclass(frozen=True)
class Stop:
    """One position a pointer can rest on: where (0…1 along x), its heading, and (class, name, value) lines."""

    at: float
    title: str
    lines: tuple[tuple[str, str, str], ...]
    on_mark: bool = False
    """Shown only on the mark that names it by `data-stop`, its place in the list, and by the arrow keys."""


@dataclass
class Plot:
    """A drawing under construction."""

    size: Size
    x: Scale
    y: Scale
    _parts: list[str] = field(default_factory=list)

    @property
    def inner_width(self) -> int:
        """The plot area's width."""
        return self.size.width - self.size.left - self.size.right

    @property
    def inner_height(self) -> int:
        """The plot area's height."""
        return self.size.height - self.size.top - self.size.bottom

    def px(self, value: float) -> float:
        """Return the horizontal position of a value."""
        return self.size.left + self.x.at(value) * self.inner_width

    def py(self, value: float) -> float:
        """Return the vertical position of a value."""
        return self.size.top + (1 - self.y.at(value)) * self.inner_height

    @property
    def floor(self) -> int:
        """The vertical position of the x axis."""
        return self.size.top + self.inner_height

    def add(self, markup: str) -> None:
        """Add markup as it is."""
        self._parts.append(markup)

    def text(self, x: float, y: float, content: str, css: str = "", anchor: str = "start") -> None:
        """Add a text; ``anchor`` is start, middle or end."""
        style = f' class="{css}"' if css else ""
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{escape(content)}</text>')

    def grid(self, x_labels: Sequence[tuple[float, str]], y_labels: Sequence[tuple[float, str]]) -> None:
        """Draw grid lines with their labels, and the x axis."""
        for value, name in y_labels:
            y = self.py(value)
            right = self.size.width - self.size.right
            self.add(f'<line class="grid" x1="{self.size.left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            self.text(self.size.left - 8, y + 4, name, "tick", "end")
        for value, name in x_labels:
            x = self.px(value)
            self.add(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{self.size.top}" y2="{self.floor}"/>')
            if name:
                anchor = "end" if x > self.size.width - self.size.right - 16 else "middle"
                self.text(x, self.floor + 18, name, "tick", anchor)
        right = self.size.width - self.size.right
        self.add(f'<line class="axis" x1="{self.size.left}" x2="{right}" y1="{self.floor}" y2="{self.floor}"/>')

    def line(self, points: Iterable[tuple[float, float | None]], css: str) -> None:
        """Draw a line through the points; a value of None breaks it. A single point becomes a dot."""
        for run in _runs(points):
            places = [(self.px(x), self.py(y)) for x, y in run]
            if len(places) == 1:
                self.add(f'<circle class="dot {css}" cx="{places[0][0]:.1f}" cy="{places[0][1]:.1f}" r="2"/>')
                continue
            path = "".join(f"{'M' if i == 0 else 'L'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(_thinned(places)))
            self.add(f'<path class="line {css}" d="{path}"/>')

    def area(self, points: Iterable[tuple[float, float | None]], css: str) -> None:
        """Fill from the line through the points down to the axis."""
        for run in _runs(points):
            places = _thinned([(self.px(x), self.py(y)) for x, y in run])
            if len(places) > 1:
                path = "".join(f"L{x:.1f} {y:.1f}" for x, y in places)
                start, end = f"M{places[0][0]:.1f} {self.floor}", f"L{places[-1][0]:.1f} {self.floor}Z"
                self.add(f'<path class="area {css}" d="{start}{path}{end}"/>')

    def band(self, start: float, end: float, css: str, label: str = "") -> None:
        """Shade from one x to another, over the whole height, with a label at its top if there is room."""
        left, right = self.px(start), self.px(end)
        if right - left < 0.5:
            return
        self.add(
            f'<rect class="band {css}" x="{left:.1f}" y="{self.size.top}" '
            f'width="{right - left:.1f}" height="{self.inner_height}"/>'
        )
        if label and right - left > 6.2 * len(label) + 8:
            self.text((left + right) / 2, self.size.top - 5, label, "band-label", "middle")

    def diamond(self, x: float, y: float, css: str, radius: float = 5) -> None:
        """Mark a point with a diamond."""
        cx, cy, r = self.px(x), self.py(y), radius
        self.add(
            f'<path class="mark {css}" d="M{cx:.1f} {cy - r:.1f}L{cx + r:.1f} {cy:.1f}L{cx:.1f} {cy + r:.1f}'
            f'L{cx - r:.1f} {cy:.1f}Z"/>'
        )

    def inner_markup(self) -> str:
        """Return what was drawn, to be added to another plot."""
        return "".join(self._parts)

    def markup(self, label: str) -> str:
        """Return the SVG element; ``label`` is its text for screen readers."""
        s = self.size
        return (
            f'<svg class="plot {s.name}" viewBox="0 0 {s.width} {s.height}" role="img" aria-label="{escape(label)}" '
            f'data-plot="{s.left} {s.top} {self.inner_width} {self.inner_height}">' + "".join(self._parts) + "</svg>"
        )


def _runs(points: Iterable[tuple[float, float | None]]) -> list[list[tuple[float, float]]]:
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in points:
        if y is None or math.isnan(y):
            if runs[-1]:
                runs.append([])
        else:
            runs[-1].append((x, y))
    return [run for run in runs if run]


def _thinned(places: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Drop points that would fall on the one before: for each half pixel in x keep the first, lowest, highest, last."""
    kept: list[tuple[float, float]] = []
    column: list[tuple[float, float]] = []
    for place in places:
        if column and round(place[0] * 2) != round(column[0][0] * 2):
            kept += _extremes(column)
            column = []
        column.append(place)
    return kept + _extremes(column)


def _extremes(column: list[tuple[float, float]]) -> list[tuple[float, float]]:
    if len(column) < 4:
        return column
    wanted = {0, len(column) - 1}
    wanted.add(min(range(len(column)), key=lambda i: column[i][1]))
    wanted.add(max(range(len(column)), key=lambda i: column[i][1]))
    return [column[i] for i in sorted(wanted)]
