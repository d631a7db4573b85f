"""Writes a document as HTML and as Markdown, each file replaced as a whole."""

from __future__ import annotations

from pathlib import Path

from lab.pages import html, markdown
from lab.pages.document import Document
from lab.whole_file import write_whole


def write(directory: Path, document: Document) -> Path:
    """Write both forms; return the path of the HTML page. Raises ``OSError`` if one cannot be written."""
    page = directory / f"{document.file}.html"
    write_whole(page.with_suffix(".md"), markdown.render(document))
    write_whole(page, html.render(document))
    return page
