"""`lab search` and `lab capacity`: their words, and where the steps run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from rich.console import Console

from lab.capacity import Capacities
from lab.errors import InputError, did_you_mean
from lab.experiment import Catalogue, apply_overrides
from lab.experiment.overrides import OVERRIDABLE
from lab.machine.cpus import plan_cpus
from lab.paths import Checkout, find_checkout
from lab.runtime.base import Ports
from lab.runtime.select import choose
from lab.search.drive import run_search
from lab.search.saturation import described, measure_capacity
from lab.search.slo import parse_slo
from lab.search.steps import Subject
from lab.series import Place

SET_BY_STEPS = {
    "rate": "the rate is what is searched for",
    "scale": "the rate is what is searched for",
    "repeat": "each step is one repetition",
    "profile": "no step is profiled",
}


def read_subject(checkout: Checkout, name: str, words: Sequence[str], slo: str = "max<1h") -> Subject:
    """Return the request. Raises InputError if anything is wrong with it; nothing was started then."""
    limit = parse_slo(slo)
    declared = Catalogue(checkout).read(name)
    given = settings_of(words)
    return Subject(name, given, apply_overrides(declared, given)[0], limit)


def settings_of(words: Sequence[str]) -> dict[str, str]:
    """Return words such as `VARIANT=queue` as apply_overrides takes them. Raises InputError."""
    found: dict[str, str] = {}
    allowed = [key.upper() for key in OVERRIDABLE if key not in SET_BY_STEPS]
    for word in words:
        key, equals, value = word.partition("=")
        setting = key.lower()
        if setting in SET_BY_STEPS:
            raise InputError(f"{word}: {SET_BY_STEPS[setting]}; what can be set: {', '.join(allowed)}")
        if not equals or key.upper() not in allowed:
            near = did_you_mean(key.upper(), allowed)
            raise InputError(f"{word}: no such setting{near}; available: {', '.join(allowed)}, each as KEY=VALUE")
        found[setting] = value
    return found


def place_of(runtime: str | None, ports: Ports, tell: Callable[[str], None], *, monitoring: bool | None) -> Place:
    """Return where the steps run: this checkout, the CPU plan, and the runtime."""
    checkout, cpus = find_checkout(), plan_cpus(os.environ)
    name = choose(checkout, runtime, tell).name
    capacities = Capacities(checkout, cpus, name)
    return Place(checkout, lambda: choose(checkout, name, tell), name, cpus, ports, monitoring, capacities)


def search(console: Console, subject: Subject, place: Place, *, resume: bool) -> None:
    """Search and print the answer."""
    run_search(place, subject, console, resume=resume)


def measure(console: Console, subject: Subject, place: Place) -> None:
    """Measure the capacity and print it."""
    if place.capacities is None:
        raise AssertionError("place_of gives capacities")
    capacity = measure_capacity(
        place, place.capacities, subject.name, words=subject.words, experiment=subject.experiment, console=console
    )
    console.print(described(subject.name, capacity), soft_wrap=True, highlight=False)
    console.print(f"stored in {place.capacities.path}: RATE=auto is based on it", soft_wrap=True, highlight=False)
