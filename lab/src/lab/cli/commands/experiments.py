"""Run an experiment, or look at what can be run: run, list, validate, variants, manifests."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from lab.cli import options
from lab.cli.options import override
from lab.cli.output import console, plain_table, show_error, tell
from lab.cpu_plan import ELSEWHERE
from lab.errors import InputError, LabError
from lab.experiment import Catalogue, apply_overrides
from lab.machine.cpus import plan_cpus
from lab.paths import find_checkout

commands = typer.Typer()


@commands.command()
def run(  # noqa: PLR0917 - one parameter an option
    name: Annotated[str, typer.Argument(help="The experiment: a directory under experiments/. `lab list` shows all.")],
    rate: Annotated[
        str | None, override("Requests a second: 70000, 70k; auto: a share of what this machine serves.", "N")
    ] = None,
    scale: Annotated[str | None, override("Factor for the declared rate: 0.3; auto: same as RATE=auto.", "S")] = None,
    duration: options.Duration = None,
    warmup: options.Warmup = None,
    threads: options.Threads = None,
    connections: options.Connections = None,
    repeat: Annotated[str | None, override("Repetitions, each on a freshly started service.", "N")] = None,
    variant: Annotated[str | None, override("How the server runs requests; see `lab variants`.", "NAME")] = None,
    engine: Annotated[str | None, override("The storage engine: lsm, rocksdb, mvstore, memory, null.", "NAME")] = None,
    workers: Annotated[str | None, override("Worker threads, for variants that have them.", "N")] = None,
    selectors: Annotated[str | None, override("Selector threads; 0: one per CPU.", "N")] = None,
    queue_capacity: Annotated[str | None, override("Requests that may wait; further ones get 503.", "N")] = None,
    profile: options.Profile = None,
    runtime: options.Runtime = None,
    port: options.Port = "8080",
    admin_port: options.AdminPort = "8081",
    loadgen_metrics_port: options.MetricsPort = "9101",
    monitoring: options.Monitoring = None,
    strict: Annotated[
        bool, typer.Option(envvar="STRICT", help="Exit with 3 if the run is invalid.", rich_help_panel="This machine")
    ] = False,
    resume: options.Resume = False,
) -> None:
    """Run an experiment: build, fill, start, warm up, measure, profile, report.

    However it ends, no process is left running and the files collected so far are kept. Values given here are recorded
    as overrides and count for this run only. CPUS_SERVICE, CPUS_LOADGEN and CPUS_OTHER (such as 0,2-3) in the
    environment override the CPU plan; LOADGEN=/path/to/wrk2 puts another load generator in place of the lab's own,
    LOADGEN_IMAGE another image (docker runtime).

    Exit code: 0 the run is complete, whatever its verdict; 1 a phase failed; 2 bad input, nothing was started;
    3 the run is complete and invalid, and STRICT=1 was set; 130 after Ctrl-C.
    """
    from lab.capacity import Capacities, advice  # noqa: PLC0415
    from lab.run import Run, RunPlan  # noqa: PLC0415 - it brings numpy and plots: `lab list` is quicker without
    from lab.run.show import Show  # noqa: PLC0415
    from lab.runtime.select import check_name, choose  # noqa: PLC0415

    words = options.words_of(
        rate=rate,
        scale=scale,
        duration=duration,
        warmup=warmup,
        threads=threads,
        connections=connections,
        repeat=repeat,
        variant=variant,
        engine=engine,
        workers=workers,
        selectors=selectors,
        queue_capacity=queue_capacity,
        profile=profile,
    )
    checkout = find_checkout()
    check_name(runtime)
    ports = options.ports_of(port, admin_port, loadgen_metrics_port)
    cpus, screen = plan_cpus(os.environ), console()
    declared = Catalogue(checkout).read(name)
    chosen = choose(checkout, runtime, tell, single=not declared.sweep_per_s)
    if chosen.remote:
        cpus = ELSEWHERE
    capacities = Capacities(checkout, cpus, chosen.name)
    experiment, overrides = apply_overrides(declared, words, capacities.saturation_of(name))
    screen.print(Text.assemble((name, "bold"), f": {experiment.title}"), highlight=False)
    if experiment.rate_choice is None and (line := advice(name, experiment, capacities.find(experiment), cpus)):
        screen.print(Text(line, style="yellow"), soft_wrap=True, highlight=False)
    if experiment.sweep_per_s:
        from lab.rates.sweep import run_sweep  # noqa: PLC0415
        from lab.series import Place  # noqa: PLC0415

        place = Place(
            checkout, lambda: choose(checkout, chosen.name, tell), chosen.name, cpus, ports, monitoring, capacities
        )
        run_sweep(place, name, experiment, words, screen, resume=resume)
        return
    if resume:
        raise InputError(
            f"RESUME=1: {name} is a single run, not a sweep", "Without RESUME=1 it runs from the beginning."
        )
    plan = RunPlan(
        checkout=checkout,
        name=name,
        experiment=experiment,
        overrides=overrides,
        cpus=cpus,
        ports=ports,
        monitoring=monitoring,
        strict=strict,
        runtime=chosen,
    )
    raise typer.Exit(Run(plan, Show(screen)).execute())


@commands.command("list")
def list_experiments() -> None:
    """List all experiments, each with its load and its question."""
    from lab.units import duration_word  # noqa: PLC0415

    catalogue = Catalogue(find_checkout())
    table = plain_table()
    for column in ("experiment", "rate/s", "for", "title"):
        table.add_column(column, justify="right" if column == "rate/s" else "left", no_wrap=column != "title")
    problems: list[LabError] = []
    for name in catalogue.names():
        try:
            experiment = catalogue.read(name)
        except LabError as error:
            problems.append(error)
            continue
        load = experiment.load
        table.add_row(
            name,
            f"{load.rate_per_s:,}" + (f" – {experiment.sweep_per_s[-1]:,}" if experiment.sweep_per_s else ""),
            f"{experiment.repeat} × {duration_word(load.duration_s)}",
            Text(experiment.title),
        )
    console().print(table)
    for problem in problems:
        show_error(problem)
    if problems:
        raise typer.Exit(2)


@commands.command()
def validate(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments; default: all.")] = None,
    runtime: options.Runtime = None,
) -> None:
    """Check experiment files without running them: keys, units, datasets, scripts, variants and engines.

    The service itself lists its variants and engines, so it is built first if its sources have changed.
    """
    from lab.cli.validate import problems_of  # noqa: PLC0415

    checkout = find_checkout()
    wanted = names or Catalogue(checkout).names()
    problems = problems_of(checkout, wanted, runtime, tell)
    for problem in problems:
        show_error(problem)
    if problems:
        raise typer.Exit(2)
    count = "1 experiment is" if len(wanted) == 1 else f"{len(wanted)} experiments are"
    console().print(f"{count} sound", highlight=False)


@commands.command()
def variants(runtime: options.Runtime = None) -> None:
    """List the server variants and engines; the service is built first if its sources have changed."""
    from lab.runtime.select import choose  # noqa: PLC0415

    checkout = find_checkout()
    chosen = choose(checkout, runtime, tell)
    table = plain_table()
    table.add_column("variant")
    table.add_column("what it does")
    try:
        checkout.cache.mkdir(parents=True, exist_ok=True)
        log = checkout.cache / "build-service.log"
        with Console(stderr=True).status("building the service …") as status:
            chosen.build(log, lambda line: status.update(Text(line)), service_only=True)
        for choice in chosen.catalogue.variants():
            table.add_row(choice.name, Text(choice.summary))
        table.add_section()
        table.add_row(Text("engine", style="bold"), Text("what it is", style="bold"))
        for choice in chosen.catalogue.engines():
            table.add_row(choice.name, Text(choice.summary))
    finally:
        chosen.close()
    console().print(table)


@commands.command()
def manifests(
    name: Annotated[str, typer.Argument(help="The experiment.")],
    threads: options.Threads = None,
    connections: options.Connections = None,
) -> None:
    """Print the objects that RUNTIME=kubernetes creates for an experiment (settings: docs/cluster.md)."""
    from lab.run.preflight import dataset_bytes  # noqa: PLC0415
    from lab.runtime.kubernetes.manifests import as_yaml  # noqa: PLC0415
    from lab.runtime.kubernetes.placement import read_placement  # noqa: PLC0415
    from lab.runtime.kubernetes.runtime import objects_of  # noqa: PLC0415

    checkout = find_checkout()
    words = options.words_of(threads=threads, connections=connections)
    experiment, _ = apply_overrides(Catalogue(checkout).read(name), words)
    load, size = experiment.load, dataset_bytes(checkout, experiment)
    objects = objects_of(read_placement(os.environ), name, load.threads, load.connections, size)
    typer.echo(as_yaml(objects), nl=False)
