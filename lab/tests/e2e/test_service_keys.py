"""An experiment's `service` has the keys of the built service, with its ranges and words."""

from __future__ import annotations

import json
import subprocess
import typing
from collections.abc import Iterator
from typing import Any

from lab.experiment.model import ServiceSettings
from lab.runtime.local.requirements import find_jdk
from lab.runtime.local.runtime import SERVICE_JAR
from lab.runtime.specs import SET_BY_RUNTIME

from .conftest import CHECKOUT

ASKED_OF_THE_SERVICE = {"engine", "variant"}
"""Keys whose words no experiment holds: `lab check` and each run ask the service for them."""
NOT_FOR_EXPERIMENTS = {"request_metrics"}
"""Off, a run would lack the figures that the service counts."""


def limits(annotation: Any) -> Iterator[tuple[str, Any]]:
    """Yield the limits anywhere in an annotation, by the service's names for them."""
    if typing.get_origin(annotation) is typing.Literal:
        yield "choices", sorted(typing.get_args(annotation))
        return
    for name, limit in (("min", "ge"), ("max", "le")):
        if hasattr(annotation, limit):
            yield name, getattr(annotation, limit)
    for part in (*typing.get_args(annotation), *getattr(annotation, "metadata", ())):
        yield from limits(part)


def test_the_keys_of_an_experiments_service_are_those_of_the_built_one() -> None:
    java = find_jdk() / "bin/java"
    argv = [java, "-XX:TieredStopAtLevel=1", "-jar", CHECKOUT / SERVICE_JAR, "config", "--json"]
    keys = json.loads(subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout)
    of_service = {
        key["name"]: {
            name: sorted(key[name]) if name == "choices" else key[name]
            for name in ("min", "max", "choices")
            if name in key
        }
        for key in keys
        if key["name"] not in SET_BY_RUNTIME | NOT_FOR_EXPERIMENTS
    }
    of_experiments = {
        name: dict(limits(annotation))
        for name, annotation in typing.get_type_hints(ServiceSettings, include_extras=True).items()
        if name in ServiceSettings.model_fields and name != "jvm"
    }
    for name in ASKED_OF_THE_SERVICE:
        assert of_service[name].pop("choices")
    assert of_experiments == of_service
