"""The declaration of an experiment, as strict models.

The keys of the YAML are the fields' aliases (`duration: 1m`); the fields carry their unit (`duration_s`), and
`Experiment.resolved()` is what run.json holds. Every default is written here and nowhere else.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    StrictBool,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticKnownError

from lab.experiment.quantities import RESOLVED, Count, Seconds, Strict
from lab.experiment.service import ServiceSettings
from lab.units import parse_duration_s


def _one_line(value: object) -> object:
    return " ".join(value.split()) if isinstance(value, str) else value


def _as_declared(repeat: int, info: ValidationInfo) -> int:
    """Refuse more repetitions than an experiment may declare; a comparison's sides have more."""
    if repeat > REPEAT_MAX and info.context != RESOLVED:
        raise PydanticKnownError("less_than_equal", {"le": REPEAT_MAX})
    return repeat


REPEAT_MAX = 100
Line = Annotated[str, BeforeValidator(_one_line), Field(min_length=1)]
"""Text that is shown in one line: line ends become blanks."""
Rate = Annotated[Count, Field(ge=1, le=10_000_000)]
Event = Literal["cpu", "alloc", "lock", "wall", "nativemem"]

_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")


class LoadSettings(Strict):
    """The offered load: open loop, a constant rate over all connections."""

    script: Annotated[str | None, Field(pattern=r"^[\w./-]+\.lua$")] = None
    get: Annotated[str | None, Field(pattern=r"^/[!-~]*$")] = None
    rate_per_s: Annotated[Rate, Field(alias="rate")]
    threads: Annotated[Count, Field(ge=1, le=1024)]
    connections: Annotated[Count, Field(ge=1, le=65536)]
    duration_s: Annotated[Seconds, Field(alias="duration", ge=1, le=86_400)]
    warmup_s: Annotated[Seconds, Field(alias="warmup", ge=0, le=3_600)] = 10.0
    timeout_s: Annotated[Seconds | None, Field(alias="timeout", ge=1, le=86_400)] = None
    args: dict[str, str | int] = Field(default_factory=dict)
    expect: tuple[Annotated[Count, Field(ge=100, le=599)], ...] = ()

    @field_validator("duration_s", "warmup_s", "timeout_s")
    @classmethod
    def _are_whole(cls, seconds: float | None) -> float | None:
        if seconds is not None and seconds != int(seconds):
            raise ValueError(f"{seconds} s is not a whole number of seconds, which is all that wrk2's options take")
        return seconds

    @field_validator("args")
    @classmethod
    def _are_words(cls, args: dict[str, str | int]) -> dict[str, str | int]:
        for key, value in args.items():
            if not re.fullmatch(r"\w+", key) or not re.fullmatch(r"\S+", str(value)):
                raise ValueError(f"{key!r}: {value!r} cannot be a word key=value for the script (no blanks)")
        return args

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, value: Any, info: ValidationInfo) -> Any:
        """Set the usual load of a single path, which needs no more than a rate."""
        if not isinstance(value, dict) or not value.get("get") or info.context == RESOLVED:
            return value
        return {"threads": 1, "connections": 32, "duration": "30s", **value}

    @model_validator(mode="after")
    def _is_one_load(self) -> LoadSettings:
        if (self.script is None) == (self.get is None):
            raise ValueError(
                "script or get is missing: name a script of the load generator, or the path of one GET"
                if self.script is None
                else "script and get are two loads: leave one of them out"
            )
        if self.get is not None and self.args:
            raise ValueError("args are words for a script, and this load is a single GET")
        return self

    @property
    def what(self) -> str:
        """The requests, as sentences name them."""
        return self.script or f"GET {self.get}"

    @model_validator(mode="after")
    def _every_thread_has_a_connection(self) -> LoadSettings:
        if self.connections < self.threads:
            raise ValueError(
                f"connections ({self.connections}) must be at least threads ({self.threads}): "
                "each thread of the load generator needs one"
            )
        return self


class ProfileSettings(Strict):
    """The settings of the profiled repetition.

    `depth` is the number of frames, from the innermost out, that are kept of a deeper stack; None keeps the profiler's
    own limit, which is the largest value. With `pprof`, each event is drawn for pprof too.
    """

    events: Annotated[tuple[Event, ...], Field(min_length=1)] = ("cpu", "alloc", "lock")
    interval_s: Annotated[Seconds, Field(alias="interval", ge=10e-6, le=1)] = 500e-6
    depth: Annotated[Count, Field(ge=1, le=2048)] | None = None
    pprof: StrictBool = False

    @field_validator("events")
    @classmethod
    def _once_each(cls, events: tuple[Event, ...]) -> tuple[Event, ...]:
        if len(set(events)) != len(events):
            raise ValueError("an event is named twice")
        return events


class Figures(Strict):
    """Published figures, and the rate at which they were measured. Without `rate`: the declared one."""

    rate_per_s: Annotated[Rate | None, Field(alias="rate")] = None
    requests_per_s: Annotated[float | None, Field(alias="requests_per_second", gt=0)] = None
    latency_ms: Annotated[dict[str, float], Field(alias="latency")] = Field(default_factory=dict)

    @field_validator("latency_ms", mode="before")
    @classmethod
    def _percentiles(cls, value: object, info: ValidationInfo) -> object:
        if info.context == RESOLVED:
            return value
        if not isinstance(value, dict):
            raise ValueError("must be a mapping such as {p50: 5.57s, p99: 8.32s, max: 8.58s}")
        result: dict[str, float] = {}
        for name, duration in value.items():
            match = _PERCENTILE.fullmatch(str(name))
            if match is None and name not in ("max", "mean", "stdev"):
                raise ValueError(f"{name!r} is not one of p50, p99, p99.9, …, max, mean, stdev")
            key = match[1] if match else {"max": "100"}.get(str(name), str(name))
            milliseconds = round(parse_duration_s(duration) * 1000, 6)
            if milliseconds < 0:
                raise ValueError(f"{name}: {duration!r} is out of range: must be at least 0")
            result[key] = milliseconds
        return result


class PublishedShare(Strict):
    """A published share of a profile: `categories` together had `low` to `high` (0 to 1) of `event`.

    Without `high`: at least `low`. `what` names the categories in the report's sentence.
    """

    event: Event
    categories: Annotated[tuple[str, ...], Field(min_length=1)]
    what: Annotated[Line, Field(max_length=80)]
    low: Annotated[float, Field(ge=0, le=1)]
    high: Annotated[float | None, Field(ge=0, le=1)] = None

    @model_validator(mode="after")
    def _is_a_range(self) -> PublishedShare:
        if self.high is not None and self.high < self.low:
            raise ValueError(f"high ({self.high:g}) is below low ({self.low:g})")
        return self


class Reference(Figures):
    """Published figures for this experiment; shown beside our figures, never used for the verdict.

    A key of the load that is left out is as the experiment declares it. `cpus` are the logical CPUs of the machine,
    `saturation_per_s` is the highest rate that its service answered. A sweep has the figures of each rate in `at`.
    """

    source: Line | None = None
    threads: Annotated[Count, Field(ge=1, le=1024)] | None = None
    connections: Annotated[Count, Field(ge=1, le=65536)] | None = None
    duration_s: Annotated[Seconds | None, Field(alias="duration", ge=1, le=86_400)] = None
    cpus: Annotated[Count, Field(ge=1, le=4096)] | None = None
    saturation_per_s: Annotated[float | None, Field(alias="saturation", gt=0)] = None
    shares: tuple[PublishedShare, ...] = ()
    at: Annotated[tuple[Figures, ...], Field(exclude=True)] = ()

    @field_validator("at")
    @classmethod
    def _each_rate_once(cls, at: tuple[Figures, ...]) -> tuple[Figures, ...]:
        rates = [figures.rate_per_s for figures in at]
        if None in rates:
            raise ValueError("each entry needs the rate that its figures were measured at")
        if twice := [rate for rate, after in pairwise(sorted(filter(None, rates))) if rate == after]:
            raise ValueError(f"rate {twice[0]} is given twice")
        return at

    @model_validator(mode="after")
    def _figures_stand_in_one_place(self) -> Reference:
        if self.at and (self.rate_per_s or self.requests_per_s or self.latency_ms):
            raise ValueError("rate, requests_per_second and latency belong in the entries of at")
        return self

    def under(self, load: LoadSettings) -> Reference:
        """Return the reference with missing keys of its load filled in from the declared load."""
        own = {name: getattr(self, name) for name in ("threads", "connections", "duration_s")}
        filled = {name: getattr(load, name) if value is None else value for name, value in own.items()}
        rate = load.rate_per_s if self.rate_per_s is None and not self.at else self.rate_per_s
        return self.model_copy(update={**filled, "rate_per_s": rate})

    def of_rate(self, rate_per_s: int) -> Reference | None:
        """Return the published figures for one rate of a sweep, None if there are none."""
        for figures in self.at:
            if figures.rate_per_s == rate_per_s:
                return self.model_copy(update={**dict(figures), "at": ()})
        return None

    @property
    def saturated_at_per_s(self) -> float | None:
        """The highest rate that the reference's service answered: as published, or its rate when more was offered."""
        if self.saturation_per_s is not None:
            return self.saturation_per_s
        offered, answered = self.rate_per_s, self.requests_per_s
        return answered if offered and answered and answered < SATURATED_BELOW * offered else None


SATURATED_BELOW = 0.99
"""A reference that answered less than this share of the offered rate was saturated."""


class RateChoice(Strict):
    """The choice of the offered rate, if it may differ from the declared one.

    ``given``: RATE=N. ``scaled``: SCALE=S, the declared rate times ``scale``. ``auto``: RATE=auto, ``share`` of
    ``saturation_per_s``, which is this machine's; ``saturation_is_lower_bound`` if it was never reached.
    """

    how: Literal["declared", "given", "scaled", "auto"]
    declared_per_s: Annotated[int, Field(ge=0)]
    scale: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    share: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    share_from: Literal["reference", "default"] | None = None
    saturation_per_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
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
    """One experiment: its question, its service, its load."""

    title: Line
    extends: Annotated[str | None, Field(exclude=True)] = None
    question: Line | None = None
    service: ServiceSettings
    dataset: str | None = None
    load: LoadSettings
    repeat: Annotated[Count, Field(ge=1), AfterValidator(_as_declared)] = 1
    profile: ProfileSettings | None = Field(default_factory=ProfileSettings)
    reference: Reference | None = None
    _sweep_per_s: tuple[int, ...] = PrivateAttr(default=())
    _rate_choice: RateChoice | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _has_a_title(cls, value: Any) -> Any:
        """Title an experiment that has none by its load, if that is a single path."""
        load = value.get("load") if isinstance(value, dict) else None
        if not isinstance(load, dict) or not load.get("get") or "title" in value:
            return value
        return {"title": f"GET {load['get']}", **value}

    @model_validator(mode="after")
    def _has_its_data(self) -> Experiment:
        if self.dataset is not None and self.service.foreign:
            raise ValueError("dataset is for the lab's own service: another service brings its own data")
        return self

    @property
    def sweep_per_s(self) -> tuple[int, ...]:
        """The rates of a sweep, ascending; empty for an experiment with one rate."""
        return self._sweep_per_s

    def swept(self, rates_per_s: tuple[int, ...]) -> Experiment:
        """Return this experiment as a sweep over these rates; `load.rate_per_s` is the first of them."""
        lowest = self.load.model_copy(update={"rate_per_s": rates_per_s[0]})
        copy = self.model_copy(update={"load": lowest})
        copy._sweep_per_s = rates_per_s
        return copy

    @property
    def rate_choice(self) -> RateChoice | None:
        """The choice of the offered rate, if it was chosen for this run; for a sweep, of its highest rate."""
        return self._rate_choice

    def at_rate(self, rate_per_s: int) -> Experiment:
        """Return this experiment at one rate, with the published figures for it."""
        reference = self.reference
        if reference is not None and self._sweep_per_s:
            reference = reference.of_rate(rate_per_s)
        copy = self.offered(rate_per_s).model_copy(update={"reference": reference})
        copy._sweep_per_s = ()
        return copy

    def offered(self, rate_per_s: int) -> Experiment:
        """Return this experiment with another rate, also in its title: a title says what runs.

        The new rate replaces the declared one in the title, or the words "six rates" of a sweep, or is added.
        """
        changed = self.load.model_copy(update={"rate_per_s": rate_per_s})
        title = self.title
        if self._sweep_per_s or rate_per_s != self.load.rate_per_s:
            named = r"(?<=\bat )\w+ rates\b" if self._sweep_per_s else rf"(?<![\d,]){self.load.rate_per_s:,}/s"
            title, found = re.subn(named, f"{rate_per_s:,}/s", self.title)
            title = title if found else f"{self.title}, at {rate_per_s:,}/s"
        return self.model_copy(update={"load": changed, "title": title})

    def at_scale(self, factor: float, choice: RateChoice) -> Experiment:
        """Return this experiment with its rate multiplied; a sweep multiplies the rate of each of its points."""
        copy = self.model_copy()
        if not self._sweep_per_s:
            rate = max(1, round(self.load.rate_per_s * factor))
            copy = self.offered(rate)
        copy._rate_choice = choice
        return copy

    def points(self) -> list[Experiment]:
        """Return the experiment at each of its rates: itself, or the points of a sweep."""
        if not self._sweep_per_s:
            return [self]
        choice = self._rate_choice
        points = []
        for rate in self._sweep_per_s:
            point = self.at_rate(rate)
            if choice is not None and choice.scale is not None:
                share = None if choice.share is None else choice.share * rate / choice.declared_per_s
                own = choice.model_copy(update={"declared_per_s": rate, "share": share})
                point = point.at_scale(choice.scale, own)
            points.append(point)
        return points

    def resolved(self) -> dict[str, Any]:
        """Return every value as it is used, units in the names, as JSON types."""
        return self.model_dump(mode="json", exclude_none=True)

    @classmethod
    def of_resolved(cls, values: dict[str, Any]) -> Experiment:
        """Return the experiment of which `resolved()` made these values. Raises ValidationError for others."""
        return cls.model_validate({"profile": None, **values}, by_alias=False, by_name=True, context=RESOLVED)
