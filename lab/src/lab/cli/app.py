"""`lab`: the command line as a whole. A command's module is imported only when the command is called."""

from __future__ import annotations

import contextlib
import locale
import os
import sys
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from lab import __version__
from lab.cli.output import show_error
from lab.errors import InputError, LabError


class _Entry(NamedTuple):
    module: str
    help: str


#: Shown by `lab --help`; `lab help all` shows the others too.
VERBS = {
    "run": _Entry("running", "Run an experiment and write its report."),
    "compare": _Entry("comparisons", "Say whether B is better than A, worse, or the same."),
    "search": _Entry("rates", "Find the highest rate at which an experiment holds a latency limit."),
    "suite": _Entry("suites", "Run the experiments of a question in turns, and write one page."),
    "check": _Entry("listing", "Check this machine, or experiment files, without running anything."),
}
OTHERS = {
    "list": _Entry("listing", "List all experiments."),
    "suites": _Entry("listing", "List all suites."),
    "variants": _Entry("listing", "List the server variants and engines."),
    "manifests": _Entry("listing", "Print the objects of an experiment in a cluster."),
    "capacity": _Entry("rates", "Measure the highest rate that this machine serves."),
    "regress": _Entry("comparisons", "Compare this checkout's service with an earlier one."),
    "profiling-cost": _Entry("comparisons", "Say what profiling costs an experiment."),
    "diff": _Entry("comparisons", "Show which code's share changed between two profiled runs."),
    "profile-window": _Entry("comparisons", "Draw the profile of a part of a run."),
    "findings": _Entry("suites", "Keep the newest complete run of a suite in docs/findings."),
    "results": _Entry("runs", "List all runs with their verdicts."),
    "changes": _Entry("runs", "Say when an experiment became slower or faster."),
    "index": _Entry("runs", "Write results/index.html."),
    "export": _Entry("runs", "Pack a run into one archive."),
    "tag": _Entry("runs", "Tag a run, so that it is kept."),
    "prune": _Entry("runs", "Remove old runs."),
    "report": _Entry("runs", "Write the report of a run again."),
    "parse-load": _Entry("runs", "Print a text report of wrk2 as JSON."),
    "calibrate": _Entry("machine", "Measure the smallest difference that this machine can show."),
    "quiet": _Entry("machine", "Make this machine quieter."),
    "unquiet": _Entry("machine", "Restore what quiet changed."),
    "up": _Entry("machine", "Start Prometheus, Grafana and the results server."),
    "open": _Entry("machine", "Open Grafana and the results in a browser."),
    "down": _Entry("machine", "Stop all containers of the lab."),
}
COMMANDS = VERBS | OTHERS


class _Commands(TyperGroup):
    """All commands by name and summary, and each one itself when it is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, entry in COMMANDS.items():
            self.add_command(TyperCommand(name, help=entry.help, hidden=name not in VERBS))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, found, rest = super().resolve_command(ctx, args)
        if name in COMMANDS:
            commands = typer.main.get_group(import_module(f"lab.cli.{COMMANDS[name].module}").commands)
            found = commands.get_command(ctx, name)
        return name, found, rest


app = typer.Typer(
    name="lab",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Runs the experiments of LSM Lab: which code shapes a key-value service's throughput and tail latency?\n\n"
    "An [bold]experiment[/] (experiments/NAME/experiment.yaml) declares a service, a dataset and a load. "
    "[bold]lab run NAME[/] executes it once and leaves results/NAME/RUN/report.html: latency by percentile, "
    "latency over time, flame graphs, and a verdict on whether the figures may be quoted.\n\n"
    "Start with [bold]lab list[/], then [bold]lab run stack-get --rate 20000 --duration 20s[/]. "
    "[bold]lab help all[/] lists every command.",
)


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


@app.command("help", hidden=True)
def _help(command: Annotated[str, typer.Argument(metavar="COMMAND|all")] = "") -> None:
    """Show the help of a command; `all` lists every command."""
    if command == "all":
        for name, entry in COMMANDS.items():
            typer.echo(f"  {name:<16}{entry.help}")
    elif command in ("", "help", *COMMANDS):
        app([command, "--help"] if command in COMMANDS else ["--help"], prog_name="lab")
    else:
        raise InputError(f"no command named {command!r}", hint="`lab help all` lists every command")


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
