"""An experiment for tests of what is done with its runs."""

from __future__ import annotations

from lab.experiment import Experiment


def made_up_experiment(**service: object) -> Experiment:
    return Experiment.model_validate({
        "title": "made up",
        "service": {"variant": "sync", **service},
        "load": {"script": "get.lua", "rate": 1000, "threads": 1, "connections": 1, "duration": "1s"},
    })  # fmt: skip
