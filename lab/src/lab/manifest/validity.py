"""The verdict on a run, and the checks that it is based on."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from lab.manifest.base import Strict

State = Literal["valid", "suspect", "invalid"]

CheckOutcome = Literal["pass", "note", "warn", "fail", "unknown"]


class Check(Strict):
    """One test of validity: ``note`` informs, ``warn`` makes a run suspect, ``fail`` invalid.

    ``unknown`` says that the check was not possible, and why. ``environment`` marks the checks that look at the machine
    alone, never at the measurements: comparisons exclude runs by these.
    """

    name: str
    outcome: CheckOutcome
    detail: str
    environment: bool = False


class Validity(Strict):
    """The verdict.

    ``reasons`` has the detail of every check that warned or failed, the most serious first. ``findings`` has what a
    reader must know although the result is sound: that the service was saturated.
    """

    state: State
    reasons: list[str] = Field(default_factory=list)
    findings: list[str] = Field(default_factory=list)
    checks: list[Check] = Field(default_factory=list)

    @property
    def unfit(self) -> list[str]:
        """The environment's checks that failed: comparisons and suites exclude a run by these alone."""
        return [check.detail for check in self.checks if check.environment and check.outcome == "fail"]

    @property
    def unsteady(self) -> bool:
        """Whether the measured service was still warming up, or changed its level."""
        return any(check.name == "steady state" and check.outcome == "warn" for check in self.checks)

    @model_validator(mode="after")
    def _has_reasons(self) -> Self:
        if (self.state == "valid") != (not self.reasons):
            raise ValueError("a valid run has no reasons, any other at least one")
        return self
