"""``sweep.html`` and ``search.html``: an answer, latency against rate, the runs; also as Markdown.

Both are written from record.json and the run directories that it names.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from lab.analysis.percentiles import label
from lab.experiment import Experiment
from lab.manifest import Manifest
from lab.pages.document import (
    Block,
    Cell,
    Document,
    Figure,
    Figures,
    Paragraph,
    Row,
    Table,
    Verdict,
    paragraph,
    present,
    section,
)
from lab.pages.write import write
from lab.rates.charts import Marks, latency_chart, served_chart
from lab.rates.points import Point, point_of
from lab.record import RECORD
from lab.report import numbers
from lab.report.data import local_time
from lab.series import Answer

REMARK_SHORT = 20
"""A verdict of at most this many letters needs no wide column."""


def write_sweep_page(results: Path, answer: Answer, experiment: Experiment) -> Path:
    """Write the page of a sweep, complete or not; return its path."""
    runs = [planned.run for planned in answer.runs if planned.run is not None]
    points = [point_of(Manifest.read(results / run / "run.json"), run) for run in runs]
    kept_up = [p for p in points if p.served_per_s is not None and p.served_per_s >= 0.99 * p.rate_per_s]
    best = max((p.served_per_s for p in points if p.served_per_s is not None), default=None)
    highest = max((p.rate_per_s for p in kept_up), default=None)
    figures = [
        Figure("Kept up to", numbers.rate(highest), "at least 99% of it served", unit="requests/s"),
        Figure("Most served", numbers.rate(best), unit="requests/s"),
    ]
    missing = len(answer.missing)
    kept = f"kept up with {numbers.rate(highest)}/s" if highest is not None else "kept up with none of these rates"
    sentence = f"The service {kept}; the most that it served were {numbers.rate(best)}/s."
    remarks = [f"{missing} of {len(answer.runs)} rates were not measured"] if missing else []
    head = present(
        paragraph(experiment.question or "", "question"),
        Verdict("incomplete" if missing else "sweep", sentence, "suspect" if missing else "", remarks),
        Figures(figures),
    )
    return write_page(
        results,
        answer,
        title=experiment.title,
        head=head,
        points=points,
        marks=Marks(),
        table=points_table(points, "Rates", "99.9"),
    )


def points_table(points: Sequence[Point], caption: str, percentile: str) -> Table:
    """Return a row for each point, with the percentiles that are drawn and the requested one."""
    names = list(dict.fromkeys(("50", "99", percentile, "100")))
    published = any(point.published_per_s is not None or point.published_ms for point in points)
    rows: list[Row] = []
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


def write_page(
    results: Path,
    answer: Answer,
    *,
    title: str,
    head: Sequence[Block],
    points: Sequence[Point],
    marks: Marks,
    table: Table,
    method: Sequence[str] = (),
) -> Path:
    """Write the page of a sweep or a search into the answer's directory; return its path."""
    started = datetime.strptime(answer.id[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    latency = latency_chart(points, marks) or Paragraph("No latencies were recorded.", "gap")
    document = Document(
        file=answer.kind,
        title=title,
        also=answer.id,
        overline=[answer.name, answer.kind, local_time(started)],
        head=head,
        sections=[
            section("latency", "Latency against rate", latency, name="Latency"),
            section("served", "Served against offered", served_chart(points), name="Served"),
            section("steps", table.caption, table),
            section("method", "Method", *map(Paragraph, method)),
        ],
        made=f"{answer.kind.capitalize()} {answer.id} of {answer.name}",
        beside=[(RECORD, RECORD), (f"{answer.kind}.md", f"{answer.kind}.md")],
    )
    return write(answer.directory(results), document)
