"""Recordings after the run: the code that changed between them, and a window of time drawn apart."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from lab.errors import InputError, LabError, did_you_mean
from lab.history.keeping import find_run
from lab.json_file import read_object
from lab.paths import Checkout
from lab.process.commands import run_text
from lab.runtime.local.requirements import find_jdk
from lab.units import parse_milliseconds

RECORDING = Path("profile/profile.json")


class ProfilerError(LabError):
    """The profiler's command failed, or it is not built."""


def recordings(checkout: Checkout, name: str) -> list[Path]:
    """Return the directories of the recordings that `name` means, oldest first.

    `name` is a run (`find_run`), or an experiment, which means all its runs. Raises InputError.
    """
    run = find_run(checkout, name, RECORDING)
    if run is not None:
        return [(run / RECORDING).parent]
    found = sorted(path.parent for path in (checkout.results / name).glob(f"*/{RECORDING}"))
    if found:
        return found
    if find_run(checkout, name) is not None:
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
    done = run_text([str(program), *words], env=environment)
    if done.returncode != 0:
        raise ProfilerError(done.stderr.strip().removeprefix("profile: "))
    return done.stdout


def draw_window(checkout: Checkout, name: str, start: str | None, end: str | None) -> Path:
    """Draw a window of a run's recording, or of an experiment's newest one; return the directory of the files.

    `start` and `end` are durations since the recording's beginning, such as "10s"; None is its beginning or its end.
    Raises InputError and ProfilerError.
    """
    given = {option: text for option, text in (("from", start), ("to", end)) if text is not None}
    if not given:
        raise InputError("FROM and TO are missing: give one or both, such as FROM=10s TO=20s")
    bounds = {option: _milliseconds(option, text) for option, text in given.items()}
    recording = recordings(checkout, name)[-1]
    source = recording / "profile.jfr"
    if not source.is_file():
        raise InputError(f"{source} is missing: only the recording itself can be cut")
    run = recording.parent
    parts = [f"{option}-{ms}ms" for option, ms in bounds.items()]
    out = checkout.results / "window" / "-".join([run.parent.name, run.name, *parts])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    title = read_object(recording / "profile.json").get("title") or run.parent.name
    span = " ".join(f"{option} {text}" for option, text in given.items())
    words = ["--out", str(out), "--title", f"{title} · {span}"]
    for option, ms in bounds.items():
        words += [f"--{option}", f"{ms}ms"]
    copied = out / source.name
    try:
        shutil.copyfile(source, copied)
        run_profiler(checkout, ["convert", *words], {**os.environ, "JAVA_HOME": str(find_jdk())})
        copied.unlink()
    except BaseException:
        shutil.rmtree(out, ignore_errors=True)
        raise
    return out


def _milliseconds(option: str, text: str) -> int:
    try:
        milliseconds = parse_milliseconds(text)
    except ValueError as error:
        raise InputError(f"{option.upper()}: {error}") from None
    if milliseconds < 0:
        raise InputError(f"{option.upper()}: {text!r} is before the recording's beginning")
    return milliseconds
