"""Charts as SVG text that fits every width; colours are classes of the style sheet.

A drawing is the plot area alone, and the style sheet gives it its size and its margins. Positions are shares of that
area, so the same drawing serves a phone, a wide screen and a printer, while text and strokes keep their size. (A view
box would scale the text with the drawing: unreadable on a phone.) Labels that need room have a class that the style
sheet hides in narrow charts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import ClassVar

from markupsafe import Markup

from lab.pages.scales import Scale

ROOMS = ((310, ""), (590, "medium"), (970, "wide"))
"""Widths in pixels from which on a chart shows a label, with the class that hides it below."""
CHARACTER = 7
"""Pixels of a letter in a label, and between two labels."""
RIGHT, TOP, BOTTOM = 14, 22, 30
"""Margins of the plot area in pixels, for axis labels and the names of bands."""
_THIN, _FINE = 1000, 'viewBox="0 0 1000 1000" preserveAspectRatio="none" overflow="visible"'
"""Lines are drawn in thousandths of the area, and their strokes are not stretched with it."""


@dataclass(frozen=True)
class Key:
    """A line of the legend: the class that draws it (``line``, ``dot``, ``mark`` or ``block``), and its name."""

    css: str
    name: str

    @property
    def svg(self) -> Markup:
        """The sample of the mark, in a view box of 26 by 12."""
        shapes = {
            "block": 'rect x="5" y="1" width="16" height="10"',
            "dot": 'circle cx="13" cy="6" r="4"',
            "mark": 'path d="M13 1L18 6L13 11L8 6Z"',
        }
        shape = shapes.get(self.css.split()[0], 'path d="M1 6H25"')
        return Markup(f'<{shape} class="{escape(self.css)}"/>')  # noqa: S704


def json_inside(value: object) -> Markup:
    """Return a value as JSON that may stand inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))  # noqa: S704


@dataclass
class Chart:
    """A chart, to be drawn into: a plot area of ``height`` pixels, ``low`` of them in a narrow chart.

    ``label`` is its text for screen readers, ``title`` the heading of the values at an x. ``left`` is the margin for
    the labels of the y axis, ``near`` that of a narrow chart. ``searched`` are the words beside a field that finds
    marks; without them there is none.
    """

    shape: ClassVar[str] = "chart"
    name: str
    label: str
    x: Scale
    y: Scale
    height: int = 330
    low: int = 0
    title: Callable[[float], str] = str
    left: int = 56
    near: int = 50
    searched: str = ""
    legend: list[Key] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _marks: list[list[object]] = field(default_factory=list)
    _read: dict[tuple[float, str], list[tuple[str, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.low = self.low or min(self.height, 250)

    @property
    def markup(self) -> str:
        """What was drawn; every text in it was escaped."""
        return "".join(self._parts)

    @property
    def svg(self) -> Markup:
        """The drawing for a page."""
        size = f"--height:{self.height}px;--low:{self.low}px;--left:{self.left}px;--near:{self.near}px"
        label = escape(self.label)
        return Markup(f'<svg class="plot" role="img" aria-label="{label}" style="{size}">{self.markup}</svg>')  # noqa: S704

    @property
    def stops_json(self) -> Markup:
        """The values that a pointer reads off, as JSON that may stand inside a script element.

        Marks come first, because they name their place in the list.
        """
        read = [[round(self.x.at(at), 4), title, lines] for (at, title), lines in sorted(self._read.items())]
        return json_inside([*self._marks, *read])

    def file(self, style: str, width: int = 1040) -> str:
        """Return the chart with its legend as an SVG file of its own, in this style."""
        legend, x = [], 8
        for key in self.legend:
            sample = f'<svg x="{x}" y="6" width="26" height="12" viewBox="0 0 26 12" overflow="visible">{key.svg}</svg>'
            legend.append(f'{sample}<text x="{x + 33}" y="16">{escape(key.name)}</text>')
            x += 52 + CHARACTER * len(key.name)
        top, inner = 26 + TOP, width - self.left - RIGHT
        height = top + self.height + BOTTOM
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'role="img" aria-label="{escape(self.label)}" style="background:var(--paper)"><style>{style}</style>'
            f'<g class="plot">{"".join(legend)}<svg x="{self.left}" y="{top}" width="{inner}" height="{self.height}" '
            f'overflow="visible">{self.markup}</svg></g></svg>\n'
        )

    def key(self, css: str, name: str) -> None:
        """Add a line to the legend, once."""
        if Key(css, name) not in self.legend:
            self.legend.append(Key(css, name))

    def read(self, at: float, *lines: tuple[str, str], title: str = "") -> None:
        """Let a pointer read names with values at an x."""
        self._read.setdefault((at, title or self.title(at)), []).extend(lines)

    def mark(self, at: float, title: str, lines: Sequence[tuple[str, str]]) -> int:
        """Let a pointer read values off the mark whose `data-stop` is the returned number."""
        self._marks.append([round(self.x.at(at), 4), title, lines, 1])
        return len(self._marks) - 1

    def add(self, markup: str) -> None:
        """Add markup as it is."""
        self._parts.append(markup)

    def across(self, value: float) -> str:
        """Return the horizontal position of a value."""
        return f"{100 * self.x.at(value):.2f}%"

    def down(self, value: float) -> str:
        """Return the vertical position of a value."""
        return f"{100 - 100 * self.y.at(value):.2f}%"

    def inset(self, strip: Chart, top: int) -> None:
        """Add a drawing of the same width with its legend and values, ``top`` pixels below the upper edge."""
        self.add(f'<svg y="{top}" height="{strip.height}" overflow="visible">{strip.markup}</svg>')
        self.legend += strip.legend
        for (at, title), lines in strip._read.items():
            self.read(at, *lines, title=title)

    def text(
        self, x: str, y: str, content: str, *, css: str = "", anchor: str = "start", by: tuple[int, int] = (0, 0)
    ) -> None:
        """Add a text ``by`` so many pixels right of a position and below it; ``anchor`` is start, middle or end."""
        moved = f'dx="{by[0]}" dy="{by[1]}" ' if any(by) else ""
        self.add(f'<text x="{x}" y="{y}" {moved}text-anchor="{anchor}" class="{css.strip()}">{escape(content)}</text>')

    def grid(
        self,
        x_labels: Sequence[tuple[float, str]],
        show: Callable[[float], str],
        ticks: Sequence[float] | None = None,
        *,
        even: bool = False,
    ) -> None:
        """Draw grid lines with their labels, and the x axis. `ticks` are those of the y axis, its own if None.

        Where there is no room for two labels, the first is shown; of `even` ones each second, third or so.
        """
        for value in self.y.ticks() if ticks is None else ticks:
            y = self.down(value)
            self.add(f'<line class="grid" x2="100%" y1="{y}" y2="{y}"/>')
            self.text("0", y, show(value), css="tick", anchor="end", by=(-8, 4))
        for value, name, css in _with_room(self.x, x_labels, self._rooms(), even=even):
            x, last = self.across(value), self.x.at(value) > 0.97
            self.add(f'<line class="grid {css}" x1="{x}" x2="{x}" y2="100%"/>')
            self.text(x, "100%", name, css=f"tick {css}", anchor="end" if last else "middle", by=(0, 18))
        self.add('<line class="axis" x2="100%" y1="100%" y2="100%"/>')

    def line(
        self,
        points: Iterable[tuple[float, float | None]],
        css: str,
        name: str = "",
        show: Callable[[float], str] | None = None,
        title: str = "",
    ) -> None:
        """Draw a line through the points; a value of None breaks it. A single point becomes a dot.

        With a name it is in the legend, and with `show` a pointer reads its values.
        """
        points = list(points)
        if name:
            self.key(f"line {css.split(maxsplit=1)[0]}", name)
        for x, y in points if show is not None else []:
            if y is not None and show is not None:
                self.read(x, (name, show(y)), title=title and f"{self.title(x)} · {title}")
        for run in _runs(points):
            if len(run) == 1:
                self.dot(*run[0], css, 2)
                continue
            path = "".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(self._thinned(run)))
            self.add(f'<svg {_FINE}><path class="line {css}" d="{path}"/></svg>')

    def area(self, points: Iterable[tuple[float, float | None]], css: str) -> None:
        """Fill from the line through the points down to the axis."""
        for run in _runs(points):
            places = self._thinned(run)
            if len(places) > 1:
                path = "".join(f"L{x:.1f} {y:.1f}" for x, y in places)
                start, end = f"M{places[0][0]:.1f} {_THIN}", f"L{places[-1][0]:.1f} {_THIN}Z"
                self.add(f'<svg {_FINE}><path class="area {css}" d="{start}{path}{end}"/></svg>')

    def band(self, start: float, end: float, css: str, label: str = "") -> None:
        """Shade from one x to another, over the whole height, with a label above it where there is room."""
        left, width = self.x.at(start), self.x.at(end) - self.x.at(start)
        if width < 0.0005:
            return
        self.add(f'<rect class="band {css}" x="{100 * left:.2f}%" width="{100 * width:.2f}%" height="100%"/>')
        room = next((name for pixels, name in self._rooms() if width * pixels > 6.2 * len(label) + 8), None)
        if label and room is not None:
            middle = f"{100 * (left + width / 2):.2f}%"
            self.text(middle, "0", label, css=f"band-label {room}", anchor="middle", by=(0, -5))

    def level(self, low: float, high: float, css: str) -> None:
        """Shade from one y to another, over the whole width."""
        height = 100 * (self.y.at(high) - self.y.at(low))
        self.add(f'<rect class="band {css}" y="{self.down(high)}" width="100%" height="{height:.2f}%"/>')

    def dot(self, x: float, y: float, css: str, radius: float = 3) -> None:
        """Mark a point with a circle."""
        self.add(f'<circle class="dot {css}" cx="{self.across(x)}" cy="{self.down(y)}" r="{radius:g}"/>')

    def diamond(self, x: str, y: str, css: str, radius: int = 5) -> None:
        """Mark a position with a diamond."""
        shape = f"M0 {-radius}L{radius} 0L0 {radius}L{-radius} 0Z"
        self.add(f'<svg x="{x}" y="{y}" overflow="visible"><path class="mark {css}" d="{shape}"/></svg>')

    def _rooms(self) -> list[tuple[int, str]]:
        """Return the widths of the plot area in the narrowest chart that shows each class of label."""
        margins = (self.near, self.left, self.left)
        return [(width - margin - RIGHT, css) for (width, css), margin in zip(ROOMS, margins, strict=True)]

    def _thinned(self, run: list[tuple[float, float]]) -> list[tuple[float, float]]:
        """Return places, of those in the same half thousandth of the width the first, lowest, highest and last."""
        kept: list[tuple[float, float]] = []
        column: list[tuple[float, float]] = []
        for place in ((_THIN * self.x.at(x), _THIN * (1 - self.y.at(y))) for x, y in run):
            if column and round(place[0] * 2) != round(column[0][0] * 2):
                kept += _extremes(column)
                column = []
            column.append(place)
        return kept + _extremes(column)


def _with_room(
    scale: Scale, labels: Sequence[tuple[float, str]], rooms: Sequence[tuple[int, str]], *, even: bool
) -> list[tuple[float, str, str]]:
    """Return the labels that have room in the widest chart, each with its class.

    Earlier ones go first; of `even` ones each second, third or so is shown where there is no room for all.
    """
    shown: dict[int, str] = {}
    step = 0
    for pixels, css in rooms:
        ends = [_ends(scale.at(value) * pixels, name, scale.at(value) > 0.97) for value, name in labels]
        if even:
            steps = [
                n
                for n in range(1, len(labels) + 1)
                if step % n == 0 and _apart([ends[i] for i in range(0, len(labels), n)])
            ]
            step = min(steps, default=step)
            shown = {i: shown.get(i, css) for i in range(0, len(labels), step or 1)}
            continue
        for i in range(len(labels)):
            if i not in shown and _apart([*(ends[k] for k in shown), ends[i]]):
                shown[i] = css
    return [(*labels[i], css) for i, css in sorted(shown.items())]


def _apart(ends: list[tuple[float, float]]) -> bool:
    return all(left[1] < right[0] for left, right in pairwise(sorted(ends)))


def _ends(at: float, name: str, last: bool) -> tuple[float, float]:
    half = CHARACTER * (len(name) + 1) / 2
    return (at - 2 * half, at) if last else (at - half, at + half)


def _runs(points: Iterable[tuple[float, float | None]]) -> list[list[tuple[float, float]]]:
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in points:
        if y is None or math.isnan(y):
            if runs[-1]:
                runs.append([])
        else:
            runs[-1].append((x, y))
    return [run for run in runs if run]


def _extremes(column: list[tuple[float, float]]) -> list[tuple[float, float]]:
    if len(column) < 4:
        return column
    wanted = {0, len(column) - 1}
    wanted.add(min(range(len(column)), key=lambda i: column[i][1]))
    wanted.add(max(range(len(column)), key=lambda i: column[i][1]))
    return [column[i] for i in sorted(wanted)]
