"""The lines at the end of a run that ended well: the figures and the verdict."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lab.analysis.percentiles import REPORTED, label
from lab.manifest import Manifest, Measurement, Summary
from lab.report import numbers
from lab.run.outcome import shown

STATE_STYLES = {"valid": "bold green", "suspect": "bold yellow", "invalid": "bold red"}


def print_summary(console: Console, manifest: Manifest, directory: Path) -> None:
    """Print rates, latency percentiles, errors, the verdict and the report's path."""
    summary, validity = manifest.summary, manifest.validity
    console.print()
    console.print(Text(manifest.experiment.title, style="bold"))
    if manifest.experiment.overrides:
        changed = ", ".join(f"{key} = {value}" for key, value in manifest.experiment.overrides.items())
        console.print(f"overridden for this run: {changed}", highlight=False)
    if summary is not None:
        console.print(_table(summary, summary.profiled))
    if validity is not None:
        console.print(Text.assemble("verdict: ", (validity.state, STATE_STYLES[validity.state])))
        for reason in [*validity.reasons, *validity.findings]:
            console.print(Text(f"  • {reason}"), soft_wrap=True, highlight=False)
    console.print(f"report:  {shown(directory / 'report.html')}", soft_wrap=True, highlight=False)


def _table(summary: Summary, profiled: Measurement | None) -> Table:
    columns: list[tuple[str, Measurement]] = [("unprofiled", summary)]
    columns += [("profiled", profiled)] if profiled is not None else []
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for name, _ in columns:
        table.add_column(name, justify="right")
    table.add_row("offered, requests/s", *[f"{m.rate_offered_per_s:,.0f}" for _, m in columns])
    table.add_row("achieved, requests/s", *[_number(m.rate_achieved_per_s, ",.1f") for _, m in columns])
    if len(summary.repetitions) > 1:
        each = " ".join(_number(repetition.rate_achieved_per_s, ",.0f") for repetition in summary.repetitions)
        table.add_row("  by repetition", each, *[""] * (len(columns) - 1))
    if any(m.refused for _, m in columns):
        table.add_row("served, requests/s", *[_number(m.goodput_per_s, ",.1f") for _, m in columns])
        table.add_row("refused", *[_number(m.refused, ",") for _, m in columns])
    table.add_row("requests", *[f"{m.requests:,}" for _, m in columns])
    table.add_row("errors", *[f"{m.errors.total:,}" for _, m in columns])
    of_served = " of served" if summary.headline_ms is summary.served_ms else ""
    for percentile in REPORTED:
        if percentile in summary.headline_ms.percentiles:
            cells = [numbers.percentile(m.headline_ms, percentile) for _, m in columns]
            table.add_row(f"latency {label(percentile)}{of_served}", *cells)
    return table


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
