"""Compare two sides: compare, regress, profiling-cost, diff. And profile-window, which draws a part of one."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.cli import options
from lab.cli.output import console, tell
from lab.paths import find_checkout

commands = typer.Typer()


@commands.command()
def compare(  # noqa: PLR0917 - one parameter an option
    a: Annotated[str, typer.Argument(help="An experiment, such as 'stack-get VARIANT=queue', or a finished run.")],
    b: Annotated[str, typer.Argument(help="The experiment or the finished run to compare with A.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="RATE=, SCALE=, DURATION= and the other overrides, for both sides; BLOCKS=10 (or 6/12/18), X=5%, "
            "METRIC=p99, SEED=, FORCE=1 to judge even if the machine was not fit for measuring.",
            metavar="[KEY=VALUE]...",
        ),
    ] = None,
    runtime: options.Runtime = None,
    port: options.Port = "8080",
    admin_port: options.AdminPort = "8081",
    loadgen_metrics_port: options.MetricsPort = "9101",
) -> None:
    """Say whether B is better than A, worse, the same within X%, or whether the data cannot tell.

    Both run in turns: each block starts both services afresh and alternates windows of load between them. The sample
    is the block, never the request. PORT and ADMIN_PORT are A's; B takes free ports. docs/compare.md explains the
    method and the verdicts.
    """
    from lab.cli.compare import compare as compare_sides  # noqa: PLC0415

    ports = options.ports_of(port, admin_port, loadgen_metrics_port)
    code = compare_sides(console(), find_checkout(), (a, b), words or [], runtime=runtime, ports=ports, tell=tell)
    raise typer.Exit(code)


@commands.command()
def regress(  # noqa: PLR0917 - one parameter an option
    base: Annotated[str, typer.Argument(help="The revision to compare with: HEAD~1, main, a tag.")],
    name: Annotated[str, typer.Argument(help="The experiment, with overrides as in `lab compare`.")] = "sync-get",
    words: Annotated[
        list[str] | None, typer.Argument(help="Settings as in `lab compare`.", metavar="[KEY=VALUE]...")
    ] = None,
    port: options.Port = "8080",
    admin_port: options.AdminPort = "8081",
    loadgen_metrics_port: options.MetricsPort = "9101",
) -> None:
    """Say whether this checkout's service is better than an earlier one, worse, or the same (local runtime).

    The service of that revision is built in a git worktree under .cache, which is removed afterwards.
    """
    from lab.cli.compare import regress as compare_revisions  # noqa: PLC0415

    ports = options.ports_of(port, admin_port, loadgen_metrics_port)
    code = compare_revisions(console(), find_checkout(), base, name, words or [], ports=ports, tell=tell)
    raise typer.Exit(code)


@commands.command()
def profiling_cost(  # noqa: PLR0917 - one parameter an option
    name: Annotated[str, typer.Argument(help="The experiment, with overrides as in `lab compare`.")],
    words: Annotated[
        list[str] | None, typer.Argument(help="Settings as in `lab compare`.", metavar="[KEY=VALUE]...")
    ] = None,
    runtime: options.Runtime = None,
    port: options.Port = "8080",
    admin_port: options.AdminPort = "8081",
    loadgen_metrics_port: options.MetricsPort = "9101",
) -> None:
    """Say what profiling costs an experiment: latency, rate, CPU and memory per request, with intervals.

    This is a comparison in turns; side B is profiled in each window, as the experiment declares.
    """
    from lab.cli.compare import profiling_cost as compare_recorded  # noqa: PLC0415

    ports = options.ports_of(port, admin_port, loadgen_metrics_port)
    code = compare_recorded(console(), find_checkout(), name, words or [], runtime=runtime, ports=ports, tell=tell)
    raise typer.Exit(code)


@commands.command()
def diff(
    a: Annotated[str, typer.Argument(help="Before: a run (`stack-get/20261121T091433Z`) or an experiment.")],
    b: Annotated[str, typer.Argument(help="After: a run or an experiment.")],
    force: Annotated[bool, typer.Option("--force", help="Compare even if engines or intervals differ.")] = False,
) -> None:
    """Show which code's share changed between two profiled runs or experiments, by how much, and how certainly."""
    from lab.cli.diff import print_difference  # noqa: PLC0415

    print_difference(console(), find_checkout(), a, b, force=force)


@commands.command()
def profile_window(
    name: Annotated[str, typer.Argument(help="A run (`stack-get/20261121T091433Z`), or an experiment: its newest.")],
    start: Annotated[
        str | None,
        typer.Option("--from", help="Start of the window, counted from the recording's start: 10s. Default: 0s."),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option("--to", help="End of the window, counted in the same way. Default: the recording's end."),
    ] = None,
) -> None:
    """Draw the flame graphs, heatmaps and tables of a window of time of a profiled run, into results/window/."""
    from lab.window import draw_window  # noqa: PLC0415

    console().print(str(draw_window(find_checkout(), name, start, end)), highlight=False, soft_wrap=True)
