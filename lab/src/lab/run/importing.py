"""The start of an engine into which the dataset's pairs are copied before the service is ready."""

from __future__ import annotations

import re

from lab import dataset
from lab.process.processes import tail
from lab.run.repetition import Repetition

IMPORT_BYTES_PER_S = 5e6
"""A slower service counts as stuck: a fraction of the measured rate of the slowest engine."""

USES_THE_DATASET_ITSELF = frozenset({"lsm", "textbook", "null"})
_PROGRESS = re.compile(r"copying the dataset into engine .*")


def import_limit_s(repetition: Repetition) -> float:
    """Return how much longer than other services this one may take until it is ready."""
    if repetition.dataset is None or repetition.experiment.service.engine in USES_THE_DATASET_ITSELF:
        return 0.0
    return dataset.estimated_bytes(repetition.dataset.spec) / IMPORT_BYTES_PER_S


def import_status(repetition: Repetition) -> str:
    """Return the progress of the copy, in the service's own words, for the live line."""
    if import_limit_s(repetition) == 0:
        return ""
    progress = _PROGRESS.findall(tail(repetition.log, 5))
    return progress[-1] if progress else ""
