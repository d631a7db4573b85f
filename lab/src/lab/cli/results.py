"""`lab results`: the runs there are, newest first."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lab.errors import InputError, did_you_mean
from lab.manifest import Manifest, ManifestError
from lab.paths import Checkout
from lab.run.summary import STATE_STYLES

FIGURES = 5
"""Rates offered and achieved, three percentiles."""


def print_results(console: Console, checkout: Checkout, experiment: str | None) -> None:
    """Print a line a run. Raises InputError for an experiment without runs."""
    paths = sorted(checkout.results.glob("*/*/run.json"), key=lambda path: path.parent.name, reverse=True)
    if experiment is not None:
        known = {path.parent.parent.name for path in paths}
        paths = [path for path in paths if path.parent.parent.name == experiment]
        if not paths:
            raise InputError(f"no run of an experiment {experiment!r}{did_you_mean(experiment, known)}")
    if not paths:
        console.print("No runs yet. Make one: make experiment NAME=stack-get", highlight=False)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("run", "verdict", "runtime", "offered/s", "achieved/s", "p50", "p99", "max", "notes"):
        right = column not in ("run", "verdict", "runtime", "notes")
        table.add_column(column, justify="right" if right else "left", no_wrap=column != "notes")
    for path in paths:
        name = f"{path.parent.parent.name}/{path.parent.name}"
        try:
            table.add_row(name, *_cells(Manifest.read(path)))
        except ManifestError as error:
            table.add_row(name, Text("unreadable", style="red"), "", *[""] * FIGURES, Text(str(error)))
    console.print(table)


def _cells(manifest: Manifest) -> list[str | Text]:
    figures = [""] * FIGURES
    summary = manifest.summary
    if summary is not None:
        achieved, percentiles = summary.rate_achieved_per_s, summary.latency_ms.percentiles
        figures = [f"{summary.rate_offered_per_s:,.0f}", "–" if achieved is None else f"{achieved:,.0f}"]
        figures += [_latency(percentiles.get(percentile)) for percentile in ("50", "99", "100")]
    notes = [f"{key}={value}" for key, value in manifest.experiment.overrides.items()]
    if not manifest.complete:
        verdict = Text("incomplete", style="yellow")
        last = manifest.phases[-1] if manifest.phases else None
        notes.insert(0, "nothing began" if last is None else f"{last.name} was {_ending(last.outcome)}")
    else:
        state = manifest.validity.state if manifest.validity is not None else "unknown"
        verdict = Text(state, style=STATE_STYLES.get(state, ""))
    return [verdict, manifest.runtime, *figures, ", ".join(notes)]


def _ending(outcome: str) -> str:
    return {"failed": "the phase that failed", "interrupted": "interrupted"}.get(outcome, "the last phase it ended")


def _latency(value_ms: float | None) -> str:
    """Return a latency with three digits and its unit: `0.588 ms`, `4.44 s`."""
    if value_ms is None:
        return "–"
    value, unit = (value_ms / 1000, "s") if value_ms >= 1000 else (value_ms, "ms")
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{3 if value < 1 else decimals}f} {unit}"
