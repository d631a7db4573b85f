"""`lab`: the command line as a whole. The commands are in lab/cli/commands, by subject."""

from __future__ import annotations

import contextlib
import locale
import os
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
    """Run the command line. A LabError becomes a message and its exit code, never a traceback.

    So does a file that cannot be read or written. If stderr is not writable either, the exit code alone tells.
    """
    use_utf8()
    code = 0
    try:
        app(prog_name="lab")
    except LabError as error:
        code = _tell(error)
    except OSError as error:
        code = _tell(LabError(": ".join(filter(None, (error.strerror or str(error), error.filename)))))
    except KeyboardInterrupt:
        code = 130
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    sys.exit(_flushed(code))


def use_utf8() -> None:
    """Have programs that the lab starts use UTF-8.

    In the locale C, for example, a JVM cannot open a file whose path is not ASCII.
    """
    if locale.nl_langinfo(locale.CODESET).upper() not in ("UTF-8", "UTF8"):
        os.environ["LC_ALL" if os.environ.get("LC_ALL") else "LC_CTYPE"] = "C.UTF-8"


def _tell(error: LabError) -> int:
    with contextlib.suppress(OSError):
        show_error(error)
    return error.exit_code


def _flushed(code: int) -> int:
    """Flush both outputs. One that cannot be written is closed, so that Python does not report it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or 1
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code
