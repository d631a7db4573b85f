"""``sweep.html`` and ``search.html``: an answer, latency against rate, the runs; also as Markdown.

Both are written from record.json and the run directories that it names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from lab.analysis.percentiles import label
from lab.experiment import Experiment
from lab.manifest import Manifest
from lab.rates.charts import Marks, latency_chart, served_chart
from lab.rates.points import Point, point_of
from lab.report import numbers
from lab.report.data import local_time
from lab.report.headline import Figure
from lab.report.markdown import markdown_table, markdown_text
from lab.report.page import render
from lab.report.tables import Cell, Table
from lab.series import Answer
from lab.whole_file import write_whole

REMARK_SHORT = 20
"""A verdict of at most this many letters needs no wide column."""


@dataclass(frozen=True)
class Content:
    """What the HTML and the Markdown page both show. `tone` colours the box of the sentence like a verdict's."""

    title: str
    kind: str
    question: str
    badge: str
    tone: str
    sentence: str
    remarks: list[str]
    figures: list[Figure]
    points: list[Point]
    marks: Marks
    table: Table
    method: list[str] = field(default_factory=list)


def write_sweep_page(results: Path, answer: Answer, experiment: Experiment) -> Path:
    """Write the page of a sweep, complete or not; return its path."""
    runs = [planned.run for planned in answer.runs if planned.run is not None]
    points = [point_of(Manifest.read(results / run / "run.json"), run) for run in runs]
    kept_up = [p for p in points if p.served_per_s is not None and p.served_per_s >= 0.99 * p.rate_per_s]
    best = max((p.served_per_s for p in points if p.served_per_s is not None), default=None)
    highest = max((p.rate_per_s for p in kept_up), default=None)
    figures = [Figure("Kept up to", numbers.rate(highest), "requests/s", "at least 99% of it served")]
    figures.append(Figure("Most served", numbers.rate(best), "requests/s"))
    missing = len(answer.missing)
    sentence = (
        f"The service kept up with {numbers.rate(highest)}/s; the most that it served were {numbers.rate(best)}/s."
        if highest is not None
        else f"The service kept up with none of these rates; the most that it served were {numbers.rate(best)}/s."
    )
    content = Content(
        title=experiment.title,
        kind="sweep",
        question=experiment.question or "",
        badge="incomplete" if missing else "sweep",
        tone="suspect" if missing else "",
        sentence=sentence,
        remarks=[f"{missing} of {len(answer.runs)} rates were not measured"] if missing else [],
        figures=figures,
        points=points,
        marks=Marks(),
        table=points_table(points, "Rates", "99.9"),
    )
    return write_page(results, answer, content)


def points_table(points: Sequence[Point], caption: str, percentile: str) -> Table:
    """Return a row for each point, with the percentiles that are drawn and the requested one."""
    names = list(dict.fromkeys(("50", "99", percentile, "100")))
    published = any(point.published_per_s is not None or point.published_ms for point in points)
    rows = []
    for number, point in enumerate(points, 1):
        css = "" if point.counted else "none"
        row = [
            Cell(str(number), css),
            Cell(numbers.rate(point.rate_per_s), css),
            Cell(numbers.rate(point.served_per_s), css),
        ]
        row += [Cell(point.latency(name), css) for name in names]
        if published:
            row.append(Cell(numbers.rate(point.published_per_s), "reference-figure"))
            row.append(Cell(numbers.latency(point.published_ms.get("99")), "reference-figure"))
        tone = {True: "", False: "bad", None: "none"}[point.good] + (
            " remark" if len(point.remark) > REMARK_SHORT else ""
        )
        row += [Cell(numbers.count(point.requests), css), Cell(point.remark, tone), _link(point.run)]
        rows.append(row)
    columns = ["", "Offered /s", "Served /s", *(label(name) for name in names)]
    columns += ["Published /s", "Published p99"] if published else []
    columns += ["Requests", "Verdict", "Run"]
    return Table("points", caption, tuple(columns), rows, frozenset(range(1, len(columns) - 2)))


def _link(run: str) -> Cell:
    """Return a link from results/<kind>/<id>/ to a run's report."""
    return Cell(run.rpartition("/")[2], href=f"../../{run}/report.html" if run else "")


def write_page(results: Path, answer: Answer, content: Content) -> Path:
    """Write a page and its Markdown into the answer's directory; return the path of the page."""
    directory = answer.directory(results)
    for name, text in ((f"{content.kind}.md", _markdown(content)), (f"{content.kind}.html", _html(answer, content))):
        write_whole(directory / name, text)
    return directory / f"{content.kind}.html"


def _html(answer: Answer, content: Content) -> str:
    started = datetime.strptime(answer.id[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return render(
        "lab.rates",
        "rates.html.j2",
        c=content,
        answer=answer,
        started=local_time(started),
        latency=latency_chart(content.points, content.marks),
        served=served_chart(content.points),
    )


def _markdown(content: Content) -> str:
    figures = " | ".join(f"{figure.value} {figure.unit}".strip() for figure in content.figures)
    names = " | ".join(figure.name for figure in content.figures)
    parts = [
        f"# {markdown_text(content.title)}",
        markdown_text(content.question),
        f"**{content.badge}.** {markdown_text(content.sentence)}",
        "\n".join(f"- {markdown_text(remark)}" for remark in content.remarks),
        f"| {names} |\n|{'---:|' * len(content.figures)}\n| {figures} |",
        f"## {content.table.caption}",
        markdown_table(content.table),
        *map(markdown_text, content.method),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
