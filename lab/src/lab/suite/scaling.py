"""The rates of a suite on this machine: SCALE=0.3 for all, or SCALE=auto from measured capacities.

Experiments that are compared must be under the same load, so a group has one factor, its baseline's. An experiment
outside of groups has the factor of one that asks the same of the service, if possible one whose reference tells its
saturation: 50,000/s stay twice 25,000/s, and an overload stays one. A capacity that is not known yet is measured first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from rich.console import Console

from lab.capacity import Capacities
from lab.experiment import Catalogue, Experiment, apply_overrides
from lab.search.saturation import TIMES, described, measure_capacity
from lab.series import Place
from lab.suite.declaration import Case, Suite
from lab.units import parse_duration_s


def scales_of(
    place: Place, suite: Suite, cases: Sequence[Case], scale: str | None, *, given: Mapping[str, str], console: Console
) -> dict[str, str]:
    """Return the factor of each experiment's declared rate; nothing for rates as declared. InputError, RunError.

    `given` are the overrides of every run: a capacity is measured in no more time than a run of the suite takes.
    """
    names = list(dict.fromkeys(case.experiment for case in cases))
    if scale is None:
        return {}
    if scale.strip().lower() != "auto":
        return dict.fromkeys(names, scale)
    if place.capacities is None:
        raise AssertionError("a suite is given the capacities of this machine")
    catalogue = Catalogue(place.checkout)
    leaders = _leaders(suite, {name: catalogue.read(name) for name in names})
    times = _shorter_times(given)
    capacities = place.capacities.within(times)
    known = {name: catalogue.read(name) for name in dict.fromkeys(leaders.values())}
    lacking = [name for name, experiment in known.items() if capacities.find(experiment) is None]
    for number, name in enumerate(lacking, 1):
        if capacities.find(known[name]) is not None:  # one before it has the same service under the same load
            continue
        console.print(f"capacity {number} of {len(lacking)}, once: {name}", highlight=False)
        capacity = measure_capacity(place, capacities, name, words=times, experiment=known[name], console=console)
        console.print(f"  {described(name, capacity)}", soft_wrap=True, highlight=False)
    factors = {name: _fitted(capacities, name, experiment) for name, experiment in known.items()}
    return {name: factors[leader] for name, leader in leaders.items()}


def _leaders(suite: Suite, experiments: Mapping[str, Experiment]) -> dict[str, str]:
    """Return for each experiment the one whose factor it has."""
    leaders: dict[str, str] = {}
    for group in suite.groups.values():
        baseline = group.baseline.partition("@")[0]
        leader = leaders.setdefault(baseline, baseline)
        for other in group.others:
            leaders.setdefault(other.partition("@")[0], leader)
    by_load: dict[str, str] = {}
    for name, leader in leaders.items():
        by_load.setdefault(_load(experiments[name]), leader)
    for name in sorted(experiments, key=lambda one: not _saturation_is_published(experiments[one])):
        if name not in leaders:
            leaders[name] = by_load.setdefault(_load(experiments[name]), name)
    return leaders


def _saturation_is_published(experiment: Experiment) -> bool:
    return experiment.reference is not None and experiment.reference.saturated_at_per_s is not None


def _load(experiment: Experiment) -> str:
    """Return what is asked of the service, at whatever rate: one connection alone saturates by its round trip."""
    load = experiment.resolved()["load"]
    return json.dumps([experiment.dataset, load["script"], load["args"], load["connections"] == 1], sort_keys=True)


def _shorter_times(given: Mapping[str, str]) -> dict[str, str]:
    """Return those of DURATION and WARMUP that are shorter than a capacity is usually measured."""
    return {key: given[key] for key, usual in TIMES.items() if key in given and _seconds(given[key]) < _seconds(usual)}


def _seconds(text: str) -> float:
    return float(parse_duration_s(text))


def _fitted(capacities: Capacities, name: str, declared: Experiment) -> str:
    """Return the factor that RATE=auto chooses for an experiment."""
    fitted, _ = apply_overrides(declared, {"scale": "auto"}, capacities.saturation_of(name))
    choice = fitted.rate_choice
    if choice is None or choice.scale is None:
        raise AssertionError("a rate that was fitted has a scale")
    return f"{choice.scale:.6f}"
