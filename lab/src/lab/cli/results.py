"""`lab results` and `lab changes`: all runs, and whether an experiment changed over time (lab/history)."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from lab.history.index import Filter, History, RunRow
from lab.paths import Checkout
from lab.words import as_typed

STYLES = {
    "valid": "bold green",
    "suspect": "bold yellow",
    "invalid": "bold red",
    "incomplete": "yellow",
    "unreadable": "red",
}
COLUMNS = ("run", "verdict", "runtime", "offered/s", "achieved/s", "p50", "p99", "max", "notes")
LEFT = frozenset({0, 1, 2, 8})


def print_results(console: Console, checkout: Checkout, wanted: Filter, last: int = 0) -> None:
    """Print a line for each of the newest `last` runs, 0 for all. Raises InputError for an experiment without runs."""
    history = History(checkout)
    if wanted.name is not None:
        history.require(wanted.name)
    found, everything = history.rows(wanted), len(history.rows())
    rows = found[:last] if last else found
    if not everything:
        console.print(as_typed("No runs yet. Make one: make experiment NAME=stack-get"), highlight=False)
        return
    if not rows:
        console.print(f"None of the {everything:,} runs matches.", highlight=False)
        return
    _print(console, [COLUMNS, *(_cells(row) for row in rows)])
    if len(rows) < len(found):
        console.print(as_typed(f"the newest {len(rows):,} of {len(found):,} runs; LAST=0 shows all"), highlight=False)


def print_changes(console: Console, checkout: Checkout, name: str, against: str, metric: str) -> None:
    """Print the changes of level of an experiment against a reference. InputError if one of them has no runs."""
    from lab.history.changes import LEVEL_MIN, finished, level_changes, pairs_of, usable  # noqa: PLC0415 - SciPy takes a second to load
    from lab.report import numbers  # noqa: PLC0415

    history = History(checkout)
    for one in (name, against):
        history.require(one)
    runs = history.rows(Filter(name=name))
    pairs = pairs_of(runs, history.rows(Filter(name=against)), metric)
    few = len(pairs) < 2 * LEVEL_MIN
    lines = [f"{metric} of {name} ÷ that of {against}, {len(pairs)} pairs of runs within an hour of each other"]
    if unlike := len(finished(runs)) - len(usable(runs)):
        lines.append(
            f"  {unlike} runs left out: made with other settings, another runtime or another machine than the newest"
        )
    if few:
        lines.append(f"  too few to tell: at least {2 * LEVEL_MIN} are needed")
    changes = level_changes(pairs)
    lines += [
        f"  since {change.run} {numbers.ratio(change.after / change.before)} "
        f"(×{change.before:.3g} to ×{change.after:.3g}, n = {change.pairs_before} and {change.pairs_after}; "
        f"a change of {numbers.share(change.detectable)} would have been found)"
        for change in changes
    ]
    if not changes and not few:
        lines.append("  no change of level")
    for line in lines:
        console.print(Text(line), highlight=False, soft_wrap=True)


def _print(console: Console, table: list[tuple[str, ...]]) -> None:
    """Print aligned columns. A table of rich takes seconds for ten thousand rows."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = Text()
    for row in table:
        for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
            padded = (cell if at == len(row) - 1 else cell.ljust(width)) if at in LEFT else cell.rjust(width)
            lines.append(padded, STYLES.get(cell) if at == 1 else None)
            lines.append("  " if at < len(row) - 1 else "\n")
    if console.is_terminal:
        console.print(lines, highlight=False, soft_wrap=True, end="")
    else:
        console.file.write(lines.plain)


def _cells(row: RunRow) -> tuple[str, ...]:
    rates = ["" if row.offered is None else f"{row.offered:,.0f}"]
    rates.append("" if row.offered is None else "–" if row.achieved is None else f"{row.achieved:,.0f}")
    latencies = ["" if row.offered is None else row.latency(column) for column in ("p50", "p99", "max")]
    return (row.name, row.state, row.runtime or "", *rates, *latencies, " ".join(row.note.split()))
