"""The lines at the end of a run that ended well: the figures and the verdict."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lab.manifest import Manifest, Summary
from lab.pages.document import Figure
from lab.report import numbers
from lab.report.headline import figures_of
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
        console.print(_table(summary))
    if validity is not None:
        console.print(Text.assemble("verdict: ", (validity.state, STATE_STYLES[validity.state])))
        for reason in [*validity.reasons, *validity.findings]:
            console.print(Text(f"  • {reason}"), soft_wrap=True, highlight=False)
    console.print(f"report:  {shown(directory / 'report.html')}", soft_wrap=True, highlight=False)


def _table(summary: Summary) -> Table:
    """Return the figures of a report's head, and all percentiles that the sample supports."""
    profiled = {} if summary.profiled is None else {_plain(one): one for one in figures_of(summary.profiled)}
    table = Table("", "unprofiled", "profiled" if profiled else "", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in table.columns[1:]:
        column.justify = "right"
    for figure in figures_of(summary):
        if figure.text == numbers.UNKNOWN:
            continue
        beside = profiled.get(_plain(figure))
        name = figure.name.lower().replace(", served", " of served") + (f", {figure.unit}" if figure.unit else "")
        value = figure.text + (f" ({figure.context})" if figure.context else "")
        table.add_row(name, value, beside.text if beside else "")
        if figure.name == "Achieved" and len(summary.repetitions) > 1:
            table.add_row(
                "  by repetition", " ".join(numbers.rate(one.rate_achieved_per_s) for one in summary.repetitions)
            )
    return table


def _plain(figure: Figure) -> str:
    return figure.name.removesuffix(", served")
