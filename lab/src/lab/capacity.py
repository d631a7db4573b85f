"""The highest rate that the service answers on this machine: measured once (`make capacity`), the base of RATE=auto.

The measurements are in .cache/capacity.json, each under a key of experiment, machine and service.

The key holds everything that can change a saturation: the experiment without its rate and its times, the machine's
facts and CPU plan, the runtime, and the sources of the service. If any of them changes, no
entry is found, so an old figure is never used for another service.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from lab.cpu_plan import CpuPlan
from lab.errors import InputError
from lab.experiment import Experiment
from lab.experiment.rate import Saturation, SaturationOf
from lab.json_file import read_object
from lab.machine import environment
from lab.machine.fingerprint import facts
from lab.manifest import CpuPlan as ManifestCpuPlan
from lab.paths import Checkout
from lab.whole_file import write_whole

NOT_OF_THE_SERVICE = ("rate_per_s", "duration_s", "warmup_s")
"""Keys of a load that do not affect the saturation."""
SOURCES = ("*.java", "pom.xml", "*.options")
OTHERS = frozenset({"target", "test", "bench"})
"""Files of the service, and directories that do not affect the running service."""


class Capacity(BaseModel):
    """A measured saturation. `runs` are the runs that it was measured by, `<experiment>/<run id>`."""

    model_config = ConfigDict(extra="forbid")

    experiment: str
    per_s: float
    lower_bound: bool
    measured_at: datetime
    runs: list[str]


class Capacities:
    """The saturations of one machine, CPU plan and runtime."""

    def __init__(self, checkout: Checkout, cpus: CpuPlan, runtime: str, times: Mapping[str, str] | None = None) -> None:
        self._checkout, self._cpus, self._runtime, self._times = checkout, cpus, runtime, dict(times or {})

    def within(self, times: Mapping[str, str]) -> Capacities:
        """Return the saturations measured with other times, such as `{"duration": "3s"}`; they are kept apart."""
        return Capacities(self._checkout, self._cpus, self._runtime, times)

    @property
    def path(self) -> Path:
        """The file that holds them."""
        return self._checkout.cache / "capacity.json"

    def find(self, experiment: Experiment) -> Capacity | None:
        """Return the measurement for this experiment here, or None."""
        found = read_object(self.path).get(self._key(experiment))
        try:
            return None if found is None else Capacity.model_validate(found)
        except ValidationError:
            return None

    def add(self, experiment: Experiment, capacity: Capacity) -> None:
        """Store a measurement, in place of an earlier one under the same key."""
        known = {**read_object(self.path), self._key(experiment): capacity.model_dump(mode="json")}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, json.dumps(known, indent=1) + "\n")

    def saturation_of(self, name: str) -> SaturationOf:
        """Return the function by which RATE=auto asks for the saturation under the experiment of this name."""

        def ask(experiment: Experiment) -> Saturation:
            found = self.find(experiment)
            if found is None:
                raise InputError(
                    f"RATE=auto: nothing to base it on: how many requests a second this machine serves of {name} has "
                    "not been measured, or service or machine have changed since",
                    f"make capacity NAME={name}   (about a minute; with the same VARIANT, ENGINE … as here)",
                )
            return Saturation(found.per_s, found.lower_bound)

        return ask

    def _key(self, experiment: Experiment) -> str:
        resolved = experiment.resolved()
        load = {name: value for name, value in resolved["load"].items() if name not in NOT_OF_THE_SERVICE}
        what = {"service": resolved["service"], "dataset": resolved.get("dataset"), "load": load, "here": self._here}
        if self._times:
            what["times"] = self._times
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]

    @cached_property
    def _here(self) -> dict[str, str]:
        machine = environment.describe_machine(self._checkout)
        machine.cpu_plan = ManifestCpuPlan(**self._cpus.as_dict())
        machine.git = None
        return {**facts(machine), "runtime": self._runtime, "service": sources_hash(self._checkout.root / "service")}


def sources_hash(directory: Path) -> str:
    """Return the hash of the sources that the service is built from, without tests and built files."""
    digest = hashlib.sha256()
    for path in sorted(_sources(directory), key=str):
        digest.update(path.relative_to(directory).as_posix().encode() + b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _sources(directory: Path) -> list[Path]:
    found = [path for pattern in SOURCES for path in directory.rglob(pattern) if path.is_file()]
    return [path for path in found if not OTHERS & set(path.relative_to(directory).parts)]


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
