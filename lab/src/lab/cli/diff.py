"""`lab diff`: which code changed between two runs, or between the runs of two experiments, by `profile diff`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

from lab.errors import InputError, LabError, did_you_mean
from lab.paths import Checkout

RECORDING = Path("profile/profile.json")


class DiffError(LabError):
    """The profiler refused the comparison, or it is not built."""


def recordings(checkout: Checkout, name: str) -> list[Path]:
    """Return the directories of the recordings that `name` means, oldest first.

    `name` is a run's path, its name below results/ (`stack-get/20261121T091433Z`), or an experiment, which means all
    its runs. Raises InputError.
    """
    places = (Path(name), checkout.results / name)
    for place in places:
        if (place / RECORDING).is_file():
            return [(place / RECORDING).parent]
    found = sorted(path.parent for path in (checkout.results / name).glob(f"*/{RECORDING}"))
    if found:
        return found
    if any((place / "run.json").is_file() for place in places):
        raise InputError(f"the run {name} has no converted recording: was it run with PROFILE=off?")
    known = {path.parents[2].name for path in checkout.results.glob(f"*/*/{RECORDING}")}
    raise InputError(
        f"no profiled run or experiment {name!r}{did_you_mean(name, known)}; `make results` lists the runs"
    )


def print_difference(console: Console, checkout: Checkout, a: str, b: str, *, force: bool) -> None:
    """Compare, write everything to results/diff/, and print the tables."""
    sides = recordings(checkout, a), recordings(checkout, b)
    out = checkout.results / "diff" / f"{_word(a)}-against-{_word(b)}"
    told = diff_recordings(checkout, sides, (a, b), out, force=force)
    if console.is_terminal:
        console.print(Markdown(told))
    else:
        console.print(told, markup=False, highlight=False, soft_wrap=True)
    console.print(f"\n{out}", highlight=False)


def diff_recordings(
    checkout: Checkout, sides: tuple[list[Path], list[Path]], titles: tuple[str, str], out: Path, *, force: bool = False
) -> str:
    """Write what changed between the recordings of two sides to `out`, a new directory; return it as Markdown.

    Raises DiffError.
    """
    program = checkout.root / "profiler" / "target" / "release" / "profile"
    if not program.is_file():
        raise DiffError(f"{program} is missing: build it with `make build-profiler`")
    if out.exists():
        shutil.rmtree(out)
    argv = [str(program), "diff", "--out", str(out), "--title-a", titles[0], "--title-b", titles[1]]
    argv += ["--force"] if force else []
    for option, directories in zip(("--a", "--b"), sides, strict=True):
        argv += [option, *map(str, directories)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DiffError(done.stderr.strip().removeprefix("profile: "))
    return done.stdout


def _word(name: str) -> str:
    return "-".join(part for part in Path(name).parts[-2:] if part not in {"/", ".."})
