"""The lab's own service: its parameters, and how pages name it.

Both come from files beside it: service/tenant.yaml, and service/parameters.json, which the service itself printed. They
are read without a built service.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from lab.experiment.declaration import read_yaml
from lab.experiment.quantities import Bytes, Count, Milliseconds

_SERVICE = Path(__file__).resolve().parents[4] / "service"
PARAMETERS = _SERVICE / "parameters.json"
_TENANT: dict[str, Any] = read_yaml(_SERVICE / "tenant.yaml", "service/tenant.yaml").value
REQUIRED: str = _TENANT["required"]
LISTED: tuple[str, ...] = tuple(_TENANT["listed"])
OPTIONS: tuple[str, ...] = tuple(_TENANT["options"])


class Parameter(NamedTuple):
    """One key of the service's configuration. `key` is what an experiment calls it."""

    name: str
    key: str
    default: str | int | None
    help: str
    type: Any
    """The annotation that a value is checked against."""


def _type(entry: Mapping[str, Any]) -> Any:
    name = entry["name"]
    if name in LISTED:
        return Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    if entry["type"] == "choice":
        return Literal[tuple(entry["choices"])]
    quantity = Bytes if "_bytes" in name else Milliseconds if name.endswith("_ms") else Count
    return Annotated[quantity, Field(ge=entry["min"], le=entry["max"])]


def _parameters() -> dict[str, Parameter]:
    keys = {name: key for key, name in _TENANT["short"].items()}
    entries = json.loads(PARAMETERS.read_text(encoding="utf-8"))
    return {
        name: Parameter(name, keys.get(name, name), entry["default"], entry["help"], _type(entry))
        for entry in entries
        if (name := entry["name"]) not in _TENANT["not_for_experiments"]
    }


KNOWN = _parameters()
"""The parameters of an experiment by the service's names, in the service's order."""


def metric(name: str) -> str:
    """Return the full name of one of the service's own metrics, or the pattern of several."""
    return f"{_TENANT['metrics']}{name}"


LEAST: dict[str, str] = _TENANT["least"]
"""Parameters with which the service does as little as it can for a request."""
IDLE_REQUEST: str = _TENANT["idle_request"]
"""A request that costs the service next to nothing, to measure the way to it."""


def label(parameters: Mapping[str, Any]) -> str:
    """Return how pages name a service with these parameters."""
    return str(_TENANT["label"].format(**parameters))
