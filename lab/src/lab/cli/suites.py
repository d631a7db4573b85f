"""Run suites and keep their pages: `lab suite`, `lab findings`."""

from __future__ import annotations

from typing import Annotated

import typer

from lab.cli.output import console
from lab.cli.place import place_of
from lab.cli.settings import MACHINE, Given, takes
from lab.errors import InputError
from lab.paths import find_checkout
from lab.suite import SuiteRequest, read_suite, run_suite
from lab.suite.publish import publish

commands = typer.Typer()


@commands.command()
@takes("rounds", "scale", "duration", "warmup", "profile", "resume", "seed", "force", *MACHINE)
def suite(
    name: Annotated[str, typer.Argument(help="The suite: a file under experiments/suites. `lab suites` shows all.")],
    given: Given,
) -> None:
    """Run a suite: its experiments interleaved, and one page that compares them with published findings.

    Exit code: 0 every run is complete; 1 a run failed, RESUME=1 repeats it alone; 2 bad input, nothing was started;
    130 after Ctrl-C; RESUME=1 continues.
    """
    declared, _ = read_suite(find_checkout(), name)
    rounds, seed, place = _count(given, "rounds"), _count(given, "seed"), place_of(given)
    request = SuiteRequest(
        name=name,
        rounds=declared.rounds if rounds is None else rounds,
        scale=given.get("scale"),
        overrides=given.only(("duration", "warmup", "profile")),
        resume="resume" in given,
        seed=seed,
        force="force" in given,
    )
    run_suite(place, request, console())


@commands.command()
def findings(name: Annotated[str, typer.Argument(help="A suite with a complete run.")]) -> None:
    """Write docs/findings/NAME/ from the newest complete suite of that name: small files, kept with the source."""
    typer.echo(publish(find_checkout(), name))


def _count(given: Given, name: str) -> int | None:
    text = given.get(name)
    if text is not None and not text.isdecimal():
        raise InputError(f"{name.upper()}={text}: must be a whole number")
    return None if text is None else int(text)
