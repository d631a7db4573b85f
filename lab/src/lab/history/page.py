"""``results/index.html``: all runs, to browse, filter and plot over time; one file that fetches nothing.

The rows are in the page as JSON, and its script filters them. Without scripts it shows the newest runs as a table.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from lab.history.index import History, RunRow
from lab.pages import html
from lab.pages.document import Cell, Document, LinkList, Paragraph, Row, Table, section
from lab.pages.plot import json_inside
from lab.paths import Checkout
from lab.report import numbers
from lab.whole_file import write_whole

STATIC_ROWS = 100
FIELDS = (
    "name",
    "state",
    "service",
    "runtime",
    "offered",
    "achieved",
    "requests",
    "p50",
    "p99",
    "p999",
    "max",
    "lower_bounds",
    "cpu",
    "note",
)


def write_index(checkout: Checkout) -> Path:
    """Bring the index up to date and write the page; return its path."""
    rows = History(checkout).rows()
    results = checkout.results
    answers = sorted(
        (path.relative_to(results).as_posix() for path in results.glob("*/*/*.html") if _is_answer(path)), reverse=True
    )
    results.mkdir(parents=True, exist_ok=True)
    path = results / "index.html"
    write_whole(path, _page(rows, answers))
    return path


def _is_answer(path: Path) -> bool:
    return path.stem in ("suite", "compare", "search", "sweep") and not (path.parent / "run.json").exists()


def _page(rows: list[RunRow], answers: list[str]) -> str:
    states = Counter(row.state for row in rows)
    counted = ", ".join(f"{number:,} {state}" for state, number in states.items())
    links = [(path.rpartition("/")[0], path) for path in answers]
    document = Document(
        file="index",
        title=f"{len(rows):,} runs",
        also="LSM Lab",
        overline=["results", f"as of {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"],
        head=[Paragraph(f"{counted}." if states else "Make one: make experiment NAME=stack-get")],
        sections=[
            section("answers", "Suites, searches and comparisons", LinkList(links) if links else None, name="Answers")
        ],
        made="The list of all runs, which make results writes again",
    )
    return html.render(
        document,
        "lab.history",
        "index.html.j2",
        states=states,
        experiments=sorted({row.experiment for row in rows}),
        services=sorted({row.service for row in rows if row.service}),
        fields=json_inside(FIELDS),
        rows=json_inside([[getattr(row, field) for field in FIELDS] for row in rows]),
        static=_static(rows[:STATIC_ROWS]),
    )


def _static(rows: list[RunRow]) -> Table:
    columns = ("Run", "Verdict", "Variant", "Offered/s", "Achieved/s", "Requests", "p50", "p99", "p99.9", "Notes")
    cells: list[Row] = [
        [
            Cell(row.name, "", f"{row.name}/report.html"),
            Cell(row.state, f"state-{row.state}"),
            row.service or "",
            numbers.rate(row.offered),
            numbers.rate(row.achieved),
            numbers.count(row.requests),
            *[row.latency(column) for column in ("p50", "p99", "p999")],
            row.note,
        ]
        for row in rows
    ]
    return Table("runs", "Runs, newest first", columns, cells, {3, 4, 5, 6, 7, 8})
