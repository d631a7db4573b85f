"""Where things lie: one place that knows the layout of the house (docs/contracts.md)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class House:
    """The directories of one checkout. Everything the lab reads or writes is found through it."""

    root: Path

    @property
    def experiments(self) -> Path:
        """One directory an experiment, and datasets.yaml."""
        return self.root / "experiments"

    @property
    def results(self) -> Path:
        """One directory an experiment, in it one a run. `LAB_RESULTS` names another place."""
        return Path(os.environ.get("LAB_RESULTS") or self.root / "results")

    @cached_property
    def cache(self) -> Path:
        """Everything that can be made again. `LAB_CACHE` names another place."""
        return Path(os.environ.get("LAB_CACHE") or self.root / ".cache")

    @property
    def datasets(self) -> Path:
        """Finished datasets, one directory a hash."""
        return self.cache / "datasets"

    @property
    def work(self) -> Path:
        """Scratch directories of runs, one each, removed at a run's end."""
        return self.cache / "work"

    @property
    def metrics(self) -> Path:
        """What node-exporter's textfile collector reads."""
        return self.cache / "metrics"

    @property
    def scripts(self) -> Path:
        """The workloads: Lua scripts."""
        return self.root / "loadgen" / "scripts"


def find_house() -> House:
    """Return the checkout this package lies in; `LAB_ROOT` names another one."""
    named = os.environ.get("LAB_ROOT")
    return House(Path(named).resolve() if named else Path(__file__).resolve().parents[3])
