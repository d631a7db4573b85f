"""What a run is refused for before anything is started."""

from __future__ import annotations

from lab import dataset
from lab.errors import InputError, RunError, did_you_mean
from lab.experiment import Catalogue
from lab.run.state import RunPlan

DEFAULT_VALUE_BYTES = 500
KEY_BYTES = 40
WRITE_AMPLIFICATION = 2
"""A PUT is in the log and in a table for a while."""


def check_choices(plan: RunPlan, *, built: bool) -> None:
    """Refuse a variant or an engine that the service does not have. Before the build, an unbuilt one is let pass."""
    service = plan.experiment.service
    for kind, wanted, ask in (
        ("variant", service.variant, plan.runtime.variants),
        ("engine", service.engine, plan.runtime.engines),
    ):
        try:
            known = [choice.name for choice in ask()]
        except RunError:
            if built:
                raise
            return
        if wanted not in known:
            overridden = kind in plan.overrides
            where = f"{kind.upper()}={wanted}" if overridden else f"service.{kind}: {wanted!r}"
            raise InputError(
                f"{where}: no such {kind}{did_you_mean(wanted, known)}; there are: {', '.join(known)}",
                "" if overridden else f"in experiments/{plan.name}/experiment.yaml",
            )


def check_space(plan: RunPlan) -> None:
    """Refuse what the disk cannot hold: the dataset where it is not cached, and what PUTs may write."""
    experiment, needed, what = plan.experiment, 0, "the run"
    load = experiment.load
    if experiment.dataset is not None:
        spec = Catalogue(plan.house).dataset(experiment.dataset)
        if not dataset.is_cached_in_any_format(plan.house, spec):
            needed, what = dataset.estimated_bytes(spec), f"dataset {spec.name}"
    if load.script.startswith(("put", "mixed")):
        pair_bytes = int(load.args.get("value_bytes", DEFAULT_VALUE_BYTES)) + KEY_BYTES
        needed += int(WRITE_AMPLIFICATION * load.rate_per_s * (load.warmup_s + load.duration_s) * pair_bytes)
        what = f"{what} and what {load.script} may write" if what != "the run" else f"what {load.script} may write"
    dataset.require_space(plan.house.cache, needed, what)
