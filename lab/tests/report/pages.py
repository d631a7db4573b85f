"""Reads a report as a browser and its readers do."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from lab.report import write


class Page(HTMLParser):
    """The content of a page: its links, sources, ids, texts; and whether its elements nest."""

    VOID = frozenset({"meta", "link", "img", "input", "br", "path", "line", "rect", "circle"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.ids: list[str] = []
        self.headings: list[str] = []
        self.words: list[str] = []
        self.images_without_alt = 0
        self.feed(text)
        assert self.open == [], self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "a":
            self.links.append(values.get("href") or "")
        if "src" in values:
            self.sources.append(values["src"] or "")
        if tag == "img" and not values.get("alt"):
            self.images_without_alt += 1
        if "id" in values:
            self.ids.append(values["id"] or "")
        if tag in ("h1", "h2", "h3"):
            self.headings.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag, f"</{tag}> in {self.open}"

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def report(run: Path) -> tuple[Page, str]:
    write(run)
    return Page((run / "report.html").read_text(encoding="utf-8")), (run / "report.md").read_text(encoding="utf-8")
