"""A window of time of a recording, drawn by `profile convert` into a directory of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from lab.diff import recordings, run_profiler
from lab.errors import InputError
from lab.json_file import read_object
from lab.paths import Checkout
from lab.runtime.local.requirements import find_jdk
from lab.units import parse_milliseconds


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
