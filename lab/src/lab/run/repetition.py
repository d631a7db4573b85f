"""One repetition: what is measured once, on what data, and where its files go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab.dataset import Dataset
from lab.experiment import Experiment
from lab.manifest import Environment
from lab.runtime.base import ProfileSpec


@dataclass(frozen=True)
class Repetition:
    """One entry of a session's plan. It knows nothing of the entries beside it, which may be of other experiments.

    `directory` is the run directory that it fills. `number` counts from 1 the unprofiled repetitions of that run,
    `of` says how many there are; a profiled one has a `profile` in place of a number. What the service tells of itself
    goes into `environment`. A `label` takes the place of the numbers that people read after a phase's name.
    """

    experiment: Experiment
    dataset: Dataset | None
    directory: Path
    environment: Environment
    number: int | None = None
    of: int = 1
    profile: ProfileSpec | None = None
    label: str = ""

    @property
    def out(self) -> Path:
        """The directory of the load generator's outputs."""
        return self.directory / "measure" / str(self.number) if self.profile is None else self.profile.out

    @property
    def log(self) -> Path:
        """The service's log, to which each start appends."""
        return self.directory / "service.log"

    @property
    def suffix(self) -> str:
        """What follows a phase's name where people read it."""
        if self.label:
            return f" {self.label}"
        if self.profile is not None:
            return " profiled"
        return "" if self.of == 1 else f" {self.number}/{self.of}"
