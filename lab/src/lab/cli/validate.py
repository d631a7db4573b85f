"""`lab validate`: finds errors in experiment files without running anything."""

from __future__ import annotations

from collections.abc import Sequence

from lab.errors import InputError, LabError, did_you_mean
from lab.experiment import Catalogue, Experiment
from lab.paths import Checkout
from lab.progress import Progress
from lab.runtime.select import choose


def problems_of(checkout: Checkout, names: Sequence[str], runtime: str | None, tell: Progress) -> list[LabError]:
    """Return everything that is wrong with these experiments.

    If the service cannot be built here, its variants and engines are unknown: `tell` is told so, and why.
    """
    catalogue = Catalogue(checkout)
    problems: list[LabError] = []
    sound: dict[str, Experiment] = {}
    catalogue.datasets()
    for name in names:
        try:
            sound[name] = catalogue.read(name)
        except LabError as error:
            problems.append(error)
    if not sound:
        return problems
    try:
        known = _offered(checkout, runtime, tell)
    except InputError:
        raise
    except LabError as error:
        tell(f"variants and engines were not checked, for the service cannot be built here: {error.message}")
        return problems
    for name, experiment in sound.items():
        for kind, wanted in (("variant", experiment.service.variant), ("engine", experiment.service.engine)):
            if wanted not in known[kind]:
                place = f"{catalogue.where(name, ('service', kind))}: service.{kind}: {wanted!r}"
                near = did_you_mean(wanted, known[kind])
                problems.append(InputError(f"{place}: no such {kind}{near}; available: {', '.join(known[kind])}"))
    return problems


def _offered(checkout: Checkout, name: str | None, tell: Progress) -> dict[str, list[str]]:
    """Return the variants and engines of the service, which is built if its sources have changed."""
    runtime = choose(checkout, name, tell)
    try:
        checkout.cache.mkdir(parents=True, exist_ok=True)
        runtime.build(checkout.cache / "build-service.log", lambda _: None, service_only=True)
        return {
            "variant": [choice.name for choice in runtime.catalogue.variants()],
            "engine": [choice.name for choice in runtime.catalogue.engines()],
        }
    finally:
        runtime.close()
