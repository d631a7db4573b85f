"""Decides whose load each experiment has: the times of all of a group, and the factor of a rate for SCALE=auto.

Experiments that are compared must be under the same load, so a group follows its baseline. The rates of a sweep with a
published saturation were chosen around that, so it follows nobody. Any other experiment outside of groups follows one
that asks the same of the service, if possible one with a published saturation: 50,000/s stay twice 25,000/s, and an
overload stays one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from lab.experiment import Experiment
from lab.suite.declaration import TIMES, Suite


def leaders_of(suite: Suite, experiments: Mapping[str, Experiment]) -> dict[str, str]:
    """Return for each experiment the one whose factor it has; a leader has its own."""
    leaders = suite.leaders
    for name, experiment in experiments.items():
        if experiment.sweep_per_s and published_per_s(experiment):
            leaders.setdefault(name, name)
    by_load: dict[str, str] = {}
    for name, leader in leaders.items():
        by_load.setdefault(_asked(experiments[name]), leader)
    for name in sorted(experiments, key=lambda one: published_per_s(experiments[one]) is None):
        if name not in leaders:
            leaders[name] = by_load.setdefault(_asked(experiments[name]), name)
    return leaders


def times_of(suite: Suite, experiments: Mapping[str, Experiment]) -> dict[str, dict[str, str]]:
    """Return the DURATION and WARMUP that an experiment has from its baseline, if its own are different.

    A backlog grows with time, so the latencies of 20 s and of 60 s are not comparable.
    """
    times = {}
    for name, leader in suite.leaders.items():
        own, load = experiments[name].load, experiments[leader].load
        times[name] = {
            key.removesuffix("_s"): f"{getattr(load, key):g}s"
            for key in TIMES
            if getattr(load, key) != getattr(own, key)
        }
    return times


def published_per_s(experiment: Experiment) -> float | None:
    """Return the saturation of the published service, None if it is not known."""
    return None if experiment.reference is None else experiment.reference.saturated_at_per_s


def _asked(experiment: Experiment) -> str:
    """Return what is asked of the service, at whatever rate: one connection alone saturates by its round trip."""
    load = experiment.resolved()["load"]
    return json.dumps([experiment.dataset, load["script"], load["args"], load["connections"] == 1], sort_keys=True)
