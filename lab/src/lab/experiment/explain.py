"""Turns pydantic's findings about a file into sentences that name the line, the key and what is allowed."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from lab.errors import did_you_mean
from lab.experiment.declaration import Place


def explain(error: ValidationError, model: type[BaseModel], where: Callable[[Place], str]) -> str:
    """Return one line per finding. `where` gives the file and line of a place."""
    seen: set[str] = set()
    sentences = []
    for finding in error.errors(include_url=False):
        place = _own_place(finding["loc"], model)
        sentence = f"{where(place)}: {_sentence(finding, place, model)}"
        if sentence not in seen:
            seen.add(sentence)
            sentences.append(sentence)
    return "\n".join(sentences)


def _own_place(location: Sequence[str | int], model: type[BaseModel]) -> Place:
    """Drop what pydantic adds to a location for the members of a union: keep only keys and indices of the file."""
    place: list[str | int] = []
    current: Any = model
    for step in location:
        if isinstance(step, int):
            place.append(step)
        elif _is_model(current):
            keys = keys_of(current)
            if step not in keys and place and current is not model and str(step).startswith("function-"):
                continue
            place.append(step)
            current = keys.get(str(step))
        elif current is dict:
            place.append(step)
            current = None
    return tuple(place)


def _is_model(candidate: object) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, BaseModel)


def keys_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the keys that a mapping of this model may have, with the model or type of each value."""
    return {field.alias or name: _inner(field.annotation) for name, field in model.model_fields.items()}


def _inner(annotation: Any) -> Any:
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        members = [member for member in typing.get_args(annotation) if member is not type(None)]
        return _inner(members[0])
    if origin is typing.Annotated:
        return _inner(typing.get_args(annotation)[0])
    if origin is tuple and _is_model(typing.get_args(annotation)[0]):
        return typing.get_args(annotation)[0]
    return origin or annotation


def _sentence(finding: ErrorDetails, place: Place, model: type[BaseModel]) -> str:
    name = ".".join(str(step) for step in place)
    kind = finding["type"]
    given = finding["input"]
    context = finding.get("ctx", {})
    if kind == "extra_forbidden":
        known = _siblings(place, model)
        allowed = ", ".join(sorted(known))
        return f"unknown key {name}{did_you_mean(str(place[-1]), known)}; allowed here: {allowed}"
    if kind == "missing":
        return f"{name} is missing"
    if kind == "value_error":
        message = str(context["error"])
        return f"{name}: {message}" if name else message
    if kind == "literal_error":
        allowed = str(context["expected"]).replace("'", "")
        near = did_you_mean(str(given), re.split(", | or ", allowed))
        return f"{name}: {given!r} is not allowed{near}; allowed: {allowed}"
    bounds = {
        "greater_than_equal": ("ge", "at least"),
        "less_than_equal": ("le", "at most"),
        "greater_than": ("gt", "more than"),
    }
    if kind in bounds:
        key, words = bounds[kind]
        return f"{name}: {given!r} is out of range: must be {words} {_bound(context[key], name)}"
    if kind == "string_pattern_mismatch":
        return f"{name}: {given!r} does not have the form {context['pattern']}"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f"{name or 'the file'}: must be a mapping of keys to values, not {given!r}"
    if kind == "bool_type":
        return f"{name}: must be true or false, not {given!r}"
    if kind == "tuple_type":
        return f"{name}: must be a list, not {given!r}"
    return f"{name}: {given!r}: {finding['msg'][:1].lower()}{finding['msg'][1:]}"


def _bound(value: object, name: str) -> str:
    unit = " (seconds)" if name.endswith(("duration", "warmup", "interval", "timeout")) else ""
    return f"{value}{unit}"


def _siblings(place: Place, model: type[BaseModel]) -> list[str]:
    current: Any = model
    for step in place[:-1]:
        if isinstance(step, int):
            continue
        current = keys_of(current).get(str(step))
        if not _is_model(current):
            return []
    return list(keys_of(current))
