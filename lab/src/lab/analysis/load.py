"""A load generator's report as one model: its ``load.json``, or as much of it as its text contains.

Latencies are in µs. ``None`` is *not reported*: the text of wrk2 has no offered rate and no statuses.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from lab.analysis.histogram import HistogramLogError, Sample
from lab.errors import InputError
from lab.manifest import LoadFigures, Schedule

Count = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class LoadError(InputError):
    """A load generator's output that cannot be read; the message names the file and what is wrong with it."""


class Lenient(BaseModel):
    """Strict in types; keys of a later version of the load generator are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)


class Generator(Lenient):
    """The load generator by name and version; the text of wrk2 has no version."""

    name: str
    version: str | None = None


class SpectrumRow(Lenient):
    """A line of the text's percentile spectrum: ``total_count`` values are at most ``value_us``."""

    value_us: Number
    quantile: Annotated[float, Field(ge=0, le=1)]
    total_count: Count


def _decoded(text: object) -> object:
    try:
        return Sample.decoded(text) if isinstance(text, str) else text
    except HistogramLogError as error:
        raise ValueError(str(error)) from error


class Values(Lenient):
    """A distribution in µs. Without values there are only ``count`` = 0 and empty ``percentiles``.

    ``histogram`` has the samples themselves; None if the load generator does not report them.
    """

    model_config = ConfigDict(extra="ignore", strict=True, arbitrary_types_allowed=True)

    count: Count | None = None
    min: Number | None = None
    mean: Number | None = None
    stdev: Number | None = None
    max: Number | None = None
    percentiles: dict[str, Number | None] = Field(default_factory=dict)
    spectrum: list[SpectrumRow] = Field(default_factory=list)
    histogram: Annotated[Sample | None, BeforeValidator(_decoded)] = None

    @property
    def sample(self) -> Sample:
        """The samples: from the histogram, or the text's spectrum; empty without both."""
        if self.histogram is not None:
            return self.histogram
        return Sample.of_spectrum((round(row.value_us * 1e3), row.total_count) for row in self.spectrum)


class Second(Lenient):
    """One second of a run, ``t_s`` seconds after its start."""

    t_s: Number
    due: Count | None = None
    backlog: Count | None = None
    requests: Count
    served: Count | None = None
    refused: Count | None = None
    errors: Count = 0
    p50_us: Number | None = None
    p99_us: Number | None = None
    max_us: Number | None = None
    net_p50_us: Number | None = None
    net_p99_us: Number | None = None


class Censored(Lenient):
    """The requests whose latency is not known, because they have no response."""

    count: Count


class Calibration(Lenient):
    """wrk2's calibration of one thread."""

    mean_latency_us: Number | None
    sampling_interval_ms: Number | None


class ThreadStats(Lenient):
    """A line of "Thread Stats": µs for latency, requests a second for the rate."""

    mean: Number | None
    stdev: Number | None
    max: Number | None
    within_stdev_percent: Number | None


class TextOnly(Lenient):
    """The parts that only the text report has.

    ``missing`` are the lines at its end that it lacks, ``doubts`` says which of its figures cannot be.
    """

    calibrations: list[Calibration] = Field(default_factory=list)
    latency_us: ThreadStats | None = None
    requests_per_s: ThreadStats | None = None
    missing: list[str] = Field(default_factory=list)
    doubts: list[str] = Field(default_factory=list)


class EventLoop(Lenient):
    """An event loop of the load generator; `high_priority`: it ran at niceness -20; None: not reported."""

    high_priority: bool | None = None


class Part(Lenient):
    """One of the generators whose records were merged."""

    part: str
    start_missed_by_us: Number | None = None
    requests_due: Count
    requests: Count
    requests_per_s: Number | None = None
    latency_us: Values
    send_lag_us: Values | None = None
    busiest_loop_share: Number | None = None
    kept_schedule: Schedule | None = None


class Load(LoadFigures):
    """One execution of the load generator (docs/contracts.md, "The load generator")."""

    format: Literal["lsmlab-load"] = "lsmlab-load"
    version: Literal[1] = 1
    generator: Generator
    url: str
    script: str | None = None
    threads: Count | None = None
    connections: Count | None = None
    event_loops: Count | None = None
    duration_s: Number | None = None
    rate_per_s: Number | None = None
    started_at: AwareDatetime | None = None
    requests_per_s: Number | None = None
    bytes_per_s: Number | None = None
    latency_us: Values
    served_us: Values | None = None
    net_latency_us: Values | None = None
    by_operation: dict[str, Values] = Field(default_factory=dict)
    uncorrected_us: Values | None = None
    send_lag_us: Values | None = None
    censored: Censored | None = None
    cpu_s: Number | None = None
    spin_s: Number | None = None
    loops: list[EventLoop] = Field(default_factory=list)
    generators: list[Part] = Field(default_factory=list)
    series: list[Second] = Field(default_factory=list)
    text: TextOnly | None = None


def read_load_json(path: Path) -> Load:
    """Read ``load.json``. Raises ``LoadError`` for a file that is missing, damaged or of another format."""
    try:
        document = path.read_text(encoding="utf-8")
        json.loads(document)
    except OSError as error:
        raise LoadError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise LoadError(f"{path}: not UTF-8 text at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise LoadError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    try:
        return Load.model_validate_json(document)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(step) for step in problem['loc']) or 'the document'}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False)
        )
        raise LoadError(f"{path}: not a load generator's report: {problems}") from error
