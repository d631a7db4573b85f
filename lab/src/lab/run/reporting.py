"""Calls the analysis: its summary and verdict go into run.json, also of a run that ended early."""

from __future__ import annotations

from rich.console import Console

from lab import analysis, report
from lab.analysis import RunFiles
from lab.errors import LabError
from lab.manifest import Phase
from lab.run.state import RunState


def analyse(state: RunState, phases: list[Phase]) -> RunFiles:
    """Put the summary and the verdict into the manifest; return the files that they come from."""
    manifest, files = state.artifacts.manifest, RunFiles(state.directory)
    manifest.phases = list(phases)
    rate = float(state.plan.experiment.load.rate_per_s)
    manifest.summary = analysis.summarise(state.directory, rate_offered_per_s=rate, files=files)
    manifest.validity = analysis.judge(state.directory, manifest, files)
    return files


def salvage(state: RunState, phases: list[Phase], console: Console) -> None:
    """Report the measurements made before the run ended early; the verdict is invalid and says why."""
    try:
        state.artifacts.manifest.complete = False
        try:
            analyse(state, phases)
        except LabError as error:  # for example of one repetition: the page shows the others, and what is wrong
            console.print(f"  no summary: {error.message}", highlight=False, soft_wrap=True)
        state.artifacts.write(phases)
        report.write(state.directory)
    except Exception as error:
        console.print(f"  no report on what was measured: {error}", highlight=False, soft_wrap=True)
