"""``report.md``: the report's words and tables, for places that show Markdown."""

from __future__ import annotations

import re

from lab.report import headline, latency_tables, load_tables, profile_tables, profile_words, run_tables, service_tables
from lab.report.data import ReportData
from lab.report.tables import EVENT_NAMES, Cell, Table

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def render_markdown(data: ReportData) -> str:
    """Return the whole of ``report.md``."""
    manifest = data.manifest
    verdict = headline.verdict(data)
    parts = [
        f"# {markdown_text(manifest.experiment.title)}",
        f"Experiment `{manifest.experiment.name}`, run `{manifest.run_id}`, {run_tables.started(data)}, "
        f"runtime {manifest.runtime}. [report.html](report.html) has the charts.",
        f"Set for this run: {markdown_text(changed)}." if (changed := headline.overrides(data)) else "",
        f"**Verdict: {verdict.state}.** {verdict.sentence}",
        "\n".join(f"- {markdown_text(headline.sentence(line))}" for line in [*verdict.reasons, *verdict.findings]),
        "\n".join(f"- {markdown_text(gap)}" for gap in data.gaps),
    ]
    if figures := headline.figures(data):
        row = " | ".join(f"{figure.value} {figure.unit}".strip() for figure in figures)
        names = " | ".join(figure.name for figure in figures)
        parts.append(f"| {names} |\n|{'---:|' * len(figures)}\n| {row} |")
    parts += _section("Latency", [latency_tables.percentile_table(data)])
    parts += _section("Inside the service", [service_tables.stage_table(data), service_tables.activity_table(data)])
    of_load = [load_tables.rate_table(data), load_tables.generator_table(data), load_tables.error_table(data)]
    parts += _section("Rate, responses and errors", of_load)
    parts += _section(
        "Profile",
        [
            profile_tables.profile_table(data),
            *(t(event) for event in data.events for t in (profile_tables.category_table, profile_tables.group_table)),
            profile_tables.cost_table(data),
        ],
        before=_pictures(data),
    )
    if (tail := profile_words.tail_of_run(data)) is not None:
        sentences = markdown_text(" ".join(tail.sentences))
        pictures = " · ".join(f"[{name}]({path})" for name, path in tail.pictures)
        shown = _section("The slowest seconds", [tail.lines, tail.seconds], before=f"{sentences}\n\n{pictures}".strip())
        parts += shown or ["## The slowest seconds", sentences]
    parts += _section("Checks", [load_tables.check_table(data)])
    parts += _section("Environment", [run_tables.environment_table(data)])
    parts += _section(
        "The run", [run_tables.experiment_table(data), run_tables.phase_table(data), run_tables.artifact_table(data)]
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(title: str, content: list[Table | None], before: str = "") -> list[str]:
    shown = [table for table in content if table is not None]
    if not shown:
        return []
    parts = [f"## {title}", before]
    for table in shown:
        parts += [f"### {table.caption}" if len(shown) > 1 else "", markdown_table(table), markdown_text(table.note)]
    return parts


def _pictures(data: ReportData) -> str:
    lines = []
    for event in data.events:
        name = EVENT_NAMES.get(event.name, event.name)
        if event.picture is not None:
            picture = f"![{name} flame graph](profile/{event.name}.png)"
            lines.append(f"[{picture}]({event.pages['']})" if "" in event.pages else picture)
        shares = () if data.reference is None else data.reference.shares
        lines += [markdown_text(line) for line in profile_words.published_beside_ours(event, shares)]
        links = [f"[{form or 'flame graph'}]({path})" for form, path in event.pages.items()]
        lines.append(f"{name}: {', '.join(links)}" if links else "")
    return "\n\n".join(line for line in lines if line)


def markdown_table(table: Table) -> str:
    """Return the rows of a table, without its caption and its note."""
    rule = "".join("---:|" if i in table.numeric else "---|" for i in range(len(table.columns)))
    lines = [f"| {' | '.join(markdown_text(c) for c in table.columns)} |", f"|{rule}"]
    lines += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in table.rows]
    return "\n".join(lines)


def _cell(cell: Cell) -> str:
    text = markdown_text(cell.text)
    return f"[{text}]({cell.href.replace(' ', '%20')})" if cell.href else text


def markdown_text(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
