"""The start of an engine that is given a copy of the dataset's pairs before the service is ready."""

from __future__ import annotations

import re

from lab import dataset
from lab.processes import tail
from lab.run.state import RunState

IMPORT_BYTES_PER_S = 5e6
"""Slower than this, the service is taken to be stuck: a fraction of what the slowest engine was measured to take."""

USES_THE_DATASET_ITSELF = frozenset({"lsm", "null"})
_PROGRESS = re.compile(r"copying the dataset into engine .*")


def import_limit_s(state: RunState) -> float:
    """Return how much longer than other services this one may take until it is ready."""
    if state.dataset is None or state.plan.experiment.service.engine in USES_THE_DATASET_ITSELF:
        return 0.0
    return dataset.estimated_bytes(state.dataset.spec) / IMPORT_BYTES_PER_S


def import_status(state: RunState) -> str:
    """Return how far that is, in the service's own words, for the live line."""
    if import_limit_s(state) == 0:
        return ""
    told = _PROGRESS.findall(tail(state.directory / "service.log", 5))
    return told[-1] if told else ""
