"""`lab compare`: reads the two sides, and runs a comparison or compares finished runs.

Also `lab regress` and `lab profiling-cost`, which are comparisons with one experiment on both sides.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from lab.compare import page
from lab.compare.design import DESIGN_SETTINGS, read_design
from lab.compare.execution import Comparison
from lab.compare.finished import compare_finished, find_run
from lab.compare.plan import ComparePlan
from lab.compare.profiles import compare_profiles
from lab.compare.revision import built_revision, require_one_table_format
from lab.compare.sides import parse_words, read_side
from lab.errors import InputError
from lab.experiment import Catalogue
from lab.experiment.model import ProfileSettings
from lab.experiment.overrides import OVERRIDABLE
from lab.machine.cpus import plan_cpus
from lab.paths import Checkout
from lab.progress import Progress
from lab.run.show import Show
from lab.runtime.base import Ports
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
    given = parse_words(words, [*OVERRIDABLE, *DESIGN_SETTINGS], "lab compare")
    common = {key: text for key, text in given.items() if key in OVERRIDABLE}
    design = read_design({key: text for key, text in given.items() if key not in OVERRIDABLE}, secrets.randbelow(10**6))
    runs = find_run(checkout, sides[0]), find_run(checkout, sides[1])
    if runs[0] is not None and runs[1] is not None:
        useless = [key.upper() for key in given if key not in ("x", "metric", "force")]
        if useless:
            raise InputError(
                f"{', '.join(useless)}: finished runs are compared as they are; only X, METRIC and FORCE go"
            )
        record, directory = compare_finished(checkout, runs[0], runs[1], design)
        compare_profiles(checkout, directory, (runs[0], runs[1]), (record.a.label, record.b.label))
        page.write(directory)
        page.tell(console, record, directory)
        return 0
    if runs[0] is not None or runs[1] is not None:
        run, other = (sides[0], sides[1]) if runs[0] is not None else (sides[1], sides[0])
        raise InputError(f"{run} is a finished run and {other} is none: name two runs, or two experiments")
    catalogue = Catalogue(checkout)
    a, b = (read_side(catalogue, letter, text, common) for letter, text in zip("AB", sides, strict=True))
    plan = ComparePlan(
        checkout=checkout,
        a=a,
        b=b,
        design=design,
        runtime=choose(checkout, runtime, tell),
        cpus=plan_cpus(os.environ),
        ports=ports,
    )
    console.print(Text.assemble(("A ", "bold"), f"{a.label}: {a.experiment.title}"), highlight=False)
    console.print(Text.assemble(("B ", "bold"), f"{b.label}: {b.experiment.title}"), highlight=False)
    return Comparison(plan, Show(console)).execute()


def regress(
    console: Console, checkout: Checkout, base: str, name: str, words: Sequence[str], *, ports: Ports, tell: Progress
) -> int:
    """Compare this checkout's service (B) with that of an earlier revision (A) under an experiment."""
    given = parse_words(words, [*OVERRIDABLE, *DESIGN_SETTINGS], "lab regress")
    common = {key: text for key, text in given.items() if key in OVERRIDABLE}
    design = read_design({key: text for key, text in given.items() if key not in OVERRIDABLE}, secrets.randbelow(10**6))
    side = read_side(Catalogue(checkout), "NAME", name, common)
    runtime = choose(checkout, "local", tell)
    checkout.cache.mkdir(parents=True, exist_ok=True)
    with built_revision(checkout, base, tell) as revision:
        runtime.build(checkout.cache / "build-service.log", tell, service_only=True)
        if side.experiment.dataset is not None:
            require_one_table_format(checkout, revision)
        plan = ComparePlan(
            checkout=checkout,
            a=replace(side, label=f"{side.label} of {base}", revision=revision),
            b=replace(side, label=f"{side.label} of this checkout"),
            design=design,
            runtime=runtime,
            cpus=plan_cpus(os.environ),
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
    given = parse_words(words, [*OVERRIDABLE, *DESIGN_SETTINGS], "lab profiling-cost")
    if "profile" in given:
        raise InputError("PROFILE is not for this: side A is never recorded, side B always")
    common = {key: text for key, text in given.items() if key in OVERRIDABLE}
    design = read_design({key: text for key, text in given.items() if key not in OVERRIDABLE}, secrets.randbelow(10**6))
    side = read_side(Catalogue(checkout), "NAME", name, common)
    settings = side.experiment.profile or ProfileSettings()
    side = replace(side, experiment=side.experiment.model_copy(update={"profile": None}))
    how = f"{', '.join(settings.events)} each {duration_word(settings.interval_s)}"
    plan = ComparePlan(
        checkout=checkout,
        a=side,
        b=replace(side, label=f"{side.label}, recorded"),
        design=design,
        runtime=choose(checkout, runtime, tell),
        cpus=plan_cpus(os.environ),
        ports=ports,
        compared=(f"recording: off against {how}",),
        recorded=settings,
    )
    console.print(f"What it costs {side.label} to be recorded: {how}", highlight=False)
    return Comparison(plan, Show(console)).execute()
