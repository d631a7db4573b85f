"""The record of a series: its request, its plan, and its finished runs (docs/run-directory.md).

Runs are named relative to ``results/``, so the whole directory can be moved.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, JsonValue

from lab.manifest import Manifest, ManifestError, Strict
from lab.record import RECORD, Record, RecordError
from lab.run.directory import make_run_directory

RunName = Annotated[str, Field(pattern=r"^[^/]+/\d{8}T\d{6}Z(-\d+)?$")]
"""``<experiment>/<run id>``: a run directory below ``results/``."""


class PlannedRun(Strict):
    """One run of the plan.

    ``overrides`` are the words that `make experiment` takes. ``label`` is the name within the kind. ``round`` counts
    from 1. ``run`` is the finished run; ``attempts`` are those that began and did not end well: they are never used.
    ``disturbed`` are runs that ended well and were repeated, because something else used the machine meanwhile.
    ``refused`` says why the run cannot be made on this machine, empty if it can.
    """

    experiment: str
    overrides: dict[str, str] = Field(default_factory=dict)
    label: str = ""
    round: Annotated[int, Field(ge=1)] = 1
    run: RunName | None = None
    attempts: list[RunName] = Field(default_factory=list)
    disturbed: list[RunName] = Field(default_factory=list)
    refused: str = ""

    @property
    def name(self) -> str:
        """The run's name for people: its label, which tells the points of a sweep apart, or its experiment."""
        return self.label or self.experiment

    @property
    def profiled(self) -> bool:
        """Whether the plan asks for a profile; without a word in the plan, the experiment decides."""
        return self.overrides.get("profile") != "off"


class Answer(Record):
    """The whole of it.

    ``kind`` is suite or search; ``name`` is the name of the suite or experiment. ``request`` holds everything that the
    plan was made from: a series is resumed only for the same request. ``state`` becomes complete when every planned run
    is finished and the answer was written. ``result`` belongs to the kind.
    """

    name: str
    request: dict[str, JsonValue]
    seed: int
    runs: list[PlannedRun]
    result: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def missing(self) -> list[PlannedRun]:
        """The planned runs that are not finished yet."""
        return [planned for planned in self.runs if planned.run is None]


def make_answer(
    results: Path, kind: str, name: str, request: dict[str, Any], runs: Sequence[PlannedRun], *, seed: int
) -> Answer:
    """Make the directory of a new series and its record; nothing is run."""
    directory = make_run_directory(results, kind)
    answer = Answer(kind=kind, id=directory.name, name=name, request=_as_json(request), seed=seed, runs=list(runs))
    answer.write(results)
    return answer


def incomplete_answers(results: Path, kind: str, name: str) -> list[Answer]:
    """Return the incomplete series of this name, newest first. Files that cannot be read are left out."""
    found = []
    for path in sorted((results / kind).glob(f"*/{RECORD}"), reverse=True):
        try:
            answer = Answer.read(path)
        except RecordError:
            continue
        if (answer.state, answer.name) == ("incomplete", name):
            found.append(answer)
    return found


def find_incomplete(results: Path, kind: str, name: str, request: Mapping[str, Any]) -> Answer | None:
    """Return the newest incomplete series of this request, or None.

    A run that it names counts only if its directory still says that it is complete.
    """
    wanted = _as_json(request)
    for answer in incomplete_answers(results, kind, name):
        if answer.request != wanted:
            continue
        for planned in answer.runs:
            if planned.run is not None and not is_complete(results / planned.run):
                planned.attempts.append(planned.run)
                planned.run = None
        return answer
    return None


def is_complete(directory: Path) -> bool:
    """Whether this is the directory of a run that ended well."""
    try:
        return Manifest.read(directory / "run.json").complete
    except ManifestError:
        return False


def _as_json(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request in the form in which it is read from a file, so that two can be compared."""
    document: dict[str, Any] = json.loads(json.dumps(dict(request)))
    return document
