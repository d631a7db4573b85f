"""Find the rates of an experiment: search, capacity."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.cli import options
from lab.cli.output import console, tell
from lab.paths import find_checkout

commands = typer.Typer()


@commands.command()
def search(  # noqa: PLR0917 - one parameter an option
    name: Annotated[str, typer.Argument(help="The experiment. `lab list` shows all.")],
    slo: Annotated[str, typer.Argument(help="The limit: 'p99.9<100ms', 'max<100ms'.")],
    words: options.Words = None,
    resume: options.Resume = False,
    runtime: options.Runtime = None,
    port: options.Port = "8080",
    admin_port: options.AdminPort = "8081",
    loadgen_metrics_port: options.MetricsPort = "9101",
    monitoring: options.Monitoring = None,
) -> None:
    """Search for the highest rate at which an experiment stays within a latency limit.

    The rate is doubled until the limit breaks, then bisected; each step is a run of its own. docs/search.md
    explains the method. Exit code: 0 if there is an answer; 1 if a step failed (RESUME=1 continues); 2 for bad input,
    before anything was started.
    """
    from lab.cli import rates  # noqa: PLC0415

    subject = rates.read_subject(find_checkout(), name, words or [], slo)
    ports = options.ports_of(port, admin_port, loadgen_metrics_port)
    rates.search(console(), subject, rates.place_of(runtime, ports, tell, monitoring=monitoring), resume=resume)


@commands.command()
def capacity(  # noqa: PLR0917 - one parameter an option
    name: Annotated[str, typer.Argument(help="The experiment. `lab list` shows all.")],
    words: options.Words = None,
    runtime: options.Runtime = None,
    port: options.Port = "8080",
    admin_port: options.AdminPort = "8081",
    loadgen_metrics_port: options.MetricsPort = "9101",
    monitoring: options.Monitoring = None,
) -> None:
    """Measure the highest rate that this machine serves, the base of RATE=auto; about a minute.

    The result is kept in .cache until the machine, the CPU plan or the sources of the service change.
    """
    from lab.cli import rates  # noqa: PLC0415

    subject = rates.read_subject(find_checkout(), name, words or [])
    ports = options.ports_of(port, admin_port, loadgen_metrics_port)
    rates.measure(console(), subject, rates.place_of(runtime, ports, tell, monitoring=monitoring))
