"""The inputs of the checks of a run."""

from __future__ import annotations

from dataclasses import dataclass

from lab.analysis.checks.conditions import Conditions
from lab.manifest import Manifest, Summary


@dataclass(frozen=True)
class CheckInput:
    """A run's manifest, its summary, and the conditions during its measurements."""

    manifest: Manifest
    summary: Summary
    conditions: Conditions

    @property
    def longest_s(self) -> float:
        """The duration of the longest measurement."""
        return max((r.elapsed_s or 0.0 for r in self.summary.repetitions), default=0.0)
