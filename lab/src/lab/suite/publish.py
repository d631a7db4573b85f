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
from lab.paths import Checkout
from lab.record import RECORD, RecordError
from lab.report.chart import Chart
from lab.report.page import asset
from lab.series import Answer
from lab.statistics import BLOCKS_MIN
from lab.suite.page import gather, render_markdown

FLAME_BYTES_MAX = 80_000
FLAME_WIDTHS = (1100, 900, 700)
STYLED = re.compile(r"^(:root|\.plot text|\.grid|\.axis|\.line|\.dot|\.area|\.mark|\.band)\b.*")
LEGEND_HEIGHT = 26


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
    charts = [*content.sweeps, *(chart for group in content.groups for chart in (group.ratios, group.latency))]
    for chart in charts:
        if chart is not None:
            files[chart.name] = f"{chart.name}.svg"
            (directory / files[chart.name]).write_text(standalone(chart), encoding="utf-8")
    for flame in content.flames.shown:
        picture = _small(flame.source)
        if picture is not None:
            files[flame.name] = f"cpu-{flame.name.replace('@', '-')}.webp"
            (directory / files[flame.name]).write_bytes(picture)
    (directory / "README.md").write_text(render_markdown(content, pictures=files), encoding="utf-8")
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


def standalone(chart: Chart) -> str:
    """Return a chart's wide drawing as an SVG file of its own, with its legend and the page's colours."""
    drawing = str(chart.drawings[0])
    box = re.search(r'viewBox="0 0 (\d+) (\d+)"', drawing)
    if box is None:
        raise AssertionError("a drawing has a view box")
    width, height = int(box[1]), int(box[2])
    drawing = drawing.replace(box[0], f'viewBox="0 -{LEGEND_HEIGHT} {width} {height + LEGEND_HEIGHT}"', 1)
    drawing = drawing.replace("<svg ", f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" ', 1)
    keys, x = [], 8
    for key in chart.legend:
        d = (
            f"M{x + 13} -17L{x + 18} -12L{x + 13} -7L{x + 8} -12Z"
            if key.css.startswith("mark")
            else f"M{x} -12H{x + 26}"
        )
        shape = f'<path class="{key.css}" d="{d}"/>'
        keys.append(f'{shape}<text x="{x + 33}" y="-8">{_escaped(key.name)}</text>')
        x += 52 + 7 * len(key.name)
    style = f"<style>{_style()}</style>"
    return re.sub(r"(<svg [^>]*>)", lambda match: match[1] + style + "".join(keys), drawing, count=1) + "\n"


def _style() -> str:
    """Return the rules of the report's style sheet that a drawing needs, in both colour schemes."""
    lines = str(asset("report.css")).splitlines()
    light, dark = re.findall(r":root \{[^}]*\}", "\n".join(lines))[:2]
    rules = [light, f"@media (prefers-color-scheme: dark) {{ {dark} }}"]
    rules += [line for line in lines if STYLED.match(line) and not line.startswith(":root")]
    return "\n".join([*rules, "svg { background: var(--paper); }"])


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


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
