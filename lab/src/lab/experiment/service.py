"""An experiment's `service`: the parameters of the lab's own service.

The fields of the parameters are made from the service's own table of keys (lab/experiment/tenant.py), so that a key is
written down in one place, and a wrong one is refused with its line, its range and its neighbours.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import Field, create_model, field_validator, model_validator

from lab.experiment import tenant
from lab.experiment.quantities import Strict

_JVM_FLAGS_REFUSED = re.compile(r"-(jar|cp|classpath|-class-path|version|-version|h|help)\b")


class ServiceDeclaration(Strict):
    """The keys that every service has."""

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
        if not isinstance(value, dict):
            return value
        defaults = {name: tenant.KNOWN[name].default for name in tenant.LISTED if name != tenant.REQUIRED}
        return {**defaults, **value}

    def machine(self) -> dict[str, str | int]:
        """Return the keys of service.yaml that this experiment sets."""
        return self.model_dump(include=set(tenant.KNOWN), exclude_none=True)

    def parameter(self, name: str) -> Any:
        """Return a parameter, or the service's own default."""
        given = getattr(self, name)
        return tenant.KNOWN[name].default if given is None else given

    @property
    def label(self) -> str:
        """The service as titles and pages name it."""
        return tenant.label(self.machine())


if TYPE_CHECKING:
    ServiceSettings = ServiceDeclaration
else:
    ServiceSettings = create_model(
        "ServiceSettings",
        __base__=ServiceDeclaration,
        __module__=__name__,
        **{
            one.name: (one.type, Field(alias=one.key))
            if one.name == tenant.REQUIRED
            else (one.type | None, Field(default=None, alias=one.key))
            for one in tenant.KNOWN.values()
        },
    )
