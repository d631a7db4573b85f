"""The data of a run: made from its declaration if it is not cached."""

from __future__ import annotations

from pathlib import Path

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
        foreign = state.plan.experiment.service.foreign
        active.skip("the service has its own data" if foreign else "the store is empty at the start")
        return
    spec = Catalogue(checkout).dataset(name).written_for(state.plan.experiment.service.parameter("engine"))
    table_format = runtime.catalogue.table_format(spec.engine)
    if runtime.elsewhere is not None:
        hashed = dataset.dataset_hash(spec, table_format)
        info = runtime.elsewhere.keep_dataset(spec, hashed, state.directory / "dataset.log", progress)
        state.dataset = dataset.Dataset(spec, hashed, Path(hashed), info)
        state.environment.dataset = Dataset(name=name, hash=hashed)
        size = info.get("bytes")
        active.detail = f"{name}, where the service runs" + (f", {format_bytes(size)}" if size else "")
        return
    cached = dataset.find_dataset(checkout, spec, table_format) is not None
    log = state.directory / "dataset.log"
    made = dataset.provide(checkout, runtime, spec, table_format=table_format, log=log, progress=progress)
    state.dataset = made
    state.environment.dataset = Dataset(name=name, hash=made.hash)
    size = made.info.get("bytes")
    active.detail = f"{name}, {'cached' if cached else 'made'}" + (f", {format_bytes(size)}" if size else "")
