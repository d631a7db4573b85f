"""One repetition: one measurement, its data, and the place of its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab.analysis.outputs import REFERENCE_GENERATOR
from lab.dataset import Dataset
from lab.experiment import Experiment
from lab.manifest import Environment
from lab.runtime.base import ProfileSpec


@dataclass(frozen=True)
class Repetition:
    """One entry of a session's plan. It is independent of the other entries, which may belong to other experiments.

    `directory` is the run directory that it fills. `number` counts the unprofiled repetitions of that run from 1, `of`
    is their total; a profiled one has a `profile` instead of a number. The service's own facts go into `environment`. A
    `label` replaces the numbers after a phase's name. The `reference` repetition uses the lab's own load generator even
    if another one replaces it, and has no number either.
    """

    experiment: Experiment
    dataset: Dataset | None
    directory: Path
    environment: Environment
    number: int | None = None
    of: int = 1
    profile: ProfileSpec | None = None
    label: str = ""
    reference: bool = False

    @property
    def out(self) -> Path:
        """The directory of the load generator's outputs."""
        if self.reference:
            return self.directory / REFERENCE_GENERATOR
        return self.directory / "measure" / str(self.number) if self.profile is None else self.profile.out

    @property
    def log(self) -> Path:
        """The service's log, to which each start appends."""
        return self.directory / "service.log"

    @property
    def suffix(self) -> str:
        """The text after a phase's name."""
        if self.label:
            return f" {self.label}"
        if self.profile is not None:
            return " profiled"
        if self.reference:
            return " reference"
        return "" if self.of == 1 else f" {self.number}/{self.of}"
