"""The rates of a suite on this machine: SCALE=0.3 for all, or SCALE=auto from measured capacities.

Experiments that are compared must be under the same load, so a group has one factor, its baseline's. A capacity that is
not known yet is measured first, about a minute each.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from lab.experiment import Catalogue, apply_overrides
from lab.search.saturation import described, measure_capacity
from lab.series import Place
from lab.suite.declaration import Case, Suite


def scales_of(place: Place, suite: Suite, cases: Sequence[Case], scale: str | None, console: Console) -> dict[str, str]:
    """Return the factor of each experiment's declared rate; empty for rates as declared. InputError, RunError."""
    names = list(dict.fromkeys(case.experiment for case in cases))
    if scale is None:
        return {}
    if scale.strip().lower() != "auto":
        return dict.fromkeys(names, scale)
    factors: dict[str, str] = {}
    for group in suite.groups.values():
        baseline = group.baseline.partition("@")[0]
        factor = factors.setdefault(baseline, _fitted(place, baseline, console))
        for other in group.others:
            factors.setdefault(other.partition("@")[0], factor)
    for name in names:
        if name not in factors:
            factors[name] = _fitted(place, name, console)
    return factors


def _fitted(place: Place, name: str, console: Console) -> str:
    """Return the factor that RATE=auto chooses for an experiment."""
    if place.capacities is None:
        raise AssertionError("a suite is given the capacities of this machine")
    declared = Catalogue(place.checkout).read(name)
    if place.capacities.find(declared) is None:
        capacity = measure_capacity(place, place.capacities, name, words={}, experiment=declared, console=console)
        console.print(described(name, capacity), soft_wrap=True, highlight=False)
    fitted, _ = apply_overrides(declared, {"scale": "auto"}, place.capacities.saturation_of(name))
    choice = fitted.rate_choice
    if choice is None or choice.scale is None:
        raise AssertionError("a rate that was fitted has a scale")
    return f"{choice.scale:.6f}"
