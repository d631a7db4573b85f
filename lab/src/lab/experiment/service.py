"""An experiment's `service`: any program that serves HTTP, by a command or a jar, or the lab's own service.

The service contract (docs/your-service.md) has few keys, and only the first is needed: what is missing leaves its part
of the report out. Without a command or a jar the section has the parameters of the lab's own service. Their fields are
made from that service's own table of keys (lab/experiment/tenant.py), so that a key is written down in one place, and
a wrong one is refused with its line, its range and its neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, create_model, field_validator, model_validator

from lab.experiment import tenant
from lab.experiment.quantities import Count, Seconds, Strict

_JVM_FLAGS_REFUSED = re.compile(r"-(jar|cp|classpath|-class-path|version|-version|h|help)\b")
STARTED_BY = ("command", "jar")
"""The keys that say how a service other than the lab's own is started."""
PATHS = {"jar": "jar", "workdir": "directory", "categories": "file of rules"}
"""The keys that name a file or a directory, and what it is."""
Path_ = Annotated[str, Field(pattern=r"^/[!-~]*$")]
Port = Annotated[Count, Field(ge=1, le=65535)]


class LogLine(Strict):
    """A service is ready once its log has this text."""

    log: Annotated[str, Field(min_length=1)]


class ServiceDeclaration(Strict):
    """The keys of the service contract.

    `ready` is a path that is answered 200 when the service is ready, or a text in its log; without it a service is
    ready when its port is open. `start_limit_s` is how long that may take, 60 if it is not set. Without `port` the port
    is found. `metrics` and `quiesce` are paths on the `admin` port, which is the service's own if there is none.
    `categories` is a file of rules for its profile, as profiler/categories.toml is for the lab's own service.
    """

    command: Annotated[tuple[str, ...] | None, Field(min_length=1)] = None
    jar: Annotated[str | None, Field(min_length=1)] = None
    name: Annotated[str | None, Field(pattern=r"^[\w .:+-]{1,60}$")] = None
    workdir: str | None = None
    env: Annotated[dict[str, str | int] | None, Field(min_length=1)] = None
    port: Port | None = None
    ready: Annotated[Path_ | LogLine | None, Field(union_mode="left_to_right")] = None
    start_limit_s: Annotated[Seconds | None, Field(alias="start_limit", ge=1, le=150)] = None
    admin: Port | None = None
    metrics: Path_ | None = None
    quiesce: Path_ | None = None
    categories: Annotated[str | None, Field(min_length=1)] = None
    jvm: tuple[str, ...] = ()

    @field_validator("jvm")
    @classmethod
    def _are_flags(cls, flags: tuple[str, ...]) -> tuple[str, ...]:
        for flag in flags:
            if not flag.startswith("-") or any(c.isspace() for c in flag) or _JVM_FLAGS_REFUSED.match(flag):
                raise ValueError(f"{flag!r} is not one flag of the JVM, such as -Xmx2g or -XX:+UseZGC")
        return flags

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, value: Any) -> Any:
        """Set what is always written out: the parameters that the built service lists, except the required one."""
        if not isinstance(value, dict) or any(value.get(key) for key in STARTED_BY):
            return value
        defaults = {name: tenant.KNOWN[name].default for name in tenant.LISTED if name != tenant.REQUIRED}
        return {**defaults, **value}

    @model_validator(mode="after")
    def _is_one_service(self) -> ServiceDeclaration:
        if self.command and self.jar:
            raise ValueError("command and jar are two ways to start the service: leave one of them out")
        parameters = self.machine()
        if self.foreign:
            if parameters:
                raise ValueError(
                    f"{next(iter(parameters))} is a parameter of the lab's own service, and this one is started by "
                    f"its {'command' if self.command else 'jar'}: leave it out, or make it a word of command"
                )
            if self.command and self.jvm:
                raise ValueError("jvm is for a jar: with command, its flags are words of the command")
            return self
        for key in (
            "name",
            "workdir",
            "env",
            "port",
            "ready",
            "start_limit_s",
            "admin",
            "metrics",
            "quiesce",
            "categories",
        ):
            if getattr(self, key) is not None:
                raise ValueError(f"{key.removesuffix('_s')} needs command or jar, which say how the service is started")
        if tenant.REQUIRED not in parameters:
            raise ValueError(f"{tenant.REQUIRED} is missing; or command or jar, if this is not the lab's own service")
        return self

    @property
    def foreign(self) -> bool:
        """Whether it is another service than the lab's own."""
        return bool(self.command or self.jar)

    def machine(self) -> dict[str, str | int]:
        """Return the keys of service.yaml that this experiment sets."""
        return self.model_dump(include=set(tenant.KNOWN), exclude_none=True)

    def parameter(self, name: str) -> Any:
        """Return a parameter of the lab's own service, or its default."""
        given = getattr(self, name)
        return tenant.KNOWN[name].default if given is None else given

    @property
    def lacks(self) -> tuple[str, ...]:
        """The optional parts of the service contract that are not declared, each of which leaves something out."""
        optional = {"metrics of its own": self.metrics, "a sign that it rests (quiesce)": self.quiesce}
        return tuple(what for what, given in optional.items() if given is None) if self.foreign else ()

    @property
    def brief(self) -> str:
        """The service in one word, by which runs are listed and chosen."""
        return self.label if self.foreign else str(self.parameter(tenant.REQUIRED))

    @property
    def label(self) -> str:
        """The service as titles and pages name it."""
        if self.name:
            return self.name
        if self.jar:
            return Path(self.jar).name
        return " ".join(self.command)[:60] if self.command else tenant.label(self.machine())


def beside(value: Any, directory: Path) -> Any:
    """Return a declared section whose paths, which are relative to the directory of its file, are absolute.

    A command runs in that directory.
    """
    if not isinstance(value, Mapping) or not any(value.get(key) for key in STARTED_BY):
        return value
    paths = {key: str(directory / str(value[key])) for key in PATHS if value.get(key)}
    return {"workdir": str(directory), **value, **paths}


if TYPE_CHECKING:
    ServiceSettings = ServiceDeclaration
else:
    ServiceSettings = create_model(
        "ServiceSettings",
        __base__=ServiceDeclaration,
        __module__=__name__,
        **{one.name: (one.type | None, Field(default=None, alias=one.key)) for one in tenant.KNOWN.values()},
    )
