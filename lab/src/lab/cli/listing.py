"""Look at what can be run: `lab list`, `suites`, `variants`, `manifests`, `check`. None of them imports NumPy."""

from __future__ import annotations

import os
import re
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from lab.cli.output import console, plain_table, show_error, tell
from lab.cli.runtimes import RUNTIMES, choose, default_name, runtime_class
from lab.cli.settings import CLUSTER, Given, takes
from lab.errors import InputError, LabError, did_you_mean
from lab.experiment import Catalogue, Experiment, apply_overrides, tenant
from lab.paths import Checkout, find_checkout
from lab.progress import Progress
from lab.runtime.base import Runtime
from lab.units import duration_word
from lab.words import as_typed

commands = typer.Typer()
EVERYTHING = "experiments"


@commands.command("list")
def list_experiments() -> None:
    """List all experiments, each with its load and title, and the published report that it repeats, if any."""
    catalogue = Catalogue(find_checkout())
    table = plain_table()
    for column in ("experiment", "of", "rate/s", "for", "title"):
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
            _origin(experiment),
            f"{load.rate_per_s:,}" + (f" – {experiment.sweep_per_s[-1]:,}" if experiment.sweep_per_s else ""),
            f"{experiment.repeat} × {duration_word(load.duration_s)}",
            Text(experiment.title),
        )
    console().print(table)
    _refuse(problems)


def _origin(experiment: Experiment) -> str:
    """Return the published source of an experiment's load and figures, up to its comma: `report A`; else `lab`."""
    source = None if experiment.reference is None else experiment.reference.source
    return "lab" if source is None else re.split("[,;]", source)[0]


@commands.command("suites")
def list_suites() -> None:
    """List all suites, each with its question."""
    from lab.suite.declaration import read_suite, suite_names  # noqa: PLC0415 - it brings NumPy

    checkout = find_checkout()
    table = plain_table()
    for column in ("suite", "experiments", "question"):
        table.add_column(column, justify="right" if column == "experiments" else "left", no_wrap=column != "question")
    for name in suite_names(checkout):
        declared, cases = read_suite(checkout, name)
        table.add_row(name, str(len(cases)), Text(declared.question))
    console().print(table)


@commands.command()
@takes("runtime")
def variants(given: Given) -> None:
    """List the server variants and engines; the service is built first if its sources have changed."""
    checkout = find_checkout()
    chosen = choose(checkout, given.get("runtime"), tell)
    table = plain_table()
    table.add_column()
    table.add_column("what it does")
    try:
        with Console(stderr=True).status("building the service …") as status:
            _build(checkout, chosen, lambda line: status.update(Text(line)))
        for parameter in tenant.LISTED:
            table.add_row(Text(parameter, style="bold"))
            for choice in chosen.catalogue.listed(parameter):
                table.add_row(choice.name, Text(choice.summary))
            table.add_section()
    finally:
        chosen.close()
    console().print(table)


@commands.command()
@takes("threads", "connections", *CLUSTER)
def manifests(name: Annotated[str, typer.Argument(help="The experiment.")], given: Given) -> None:
    """Print the objects that RUNTIME=kubernetes creates for an experiment (settings: docs/cluster.md)."""
    from lab.kubernetes.manifests import as_yaml  # noqa: PLC0415
    from lab.kubernetes.placement import read_placement  # noqa: PLC0415
    from lab.kubernetes.runtime import objects_of  # noqa: PLC0415
    from lab.run.preflight import dataset_bytes  # noqa: PLC0415

    checkout = find_checkout()
    experiment, _ = apply_overrides(Catalogue(checkout).read(name), given.overrides)
    load, size = experiment.load, dataset_bytes(checkout, experiment)
    objects = objects_of(read_placement(os.environ), name, load.threads, load.connections, size)
    typer.echo(as_yaml(objects), nl=False)


@commands.command()
@takes("runtime")
def check(
    given: Given,
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments; `experiments` stands for all of them.", metavar="[NAME]...")
    ] = None,
) -> None:
    """Check this machine: what it has and lacks for each runtime, and the command that installs what is missing.

    With names, check experiment files instead: keys, units, datasets, scripts, variants and engines. The service lists
    its variants and engines itself, so it is built first if its sources have changed.
    """
    if not names:
        raise typer.Exit(check_machine(console()))
    checkout = find_checkout()
    wanted = Catalogue(checkout).names() if [name.rstrip("/") for name in names] == [EVERYTHING] else names
    _refuse(_problems(checkout, wanted, given.get("runtime")))
    count = "1 experiment is" if len(wanted) == 1 else f"{len(wanted)} experiments are"
    console().print(f"{count} sound", highlight=False)


def _refuse(problems: list[LabError]) -> None:
    for problem in problems:
        show_error(problem)
    if problems:
        raise typer.Exit(2)


def _build(checkout: Checkout, runtime: Runtime, progress: Progress) -> None:
    checkout.cache.mkdir(parents=True, exist_ok=True)
    runtime.build(checkout.cache / "build-service.log", progress, service_only=True)


def _problems(checkout: Checkout, names: list[str], runtime: str | None) -> list[LabError]:
    """Return everything that is wrong with these experiments.

    If the service cannot be built here, its variants and engines are unknown, and a line on stderr says why.
    """
    catalogue = Catalogue(checkout)
    problems: list[LabError] = []
    sound: dict[str, Experiment] = {}
    catalogue.datasets()
    for name in names:
        try:
            sound[name] = catalogue.find(name)
        except LabError as error:
            problems.append(error)
    if all(experiment.service.foreign for experiment in sound.values()):
        return problems
    try:
        known = _offered(checkout, runtime)
    except InputError:
        raise
    except LabError as error:
        tell(f"variants and engines were not checked, for the service cannot be built here: {error.message}")
        return problems
    for name, experiment in sound.items():
        for kind in () if experiment.service.foreign else tenant.LISTED:
            if (wanted := experiment.service.parameter(kind)) not in known[kind]:
                place = f"{catalogue.where(name, ('service', kind))}: service.{kind}: {wanted!r}"
                near = did_you_mean(wanted, known[kind])
                problems.append(InputError(f"{place}: no such {kind}{near}; available: {', '.join(known[kind])}"))
    return problems


def _offered(checkout: Checkout, name: str | None) -> dict[str, list[str]]:
    """Return the variants and engines of the service, which is built if its sources have changed."""
    runtime = choose(checkout, name, tell)
    try:
        _build(checkout, runtime, lambda _: None)
        return {kind: [choice.name for choice in runtime.catalogue.listed(kind)] for kind in tenant.LISTED}
    finally:
        runtime.close()


def check_machine(console: Console) -> int:
    """Print every check; return 0 if at least one runtime can work, else 1."""
    able = []
    for name in RUNTIMES:
        checks = runtime_class(name).checks()
        ready = all(check.ok or not check.required for check in checks)
        if ready:
            able.append(name)
        state = ("ready", "bold green") if ready else ("not ready", "bold red")
        console.print(Text.assemble((f"{name}: ", "bold"), state))
        for check in checks:
            mark = ("✓", "green") if check.ok else (("✗", "red") if check.required else ("–", "yellow"))
            console.print(
                Text.assemble("  ", mark, f" {check.name:<22} ", (as_typed(check.detail), "dim")), soft_wrap=True
            )
            if not check.ok and check.command:
                console.print(Text(f"      {as_typed(check.command)}", style="bold"), soft_wrap=True, highlight=False)
    if able:
        console.print(f"Experiments run here: {' and '.join(able)}.", highlight=False)
        name, why = default_name()
        because = f", because {why}" if why else ""
        console.print(f"By default, they run in: {name}{because}.", soft_wrap=True, highlight=False)
        return 0
    console.print("No runtime can work yet. The commands above install what is missing.", highlight=False)
    return 1
