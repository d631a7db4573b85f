"""One line of advice for a rate that is beyond this machine. No rate is refused."""

from __future__ import annotations

from lab.capacity.store import Capacity
from lab.cpu_plan import CpuPlan
from lab.experiment import Experiment

ONE_CONNECTION = 1
"""With at most this many connections the round trip limits the rate, not the CPUs."""


def advice(
    name: str, experiment: Experiment, capacity: Capacity | None, cpus: CpuPlan, command: str | None = None
) -> str | None:
    """Return what to type instead if the rate is beyond this machine; None if it is not, or if that is unknown.

    A measured saturation decides; without one, the CPUs of the reference's machine against those here. `command` is
    what the user typed, by default `make experiment`.
    """
    again = command or f"make experiment NAME={name}"
    rate = experiment.load.rate_per_s if not experiment.sweep_per_s else experiment.sweep_per_s[-1]
    if capacity is not None:
        if capacity.lower_bound or rate <= capacity.per_s:
            return None
        return (
            f"{rate:,}/s is more than the {capacity.per_s:,.0f}/s that this machine serves of {name}, so latency will "
            f"be that of a growing backlog; to load it as the reference was: {again} RATE=auto"
        )
    reference = experiment.reference
    here = len(set(cpus.service) | set(cpus.loadgen) | set(cpus.other))
    if reference is None or reference.cpus is None or not here or experiment.load.connections == ONE_CONNECTION:
        return None
    if here >= reference.cpus:
        return None
    scale = f"{here / reference.cpus:.2g}"
    return (
        f"{rate:,}/s was measured on {reference.cpus} CPUs and here are {here}, so it may be beyond this machine; "
        f"instead: {again} SCALE={scale}, or make capacity NAME={name} and then RATE=auto"
    )
