"""``run.json``: what a run was and what it found, as strict, versioned models.

``Manifest`` is the only writer and the only reader of ``run.json``. Its JSON Schema, ``schemas/run.schema.json``, is
generated from these models: ``python -m lab.manifest`` prints it.

The unit ends each name. Times of day are aware, in UTC. ``None`` in a field means *unknown*, never zero: a run that was
interrupted, or measured by a load generator that lacks an output, has fewer fields than another.
"""

from lab.manifest.base import Strict
from lab.manifest.declared import Experiment, Outcome, Phase
from lab.manifest.document import Artifact, Manifest, ManifestError, RuntimeName, schema
from lab.manifest.environment import Cpu, CpuPlan, Dataset, Environment, Git, Tool
from lab.manifest.measurement import (
    Agreement,
    Distribution,
    Errors,
    GeneratorStop,
    LoadFigures,
    Measurement,
    PartOfLoad,
    ProfilingCost,
    ReadError,
    Schedule,
    Summary,
    Unfinished,
)
from lab.manifest.validity import Check, CheckOutcome, State, Validity

__all__ = [
    "Agreement",
    "Artifact",
    "Check",
    "CheckOutcome",
    "Cpu",
    "CpuPlan",
    "Dataset",
    "Distribution",
    "Environment",
    "Errors",
    "Experiment",
    "GeneratorStop",
    "Git",
    "LoadFigures",
    "Manifest",
    "ManifestError",
    "Measurement",
    "Outcome",
    "PartOfLoad",
    "Phase",
    "ProfilingCost",
    "ReadError",
    "RuntimeName",
    "Schedule",
    "State",
    "Strict",
    "Summary",
    "Tool",
    "Unfinished",
    "Validity",
    "schema",
]
