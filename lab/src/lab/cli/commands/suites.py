"""Suites: suite, suites, findings."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from rich.text import Text

from lab.cli import options
from lab.cli.output import console, plain_table, tell
from lab.machine.cpus import plan_cpus
from lab.paths import find_checkout

commands = typer.Typer()


@commands.command()
def suite(  # noqa: PLR0917 - one parameter an option
    name: Annotated[str, typer.Argument(help="The suite: a file under experiments/suites. `lab suites` shows all.")],
    rounds: Annotated[
        int | None, typer.Option(envvar="ROUNDS", help="Fresh starts of each experiment; a claim needs 6.")
    ] = None,
    scale: Annotated[str | None, typer.Option(metavar="N", help="Factor for every declared rate: 0.3, auto.")] = None,
    duration: options.Duration = None,
    warmup: options.Warmup = None,
    profile: options.Profile = None,
    resume: options.Resume = False,
    seed: Annotated[int | None, typer.Option(help="Seed of the order of the rounds; default: random.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Use disturbed runs for claims too; the page says so.")
    ] = False,
    runtime: options.Runtime = None,
    port: options.Port = "8080",
    admin_port: options.AdminPort = "8081",
    loadgen_metrics_port: options.MetricsPort = "9101",
    monitoring: options.Monitoring = None,
) -> None:
    """Run a suite: its experiments interleaved, and one page that compares them with published findings.

    Exit code: 0 every run is complete; 1 a run failed, RESUME=1 repeats it alone; 2 bad input, nothing was started;
    130 after Ctrl-C; RESUME=1 continues.
    """
    from lab.capacity import Capacities  # noqa: PLC0415
    from lab.runtime.select import check_name, choose  # noqa: PLC0415
    from lab.series import Place  # noqa: PLC0415
    from lab.suite import SuiteRequest, read_suite, run_suite  # noqa: PLC0415

    checkout = find_checkout()
    check_name(runtime)
    declared, _ = read_suite(checkout, name)
    ports = options.ports_of(port, admin_port, loadgen_metrics_port)
    chosen = choose(checkout, runtime, tell).name
    request = SuiteRequest(
        name=name,
        rounds=declared.rounds if rounds is None else rounds,
        scale=scale,
        overrides=options.words_of(duration=duration, warmup=warmup, profile=profile),
        resume=resume,
        seed=seed,
        force=force,
    )
    cpus = plan_cpus(os.environ)
    capacities = Capacities(checkout, cpus, chosen)
    place = Place(checkout, lambda: choose(checkout, chosen, tell), chosen, cpus, ports, monitoring, capacities)
    run_suite(place, request, console())


@commands.command("suites")
def list_suites() -> None:
    """List all suites, each with its question."""
    from lab.suite import read_suite, suite_names  # noqa: PLC0415

    checkout = find_checkout()
    table = plain_table()
    for column in ("suite", "experiments", "question"):
        table.add_column(column, justify="right" if column == "experiments" else "left", no_wrap=column != "question")
    for name in suite_names(checkout):
        declared, cases = read_suite(checkout, name)
        table.add_row(name, str(len(cases)), Text(declared.question))
    console().print(table)


@commands.command()
def findings(name: Annotated[str, typer.Argument(help="A suite with a complete run.")]) -> None:
    """Write docs/findings/NAME/ from the newest complete suite of that name: small files, kept with the source."""
    from lab.suite.publish import publish  # noqa: PLC0415

    typer.echo(publish(find_checkout(), name))
