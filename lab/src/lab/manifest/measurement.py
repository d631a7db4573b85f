"""The figures of a run: of each repetition, and of all together."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from lab.manifest.base import Amount, Count, Finite, Strict


class Distribution(Strict):
    """Summary of a sample; the unit is in the name of the field that holds it.

    ``percentiles`` maps "50", "99.9", … to values, and holds only those that the sample is large enough for
    (``lab.analysis.percentiles.supported``), so a missing percentile was not measured. ``unanswered`` requests count as
    the longest in them and are not in ``count``. A percentile in ``lower_bounds`` falls among them: its value is
    ``max``, and the percentile is at least that.
    """

    count: Count
    unanswered: Count = 0
    mean: Finite | None = None
    stdev: Amount | None = None
    min: Finite | None = None
    max: Finite | None = None
    percentiles: dict[str, Finite] = Field(default_factory=dict)
    lower_bounds: list[str] = Field(default_factory=list)


class Errors(Strict):
    """Errors by class; ``status`` counts responses outside 2xx and 3xx."""

    connect: Count = 0
    read: Count = 0
    write: Count = 0
    timeout: Count = 0
    status: Count = 0

    @property
    def socket(self) -> int:
        """Errors of the connection: everything but statuses."""
        return self.connect + self.read + self.write + self.timeout

    @property
    def total(self) -> int:
        """All errors."""
        return self.socket + self.status


class ReadError(BaseModel):
    """The lost responses with one reason, such as `malformed head`; `first` is what happened the first time."""

    model_config = ConfigDict(extra="ignore", strict=True)

    reason: str
    count: Count
    first: str


class Unfinished(Strict):
    """Requests without a response when the load ended; their latency is at least ``oldest_us``."""

    count: Count
    oldest_us: Amount | None = None


class GeneratorStop(BaseModel):
    """A time in which an event loop of the load generator should have run and did not."""

    model_config = ConfigDict(extra="ignore", strict=True)

    at_s: Finite
    length_us: Amount
    loop: Count = 0


class Schedule(Strict):
    """The load generator's own verdict on whether it kept its schedule."""

    verdict: bool
    reasons: list[str] = Field(default_factory=list)


class PartOfLoad(Strict):
    """The part of one of several load generators. ``part`` is ``2/3`` for the second of three.

    ``start_missed_by_us`` is how late it began, 0 if it was on time. ``busiest_share`` is the share of a CPU that its
    busiest event loop used.
    """

    part: str
    start_missed_by_us: Amount | None = None
    requests_due: Count
    requests: Count
    rate_achieved_per_s: Amount | None = None
    latency_ms: Distribution
    send_lag_us: Distribution | None = None
    busiest_share: Amount | None = None
    kept_schedule: Schedule | None = None


class LoadFigures(BaseModel):
    """The figures that run.json has as the load generator reports them (docs/contracts.md); None is *not reported*."""

    model_config = ConfigDict(extra="ignore", strict=True)

    requests: Count
    requests_due: Count | None = None
    lost: Count | None = None
    served: Count | None = None
    refused: Count | None = None
    goodput_per_s: Amount | None = None
    bytes_read: Count | None = None
    elapsed_s: Amount | None = None
    errors: Errors
    read_errors: list[ReadError] = Field(default_factory=list)
    status: dict[str, Count] = Field(default_factory=dict)
    unfinished: Unfinished | None = None
    generator_stops: list[GeneratorStop] = Field(default_factory=list)
    busiest_loop_share: Amount | None = None
    failure: str | None = None
    kept_schedule: Schedule | None = None


class Measurement(LoadFigures):
    """One interval of load. ``source`` is the directory in the run directory that it was read from.

    ``latency_ms`` counts from the moment each request was due, ``uncorrected_ms`` from the moment it was sent.
    ``latency_ms`` is of all requests that were due, unanswered ones counted as the longest; if there are any,
    ``answered_ms`` leaves them out. ``served_ms`` is the same as ``latency_ms`` without the responses of an unexpected
    status; None if there are none, or if they are not known. ``net_latency_ms`` is that of responses without the load
    generator's own delays. ``lost`` requests were cut off; ``read_errors`` says why. ``refused`` had status 429 or 503.
    ``generators`` are the parts of a load that several generators applied together. ``lacks`` names missing
    outputs of the load generator (``load.json``, ``latency.hlog``), ``problems`` says what is wrong with the others.
    """

    model_config = Strict.model_config

    source: str
    rate_offered_per_s: Amount
    rate_achieved_per_s: Amount | None
    latency_ms: Distribution
    answered_ms: Distribution | None = None
    served_ms: Distribution | None = None
    net_latency_ms: Distribution | None = None
    by_operation_ms: dict[str, Distribution] = Field(default_factory=dict)
    uncorrected_ms: Distribution | None = None
    send_lag_us: Distribution | None = None
    generator_cpu_s: Amount | None = None
    service_cpu_us_per_request: Amount | None = None
    allocated_bytes_per_request: Amount | None = None
    generators: list[PartOfLoad] = Field(default_factory=list)
    lacks: list[str] = Field(default_factory=list)
    problems: list[str] = Field(default_factory=list)

    @property
    def headline_ms(self) -> Distribution:
        """The latency of this measurement: of served requests, and of unanswered ones, which count as the longest.

        Responses that refuse a request are quick, so they would make an overloaded service look fast.
        """
        return self.latency_ms if self.served_ms is None else self.served_ms


class ProfilingCost(Strict):
    """The cost of profiling: profiled ÷ unprofiled, so 1.05 is five per cent more. Needs two repetitions."""

    rate_achieved_ratio: Amount | None = None
    latency_ratio: dict[str, Amount] = Field(default_factory=dict)
    service_cpu_ratio: Amount | None = None


class Agreement(Strict):
    """The spread of the repetitions: sample standard deviation ÷ mean, over at least two repetitions."""

    rate_spread: Amount | None = None
    latency_spread: dict[str, Amount] = Field(default_factory=dict)


class Summary(Measurement):
    """All unprofiled repetitions together.

    Counts are sums, rates means over time, percentiles come from the merged histograms. ``repetitions`` has each one by
    itself, ``profiled`` the profiled repetition, which is not part of the figures above. Neither is
    ``reference_generator``, a repetition with the lab's own load generator if another one applied the load.
    """

    repetitions: list[Measurement]
    agreement: Agreement | None = None
    profiled: Measurement | None = None
    reference_generator: Measurement | None = None
    profiling_cost: ProfilingCost | None = None
