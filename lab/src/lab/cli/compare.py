"""`lab compare`: reads the two sides, and runs a comparison or compares finished runs.

Also `lab regress` and `lab profiling-cost`, which are comparisons with one experiment on both sides.
"""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.console import Console
from rich.text import Text

from lab.capacity import Capacities, advice
from lab.compare import page
from lab.compare.design import DESIGN_SETTINGS, Design, read_design
from lab.compare.execution import Comparison
from lab.compare.finished import compare_finished, find_run
from lab.compare.plan import ComparePlan
from lab.compare.profiles import compare_profiles
from lab.compare.revision import built_revision, require_one_table_format
from lab.compare.sides import SETTABLE, Side, at_the_rate_of, parse_words, read_side
from lab.cpu_plan import CpuPlan
from lab.errors import InputError
from lab.experiment import Catalogue
from lab.experiment.model import ProfileSettings
from lab.machine.cpus import plan_cpus
from lab.paths import Checkout
from lab.progress import Progress
from lab.run.show import Show
from lab.runtime.base import Ports, Runtime
from lab.runtime.select import check_name, choose
from lab.units import duration_word


def compare(
    console: Console,
    checkout: Checkout,
    sides: tuple[str, str],
    words: Sequence[str],
    *,
    runtime: str | None,
    ports: Ports,
    tell: Progress,
) -> int:
    """Compare B against A; return the process's exit code. Raises LabError for bad input: nothing was started."""
    check_name(runtime)
    arguments = _Arguments.read(words, "lab compare")
    runs = find_run(checkout, sides[0]), find_run(checkout, sides[1])
    if runs[0] is not None and runs[1] is not None:
        useless = [key.upper() for key in arguments.given if key not in ("x", "metric", "force")]
        if useless:
            raise InputError(
                f"{', '.join(useless)}: finished runs are compared as they are; only X, METRIC and FORCE can be set"
            )
        record, directory = compare_finished(checkout, runs[0], runs[1], arguments.design)
        compare_profiles(checkout, directory, (runs[0], runs[1]), (record.a.label, record.b.label))
        page.write(directory, record)
        record.write(directory)  # after the page, so that a complete comparison has one
        page.tell(console, record, directory)
        return 0
    if runs[0] is not None or runs[1] is not None:
        run, other = (sides[0], sides[1]) if runs[0] is not None else (sides[1], sides[0])
        raise InputError(f"{run} is a finished run, but {other} is not: name two runs, or two experiments")
    here = _Site.of(checkout, choose(checkout, runtime, tell))
    a = here.read("A", sides[0], arguments.common)
    b = here.read("B", sides[1], at_the_rate_of(a, arguments.common))
    plan = ComparePlan(
        checkout=checkout, a=a, b=b, design=arguments.design, runtime=here.runtime, cpus=here.cpus, ports=ports
    )
    console.print(Text.assemble(("A ", "bold"), f"{a.label}: {a.experiment.title}"), highlight=False)
    console.print(Text.assemble(("B ", "bold"), f"{b.label}: {b.experiment.title}"), highlight=False)
    here.advise(console, a, f"make compare A={shlex.quote(sides[0])} B={shlex.quote(sides[1])}")
    return Comparison(plan, Show(console)).execute()


def regress(
    console: Console, checkout: Checkout, base: str, name: str, words: Sequence[str], *, ports: Ports, tell: Progress
) -> int:
    """Compare this checkout's service (B) with that of an earlier revision (A) under an experiment."""
    arguments = _Arguments.read(words, "lab regress")
    here = _Site.of(checkout, choose(checkout, "local", tell))
    side = here.read("NAME", name, arguments.common)
    here.advise(console, side, f"make regress BASE={shlex.quote(base)} NAME={shlex.quote(name)}")
    checkout.cache.mkdir(parents=True, exist_ok=True)
    with built_revision(checkout, base, tell) as revision:
        here.runtime.build(checkout.cache / "build-service.log", tell, service_only=True)
        if side.experiment.dataset is not None:
            require_one_table_format(checkout, revision, here.runtime.catalogue)
        plan = ComparePlan(
            checkout=checkout,
            a=replace(side, label=f"{side.label} of {base}", revision=revision),
            b=replace(side, label=f"{side.label} of this checkout"),
            design=arguments.design,
            runtime=here.runtime,
            cpus=here.cpus,
            ports=ports,
            compared=(f"revision of the service: {revision.commit[:12]} against this checkout",),
        )
        return Comparison(plan, Show(console)).execute()


def profiling_cost(
    console: Console,
    checkout: Checkout,
    name: str,
    words: Sequence[str],
    *,
    runtime: str | None,
    ports: Ports,
    tell: Progress,
) -> int:
    """Compare an experiment that is profiled (B) with the same one that is not (A); return the process's exit code.

    It is profiled by its `profile`, or by the default if it has none.
    """
    check_name(runtime)
    arguments = _Arguments.read(words, "lab profiling-cost")
    if "profile" in arguments.given:
        raise InputError("PROFILE cannot be set here: side A is never profiled, side B always is")
    here = _Site.of(checkout, choose(checkout, runtime, tell))
    side = here.read("NAME", name, arguments.common)
    settings = side.experiment.profile or ProfileSettings()
    side = replace(side, experiment=side.experiment.model_copy(update={"profile": None}))
    how = f"{', '.join(settings.events)} each {duration_word(settings.interval_s)}"
    plan = ComparePlan(
        checkout=checkout,
        a=side,
        b=replace(side, label=f"{side.label}, recorded"),
        design=arguments.design,
        runtime=here.runtime,
        cpus=here.cpus,
        ports=ports,
        compared=(f"recording: off against {how}",),
        recorded=settings,
    )
    console.print(f"Cost of profiling {side.label}: {how}", highlight=False)
    here.advise(console, side, f"make profiling-cost NAME={shlex.quote(name)}")
    return Comparison(plan, Show(console)).execute()


@dataclass(frozen=True)
class _Arguments:
    """The KEY=value words: all of them, those that override both sides' experiments, and the design."""

    given: dict[str, str]
    common: dict[str, str]
    design: Design

    @staticmethod
    def read(words: Sequence[str], command: str) -> _Arguments:
        given = parse_words(words, [*SETTABLE, *DESIGN_SETTINGS], command)
        common = {key: text for key, text in given.items() if key in SETTABLE}
        of_design = {key: text for key, text in given.items() if key not in SETTABLE}
        return _Arguments(given, common, read_design(of_design, secrets.randbelow(10**6)))


@dataclass(frozen=True)
class _Site:
    """The place where a comparison runs, with the saturations measured there, the base of RATE=auto."""

    catalogue: Catalogue
    runtime: Runtime
    cpus: CpuPlan
    capacities: Capacities

    @staticmethod
    def of(checkout: Checkout, runtime: Runtime) -> _Site:
        cpus = plan_cpus(os.environ)
        return _Site(Catalogue(checkout), runtime, cpus, Capacities(checkout, cpus, runtime.name))

    def read(self, which: str, text: str, common: dict[str, str]) -> Side:
        return read_side(self.catalogue, which, text, common, self.capacities.saturation_of)

    def advise(self, console: Console, side: Side, command: str) -> None:
        """Say in one line if the rate is beyond this machine, and what to type instead."""
        experiment = side.experiment
        if experiment.rate_choice is None:
            line = advice(side.name, experiment, self.capacities.find(experiment), self.cpus, command)
            if line is not None:
                console.print(Text(line, style="yellow"), soft_wrap=True, highlight=False)
