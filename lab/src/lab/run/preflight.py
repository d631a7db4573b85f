"""Reasons to refuse a run before anything is measured."""

from __future__ import annotations

import tempfile
from pathlib import Path

from lab import dataset
from lab.errors import RefusedError, RunError, did_you_mean
from lab.experiment import Catalogue, Experiment, tenant
from lab.experiment.script import read_load
from lab.paths import Checkout
from lab.run.state import RunPlan

DEFAULT_VALUE_BYTES = 500
KEY_BYTES = 40
WRITE_AMPLIFICATION = 2
"""Copies of a PUT on the disk: for a while it is in the WAL and in a table."""
WITHOUT_OWN_COPY = frozenset({"lsm", "textbook", "memory", "null"})
"""Engines that use a dataset's own tables, or keep nothing on the disk. Any other receives a copy of the pairs."""
IMPORT_AMPLIFICATION = 2
"""Space that an engine needs while pairs are copied into it, as a multiple of their size: it also keeps a log."""


def check_choices(plan: RunPlan) -> None:
    """Refuse a word that the built service does not list."""
    if plan.experiment.service.foreign:
        return
    for kind in tenant.LISTED:
        wanted = plan.experiment.service.parameter(kind)
        known = [choice.name for choice in plan.runtime.catalogue.listed(kind)]
        if wanted not in known:
            overridden = kind in plan.overrides
            where = f"{kind.upper()}={wanted}" if overridden else f"service.{kind}: {wanted!r}"
            raise RefusedError(
                f"{where}: no such {kind}{did_you_mean(wanted, known)}; available: {', '.join(known)}",
                "" if overridden else f"in experiments/{plan.name}/experiment.yaml",
            )


def dataset_bytes(checkout: Checkout, experiment: Experiment) -> int:
    """Return the size to expect of an experiment's dataset; 0 without one."""
    if experiment.dataset is None:
        return 0
    return dataset.estimated_bytes(Catalogue(checkout).dataset(experiment.dataset))


def check_places(checkout: Checkout) -> None:
    """Refuse a run whose directory of results or whose cache cannot be written, or has no room for results."""
    for setting, place in (("LAB_RESULTS", checkout.results), ("LAB_CACHE", checkout.cache)):
        parent = dataset.existing_parent(place)
        try:
            tempfile.TemporaryFile(dir=parent).close()
        except OSError as error:
            raise RunError(
                f"{place} cannot be written: {error.strerror}",
                f"Run the lab as a user who may write there, or name another place: {setting}=/path",
            ) from error
    dataset.require_space(checkout.results, 0, "a run's results", "LAB_RESULTS")


def check_space(plan: RunPlan) -> None:
    """Refuse a run that the disk cannot hold: the dataset, its copies for a start, and the writes of PUTs."""
    checkout, experiment = plan.checkout, plan.experiment
    load, engine = experiment.load, experiment.service.parameter("engine")
    made: list[tuple[int, str]] = []
    kept: list[tuple[int, str]] = []
    if experiment.dataset is not None:
        spec = Catalogue(checkout).dataset(experiment.dataset).written_for(engine)
        size = dataset.estimated_bytes(spec)
        if not dataset.is_cached_in_any_format(checkout, spec):
            made.append((size, f"dataset {spec.name}"))
        if not dataset.can_link(checkout):
            kept.append((size, f"a copy of dataset {spec.name} (it cannot be hard-linked here)"))
        if engine not in WITHOUT_OWN_COPY:
            kept.append((IMPORT_AMPLIFICATION * size, f"its pairs in engine {engine}"))
    if read_load(checkout.scripts, load).writes:
        pair_bytes = int(load.args.get("value_bytes", DEFAULT_VALUE_BYTES)) + KEY_BYTES
        written = int(WRITE_AMPLIFICATION * load.rate_per_s * (load.warmup_s + load.duration_s) * pair_bytes)
        kept.append((written, f"what {load.what} may write"))
    if dataset.on_one_disk(checkout):
        _require(checkout.work, made + kept)
    else:
        _require(checkout.datasets, made)
        _require(checkout.work, kept)


def _require(place: Path, needs: list[tuple[int, str]]) -> None:
    what = " and ".join(what for _, what in needs) or "the run"
    dataset.require_space(place, sum(needed for needed, _ in needs), what)
