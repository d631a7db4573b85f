"""This machine: doctor, calibrate, quiet, unquiet."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.cli import options
from lab.cli.output import console
from lab.paths import find_checkout

commands = typer.Typer()


@commands.command()
def doctor() -> None:
    """Show what this machine has and lacks for each runtime, and the command that installs what is missing."""
    from lab.cli.doctor import print_checks  # noqa: PLC0415

    raise typer.Exit(print_checks(console()))


@commands.command()
def calibrate(
    starts: Annotated[int, typer.Option(envvar="STARTS", help="Starts of the service in the A/A test.")] = 20,
    runtime: options.Runtime = None,
    port: options.Port = "8080",
    admin_port: options.AdminPort = "8081",
    loadgen_metrics_port: options.MetricsPort = "9101",
) -> None:
    """Measure what this machine can do, and the smallest difference that it can show; about eight minutes."""
    from lab.cli.machine import run_calibration  # noqa: PLC0415

    ports = options.ports_of(port, admin_port, loadgen_metrics_port)
    run_calibration(console(), find_checkout(), runtime, starts, ports)


@commands.command()
def quiet() -> None:
    """Make the machine quieter (root): governor, huge pages, interrupts, halts; each change is printed."""
    from lab.cli.machine import set_quiet  # noqa: PLC0415

    set_quiet(console(), find_checkout(), quiet=True)


@commands.command()
def unquiet() -> None:
    """Restore the settings that `quiet` changed, also after a crash."""
    from lab.cli.machine import set_quiet  # noqa: PLC0415

    set_quiet(console(), find_checkout(), quiet=False)
