"""The base of every model of run.json, and the types of their numbers."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Strict(BaseModel):
    """Base of every model: unknown keys, and values of another type, are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, validate_assignment=True)
