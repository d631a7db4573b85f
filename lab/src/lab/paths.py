"""The layout of the checkout (docs/contracts.md), known in this one place."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

MACHINE_LOCK = "/tmp/lsmlab-run.lock"  # noqa: S108 - of all users, and opened without following links


@dataclass(frozen=True)
class Checkout:
    """The directories of one checkout. Everything the lab reads or writes is found through it."""

    root: Path

    @property
    def experiments(self) -> Path:
        """One directory per experiment, and datasets.yaml."""
        return self.root / "experiments"

    @property
    def results(self) -> Path:
        """One directory per experiment, in it one per run. `LAB_RESULTS` names another place."""
        return Path(os.environ.get("LAB_RESULTS") or self.root / "results")

    @cached_property
    def cache(self) -> Path:
        """Everything that can be made again. `LAB_CACHE` names another place."""
        return Path(os.environ.get("LAB_CACHE") or self.root / ".cache")

    @property
    def datasets(self) -> Path:
        """Finished datasets, one directory per hash."""
        return self.cache / "datasets"

    @property
    def work(self) -> Path:
        """Scratch directories of runs, removed at a run's end."""
        return self.cache / "work"

    @property
    def run_lock(self) -> Path:
        """The lock of a run. `LAB_LOCK` names another file.

        It belongs to the machine, not to the checkout, because CPUs, ports, image tags and the name of the Compose
        project do too.
        """
        return Path(os.environ.get("LAB_LOCK") or MACHINE_LOCK)

    @property
    def metrics(self) -> Path:
        """The directory of node-exporter's textfile collector."""
        return self.cache / "metrics"

    @property
    def categories(self) -> Path:
        """The rules that assign samples of a profile to categories."""
        return self.root / "profiler" / "categories.toml"

    @property
    def scripts(self) -> Path:
        """The workloads: Lua scripts."""
        return self.root / "loadgen" / "scripts"


def find_checkout() -> Checkout:
    """Return the checkout that contains this package; `LAB_ROOT` names another one."""
    named = os.environ.get("LAB_ROOT")
    return Checkout(Path(named).resolve() if named else Path(__file__).resolve().parents[3])
