"""``results/index.html``: all runs, to browse, filter and plot over time; one file that fetches nothing.

The rows are in the page as JSON, and its script filters them. Without scripts it shows the newest runs as a table.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from markupsafe import Markup

from lab.history.index import History, RunRow
from lab.paths import Checkout
from lab.report import numbers
from lab.report.page import asset, render
from lab.report.tables import Cell, Table
from lab.whole_file import write_whole

STATIC_ROWS = 100
FIELDS = (
    "name",
    "state",
    "variant",
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
    path = results / "index.html"
    results.mkdir(parents=True, exist_ok=True)
    write_whole(path, _page(rows, answers))
    return path


def _is_answer(path: Path) -> bool:
    return path.stem in ("suite", "compare", "search", "sweep") and not (path.parent / "run.json").exists()


def _page(rows: list[RunRow], answers: list[str]) -> str:
    document = [[getattr(row, field) for field in FIELDS] for row in rows]
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return render(
        "lab.history",
        "index.html.j2",
        count=len(rows),
        states=Counter(row.state for row in rows),
        experiments=sorted({row.experiment for row in rows}),
        variants=sorted({row.variant for row in rows if row.variant}),
        answers=answers,
        fields=json.dumps(FIELDS),
        rows_json=Markup(text.replace("<", "\\u003c").replace("&", "\\u0026")),  # noqa: S704
        static=_static(rows[:STATIC_ROWS]),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        own_style=asset("index.css", "lab.history"),
        own_script=asset("index.js", "lab.history"),
    )


def _static(rows: list[RunRow]) -> Table:
    columns = ("Run", "Verdict", "Variant", "Offered/s", "Achieved/s", "Requests", "p50", "p99", "p99.9", "Notes")
    cells = [
        [
            Cell(row.name, "", f"{row.name}/report.html"),
            Cell(row.state, f"state-{row.state}"),
            Cell(row.variant or ""),
            Cell(numbers.rate(row.offered)),
            Cell(numbers.rate(row.achieved)),
            Cell(numbers.count(row.requests)),
            *[Cell(row.latency(column)) for column in ("p50", "p99", "p999")],
            Cell(row.note),
        ]
        for row in rows
    ]
    return Table("runs", "Runs, newest first", columns, cells, frozenset({3, 4, 5, 6, 7, 8}))
