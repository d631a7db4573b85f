"""Look at finished runs and keep them: results, changes, index, export, tag, prune, report, parse-load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.cli.output import console
from lab.cli.reading import load_text_as_json, report_again
from lab.cli.results import print_changes, print_results
from lab.history.index import Filter
from lab.history.keeping import described, export, tag
from lab.history.keeping import prune as prune_runs
from lab.history.page import write_index
from lab.paths import find_checkout

commands = typer.Typer()


@commands.command()
def results(  # noqa: PLR0917 - one parameter an option
    name: Annotated[str | None, typer.Argument(help="Only the runs of this experiment; a pattern: '*-get'.")] = None,
    service: Annotated[str | None, typer.Option(help="Only runs of this service: stack, shop.jar.")] = None,
    runtime: Annotated[
        str | None, typer.Option(help="Only runs in this runtime.", metavar="docker|local|kubernetes")
    ] = None,
    since: Annotated[str | None, typer.Option(help="Only runs newer than this: 2026-11-20, 7d, 12h.")] = None,
    valid: Annotated[bool, typer.Option("--valid", help="Only runs whose verdict is valid.")] = False,
    last: Annotated[int, typer.Option(min=0, help="Maximum number of runs to list; 0: all.")] = 50,
) -> None:
    """List all runs, newest first, with their verdicts; results/index.html shows them in a browser."""
    print_results(console(), find_checkout(), Filter(name, service, runtime, since, valid), last)


@commands.command()
def changes(
    name: Annotated[str, typer.Argument(help="The experiment.")],
    against: Annotated[str, typer.Argument(help="The reference experiment, which was run each time too.")],
    metric: Annotated[str, typer.Option(help="The figure: p50, p99, p99.9, max, rate or cpu.")] = "p99",
) -> None:
    """Say when an experiment changed: change points of its ratio to a reference run beside each run."""
    print_changes(console(), find_checkout(), name, against, metric)


@commands.command()
def index() -> None:
    """Write results/index.html: all runs, to browse, filter and plot over time."""
    typer.echo(write_index(find_checkout()))


@commands.command("export")
def export_run(
    run: Annotated[str, typer.Argument(help="A run, `stack-get/20261121T091433Z`, a tag, or `suite/…`.")],
    out: Annotated[Path | None, typer.Option(help="The file to write. Default: here, named after the run.")] = None,
) -> None:
    """Pack a run, or a suite with all its runs, into one .tar.gz."""
    typer.echo(export(find_checkout(), run, out))


@commands.command("tag")
def tag_run(
    run: Annotated[str, typer.Argument(help="A run: `stack-get/20261121T091433Z`.")],
    word: Annotated[
        str, typer.Argument(metavar="TAG", help="A word such as `baseline`; the run that had this tag loses it.")
    ],
) -> None:
    """Tag a run: `prune` keeps it, and `export` finds it by its tag."""
    tag(find_checkout(), run, word)


@commands.command()
def prune(
    keep: Annotated[
        int, typer.Option(envvar="KEEP", help="Number of newest complete runs to keep of each experiment.")
    ] = 10,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show which runs would be removed.")] = False,
) -> None:
    """Remove old runs. Runs that a suite, a search, a comparison or a tag refers to stay."""
    gone, kept = prune_runs(find_checkout(), keep, dry_run=dry_run)
    screen = console()
    removed = "would be removed" if dry_run else "removed"
    for one in gone:
        screen.print(f"{removed}  {one.name}", highlight=False)
    for one in kept:
        screen.print(f"kept  {one.name}, for {one.kept_for}", highlight=False)
    screen.print(f"{described(gone)} {removed}; {described(kept)} kept for others", highlight=False)


@commands.command()
def report(
    run: Annotated[str, typer.Argument(help="A run, `stack-get/20261121T091433Z`, or its directory anywhere.")],
) -> None:
    """Write report.html and report.md of a run again, from its directory alone."""
    typer.echo(report_again(find_checkout(), run))


@commands.command("parse-load")
def parse_load(
    file: Annotated[str, typer.Argument(help="The text of wrk2 or wrk; - reads standard input.", metavar="FILE")],
) -> None:
    """Print the text report of wrk2, or of a generator that prints the same, or of wrk, as JSON; several as a list.

    What a report lacks, and figures of it that cannot be, are named on standard error.
    """
    document, remarks = load_text_as_json(file)
    typer.echo(document)
    for remark in remarks:
        typer.echo(remark, err=True)
