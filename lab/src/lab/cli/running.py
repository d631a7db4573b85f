"""Run an experiment: `lab run`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from lab.capacity import advice
from lab.cli.output import console
from lab.cli.place import place_of
from lab.cli.settings import CLUSTER, MACHINE, OVERRIDES, Given, takes
from lab.errors import InputError
from lab.experiment import Catalogue, apply_overrides
from lab.experiment.catalogue import short_name
from lab.paths import find_checkout
from lab.rates.sweep import run_sweep
from lab.run import Run, RunPlan
from lab.run.show import Show
from lab.words import as_typed

commands = typer.Typer()
INVALID_EXIT = 3
"""The exit code of a run that is complete and invalid, with STRICT=1."""


@commands.callback()
def _subject() -> None:
    pass


@commands.command()
@takes(*OVERRIDES, "resume", "strict", *MACHINE, *CLUSTER)
def run(
    name: Annotated[str, typer.Argument(help="The experiment: a directory under experiments/. `lab list` shows all.")],
    given: Given,
) -> None:
    """Run an experiment: build, fill, start, warm up, measure, profile, report.

    However it ends, no process is left running and the files collected so far are kept. Values given here are recorded
    as overrides and count for this run only.

    Exit code: 0 the run is complete, whatever its verdict; 1 a phase failed; 2 bad input, nothing was started;
    3 the run is complete and invalid, and --strict was set; 130 after Ctrl-C.
    """
    screen, declared = console(), Catalogue(find_checkout()).find(name)
    place = place_of(given, single=not declared.sweep_per_s, foreign=declared.service.foreign)
    experiment, overrides = apply_overrides(declared, given.overrides, place.capacities.saturation_of(name))
    screen.print(Text.assemble((short_name(name), "bold"), f": {experiment.title}"), highlight=False)
    capacity = place.capacities.find(experiment)
    if experiment.rate_choice is None and (line := advice(name, experiment, capacity, place.cpus)):
        screen.print(Text(as_typed(line), style="yellow"), soft_wrap=True, highlight=False)
    if experiment.sweep_per_s and experiment.service.foreign:
        rates = ", ".join(map(str, experiment.sweep_per_s))
        raise InputError(f"{name}: {rates} are several rates, and only one can be run here: RATE={rates.split(',')[0]}")
    if experiment.sweep_per_s:
        run_sweep(place, name, experiment, given.overrides, screen, resume="resume" in given)
        return
    if "resume" in given:
        raise InputError(
            f"RESUME=1: {name} is a single run, not a sweep", "Without RESUME=1 it runs from the beginning."
        )
    plan = RunPlan(
        checkout=place.checkout,
        name=short_name(name),
        experiment=experiment,
        overrides=overrides,
        cpus=place.cpus,
        ports=place.ports,
        monitoring=place.monitoring,
        runtime=place.make_runtime(),
    )
    raise typer.Exit(_execute(plan, screen, strict="strict" in given))


def _execute(plan: RunPlan, screen: Console, *, strict: bool) -> int:
    """Execute a run and print how it ended; return the exit code."""
    run = Run(plan, Show(screen))
    code = run.tell()
    validity = run.state.artifacts.manifest.validity if code == 0 else None
    return INVALID_EXIT if strict and validity is not None and validity.state == "invalid" else code
