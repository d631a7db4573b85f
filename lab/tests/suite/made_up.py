"""Figures of a suite made up from numbers, so that rules are tested by what they compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lab.analysis.histogram import Sample
from lab.compare.measurement import Measured
from lab.manifest import Experiment as ManifestExperiment
from lab.manifest import Manifest
from lab.suite.declaration import Case
from lab.suite.figures import CaseFigures, Category, Profile, Start
from support.made_up_experiment import made_up_experiment

EXPERIMENT = made_up_experiment()


def measured(figures: Mapping[str, float]) -> Measured:
    """A start of 2,000 requests, all as slow as `p99` or `max` in ms says, if one of them is given."""
    ms = figures.get("p99", figures.get("max"))
    sample = Sample.empty()
    if ms is not None:
        ns = np.array([round(ms * 1e6)], dtype=np.int64)
        sample = Sample(ns, ns, np.array([2000], dtype=np.int64))
    served, due = figures.get("rate", 0.0), figures.get("offered", 0.0)
    return Measured(sample, 2000, due, served, 1.0, None, figures["alloc"] * 2000 if "alloc" in figures else None)


def start(name: str, number: int, figures: Mapping[str, float]) -> Start:
    run_id = f"20261123T1200{number:02d}Z"
    manifest = Manifest(
        run_id=run_id,
        experiment=ManifestExperiment(name=name, title="made up", resolved=EXPERIMENT),
        runtime="local",
        complete=True,
    )
    return Start(f"{name}/{run_id}", number, manifest, measured(figures), figures.get("offered"), [])


def case(name: str, starts: Sequence[Mapping[str, float]], shares: Mapping[str, Mapping[str, float]] | None = None,
         *, samples: int = 5000, requests: int = 1000) -> CaseFigures:  # fmt: skip
    made = [start(name, number, figures) for number, figures in enumerate(starts, 1)]
    figures = CaseFigures(Case(name), EXPERIMENT, made, [], len(made), [], Path("/nonexistent"))
    if shares is not None:
        events = {
            event: [Category(one, share, None, share * 1e6) for one, share in of_event.items()]
            for event, of_event in shares.items()
        }
        profile = Profile(f"{name}/profiled", Path("/nonexistent"), events, dict.fromkeys(events, samples), requests)
        figures.__dict__["profile"] = profile  # the cached property
    return figures


def rates(*per_s: float, offered: float = 1000.0) -> list[dict[str, float]]:
    return [{"rate": one, "offered": offered} for one in per_s]
