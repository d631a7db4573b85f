"""A page as data: headings, sentences, key figures, tables, charts and pictures, in the order of reading.

`html.render` and `markdown.render` show the same document, so no figure can differ between the two. Each block has a
`shape`, the word by which both choose how to show it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from lab.pages.pictures import Picture
from lab.pages.plot import Chart

EVENT_NAMES = {"cpu": "CPU", "alloc": "Allocation", "lock": "Lock", "wall": "Wall clock", "nativemem": "Native memory"}

Links = Sequence[tuple[str, str]]
"""Names with addresses, relative to the page."""


@dataclass(frozen=True)
class Figure:
    """A key figure: its name, its value as readers see it ("≥ 12.3 s"), and a line about what it rests on."""

    shape: ClassVar[str] = "figure"
    name: str
    text: str
    context: str = ""
    unit: str = ""
    """A unit that is not the last word of the text."""

    @property
    def value(self) -> str:
        """The text without its unit."""
        return self.text if self.unit else self.text.rpartition(" ")[0] or self.text

    @property
    def unit_shown(self) -> str:
        """The unit; empty if there is none, or no value."""
        return self.unit or self.text.removeprefix(self.value).strip()

    @property
    def whole(self) -> str:
        """The value with its unit."""
        return f"{self.value} {self.unit_shown}".strip()


@dataclass(frozen=True)
class Cell:
    """One cell: its text, and optionally a CSS class, a link, and a bar (0…1)."""

    text: str
    css: str = ""
    href: str = ""
    bar: float | None = None


Row = Sequence[Cell | str]


@dataclass(frozen=True)
class Table:
    """A table. ``numeric`` has the columns that are aligned to the right; the first cell of each row is its heading.

    `kind` is "pairs" for names with values. `folded` tables are shown on demand.
    """

    shape: ClassVar[str] = "table"
    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Row]
    numeric: Collection[int] = ()
    note: str = ""
    kind: str = ""
    folded: bool = False

    @property
    def cells(self) -> list[list[Cell]]:
        """The rows, each text as a cell."""
        return [[Cell(cell) if isinstance(cell, str) else cell for cell in row] for row in self.rows]


@dataclass(frozen=True)
class Paragraph:
    """A paragraph. `kind` is its CSS class: lede, note, gap (something is missing), question, overrides, published."""

    shape: ClassVar[str] = "paragraph"
    text: str
    kind: str = "lede"


def paragraph(words: str, kind: str = "lede") -> Paragraph | None:
    """Return a paragraph; None without words."""
    return Paragraph(words, kind) if words else None


@dataclass(frozen=True)
class Verdict:
    """The answer: a badge in the colour of `tone` (valid, suspect, invalid or none), a sentence, and remarks."""

    shape: ClassVar[str] = "verdict"
    badge: str
    sentence: str
    tone: str = ""
    remarks: Sequence[str] = ()
    second: str = ""
    """A second badge."""
    label: str = "Verdict"
    """What screen readers say: another one for each verdict of a page."""


@dataclass(frozen=True)
class Figures:
    """Key figures side by side."""

    shape: ClassVar[str] = "figures"
    shown: Sequence[Figure]


@dataclass(frozen=True)
class Headlines:
    """The most important sentences, large."""

    shape: ClassVar[str] = "headlines"
    lines: Sequence[str]


@dataclass(frozen=True)
class Claim:
    """A sentence with the runs that it rests on; with a badge, a finding of others that was judged here."""

    text: str
    runs: Links = ()
    badge: str = ""
    tone: str = ""
    ours: str = ""
    why: str = ""


@dataclass(frozen=True)
class Claims:
    """A list of claims, all with badges or all without."""

    shape: ClassVar[str] = "claims"
    shown: Sequence[Claim]

    @property
    def judged(self) -> bool:
        """Whether the claims are findings with verdicts."""
        return any(claim.badge for claim in self.shown)


@dataclass(frozen=True)
class Flame:
    """A picture of a flame graph. `file` is where it lies beside the page, `href` the interactive one."""

    shape: ClassVar[str] = "flame"
    name: str
    alt: str
    picture: Picture
    file: str = ""
    href: str = ""


@dataclass(frozen=True)
class LinkList:
    """Links in a row, after a few words."""

    shape: ClassVar[str] = "links"
    links: Links
    before: str = ""


@dataclass(frozen=True)
class Part:
    """A part of a section with a heading of its own, and a number or unit beside it. `css` is its class."""

    shape: ClassVar[str] = "part"
    title: str
    blocks: Sequence[Block]
    unit: str = ""
    css: str = "event"
    ident: str = ""


@dataclass(frozen=True)
class Panels:
    """Small parts side by side."""

    shape: ClassVar[str] = "panels"
    parts: Sequence[Part]


Block = Paragraph | Verdict | Figures | Headlines | Claims | Table | Chart | Flame | LinkList | Part | Panels


@dataclass(frozen=True)
class Section:
    """A section: its id, heading, and blocks. `name` is its word in the navigation."""

    ident: str
    title: str
    blocks: Sequence[Block]
    name: str = ""


def section(ident: str, title: str, *blocks: Block | None, name: str = "") -> Section:
    """Return a section of those blocks that exist."""
    return Section(ident, title, present(*blocks), name or title)


def after(words: str, *blocks: Block | None) -> list[Block]:
    """Return a paragraph and the blocks below it that exist; nothing without any."""
    shown = present(*blocks)
    return [Paragraph(words), *shown] if shown else []


def present(*blocks: Block | None) -> list[Block]:
    """Return the blocks that exist."""
    return [block for block in blocks if block is not None]


@dataclass(frozen=True)
class Document:
    """A page, written as `<file>.html` and `<file>.md`.

    `overline` are a few words of origin above the title, `made` the words below all of it, `beside` the files that
    belong to the page. Sections without blocks are not shown.
    """

    file: str
    title: str
    overline: Sequence[str]
    head: Sequence[Block]
    sections: Sequence[Section]
    made: str
    beside: Links = ()
    also: str = ""
    """What else the title of the window says."""

    @property
    def shown(self) -> list[Section]:
        """The sections that have something to show."""
        return [one for one in self.sections if one.blocks]


def sentence(text: str) -> str:
    """Return a check's detail as a sentence: with a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def slug(name: str) -> str:
    """Return a name as part of an id: "Held-back writes" is "held-back-writes"."""
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())
