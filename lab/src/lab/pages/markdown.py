"""A document as Markdown: its words, figures and tables, for places that show Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lab.pages.document import (
    Block,
    Cell,
    Claims,
    Document,
    Figures,
    Flame,
    Headlines,
    LinkList,
    Links,
    Panels,
    Paragraph,
    Part,
    Section,
    Table,
    Verdict,
    sentence,
)
from lab.pages.plot import Chart

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def render(document: Document, files: Mapping[str, str] | None = None) -> str:
    """Return the whole document. `files` are the pictures of charts and flame graphs by name, if there are others."""
    origin = " · ".join(map(text, document.overline))
    page = f"[{document.file}.html]({document.file}.html) has the charts."
    parts = [f"# {text(document.title)}", f"{origin}. {page}" if files is None else f"{origin}."]
    parts += _blocks(document.head, "##", "", files or {})
    for one in document.shown:
        parts += _section(one, files or {})
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(one: Section, files: Mapping[str, str]) -> list[str]:
    shown = not _only_drawn(one.blocks, files)
    return [f"## {text(one.title)}", *_blocks(one.blocks, "###", one.title, files)] if shown else []


def _only_drawn(blocks: Sequence[Block], files: Mapping[str, str]) -> bool:
    """Whether blocks are charts that only the page has, with words about them."""
    inner = [child for block in blocks for child in _inside(block)]
    charts = [block for block in inner if isinstance(block, Chart) and block.name not in files]
    return bool(charts) and all(block in charts or isinstance(block, Paragraph) for block in inner)


def _inside(block: Block) -> list[Block]:
    blocks = block.blocks if isinstance(block, Part) else block.parts if isinstance(block, Panels) else None
    return [block] if blocks is None else [child for one in blocks for child in _inside(one)]


def _blocks(blocks: Sequence[Block], heading: str, title: str, files: Mapping[str, str]) -> list[str]:
    """Return the blocks below a title; a table's caption is a heading unless it repeats the title."""
    parts: list[str] = []
    for block in blocks:
        match block:
            case Part():
                name = f"{block.title}, {block.unit}" if block.unit else block.title
                if not _only_drawn([block], files):
                    parts += [f"{heading} {text(name)}", *_blocks(block.blocks, f"{heading}#", block.title, files)]
            case Panels():
                parts += _blocks(block.parts, heading, title, files)
            case Table():
                parts.append("" if block.caption == title else f"{heading} {text(block.caption)}")
                parts += [_table(block), text(block.note)]
            case Chart():
                parts.append(_picture(block.label, files.get(block.name, "")))
            case Flame():
                picture = _picture(block.alt, files.get(block.name, block.file))
                parts.append(f"[{picture}]({_address(block.href)})" if picture and block.href else picture)
            case _:
                parts.append(_words(block))
    return parts


def _words(block: Paragraph | Verdict | Figures | Headlines | Claims | LinkList) -> str:
    match block:
        case Paragraph(words, "question"):
            return f"*{text(words)}*" if words else ""
        case Paragraph(words):
            return text(words)
        case Verdict():
            remarks = "\n".join(f"- {text(sentence(line))}" for line in block.remarks)
            return f"**{text(block.badge)}.** {text(block.sentence)}\n\n{remarks}".strip()
        case Figures():
            names = " | ".join(text(figure.name) for figure in block.shown)
            values = " | ".join(text(figure.whole) for figure in block.shown)
            return f"| {names} |\n|{'---:|' * len(block.shown)}\n| {values} |" if block.shown else ""
        case Headlines():
            return "\n\n".join(f"**{text(line)}**" for line in block.lines)
        case LinkList():
            return f"{text(block.before)} {_links(block.links)}".strip() if block.links else ""
        case Claims():
            return _claims(block)


def _claims(block: Claims) -> str:
    if not block.judged:
        return "\n".join(f"- {text(claim.text)}" for claim in block.shown)
    rows = [(claim.text, claim.badge, claim.ours or "–", claim.why) for claim in block.shown]
    lines = ["| published | here | measured | why |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(map(text, row))} |" for row in rows)])


def _picture(alt: str, file: str) -> str:
    return f"![{text(alt)}]({_address(file)})" if file else ""


def _links(links: Links) -> str:
    return " · ".join(f"[{text(name)}]({_address(href)})" for name, href in links)


def _address(href: str) -> str:
    return href.replace(" ", "%20")


def _table(table: Table) -> str:
    rule = "".join("---:|" if i in table.numeric else "---|" for i in range(len(table.columns)))
    lines = [f"| {' | '.join(text(c) for c in table.columns)} |", f"|{rule}"]
    lines += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in table.cells]
    return "\n".join(lines)


def _cell(cell: Cell) -> str:
    return _links([(cell.text, cell.href)]) if cell.href else text(cell.text)


def text(words: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(words.split()))
