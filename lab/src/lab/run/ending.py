"""However a run ends: nothing is left running, and what was collected is kept and described."""

from __future__ import annotations

import shutil
import traceback

from lab import analysis, report
from lab.errors import InputError, LabError
from lab.manifest import Phase
from lab.run.show import Show
from lab.run.state import Made, RunState


def clean_up(state: RunState, phases: list[Phase], error: BaseException | None, show: Show) -> None:
    """End everything and write run.json. Where the input was bad after all, the run directory goes too."""
    if error is None:
        state.made.finish(phases, complete=True)
        return
    state.timeline.stop()
    state.plan.runtime.close()
    made = state.made_or_none
    if made is None:
        return
    made.work.remove()
    if isinstance(error, InputError):
        shutil.rmtree(made.directory)  # it holds no more than the log of a build
        state.made_or_none = None
        return
    if not isinstance(error, LabError | KeyboardInterrupt):
        text = "".join(traceback.format_exception(error))
        (made.directory / "error.txt").write_text(text, encoding="utf-8")
    if any(phase.name == "measure" and phase.outcome == "ok" for phase in phases):
        _salvage(state, made, phases, show)
    made.finish(phases, complete=False)


def summarise(state: RunState, phases: list[Phase]) -> None:
    """Put the summary and the verdict into the manifest."""
    manifest = state.made.manifest
    manifest.phases = list(phases)
    rate = float(state.plan.experiment.load.rate_per_s)
    manifest.summary = analysis.summarise(state.directory, rate_offered_per_s=rate)
    manifest.validity = analysis.judge(state.directory, manifest)


def _salvage(state: RunState, made: Made, phases: list[Phase], show: Show) -> None:
    """Report on what was measured before the run broke off; the verdict is invalid and says why."""
    try:
        made.manifest.complete = False
        summarise(state, phases)
        made.write(phases)
        report.write(made.directory)
    except Exception as error:
        show.console.print(f"  no report on what was measured: {error}", highlight=False)
