"""`lab`: the command line as a whole. The commands are in lab/cli/commands, by subject."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lab import __version__
from lab.cli.commands import comparisons, experiments, machine, rates, runs, stack, suites
from lab.cli.output import show_error
from lab.errors import LabError

app = typer.Typer(
    name="lab",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Runs the experiments of LSM Lab: which code shapes a key-value service's throughput and tail latency?\n\n"
    "An [bold]experiment[/] (experiments/NAME/experiment.yaml) declares a service, a dataset and a load. "
    "[bold]lab run NAME[/] executes it once and leaves results/NAME/RUN/report.html: latency by percentile, "
    "latency over time, flame graphs, and a verdict on whether the figures may be quoted.\n\n"
    "Start with [bold]lab list[/], then [bold]lab run stack-get --rate 20000 --duration 20s[/].",
)
for subject in (experiments, rates, suites, comparisons, runs, machine, stack):
    app.add_typer(subject.commands)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lab {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. A LabError becomes a message and its exit code, never a traceback."""
    try:
        app(prog_name="lab")
    except LabError as error:
        show_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
