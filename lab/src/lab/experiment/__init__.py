"""Experiments: their declaration, its strict reading, overrides for one run, the datasets they name."""

from lab.experiment.catalogue import Catalogue
from lab.experiment.model import Experiment, LoadSettings, ProfileSettings, Reference, ServiceSettings
from lab.experiment.overrides import apply_overrides

__all__ = [
    "Catalogue",
    "Experiment",
    "LoadSettings",
    "ProfileSettings",
    "Reference",
    "ServiceSettings",
    "apply_overrides",
]
