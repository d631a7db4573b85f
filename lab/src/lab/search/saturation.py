"""Measures the highest rate that the service answers: short runs at growing rates, until it no longer keeps up.

Each lasts 8 s after 8 s of warm-up, or as long as `words` say. If `words` do not say how long the warm-up is, it is
doubled, up to 32 s, while the JIT compiler takes CPU time from a saturated service.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime

from rich.console import Console

from lab.capacity import Capacities, Capacity
from lab.errors import RunError
from lab.experiment import Experiment
from lab.manifest import Manifest
from lab.report import numbers
from lab.search.judge import GENERATOR_CHECKS, SERVED_SHARE_MIN
from lab.series import Place, PlannedRun, Series, make_answer
from lab.series.execute import OVERHEAD_EXPECTED_S
from lab.units import duration_word, parse_duration_s

KIND = "capacity"
TIMES = {"duration": "8s", "warmup": "8s"}
WARMUP_MAX_S = 32.0
GROWTH = 2.0
MILD = 1.08
"""Factor of the rate in the last runs. It is small, because a service that is offered far more than it can serve may
serve less than it can."""
RUNS_MAX = 12
RUNS_EXPECTED = 5
"""Runs that most capacities take."""


def expected_s(words: Mapping[str, str]) -> float:
    """Return an estimate of how long one capacity takes, in seconds; `words` as for `measure_capacity`."""
    load_s = sum(float(parse_duration_s(words.get(key, usual))) for key, usual in TIMES.items())
    return RUNS_EXPECTED * (load_s + OVERHEAD_EXPECTED_S)


def measure_capacity(
    place: Place,
    capacities: Capacities,
    name: str,
    *,
    words: Mapping[str, str],
    experiment: Experiment,
    console: Console,
) -> Capacity:
    """Measure, store and return the rate that this machine serves of an experiment. Raises RunError if a run failed."""
    results = place.checkout.results
    answer = make_answer(results, KIND, name, {"overrides": dict(words)}, [], seed=0)
    rate = float(max(experiment.sweep_per_s or (experiment.load.rate_per_s,)))
    best, too_much, lower_bound, mild = 0.0, math.inf, True, False
    times = {**TIMES, **words}
    with Series(place, answer, console) as series:
        for number in range(1, RUNS_MAX + 1):
            manifest = series.run(planned(name, times, round(rate), number))
            done = served_per_s(manifest)
            if done < SERVED_SHARE_MIN * rate:
                longer_s = 2 * float(parse_duration_s(times["warmup"]))
                unsteady = manifest.validity is not None and manifest.validity.unsteady
                if unsteady and "warmup" not in words and longer_s <= WARMUP_MAX_S:
                    times["warmup"] = duration_word(longer_s)
                    continue  # after a longer warm-up the service may serve more, or less if it writes
                too_much = min(too_much, rate)
                lower_bound = generator_was_the_limit(manifest)
            best = max(best, done)
            if lower_bound and too_much < math.inf:
                break
            if too_much <= best * MILD * 1.01:
                break
            if too_much == math.inf:
                rate *= GROWTH
            else:
                rate = math.sqrt(best * too_much) if mild else best * MILD
                mild = not mild
        runs = [one.run for one in answer.runs if one.run is not None]
        capacity = Capacity(
            experiment=name, per_s=best, lower_bound=lower_bound, measured_at=datetime.now(UTC), runs=runs
        )
        answer.state, answer.result = "complete", capacity.model_dump(mode="json")
        answer.write(results)
    capacities.add(experiment, capacity)
    return capacity


def planned(name: str, words: Mapping[str, str], rate_per_s: int, number: int) -> PlannedRun:
    """Return one run: one repetition, no profile."""
    own = {"rate": str(rate_per_s), "repeat": "1", "profile": "off"}
    return PlannedRun(experiment=name, overrides={**words, **own}, round=number)


def served_per_s(manifest: Manifest) -> float:
    """Return the goodput of a run. RunError if nothing was measured."""
    summary = manifest.summary
    served = None if summary is None else summary.goodput_per_s
    if served is None and summary is not None:
        served = summary.rate_achieved_per_s
    if served is None:
        raise RunError(f"{manifest.experiment.name}/{manifest.run_id}: nothing was measured")
    return served


def generator_was_the_limit(manifest: Manifest) -> bool:
    """Return whether the load generator did not keep up, so that the service may serve more."""
    checks = manifest.validity.checks if manifest.validity is not None else []
    return any(check.name in GENERATOR_CHECKS and check.outcome in ("warn", "fail") for check in checks)


def described(name: str, capacity: Capacity) -> str:
    """Return a capacity as a line for people."""
    least = "at least " if capacity.lower_bound else ""
    why = " (the load generator was the limit)" if capacity.lower_bound else ""
    return f"this machine serves {least}{numbers.rate(round(capacity.per_s))} requests/s of {name}{why}"
