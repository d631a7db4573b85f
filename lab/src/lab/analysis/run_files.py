"""The files of a run, each read once for its summary, its verdict and its report."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from lab.analysis.evidence import Evidence, read_evidence
from lab.analysis.outputs import Outputs, measured_sources, read_outputs
from lab.analysis.timeline import Timeline, read_timeline
from lab.errors import LabError

T = TypeVar("T")


class RunFiles:
    """The files that a run left in ``directory``, which must not change any more; each is read when it is asked for.

    What is missing is None. Use from one thread.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._outputs: dict[str, Outputs | None] = {}

    def noting(self, problems: list[str], read: Callable[[], T | None]) -> T | None:
        """Return what ``read`` does. If that is damaged, add it to ``problems``, by its path in the run."""
        try:
            return read()
        except LabError as error:
            problems.append(error.message.replace(f"{self.directory}/", ""))
            return None

    @cached_property
    def sources(self) -> list[str]:
        """The directories of the unprofiled repetitions, in order."""
        return measured_sources(self.directory)

    def outputs(self, source: str) -> Outputs | None:
        """Return the outputs of one execution of the load generator. Raises ``LoadError`` if its report is damaged."""
        if source not in self._outputs:
            self._outputs[source] = read_outputs(self.directory, source)
        return self._outputs[source]

    @cached_property
    def repetitions(self) -> list[Outputs]:
        """The outputs of the unprofiled repetitions. Raises ``LoadError`` if one is damaged."""
        return [found for source in self.sources if (found := self.outputs(source)) is not None]

    @cached_property
    def evidence(self) -> Evidence | None:
        """``machine.csv``. Raises ``RowsError`` if it is damaged."""
        path = self.directory / "machine.csv"
        return read_evidence(path) if path.is_file() else None

    @cached_property
    def timeline(self) -> Timeline | None:
        """``timeline.csv``. Raises ``RowsError`` if it is damaged."""
        path = self.directory / "timeline.csv"
        return read_timeline(path) if path.is_file() else None
