"""Find the rates of an experiment: search, capacity."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.cli.options import (
    AdminPortOption,
    MetricsPortOption,
    MonitoringOption,
    PortOption,
    ResumeOption,
    RuntimeOption,
    WordsArgument,
    ports_of,
)
from lab.cli.output import console, tell
from lab.paths import find_checkout

commands = typer.Typer()


@commands.command()
def search(  # noqa: PLR0917 - one parameter an option
    name: Annotated[str, typer.Argument(help="The experiment. `lab list` shows all.")],
    slo: Annotated[str, typer.Argument(help="The limit: 'p99.9<100ms', 'max<100ms'.")],
    words: WordsArgument = None,
    resume: ResumeOption = False,
    runtime: RuntimeOption = None,
    port: PortOption = "8080",
    admin_port: AdminPortOption = "8081",
    loadgen_metrics_port: MetricsPortOption = "9101",
    monitoring: MonitoringOption = True,
) -> None:
    """Search for the highest rate at which an experiment stays within a latency limit.

    The rate is doubled until the limit breaks, then bisected; each step is a run of its own. docs/search.md has the
    method. Exit code: 0 there is an answer; 1 a step failed; RESUME=1 continues; 2 bad input, nothing was started.
    """
    from lab.cli import rates  # noqa: PLC0415

    asked = rates.asked_for(find_checkout(), name, words or [], slo)
    ports = ports_of(port, admin_port, loadgen_metrics_port)
    rates.search(console(), asked, rates.place_of(runtime, ports, tell, monitoring=monitoring), resume=resume)


@commands.command()
def capacity(  # noqa: PLR0917 - one parameter an option
    name: Annotated[str, typer.Argument(help="The experiment. `lab list` shows all.")],
    words: WordsArgument = None,
    runtime: RuntimeOption = None,
    port: PortOption = "8080",
    admin_port: AdminPortOption = "8081",
    loadgen_metrics_port: MetricsPortOption = "9101",
    monitoring: MonitoringOption = True,
) -> None:
    """Measure the highest rate that this machine serves, the base of RATE=auto; about a minute.

    The result is kept in .cache until the machine, the CPU plan or the sources of the service change.
    """
    from lab.cli import rates  # noqa: PLC0415

    asked = rates.asked_for(find_checkout(), name, words or [])
    ports = ports_of(port, admin_port, loadgen_metrics_port)
    rates.measure(console(), asked, rates.place_of(runtime, ports, tell, monitoring=monitoring))
