"""Sums the CPU time of other processes during each load, from processes.jsonl (written by lab/machine/sampler.py)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from lab.analysis.timeline import RowsError
from lab.manifest.base import Amount, Finite, Strict

ALIGNMENT_S = 1.0
"""A load is longer than its measurement, but the clock that both are read from may be set by less than a second."""


class LoadUse(Strict):
    """One load: its end in seconds since the epoch, its length, and the CPU time of other processes by name."""

    end_s: Finite
    interval_s: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    cpu_s: dict[str, Amount]

    def holds(self, start_s: float, end_s: float) -> bool:
        """Whether a measurement between these moments was part of this load."""
        return self.end_s - self.interval_s <= start_s + ALIGNMENT_S and end_s - ALIGNMENT_S <= self.end_s


def read_uses(path: Path) -> list[LoadUse]:
    """Read processes.jsonl. An incomplete last line is left out; other damage raises `RowsError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RowsError(f"{path}: cannot be read: {error}") from error
    uses = []
    for number, line in enumerate(text[: text.rfind("\n") + 1].splitlines(), start=1):
        try:
            uses.append(LoadUse.model_validate_json(line))
        except ValidationError as error:
            raise RowsError(f"{path}:{number}: {error.errors()[0]['msg']}") from error
    return uses


def shares(uses: Iterable[LoadUse]) -> dict[str, float]:
    """Return the CPUs that each process used on average over these loads, the largest first; 0.01 is 1% of a CPU."""
    of_all = list(uses)
    length_s = sum(use.interval_s for use in of_all)
    used: dict[str, float] = {}
    for use in of_all:
        for name, cpu_s in use.cpu_s.items():
            used[name] = used.get(name, 0.0) + cpu_s
    return {name: cpu_s / length_s for name, cpu_s in sorted(used.items(), key=lambda item: -item[1])}
