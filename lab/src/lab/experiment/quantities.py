"""The quantities of an experiment file, and the base of its models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from lab.units import parse_bytes, parse_count, parse_duration_s, parse_milliseconds

RESOLVED = "resolved"
"""The context of validation for values that `Experiment.resolved()` wrote: numbers in the unit of their field."""


def _parsed(parse: Callable[[object], Any]) -> BeforeValidator:
    return BeforeValidator(lambda value, info: value if info.context == RESOLVED else parse(value))


Count = Annotated[int, BeforeValidator(parse_count)]
Seconds = Annotated[float, _parsed(parse_duration_s)]
Milliseconds = Annotated[int, _parsed(parse_milliseconds)]
Bytes = Annotated[int, BeforeValidator(parse_bytes)]


class Strict(BaseModel):
    """Base of all: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_alias=True, validate_by_name=False)
