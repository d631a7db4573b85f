"""The nodes and the resources of a run's parts in a cluster: the settings of RUNTIME=kubernetes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lab.errors import InputError

NUMBERS = {"generators": range(1, 257), "service_cpus": range(1, 1025), "load_cpus": range(1025)}
FORMS = {
    "namespace": (r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", "a name such as lsmlab-2"),
    "store": (r"emptyDir|pvc|/[-\w./]+", "emptyDir, pvc, or an absolute path on the service's node"),
    "service_memory": (r"[1-9][0-9]*(Ki|Mi|Gi|Ti)", "such as 4Gi"),
    "image_pull": (r"IfNotPresent|Never|Always", "IfNotPresent or Never or Always"),
}
"""The form of a setting's text, and what to expect, in words."""
SWITCH = ("on|off", "on or off")


@dataclass(frozen=True)
class Placement:
    """The settings, each from the environment variable of the same name in capitals.

    `spread`: every part on a node of its own; off allows one node for all. `store` is `emptyDir`, an absolute path on
    the service's node, or `pvc`, which asks the default storage class. `service_cpus` are whole CPUs. `load_cpus` are
    those of each load pod; None takes as many as it has threads, 0 asks for none. `exclusive_cpus`: refuse a node whose
    CPU manager gives the service no CPUs of its own. `registry` precedes the names of images, with its slash.
    """

    namespace: str = "lsmlab"
    generators: int = 1
    spread: bool = True
    host_network: bool = False
    store: str = "emptyDir"
    service_cpus: int = 2
    service_memory: str = "4Gi"
    load_cpus: int | None = None
    exclusive_cpus: bool = True
    registry: str = ""
    image_pull: str = "IfNotPresent"

    def image(self, part: str) -> str:
        """Return the name of the image of `service`, `loadgen` or `profiler`."""
        return f"{self.registry}lsmlab-{part}:latest"


def read_placement(environment: Mapping[str, str]) -> Placement:
    """Return the settings. Raises InputError, which names the variable and what is allowed."""
    given = {name: environment.get(name.upper(), "").strip() for name in Placement.__dataclass_fields__}
    values: dict[str, Any] = {name: _parsed(name, text) for name, text in given.items() if text}
    return Placement(**values)


def _parsed(name: str, text: str) -> str | int | bool:
    if name == "registry":
        return text.rstrip("/") + "/"
    if (numbers := NUMBERS.get(name)) is not None:
        if text.isdigit() and int(text) in numbers:
            return int(text)
        expected = f"a whole number from {numbers.start} to {numbers.stop - 1}"
    else:
        form, expected = FORMS.get(name, SWITCH)
        if re.fullmatch(form, text):
            return text if name in FORMS else text == "on"
    raise InputError(f"{name.upper()}={text}: expected {expected}")


def check_division(generators: int, threads: int, connections: int) -> None:
    """Raise InputError unless the load can be divided evenly among the generators."""
    if threads % generators == 0 and connections % threads == 0:
        return
    fitting = -(-threads // generators) * generators
    raise InputError(
        f"GENERATORS={generators}: {threads} threads and {connections} connections cannot be divided evenly",
        f"THREADS must be a multiple of {generators}, and CONNECTIONS one of THREADS: "
        f"THREADS={fitting} CONNECTIONS={-(-connections // fitting) * fitting}",
    )
