"""The end of every run: everything it started is ended, and the files collected so far are kept and described."""

from __future__ import annotations

import errno
import shutil
import traceback
from collections.abc import Callable
from pathlib import Path

from lab import analysis, report
from lab.errors import LabError, RefusedError, RunError
from lab.manifest import Phase
from lab.paths import Checkout
from lab.run.show import Show
from lab.run.signals import signals_held_off, signals_raise
from lab.run.state import RunArtifacts, RunState
from lab.units import format_bytes

NOT_WRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""Errors of a full disk, or of one that cannot be written for another reason outside the lab."""


def run_and_end(run: Callable[[], None], end: Callable[[BaseException | None], int], checkout: Checkout) -> int:
    """Call `run`, then `end` with the error that ended it, or None; return what `end` returns.

    SIGINT, SIGTERM and SIGHUP are errors of `run`, and are held off during `end`.
    """
    error: BaseException | None = None
    try:
        with signals_raise():
            try:
                run()
            except BaseException as raised:
                error = explained(raised, checkout)
            with signals_held_off():
                return end(error)
    except KeyboardInterrupt as late:  # in the few instructions before signals were held off
        return end(error or late)


def clean_up(state: RunState, phases: list[Phase], error: BaseException | None, show: Show) -> list[str]:
    """End everything and describe the files; return what may still be running.

    A run that was refused leaves no directory; any other run keeps its own.
    """
    left = [] if error is None else _end_everything(state)
    artifacts = state.artifacts_or_none
    if artifacts is None:
        return left
    if isinstance(error, RefusedError):
        shutil.rmtree(artifacts.directory)  # it holds nothing but the log of a build
        state.artifacts_or_none = None
        return left
    try:
        if error is not None and not isinstance(error, LabError | KeyboardInterrupt):
            text = "".join(traceback.format_exception(error))
            (artifacts.directory / "error.txt").write_text(text, encoding="utf-8")
        if error is not None and any(phase.name == "measure" and phase.outcome == "ok" for phase in phases):
            _salvage(state, artifacts, phases, show)
        artifacts.finish(phases, complete=error is None)
    except OSError as full:
        if error is None:
            raise  # the only sign that this run is incomplete
        show.console.print(f"  run.json is not up to date: {full.strerror}", highlight=False)
    return left


def _end_everything(state: RunState) -> list[str]:
    state.timeline.stop()
    state.audit.stop()
    left = state.plan.runtime.close()
    if state.artifacts_or_none is not None:
        state.artifacts_or_none.work.remove()
    return left


def explained(error: BaseException, checkout: Checkout) -> BaseException:
    """Explain to the user an error about a file that could not be written; return any other error unchanged."""
    if not isinstance(error, OSError) or error.errno not in NOT_WRITABLE:
        return error
    places = {"LAB_RESULTS": checkout.results, "LAB_CACHE": checkout.cache}
    free = ", ".join(f"{place} has {_free(place)} free ({setting})" for setting, place in places.items())
    name = f": {error.filename}" if error.filename else ""
    return RunError(
        f"a file of this run could not be written: {error.strerror}{name}",
        f"{free}. Free some, or name another place by the setting in brackets",
    )


def _free(place: Path) -> str:
    while not place.exists():
        place = place.parent
    return format_bytes(shutil.disk_usage(place).free)


def summarise(state: RunState, phases: list[Phase]) -> None:
    """Put the summary and the verdict into the manifest."""
    manifest = state.artifacts.manifest
    manifest.phases = list(phases)
    rate = float(state.plan.experiment.load.rate_per_s)
    manifest.summary = analysis.summarise(state.directory, rate_offered_per_s=rate)
    manifest.validity = analysis.judge(state.directory, manifest)


def _salvage(state: RunState, artifacts: RunArtifacts, phases: list[Phase], show: Show) -> None:
    """Report the measurements made before the run ended early; the verdict is invalid and says why."""
    try:
        artifacts.manifest.complete = False
        try:
            summarise(state, phases)
        except LabError as error:  # for example of one repetition: the page shows the others, and what is wrong
            show.console.print(f"  no summary: {error.message}", highlight=False, soft_wrap=True)
        artifacts.write(phases)
        report.write(artifacts.directory)
    except Exception as error:
        show.console.print(f"  no report on what was measured: {error}", highlight=False, soft_wrap=True)
