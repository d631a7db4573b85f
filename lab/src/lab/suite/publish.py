"""`make findings`: the page of a finished suite as a few small files that can be kept with the source.

`docs/findings/<suite>/` gets a README.md, the charts as SVG and the CPU flame graphs as pictures of at most 80 kB.
`docs/findings/README.md` lists all findings.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from PIL import Image

from lab.errors import InputError
from lab.pages import markdown
from lab.pages.html import asset
from lab.paths import Checkout
from lab.record import RECORD, RecordError
from lab.series import Answer
from lab.statistics import BLOCKS_MIN
from lab.suite.page import gather

FLAME_BYTES_MAX = 80_000
FLAME_WIDTHS = (1100, 900, 700)


def publish(checkout: Checkout, name: str) -> Path:
    """Write docs/findings/<name>/ from the newest complete suite of that name; return the directory.

    InputError if there is none with enough rounds for a claim.
    """
    content = gather(checkout, _newest(checkout, name), link="")
    directory = checkout.root / "docs" / "findings" / name
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.iterdir():
        if old.suffix in (".svg", ".webp", ".html", ".md"):
            old.unlink()
    files: dict[str, str] = {}
    for chart in content.charts:
        files[chart.name] = f"{chart.name}.svg"
        (directory / files[chart.name]).write_text(chart.file(str(asset("plot.css"))), encoding="utf-8")
    for case, source in content.pictures.items():
        picture = _small(source)
        if picture is not None:
            files[case] = f"cpu-{case.replace('@', '-')}.webp"
            (directory / files[case]).write_bytes(picture)
    (directory / "README.md").write_text(markdown.render(content.document, files), encoding="utf-8")
    _list(directory.parent)
    return directory


def _newest(checkout: Checkout, name: str) -> Answer:
    found = []
    for path in sorted((checkout.results / "suite").glob(f"*/{RECORD}"), reverse=True):
        with contextlib.suppress(RecordError):
            answer = Answer.read(path)
            if answer.name == name and answer.state == "complete":
                found.append(answer)
    if not found:
        where = checkout.results / "suite"
        raise InputError(f"no complete suite {name!r} in {where}", f"make suite NAME={name} makes one")
    for answer in found:
        if max(planned.round for planned in answer.runs) >= BLOCKS_MIN:
            return answer
    raise InputError(
        f"each complete suite {name!r} has fewer than {BLOCKS_MIN} rounds, so it claims nothing",
        f"make suite NAME={name} ROUNDS={BLOCKS_MIN} makes one that does",
    )


def _small(path: Path) -> bytes | None:
    """Return a picture as WebP of at most FLAME_BYTES_MAX bytes; None if it does not fit."""
    if not path.is_file():
        return None
    with Image.open(path) as original:
        whole = original.convert("RGB")
    for width in FLAME_WIDTHS:
        size = (width, max(1, round(whole.height * width / whole.width)))
        buffer = io.BytesIO()
        whole.resize(size, Image.Resampling.LANCZOS).save(buffer, "WEBP", quality=50, method=6)
        if buffer.tell() <= FLAME_BYTES_MAX:
            return buffer.getvalue()
    return None


def _list(findings: Path) -> None:
    """Write the list of findings, from the existing pages."""
    parts = [
        "# Findings",
        "Results of this lab's suites. Each page describes the machine that measured it. [suites.md](../suites.md) "
        "explains how to run a suite; `make findings NAME=queues` then writes such a page.",
    ]
    for page in sorted(findings.glob("*/README.md")):
        text = page.read_text(encoding="utf-8")
        title = text.splitlines()[0].removeprefix("# ")
        headlines = re.findall(r"^\*\*(.+)\*\*$", text, re.MULTILINE)
        parts += [f"## [{title}]({page.parent.name}/README.md)", "\n".join(f"- {line}" for line in headlines)]
    (findings / "README.md").write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
