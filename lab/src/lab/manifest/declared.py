"""The declaration as it was run, and the phases of its execution."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BeforeValidator, Field, JsonValue, PlainSerializer

from lab.experiment import Experiment as ResolvedExperiment
from lab.experiment.model import RateChoice
from lab.manifest.base import Strict

Outcome = Literal["ok", "failed", "interrupted", "skipped"]


Resolved = Annotated[
    ResolvedExperiment,
    BeforeValidator(lambda value: ResolvedExperiment.of_resolved(value) if isinstance(value, dict) else value),
    PlainSerializer(ResolvedExperiment.resolved, return_type=dict[str, JsonValue]),
]


class Experiment(Strict):
    """The declaration as it was run: ``resolved`` holds every value, ``overrides`` those given on the command line.

    ``writes`` says whether the requests of the load write; None if its script does not say.
    """

    name: str
    title: str
    resolved: Resolved
    overrides: dict[str, JsonValue] = Field(default_factory=dict)
    rate: RateChoice | None = None
    writes: bool | None = None


class Phase(Strict):
    """One step of a run. ``repetition`` counts from 1 if a phase takes place more than once."""

    name: str
    start: AwareDatetime
    end: AwareDatetime
    outcome: Outcome
    detail: str = ""
    repetition: Annotated[int, Field(ge=1)] | None = None

    @property
    def duration_s(self) -> float:
        """Seconds from start to end."""
        return (self.end - self.start).total_seconds()
