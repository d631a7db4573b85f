"""A document as one self-contained HTML page. Style, script, charts and pictures are inside; links are relative."""

from __future__ import annotations

import base64
from functools import cache
from importlib import resources

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from lab import __version__
from lab.pages.document import Document, sentence

FONTS = (
    ("Lab Sans", "100 900", "normal", "inter-latin.woff2"),
    ("Lab Serif", "600", "normal", "source-serif-4-latin-600-normal.woff2"),
    ("Lab Serif", "400", "italic", "source-serif-4-latin-400-italic.woff2"),
)
"""Inter and Source Serif 4, Latin letters only: they travel inside the page, so it looks the same everywhere."""


def render(document: Document, package: str = "lab.pages", template: str = "page.html.j2", **values: object) -> str:
    """Return the whole page. A template of another package extends the one of this package, with further values."""
    return (
        _environment(package)
        .get_template(template)
        .render(values, document=document, lab_version=__version__, fonts=_fonts())
    )


@cache
def _environment(package: str) -> Environment:
    """Return the environment of a package's templates, which keeps them compiled: a series writes many pages."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(one, "template") for one in dict.fromkeys((package, "lab.pages"))]),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = sentence
    environment.globals["asset"] = asset
    return environment


@cache
def _fonts() -> Markup:
    """Return the style rules that embed the fonts."""
    rules = []
    for family, weight, style, name in FONTS:
        data = (resources.files("lab.pages") / "template" / "fonts" / name).read_bytes()
        source = f"url(data:font/woff2;base64,{base64.b64encode(data).decode('ascii')}) format('woff2')"
        rules.append(
            f"@font-face {{ font-family: '{family}'; font-weight: {weight}; font-style: {style}; src: {source}; }}"
        )
    return Markup("\n".join(rules))  # noqa: S704


def asset(name: str, package: str = "lab.pages") -> Markup:
    """Return a file of a package's template unescaped: it is ours, and contains nothing from a run."""
    return Markup((resources.files(package) / "template" / name).read_text(encoding="utf-8"))  # noqa: S704
