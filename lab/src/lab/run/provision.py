"""The data of a run: made from its declaration if it is not cached."""

from __future__ import annotations

from pathlib import Path

from lab import dataset
from lab.experiment import Catalogue
from lab.manifest import Dataset
from lab.progress import Progress
from lab.run.phases import ActivePhase
from lab.run.state import RunState
from lab.runtime.base import DatasetSpec
from lab.units import format_bytes


def provide_dataset(state: RunState, active: ActivePhase, progress: Progress) -> None:
    """Put the experiment's dataset into the state; an experiment without one skips the phase."""
    name, checkout, runtime = state.plan.experiment.dataset, state.plan.checkout, state.plan.runtime
    if name is None:
        active.skip("the store is empty at the start")
        return
    spec = Catalogue(checkout).dataset(name).written_for(state.plan.experiment.service.engine)
    table_format = runtime.catalogue.table_format(spec.engine)
    if runtime.remote:
        _keep_dataset(state, active, spec, table_format, progress)
        return
    cached = dataset.find_dataset(checkout, spec, table_format) is not None
    log = state.directory / "dataset.log"
    made = dataset.provide(checkout, runtime, spec, table_format=table_format, log=log, progress=progress)
    state.dataset = made
    state.environment.dataset = Dataset(name=name, hash=made.hash)
    size = made.info.get("bytes")
    active.detail = f"{name}, {'cached' if cached else 'made'}" + (f", {format_bytes(size)}" if size else "")


def _keep_dataset(
    state: RunState, active: ActivePhase, spec: DatasetSpec, table_format: str, progress: Progress
) -> None:
    """Let the runtime make the dataset in its own store."""
    name = dataset.dataset_hash(spec, table_format)
    info = state.plan.runtime.make_dataset(spec, Path(name), state.directory / "dataset.log", progress)
    state.dataset = dataset.Dataset(spec, name, Path(name), info)
    state.environment.dataset = Dataset(name=spec.name, hash=name)
    active.detail = f"{spec.name}, in the service's pod" + (
        f", {format_bytes(size)}" if (size := info.get("bytes")) else ""
    )
