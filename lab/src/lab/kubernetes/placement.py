"""The nodes and the resources of a run's parts in a cluster: the settings of RUNTIME=kubernetes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lab.errors import InputError

GENERATORS_MAX = 256
NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
QUANTITY = re.compile(r"[1-9][0-9]*(Ki|Mi|Gi|Ti)")


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
    default = Placement()
    text = {name: environment.get(name.upper(), "").strip() for name in Placement.__dataclass_fields__}
    return Placement(
        namespace=_matching("NAMESPACE", text["namespace"], NAME, "a name such as lsmlab-2", default.namespace),
        generators=_number("GENERATORS", text["generators"], 1, GENERATORS_MAX, default.generators),
        spread=_switch("SPREAD", text["spread"], default.spread),
        host_network=_switch("HOST_NETWORK", text["host_network"], default.host_network),
        store=_store(text["store"] or default.store),
        service_cpus=_number("SERVICE_CPUS", text["service_cpus"], 1, 1024, default.service_cpus),
        service_memory=_matching("SERVICE_MEMORY", text["service_memory"], QUANTITY, "such as 4Gi", "4Gi"),
        load_cpus=_number("LOAD_CPUS", text["load_cpus"], 0, 1024, 0) if text["load_cpus"] else None,
        exclusive_cpus=_switch("EXCLUSIVE_CPUS", text["exclusive_cpus"], default.exclusive_cpus),
        registry=text["registry"] and text["registry"].rstrip("/") + "/",
        image_pull=_one_of("IMAGE_PULL", text["image_pull"], ("IfNotPresent", "Never", "Always")),
    )


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


def _number(name: str, text: str, least: int, most: int, default: int) -> int:
    if not text:
        return default
    if not text.isdigit() or not least <= int(text) <= most:
        raise InputError(f"{name}={text}: expected a whole number from {least} to {most}")
    return int(text)


def _switch(name: str, text: str, default: bool) -> bool:
    return _one_of(name, text or ("on" if default else "off"), ("on", "off")) == "on"


def _one_of(name: str, text: str, allowed: tuple[str, ...]) -> str:
    if text and text not in allowed:
        raise InputError(f"{name}={text}: expected {' or '.join(allowed)}")
    return text or allowed[0]


def _matching(name: str, text: str, pattern: re.Pattern[str], wanted: str, default: str) -> str:
    if text and not pattern.fullmatch(text):
        raise InputError(f"{name}={text}: expected {wanted}")
    return text or default


def _store(text: str) -> str:
    if text in ("emptyDir", "pvc") or re.fullmatch(r"/[-\w./]+", text):
        return text
    raise InputError(f"STORE={text}: expected emptyDir, pvc, or an absolute path on the service's node")
