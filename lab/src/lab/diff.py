"""Finds the code that changed between recordings, by `profile diff`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from lab.errors import InputError, LabError, did_you_mean
from lab.paths import Checkout

RECORDING = Path("profile/profile.json")


class ProfilerError(LabError):
    """The profiler's command failed, or it is not built."""


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


def diff_recordings(
    checkout: Checkout, sides: tuple[list[Path], list[Path]], titles: tuple[str, str], out: Path, *, force: bool = False
) -> str:
    """Write what changed between the recordings of two sides to `out`, a new directory; return it as Markdown.

    Raises ProfilerError.
    """
    if out.exists():
        shutil.rmtree(out)
    words = ["diff", "--out", str(out), "--title-a", titles[0], "--title-b", titles[1]]
    words += ["--force"] if force else []
    for option, directories in zip(("--a", "--b"), sides, strict=True):
        words += [option, *map(str, directories)]
    return run_profiler(checkout, words)


def run_profiler(checkout: Checkout, words: list[str], environment: dict[str, str] | None = None) -> str:
    """Run the command `profile` and return what it printed. Raises ProfilerError with its message."""
    program = checkout.root / "profiler" / "target" / "release" / "profile"
    if not program.is_file():
        raise ProfilerError(f"{program} is missing: build it with `make build-profiler`")
    done = subprocess.run([str(program), *words], capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise ProfilerError(done.stderr.strip().removeprefix("profile: "))
    return done.stdout
