"""The data of a run: made from its declaration where it is not cached."""

from __future__ import annotations

from lab import dataset
from lab.experiment import Catalogue
from lab.manifest import Dataset
from lab.progress import Progress
from lab.run.phases import ActivePhase
from lab.run.state import RunState
from lab.units import format_bytes


def provide_dataset(state: RunState, active: ActivePhase, progress: Progress) -> None:
    """Put the experiment's dataset into the state; an experiment without one skips the phase."""
    name, checkout, runtime = state.plan.experiment.dataset, state.plan.checkout, state.plan.runtime
    if name is None:
        active.skip("the store is empty at the start")
        return
    spec = Catalogue(checkout).dataset(name)
    table_format = runtime.table_format()
    cached = dataset.find_dataset(checkout, spec, table_format) is not None
    log = state.directory / "dataset.log"
    made = dataset.provide(checkout, runtime, spec, table_format=table_format, log=log, progress=progress)
    state.dataset = made
    state.environment.dataset = Dataset(name=name, hash=made.hash)
    size = made.info.get("bytes")
    active.detail = f"{name}, {'cached' if cached else 'made'}" + (f", {format_bytes(size)}" if size else "")
