"""What the checks of a run look at."""

from __future__ import annotations

from dataclasses import dataclass

from lab.analysis.conditions import Conditions
from lab.manifest import Manifest, Summary


@dataclass(frozen=True)
class Known:
    """A run's manifest, its summary, and the conditions that it ran under."""

    manifest: Manifest
    summary: Summary
    conditions: Conditions
