"""Experiments: their declaration, its strict reading, overrides for one run, the datasets they name."""

from lab.experiment.catalogue import Catalogue
from lab.experiment.model import Experiment, LoadSettings, ProfileSettings, Reference
from lab.experiment.overrides import apply_overrides
from lab.experiment.service import ServiceSettings

__all__ = [
    "Catalogue",
    "Experiment",
    "LoadSettings",
    "ProfileSettings",
    "Reference",
    "ServiceSettings",
    "apply_overrides",
]
