"""The run directory: made once, filled by the phases, listed with hashes at the end (docs/contracts.md)."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

from lab.manifest import Artifact

MANIFEST = "run.json"


def make_run_directory(results: Path, experiment: str, now: datetime | None = None) -> Path:
    """Make `results/<experiment>/<run id>/`, a new one: two runs of one second differ by `-2`, `-3` and so on."""
    base = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    parent = results / experiment
    parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, 1000):
        directory = parent / (base if number == 1 else f"{base}-{number}")
        try:
            directory.mkdir()
        except FileExistsError:
            continue
        return directory
    raise FileExistsError(f"{parent}: a thousand runs began in one second")


def list_artifacts(directory: Path) -> list[Artifact]:
    """Return every file of a run but run.json, with its size and SHA-256."""
    artifacts = []
    for path in sorted(directory.rglob("*")):
        if not path.is_file() or path.name == MANIFEST or path.name.startswith("."):
            continue
        digest = hashlib.sha256()
        size = 0
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
                size += len(chunk)
        artifacts.append(Artifact(path=path.relative_to(directory).as_posix(), bytes=size, sha256=digest.hexdigest()))
    return artifacts
