"""This machine: `lab calibrate`, `quiet`, `unquiet`; and the monitoring stack in Docker: `up`, `open`, `down`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lab.calibration import Calibration, against_earlier, calibration_file, described, read_calibration
from lab.calibration import calibrate as calibrate_machine
from lab.cli.output import console
from lab.cli.runtimes import choose
from lab.cli.settings import MACHINE, Given, takes
from lab.errors import InputError, RunError
from lab.experiment import Experiment
from lab.machine.cpus import plan_cpus
from lab.machine.quiet import QuietMachine
from lab.manifest import Manifest
from lab.paths import find_checkout
from lab.run import Run, RunPlan
from lab.run.directory import MANIFEST
from lab.run.show import Show
from lab.runtime.docker.monitoring import Stack

commands = typer.Typer()


@commands.command()
@takes(*MACHINE)
def calibrate(
    given: Given,
    starts: Annotated[int, typer.Option(envvar="STARTS", help="Starts of the service in the A/A test.")] = 20,
) -> None:
    """Measure what this machine can do, and the smallest difference that it can show; about eight minutes."""
    if starts < 4:
        raise InputError(f"STARTS={starts}: must be at least 4, because fewer starts have no usable spread")
    screen, checkout, ports = console(), find_checkout(), given.ports

    def run(name: str, experiment: Experiment) -> tuple[Path, Manifest]:
        screen.print(f"{name}: {experiment.title}", highlight=False)
        plan = RunPlan(
            checkout=checkout,
            name=name,
            experiment=experiment,
            overrides={},
            cpus=plan_cpus(os.environ),
            ports=ports,
            monitoring=given.monitoring,
            runtime=choose(checkout, given.get("runtime"), screen.print),
        )
        done = Run(plan, Show(screen))
        code = done.tell()
        if code != 0:
            raise RunError(f"calibration: {name} ended with exit code {code}")
        directory = done.state.directory
        return directory, Manifest.read(directory / MANIFEST)

    earlier = read_calibration(checkout)
    print_calibration(screen, calibrate_machine(checkout, run, starts), earlier, calibration_file(checkout))


@commands.command()
def quiet() -> None:
    """Make the machine quieter (root): governor, huge pages, interrupts, halts; each change is printed."""
    _quiet_machine().quiet(plan_cpus(os.environ), _say)


@commands.command()
def unquiet() -> None:
    """Restore the settings that `quiet` changed, also after a crash."""
    _quiet_machine().unquiet(_say)


def print_calibration(screen: Console, calibration: Calibration, earlier: Calibration | None, path: Path) -> None:
    """Print a calibration, how far it is from the one before it, and its path."""
    for line in [*described(calibration), *against_earlier(calibration, earlier)]:
        screen.print(line, highlight=False, soft_wrap=True)
    screen.print(f"stored in {path}", highlight=False, soft_wrap=True)


def _quiet_machine() -> QuietMachine:
    return QuietMachine(find_checkout().cache / "quiet.json")


def _say(line: str) -> None:
    console().print(line, highlight=False, soft_wrap=True)


@commands.command()
def up() -> None:
    """Start Prometheus, Grafana, node-exporter and the artifact server, to stay up across runs (docker)."""
    screen = console()
    addresses = Stack(find_checkout()).up(lambda line: screen.print(line, highlight=False))
    for name, address in addresses.items():
        screen.print(f"{name:<14}{address}", highlight=False)


@commands.command("open")
def open_pages() -> None:
    """Print the addresses of the stack that is up, and open Grafana and the results in a browser (docker)."""
    addresses = Stack(find_checkout()).addresses()
    if not addresses:
        raise InputError("the stack is not running", "make up starts it")
    for name, address in addresses.items():
        typer.echo(f"{name:<14}{address}")
    for name in ("grafana", "artifacts"):
        if name in addresses:
            typer.launch(addresses[name])


@commands.command()
def down() -> None:
    """Stop all containers of the lab (docker)."""
    Stack(find_checkout()).down()
