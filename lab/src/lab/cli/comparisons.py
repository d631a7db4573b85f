"""Compare two sides: `lab compare`, `regress`, `profiling-cost`, `diff`; `profile-window` draws a part of one."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from lab.capacity import advice
from lab.cli.output import console, tell
from lab.cli.place import place_of
from lab.cli.settings import MACHINE, OVERRIDES, Given, takes
from lab.compare import page
from lab.compare.design import DESIGN_SETTINGS, Design, read_design
from lab.compare.execution import Comparison
from lab.compare.finished import compare_finished
from lab.compare.plan import ComparePlan
from lab.compare.profiles import compare_profiles
from lab.compare.record import LETTERS
from lab.compare.revision import built_revision, require_one_table_format
from lab.compare.sides import REFUSED, Side, at_the_rate_of, read_side
from lab.diff import diff_recordings, draw_window, recordings
from lab.errors import InputError
from lab.experiment import Catalogue
from lab.experiment.catalogue import JAR, own_directory
from lab.experiment.model import ProfileSettings
from lab.history.keeping import find_run
from lab.machine.host import memory_bytes
from lab.paths import Checkout, find_checkout
from lab.run.preflight import dataset_bytes
from lab.run.show import Show
from lab.runtime.base import Runtime
from lab.series import Place
from lab.units import duration_word
from lab.words import as_typed

commands = typer.Typer()
SIDES = tuple(name for name in OVERRIDES if name not in REFUSED)
QUIET = {"monitoring": "a comparison runs without Prometheus, which would load the same CPUs"}
PLACE = tuple(name for name in MACHINE if name not in QUIET)
LOCAL = tuple(name for name in PLACE if name != "runtime")
GIB = 2**30
SIDE_BYTES, OTHERS_BYTES = int(2.4 * GIB), 3 * GIB
"""Memory that a service, and everything else, needs beside more than one other service."""
Name = Annotated[str, typer.Argument(help="The experiment, with overrides as in `lab compare`.")]


@commands.command()
@takes(*SIDES, *DESIGN_SETTINGS, *PLACE, refused=REFUSED | QUIET)
def compare(
    a: Annotated[str, typer.Argument(help="An experiment ('stack-get VARIANT=queue'), a jar, or a finished run.")],
    b: Annotated[str, typer.Argument(help="The experiment, jar or finished run to compare with A.")],
    given: Given,
    more: Annotated[list[str] | None, typer.Argument(help="Further experiments to compare with A.")] = None,
) -> None:
    """Say whether B is better than A, worse, the same within X%, or whether the data cannot tell; C to F likewise.

    All run in turns: each block starts the services afresh and alternates windows of load between them. The sample
    is the block, never the request. PORT and ADMIN_PORT are A's; the others take free ports. docs/compare.md explains
    the method and the verdicts.
    """
    screen, checkout = console(), find_checkout()
    texts = [a, b, *(more or [])]
    if len(texts) > len(LETTERS):
        raise InputError(f"{len(texts)} sides: at most {len(LETTERS)} are compared at a time")
    runs = [find_run(checkout, text) for text in texts]
    if len(runs) == 2 and runs[0] is not None and runs[1] is not None:
        allowed = ("x", "metric", "force")
        useless = [key.upper() for key in given if key not in allowed and key not in PLACE]
        if useless:
            raise InputError(
                f"{', '.join(useless)}: finished runs are compared as they are; only X, METRIC and FORCE can be set"
            )
        record, directory = compare_finished(checkout, runs[0], runs[1], _design(given))
        compare_profiles(checkout, directory, (runs[0], runs[1]), (record.sides[0].label, record.sides[1].label))
        page.write(directory, record)
        record.write(checkout.results)  # after the page, so that a complete comparison has one
        page.tell(screen, record, directory)
        return
    finished = [text for text, run in zip(texts, runs, strict=True) if run is not None]
    if len(finished) == len(texts):
        raise InputError("finished runs are compared two at a time")
    if finished:
        other = next(text for text in texts if text not in finished)
        raise InputError(f"{finished[0]} is a finished run, but {other} is not: name two runs, or experiments")
    here = _Site.of(given, foreign=_is_foreign(a))
    baseline = here.read("A", a, given.overrides)
    common = at_the_rate_of(baseline, given.overrides)
    sides = [baseline, *(here.read(LETTERS[at].upper(), text, common) for at, text in enumerate(texts[1:], 1))]
    named = list(zip(LETTERS.upper(), texts, sides, strict=False))
    for letter, _, side in named:
        screen.print(Text.assemble((f"{letter} ", "bold"), f"{side.label}: {side.experiment.title}"), highlight=False)
    here.advise(baseline, f"make compare {' '.join(f'{letter}={shlex.quote(text)}' for letter, text, _ in named)}")
    here.compare(sides)


@commands.command()
@takes(
    *SIDES,
    *DESIGN_SETTINGS,
    *LOCAL,
    refused=REFUSED | QUIET | {"runtime": "revisions are built locally"},
)
def regress(
    base: Annotated[str, typer.Argument(help="The revision to compare with: HEAD~1, main, a tag.")],
    given: Given,
    name: Annotated[str, typer.Argument(help="The experiment, with overrides as in `lab compare`.")] = "sync-get",
) -> None:
    """Say whether this checkout's service is better than an earlier one, worse, or the same (local runtime).

    The service of that revision is built in a git worktree under .cache, which is removed afterwards.
    """
    here, checkout = _Site.of(given, "local"), find_checkout()
    side = here.read("NAME", name, given.overrides)
    here.advise(side, f"make regress BASE={shlex.quote(base)} NAME={shlex.quote(name)}")
    checkout.cache.mkdir(parents=True, exist_ok=True)
    with built_revision(checkout, base, tell) as revision:
        here.runtime.build(checkout.cache / "build-service.log", tell, service_only=True)
        if side.experiment.dataset is not None:
            require_one_table_format(checkout, revision, here.runtime.catalogue)
        here.compare(
            [
                replace(side, label=f"{side.label} of {base}", revision=revision),
                replace(side, label=f"{side.label} of this checkout"),
            ],
            f"revision of the service: {revision.commit[:12]} against this checkout",
        )


@commands.command()
@takes(
    *(one for one in SIDES if one != "profile"),
    *DESIGN_SETTINGS,
    *PLACE,
    refused=REFUSED | QUIET | {"profile": "side A is never profiled, side B always is"},
)
def profiling_cost(name: Name, given: Given) -> None:
    """Say what profiling costs an experiment: latency, rate, CPU and memory per request, with intervals.

    This is a comparison in turns; side B is profiled in each window, as the experiment declares, or by the default if
    it has no `profile`.
    """
    here = _Site.of(given)
    side = here.read("NAME", name, given.overrides)
    settings = side.experiment.profile or ProfileSettings()
    side = replace(side, experiment=side.experiment.model_copy(update={"profile": None}))
    how = f"{', '.join(settings.events)} each {duration_word(settings.interval_s)}"
    console().print(f"Cost of profiling {side.label}: {how}", highlight=False)
    here.advise(side, f"make profiling-cost NAME={shlex.quote(name)}")
    here.compare([side, replace(side, label=f"{side.label}, recorded")], f"recording: off against {how}", settings)


@commands.command()
@takes("force")
def diff(
    a: Annotated[str, typer.Argument(help="Before: a run (`stack-get/20261121T091433Z`) or an experiment.")],
    b: Annotated[str, typer.Argument(help="After: a run or an experiment.")],
    given: Given,
) -> None:
    """Show which code's share changed between two profiled runs or experiments, by how much, and how certainly.

    --force compares even if engines or intervals differ.
    """
    print_difference(console(), find_checkout(), a, b, force="force" in given)


def print_difference(screen: Console, checkout: Checkout, a: str, b: str, *, force: bool) -> None:
    """Compare recordings, write everything to results/diff/, and print the tables."""
    sides = recordings(checkout, a), recordings(checkout, b)
    out = checkout.results / "diff" / f"{_word(a)}-against-{_word(b)}"
    markdown = diff_recordings(checkout, sides, (a, b), out, force=force)
    if screen.is_terminal:
        screen.print(Markdown(markdown))
    else:
        screen.print(markdown, markup=False, highlight=False, soft_wrap=True)
    screen.print(f"\n{out}", highlight=False)


@commands.command()
def profile_window(
    name: Annotated[str, typer.Argument(help="A run (`stack-get/20261121T091433Z`), or an experiment: its newest.")],
    start: Annotated[
        str | None,
        typer.Option("--from", help="Start of the window, counted from the recording's start: 10s. Default: 0s."),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option("--to", help="End of the window, counted in the same way. Default: the recording's end."),
    ] = None,
) -> None:
    """Draw the flame graphs, heatmaps and tables of a window of time of a profiled run, into results/window/."""
    console().print(str(draw_window(find_checkout(), name, start, end)), highlight=False, soft_wrap=True)


def _design(given: Given) -> Design:
    return read_design(given.only(DESIGN_SETTINGS), secrets.randbelow(10**6))


def _is_foreign(side: str) -> bool:
    """Return whether a side is surely no service of the lab: a jar, or an experiment by its path."""
    name = next(iter(side.split()), "")
    return name.endswith(JAR) or own_directory(name) is not None


def _word(name: str) -> str:
    return "-".join(part for part in Path(name).parts[-2:] if part not in {"/", ".."})


@dataclass(frozen=True)
class _Site:
    """The place where a comparison runs, and its design."""

    place: Place
    design: Design
    runtime: Runtime

    @staticmethod
    def of(given: Given, runtime: str | None = None, *, foreign: bool = False) -> _Site:
        design, place = _design(given), place_of(given, runtime, foreign=foreign)
        return _Site(place, design, place.make_runtime())

    def read(self, which: str, text: str, common: dict[str, str]) -> Side:
        return read_side(Catalogue(self.place.checkout), which, text, common, self.place.capacities.saturation_of)

    def advise(self, side: Side, command: str) -> None:
        """Say in one line if the rate is beyond this machine, and what to type instead."""
        experiment, place = side.experiment, self.place
        if experiment.rate_choice is None:
            line = advice(side.name, experiment, place.capacities.find(experiment), place.cpus, command)
            if line is not None:
                console().print(Text(as_typed(line), style="yellow"), soft_wrap=True, highlight=False)

    def _room(self, sides: Sequence[Side]) -> int:
        """Return how many services find room in the free memory, beside the lab and the dataset in the page cache."""
        data = max(dataset_bytes(self.place.checkout, side.experiment) for side in sides)
        return int((memory_bytes().get("available", 0) - OTHERS_BYTES - data) // SIDE_BYTES)

    def compare(self, sides: Sequence[Side], compared: str = "", recorded: ProfileSettings | None = None) -> NoReturn:
        """Compare sides, which may differ in what their declarations do not say: `compared`."""
        if len(sides) > 2 and self.place.runtime == "docker":
            raise InputError(
                f"{len(sides)} sides: the docker runtime has room for two at a time",
                f"RUNTIME=local compares up to {len(LETTERS)}",
            )
        if len(sides) > 2 and len(sides) > (room := self._room(sides)):
            raise InputError(
                f"{len(sides)} sides: there is memory for {room}, at {SIDE_BYTES / GIB:g} GiB each",
                "Compare fewer at a time",
            )
        plan = ComparePlan(
            checkout=self.place.checkout,
            sides=tuple(sides),
            design=self.design,
            runtime=self.runtime,
            cpus=self.place.cpus,
            ports=self.place.ports,
            compared=(compared,) if compared else (),
            recorded=recorded,
        )
        raise typer.Exit(Comparison(plan, Show(console())).tell())
