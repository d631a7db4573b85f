"""The record of a comparison: its question and its result, as strict models.

The unit ends each name. `None` is unknown. A comparison that was interrupted is not `complete` and has no result.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, JsonValue

from lab.manifest import Phase, RuntimeName, Strict
from lab.record import Record

VerdictWord = Literal["better", "worse", "same", "cannot tell"]
LETTERS = "abcdef"
"""The sides of a comparison, the baseline first. More do not fit into a block: each keeps its memory and its data."""
Letter = Annotated[str, Field(pattern=f"^[{LETTERS}]$")]
Order = Annotated[str, Field(pattern=f"^[{LETTERS}]{{2,}}$")]
"""The sides in the order of their starts, and of the first windows."""
ResultWord = Literal["better", "worse", "better and worse", "same", "cannot tell"]


class Window(Strict):
    """One window of load: its side, its directory below that side's run directory, and the services' own counters.

    The counters span the lead-in too: what the service used from `start` to `end`, and the requests that it served.
    `idle_cpu_s` is the CPU time of the other sides' services, which had no load; `gc_s` the time of collections.
    """

    side: Letter
    source: str
    start: AwareDatetime
    end: AwareDatetime
    service_cpu_s: float | None = None
    idle_cpu_s: float | None = None
    allocated_bytes: float | None = None
    service_requests: float | None = None
    context_switches: float | None = None
    gc_s: float | None = None


class Block(Strict):
    """One fresh start of each side, complete. `order` is the order of the starts and of the first two windows."""

    number: Annotated[int, Field(ge=1)]
    order: Order
    windows: list[Window]


class SideRecord(Strict):
    """One side. `directory` is its run directory, relative to the comparison's."""

    label: str
    name: str
    title: str
    overrides: dict[str, JsonValue] = Field(default_factory=dict)
    directory: str


class PilotRecord(Strict):
    """One start of each side before the first block, under load for `length_s` seconds.

    `steady_s` are the seconds after which each was steady; `None`: it was not.
    """

    length_s: float
    steady_s: list[float | None]

    def __str__(self) -> str:
        """Return the result in a few words."""
        sides = (
            f"{letter} was not steady" if after_s is None else f"{letter} was steady after {after_s:g} s"
            for letter, after_s in zip(LETTERS.upper(), self.steady_s, strict=False)
        )
        return f"from a pilot of {self.length_s:g} s: {', '.join(sides)}"


class DesignRecord(Strict):
    """The settings, fixed before the first block; `calibration` has the detectable differences of this machine.

    `blocks` is their number, `metric` the declared metric, if there is one. `warmup_s` comes from the pilot, if there
    was one.
    """

    blocks: int
    within: float
    metric: str | None = None
    seed: int | None = None
    orders: list[Order] = Field(default_factory=list)
    windows: Annotated[int, Field(ge=1)] = 1
    window_s: float | None = None
    warmup_s: float | None = None
    pilot: PilotRecord | None = None
    calibration: str | None = None


class MetricResult(Strict):
    """One metric: the mean of each side's blocks, and B against A.

    `ratio` is B ÷ A of these geometric means, `difference` is B - A in `unit`; both with their intervals at
    `confidence`. An amount that may be 0 has arithmetic means, a difference, and no ratio. `primary` marks the metric
    that stands first. `blocks` is the number of blocks in which both sides have the figure. `p_corrected` and
    `p_equivalence` are by Holm over all metrics but a declared one. `detectable` is the ratio minus one that a
    comparison of this size finds in four of five cases.
    """

    name: str
    title: str
    unit: str
    lower_is_better: bool
    primary: bool
    a: float
    b: float
    blocks: int
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    difference: float
    difference_low: float
    difference_high: float
    confidence: float
    p_value: float
    p_corrected: float
    p_equivalence: float
    detectable: float | None
    verdict: VerdictWord
    log_ratios: list[float]

    @property
    def heading(self) -> str:
        """The title with a capital."""
        return self.title[:1].upper() + self.title[1:]


class Result(Strict):
    """The verdict on one side, B, against the first, A; the sentence that says which metrics are certain; its limits.

    `forced` are the reasons why the machine was not fit to measure, if the verdict stands in spite of them.
    """

    verdict: ResultWord
    sentence: str
    cautions: list[str] = Field(default_factory=list)
    saturated: list[Literal["a", "b"]] = Field(default_factory=list)
    idle_cpu_share: float | None = None
    forced: list[str] = Field(default_factory=list)
    metrics: list[MetricResult]


class ComparisonRecord(Record):
    """The whole file. ``how`` says whether the sides ran in turns, or were compared as finished runs.

    The first of ``sides`` is the baseline, and ``results`` are of the others against it, in their order.
    """

    kind: Literal["compare"] = "compare"
    how: Literal["in turns", "finished runs"]
    runtime: RuntimeName
    sides: Annotated[list[SideRecord], Field(min_length=2, max_length=len(LETTERS))]
    compared: list[str] = Field(default_factory=list)
    besides: list[str] = Field(default_factory=list)
    design: DesignRecord
    blocks: list[Block] = Field(default_factory=list)
    phases: list[Phase] = Field(default_factory=list)
    results: list[Result] = Field(default_factory=list)
