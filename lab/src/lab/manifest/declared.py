"""The declaration as it was run, and the phases of its execution."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, JsonValue

from lab.manifest.base import Amount, Count, Strict

Outcome = Literal["ok", "failed", "interrupted", "skipped"]


class RateChoice(Strict):
    """The choice of the offered rate, if it may differ from the declared one.

    ``given``: RATE=N. ``scaled``: SCALE=S, the declared rate times ``scale``. ``auto``: RATE=auto, ``share`` of
    ``saturation_per_s``, which is this machine's; ``saturation_is_lower_bound`` if it was never reached.
    """

    how: Literal["declared", "given", "scaled", "auto"]
    declared_per_s: Count
    scale: Amount | None = None
    share: Amount | None = None
    share_from: Literal["reference", "default"] | None = None
    saturation_per_s: Amount | None = None
    saturation_is_lower_bound: bool = False

    def sentence(self) -> str:
        """Return the choice as a sentence."""
        declared = f"declared are {self.declared_per_s:,}/s"
        if self.how == "auto" and self.share is not None and self.saturation_per_s is not None:
            least = "at least " if self.saturation_is_lower_bound else ""
            source = "the reference's own share" if self.share_from == "reference" else "by default"
            return (
                f"RATE=auto: {self.share:.0%} of the {least}{self.saturation_per_s:,.0f}/s that this machine "
                f"saturates at ({source}); {declared}"
            )
        if self.how == "scaled" and self.scale is not None:
            return f"SCALE={self.scale:g}; {declared}"
        return f"RATE was given; {declared}" if self.how == "given" else "as declared"


class Experiment(Strict):
    """The declaration as it was run: ``resolved`` holds every value, ``overrides`` those given on the command line.

    ``writes`` says whether the requests of the load write; None if its script does not say.
    """

    name: str
    title: str
    resolved: dict[str, JsonValue]
    overrides: dict[str, JsonValue] = Field(default_factory=dict)
    rate: RateChoice | None = None
    writes: bool | None = None


class Phase(Strict):
    """One step of a run. ``repetition`` counts from 1 if a phase takes place more than once."""

    name: str
    start: AwareDatetime
    end: AwareDatetime
    outcome: Outcome
    detail: str = ""
    repetition: Annotated[int, Field(ge=1)] | None = None

    @property
    def duration_s(self) -> float:
        """Seconds from start to end."""
        return (self.end - self.start).total_seconds()
