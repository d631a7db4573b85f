"""The run directory: made once, filled by the phases, listed with hashes at the end (docs/contracts.md)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

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
