"""The lines at the end of a run: the figures and the verdict, or what went wrong and where the files are."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lab.analysis.percentiles import REPORTED, label
from lab.errors import LabError, RunError
from lab.manifest import Manifest, Measurement, Summary
from lab.report import numbers
from lab.run.signals import TerminatedError
from lab.run.state import RunArtifacts
from lab.words import as_typed

STATE_STYLES = {"valid": "bold green", "suspect": "bold yellow", "invalid": "bold red"}
INTERRUPTED_EXIT = 130


def tell_end(
    artifacts: RunArtifacts | None,
    console: Console,
    error: BaseException | None,
    failed_phase: str | None,
    left: Sequence[str] = (),
) -> int:
    """Print how the run ended, and what is `left` running; return the process's exit code.

    `artifacts` is None if there is no run directory.
    """
    if error is None:
        if artifacts is None:
            raise AssertionError("a run that ended well has a directory")
        print_summary(console, artifacts.manifest, artifacts.directory)
        return 0
    if isinstance(error, KeyboardInterrupt):
        code = error.exit_code if isinstance(error, TerminatedError) else INTERRUPTED_EXIT
        ended = "." if left else "; nothing is left running."
        console.print(f"[yellow]Interrupted[/] in phase {failed_phase or 'preflight'}{ended}", soft_wrap=True)
    elif isinstance(error, LabError):
        # A run that left something had begun: 2 is for input that was refused before anything was started.
        code = error.exit_code if artifacts is None else LabError.exit_code
        print_error(console, error)
    else:
        code = 1
        console.print(Text(f"The lab itself failed: {type(error).__name__}: {error}", style="bold red"))
        if artifacts is None:
            console.print(Text("".join(traceback.format_exception(error))), soft_wrap=True)
        else:
            console.print(f"Where: {_shown(artifacts.directory / 'error.txt')}", highlight=False, soft_wrap=True)
    for what in left:
        console.print(Text(f"May still be running: {what}", style="bold red"), soft_wrap=True, highlight=False)
    if artifacts is not None:
        where = f"{_shown(artifacts.directory)} (run.json: incomplete, phase {failed_phase})"
        console.print(f"What was collected: {where}", highlight=False, soft_wrap=True)
    return code


def print_error(console: Console, error: LabError) -> None:
    """Print an error for people: what is wrong, the log's end if there is one, what to do."""
    console.print(Text.assemble(("error: ", "bold red"), as_typed(error.message)), soft_wrap=True, highlight=False)
    if isinstance(error, RunError) and error.log_tail.strip():
        console.print(Text("the end of its log:", style="dim"))
        for line in error.log_tail.rstrip().splitlines():
            console.print(Text(f"  │ {line}", style="dim"), soft_wrap=True, highlight=False)
    if error.hint:
        console.print(Text(as_typed(error.hint)), soft_wrap=True, highlight=False)


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
    console.print(f"report:  {_shown(directory / 'report.html')}", soft_wrap=True, highlight=False)


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


def _shown(path: Path) -> str:
    """Return the path for the user to paste: relative to their directory, if that is shorter."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
