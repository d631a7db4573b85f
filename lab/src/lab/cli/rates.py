"""Find the rates of an experiment: `lab search`, `lab capacity`."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.cli.output import console
from lab.cli.place import place_of
from lab.cli.settings import MACHINE, OVERRIDES, Given, takes
from lab.experiment import Catalogue, apply_overrides
from lab.paths import find_checkout
from lab.search.drive import run_search
from lab.search.saturation import described, measure_capacity
from lab.search.slo import parse_slo
from lab.search.steps import Subject
from lab.words import as_typed

commands = typer.Typer()
SET_BY_STEPS = {
    "rate": "the rate is what is searched for",
    "scale": "the rate is what is searched for",
    "repeat": "each step is one repetition",
    "profile": "no step is profiled",
}
STEP = tuple(name for name in OVERRIDES if name not in SET_BY_STEPS)
Name = Annotated[str, typer.Argument(help="The experiment. `lab list` shows all.")]


@commands.command()
@takes(*STEP, "resume", *MACHINE, refused=SET_BY_STEPS)
def search(
    name: Name,
    slo: Annotated[str, typer.Argument(help="The limit: 'p99.9<100ms', 'max<100ms'.")],
    given: Given,
) -> None:
    """Search for the highest rate at which an experiment stays within a latency limit.

    The rate is doubled until the limit breaks, then bisected; each step is a run of its own. docs/search.md
    explains the method. Exit code: 0 if there is an answer; 1 if a step failed (RESUME=1 continues); 2 for bad input,
    before anything was started.
    """
    subject = _subject(name, given, slo)
    run_search(place_of(given), subject, console(), resume="resume" in given)


@commands.command()
@takes(*STEP, *MACHINE, refused=SET_BY_STEPS)
def capacity(name: Name, given: Given) -> None:
    """Measure the highest rate that this machine serves, the base of RATE=auto; about a minute.

    The result is kept in .cache until the machine, the CPU plan or the sources of the service change.
    """
    subject, screen = _subject(name, given), console()
    place = place_of(given)
    words, experiment = subject.words, subject.experiment
    found = measure_capacity(place, place.capacities, name, words=words, experiment=experiment, console=screen)
    screen.print(described(name, found), soft_wrap=True, highlight=False)
    screen.print(
        as_typed(f"stored in {place.capacities.path}: RATE=auto is based on it"), soft_wrap=True, highlight=False
    )


def _subject(name: str, given: Given, slo: str = "max<1h") -> Subject:
    """Return the request. Raises InputError if anything is wrong with it; nothing was started then."""
    limit = parse_slo(slo)
    declared = Catalogue(find_checkout()).read(name)
    return Subject(name, given.overrides, apply_overrides(declared, given.overrides)[0], limit)
