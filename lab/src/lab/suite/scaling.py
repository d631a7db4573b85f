"""The rates of a suite on this machine: SCALE=0.3 for all, or SCALE=auto from measured capacities.

A capacity that is not known yet is measured first, of one experiment for all that follow it (lab/suite/leaders.py).
Without a published saturation a rate is lowered to what this machine can serve, and never raised: nothing tells by how
much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from lab.capacity import Capacities
from lab.errors import RunError
from lab.experiment import Catalogue, Experiment, apply_overrides
from lab.search.saturation import TIMES, described, expected_s, measure_capacity
from lab.series import Place
from lab.series.show import time_left
from lab.suite.declaration import Case, Suite
from lab.suite.leaders import leaders_of, published_per_s
from lab.words import as_typed

AS_DECLARED = "1"


def scales_of(
    place: Place, suite: Suite, cases: Sequence[Case], scale: str | None, *, given: Mapping[str, str], console: Console
) -> dict[str, str]:
    """Return the factor of each experiment's declared rate; nothing for rates as declared. InputError.

    `given` are the overrides of every run. Its DURATION and WARMUP are those of the capacities too: a store that is
    written to serves less after a minute than in the first seconds. The factor is 1 if a capacity could not be
    measured.
    """
    names = list(dict.fromkeys(case.experiment for case in cases))
    if scale is None:
        return {}
    if scale.strip().lower() != "auto":
        return dict.fromkeys(names, scale)
    catalogue = Catalogue(place.checkout)
    leaders = leaders_of(suite, {name: catalogue.read(name) for name in names})
    times = {key: given[key] for key in TIMES if key in given}
    capacities = place.capacities.within(times)
    known = {name: catalogue.read(name) for name in dict.fromkeys(leaders.values())}
    lacking = [name for name, experiment in known.items() if capacities.find(experiment) is None]
    for number, name in enumerate(lacking, 1):
        if capacities.find(known[name]) is not None:  # one before it has the same service under the same load
            continue
        left = time_left(expected_s(times) * (len(lacking) - number + 1))
        console.print(f"capacity {number} of {len(lacking)}, once, {left} left for all: {name}", highlight=False)
        try:
            capacity = measure_capacity(place, capacities, name, words=times, experiment=known[name], console=console)
        except RunError as error:  # the suite's own run of it says whether it can run at all
            console.print(f"  not measured, so its rate stays as declared: {as_typed(error.message)}", soft_wrap=True)
        else:
            console.print(f"  {described(name, capacity)}", soft_wrap=True, highlight=False)
    factors = {name: _fitted(capacities, name, experiment) for name, experiment in known.items()}
    return {name: factors[leader] for name, leader in leaders.items()}


def _fitted(capacities: Capacities, name: str, declared: Experiment) -> str:
    """Return the factor that RATE=auto chooses for an experiment, at most 1 without a published saturation."""
    if capacities.find(declared) is None:
        return AS_DECLARED
    fitted, _ = apply_overrides(declared, {"scale": "auto"}, capacities.saturation_of(name))
    choice = fitted.rate_choice
    if choice is None or choice.scale is None:
        raise AssertionError("a rate that was fitted has a scale")
    if choice.scale > 1 and published_per_s(declared) is None:
        return AS_DECLARED
    return f"{choice.scale:.6f}"
