"""The commands about the machine: calibrate, quiet, unquiet."""

from __future__ import annotations

import os
from pathlib import Path

from rich.console import Console

from lab.calibration import Calibration, against_earlier, calibrate, calibration_file, described, read_calibration
from lab.errors import InputError, RunError
from lab.experiment import Experiment
from lab.machine.cpus import plan_cpus
from lab.machine.quiet import QuietMachine
from lab.manifest import Manifest
from lab.paths import Checkout
from lab.run import Run, RunPlan
from lab.run.directory import MANIFEST
from lab.run.show import Show
from lab.runtime.base import Ports
from lab.runtime.select import choose


def run_calibration(console: Console, checkout: Checkout, runtime: str | None, starts: int, ports: Ports) -> None:
    """Run the calibration's experiments and print the result."""
    if starts < 4:
        raise InputError(f"STARTS={starts}: must be at least 4, because fewer starts have no usable spread")

    def run(name: str, experiment: Experiment) -> tuple[Path, Manifest]:
        console.print(f"{name}: {experiment.title}", highlight=False)
        plan = RunPlan(
            checkout=checkout,
            name=name,
            experiment=experiment,
            overrides={},
            cpus=plan_cpus(os.environ),
            ports=ports,
            runtime=choose(checkout, runtime, console.print),
        )
        done = Run(plan, Show(console))
        code = done.execute()
        if code != 0:
            raise RunError(f"calibration: {name} ended with exit code {code}")
        directory = done.state.directory
        return directory, Manifest.read(directory / MANIFEST)

    earlier = read_calibration(checkout)
    print_calibration(console, calibrate(checkout, run, starts), earlier, calibration_file(checkout))


def print_calibration(console: Console, calibration: Calibration, earlier: Calibration | None, path: Path) -> None:
    """Print a calibration, how far it is from the one before it, and its path."""
    for line in [*described(calibration), *against_earlier(calibration, earlier)]:
        console.print(line, highlight=False, soft_wrap=True)
    console.print(f"stored in {path}", highlight=False, soft_wrap=True)


def set_quiet(console: Console, checkout: Checkout, *, quiet: bool) -> None:
    """Make the machine quiet, or put everything back."""
    machine = QuietMachine(checkout.cache / "quiet.json")

    def say(line: str) -> None:
        console.print(line, highlight=False, soft_wrap=True)

    if quiet:
        machine.quiet(plan_cpus(os.environ), say)
    else:
        machine.unquiet(say)
