"""``run.json``: what a run was and what came of it, as strict, versioned models.

``Manifest`` is the only writer and the only reader of ``run.json``. Its JSON Schema is published beside it, in
``schemas/run.schema.json``, which is made from these models: ``python -m lab.manifest`` prints it.

Units stand last in each name. Times of day are aware, in UTC. A field that may be ``None`` is *unknown*, never zero:
a run that was interrupted, or measured by a load generator that lacks an output, has fewer fields than another.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from lab.errors import InputError

FORMAT: Literal["lsmlab-run"] = "lsmlab-run"
VERSION: Literal[2] = 2

Outcome = Literal["ok", "failed", "interrupted", "skipped"]
State = Literal["valid", "suspect", "invalid"]
CheckOutcome = Literal["pass", "note", "warn", "fail", "unknown"]
RuntimeName = Literal["local", "docker", "kubernetes"]

Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class ManifestError(InputError):
    """A ``run.json`` that cannot be read; the message names the file, the field and what is wrong with it."""


class Strict(BaseModel):
    """Base of every model: unknown keys, and values of another type, are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, validate_assignment=True)


# What was asked for.


class RateChoice(Strict):
    """How the offered rate was chosen, where it can be another than the declared one.

    ``given``: RATE=N. ``scaled``: SCALE=S, the declared rate times ``scale``. ``auto``: RATE=auto, ``share`` of
    ``saturation_per_s``, which is this machine's; ``saturation_is_lower_bound`` where it was never reached.
    """

    how: Literal["declared", "given", "scaled", "auto"]
    declared_per_s: Count
    scale: Amount | None = None
    share: Amount | None = None
    share_from: Literal["reference", "default"] | None = None
    saturation_per_s: Amount | None = None
    saturation_is_lower_bound: bool = False

    def sentence(self) -> str:
        """Return the choice as people read it."""
        declared = f"declared are {self.declared_per_s:,}/s"
        if self.how == "auto" and self.share is not None and self.saturation_per_s is not None:
            least = "at least " if self.saturation_is_lower_bound else ""
            source = "the share that the reference had of its own" if self.share_from == "reference" else "by default"
            return (
                f"RATE=auto: {self.share:.0%} of the {least}{self.saturation_per_s:,.0f}/s that this machine "
                f"saturates at ({source}); {declared}"
            )
        if self.how == "scaled" and self.scale is not None:
            return f"SCALE={self.scale:g}; {declared}"
        return f"RATE was given; {declared}" if self.how == "given" else "as declared"


class Experiment(Strict):
    """The declaration as it was run: ``resolved`` holds every value, ``overrides`` those given on the command line."""

    name: str
    title: str
    resolved: dict[str, JsonValue]
    overrides: dict[str, JsonValue] = Field(default_factory=dict)
    rate: RateChoice | None = None


class Phase(Strict):
    """One step of a run. ``repetition`` counts from 1 where a phase takes place more than once."""

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


# Where it ran.


class Cpu(Strict):
    """The processor. Governor and turbo cannot be seen from inside most virtual machines: ``None`` is unknown."""

    model: str
    logical: Annotated[int, Field(ge=1)]
    cores: Annotated[int, Field(ge=1)] | None = None
    threads_per_core: Annotated[int, Field(ge=1)] | None = None
    governor: str | None = None
    turbo: bool | None = None
    hypervisor: str | None = None


class CpuPlan(Strict):
    """Logical CPUs by role. Sets that overlap are legitimate on a small machine, and a reason for suspicion."""

    service: list[int]
    loadgen: list[int]
    other: list[int]


class Git(Strict):
    """The lab's own source: commit, whether files differed from it, and the hash of the difference."""

    commit: str
    dirty: bool
    diff_hash: str | None = None


class Dataset(Strict):
    """The dataset's name and the hash that it is cached under."""

    name: str
    hash: str


class Tool(Strict):
    """A program by name and version; ``custom`` when it replaced the lab's own."""

    name: str
    version: str
    custom: bool = False


class Node(Strict):
    """A node of a cluster that took part. ``parts`` are the run's pods on it.

    ``allowed_cpus`` are those of its first pod, as the kernel lists them: the service's own, on the service's node.
    ``clock_ahead_ms`` is against the lab's machine, give or take ``clock_uncertainty_ms``; None where no load pod ran.
    """

    name: str
    parts: list[str]
    kernel: str | None = None
    os: str | None = None
    cpu_model: str | None = None
    cpus: Count | None = None
    allowed_cpus: str | None = None
    memory_bytes: Count | None = None
    clock_ahead_ms: Finite | None = None
    clock_uncertainty_ms: Amount | None = None


class Cluster(Strict):
    """The cluster of a run: its network between generators and service, and the nodes, the service's first.

    ``round_trip_us`` is the median time of a GET of a missing key over one connection, with nothing else going on.
    """

    version: str | None = None
    network: Literal["cluster", "host"]
    round_trip_us: Amount | None = None
    store: str
    generators: Count
    nodes: list[Node]


class Environment(Strict):
    """The fingerprint of machine and software. Runs with unlike fingerprints are not comparable.

    ``host`` are facts of the kernel's, ``fingerprint`` is the hash of all that can change a number
    (lab/machine/fingerprint.py).
    """

    cpu: Cpu | None = None
    kernel: str | None = None
    os: str | None = None
    memory_bytes: Count | None = None
    jvm: str | None = None
    jvm_flags: list[str] = Field(default_factory=list)
    gc: str | None = None
    libraries: dict[str, str] = Field(default_factory=dict)
    images: dict[str, str] = Field(default_factory=dict)
    native_transport: bool | None = None
    profiling_engine: str | None = None
    cpu_plan: CpuPlan | None = None
    cluster: Cluster | None = None
    git: Git | None = None
    dataset: Dataset | None = None
    load_generator: Tool | None = None
    host: dict[str, str] = Field(default_factory=dict)
    fingerprint: str | None = None


# What came of it.


class Distribution(Strict):
    """Summary of a sample; the unit is in the name of the field that holds it.

    ``percentiles`` maps "50", "99.9", … to values, and holds only those that the sample is large enough for
    (``lab.analysis.percentiles.supported``), so a percentile that is missing was not measured.
    """

    count: Count
    mean: Finite | None = None
    stdev: Amount | None = None
    min: Finite | None = None
    max: Finite | None = None
    percentiles: dict[str, Finite] = Field(default_factory=dict)


class Errors(Strict):
    """Errors by class; ``status`` counts answers outside 2xx and 3xx."""

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


class Unfinished(Strict):
    """Requests without an answer when the load ended; their latency is at least ``oldest_us``."""

    count: Count
    oldest_us: Amount | None = None


class Censored(Strict):
    """Percentiles where requests without an answer count as the longest: None is *at least the largest latency*.

    ``from_percentile`` is the highest percentile that is known; ``percentiles_ms`` are those of all requests.
    """

    count: Count
    from_percentile: Amount | None = None
    percentiles_ms: dict[str, Finite | None] = Field(default_factory=dict)


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


class Measurement(Strict):
    """One interval of load. ``source`` is the directory in the run directory that it was read from.

    ``latency_ms`` counts from the moment each request was due, ``uncorrected_ms`` from the moment it was sent.
    ``net_latency_ms`` is without the load generator's own delays, ``served_ms`` of the responses with an expected
    status, of which there were ``served``; ``refused`` had status 429 or 503.
    ``lacks`` names the outputs that the load generator did not give (``load.json``, ``latency.hlog``), ``problems``
    says what is wrong with those that it gave.
    """

    source: str
    rate_offered_per_s: Amount
    rate_achieved_per_s: Amount | None
    requests: Count
    requests_due: Count | None = None
    served: Count | None = None
    refused: Count | None = None
    goodput_per_s: Amount | None = None
    bytes_read: Count | None = None
    elapsed_s: Amount | None = None
    latency_ms: Distribution
    served_ms: Distribution | None = None
    net_latency_ms: Distribution | None = None
    by_operation_ms: dict[str, Distribution] = Field(default_factory=dict)
    uncorrected_ms: Distribution | None = None
    send_lag_us: Distribution | None = None
    errors: Errors
    status: dict[str, Count] = Field(default_factory=dict)
    unfinished: Unfinished | None = None
    censored: Censored | None = None
    generator_stops: list[GeneratorStop] = Field(default_factory=list)
    generator_busiest_share: Amount | None = None
    failure: str | None = None
    generator_cpu_s: Amount | None = None
    service_cpu_us_per_request: Amount | None = None
    kept_schedule: Schedule | None = None
    lacks: list[str] = Field(default_factory=list)
    problems: list[str] = Field(default_factory=list)


class ProfilingCost(Strict):
    """What recording the profile cost: profiled ÷ unprofiled, so 1.05 is five per cent more. Needs two repetitions."""

    rate_achieved_ratio: Amount | None = None
    latency_ratio: dict[str, Amount] = Field(default_factory=dict)
    service_cpu_ratio: Amount | None = None


class Agreement(Strict):
    """How far the repetitions lie apart: sample standard deviation ÷ mean, over at least two repetitions."""

    rate_spread: Amount | None = None
    latency_spread: dict[str, Amount] = Field(default_factory=dict)


class Summary(Measurement):
    """All unprofiled repetitions together.

    Counts are sums, rates means over time, percentiles come from the merged histograms. ``repetitions`` has each
    one by itself, ``profiled`` the repetition under the profiler, which takes no part in the figures above.
    """

    repetitions: list[Measurement]
    agreement: Agreement | None = None
    profiled: Measurement | None = None
    profiling_cost: ProfilingCost | None = None


class Check(Strict):
    """One test of validity: ``note`` informs, ``warn`` makes a run suspect, ``fail`` invalid.

    ``unknown`` says that the check could not be made, and why. ``environment`` marks the checks that look at the
    machine alone, never at what was measured: comparisons exclude runs by these.
    """

    name: str
    outcome: CheckOutcome
    detail: str
    environment: bool = False


class Validity(Strict):
    """The verdict.

    ``reasons`` has the detail of every check that warned or failed, the gravest first. ``findings`` says what a
    reader must know of a result that is otherwise sound: that the service was saturated.
    """

    state: State
    reasons: list[str] = Field(default_factory=list)
    findings: list[str] = Field(default_factory=list)
    checks: list[Check] = Field(default_factory=list)

    @property
    def environment_troubles(self) -> list[str]:
        """The environment's checks that warned or failed: a comparison excludes a run by these alone."""
        return [check.detail for check in self.checks if check.environment and check.outcome in ("warn", "fail")]

    @model_validator(mode="after")
    def _has_reasons(self) -> Self:
        if (self.state == "valid") != (not self.reasons):
            raise ValueError("a valid run has no reasons, any other at least one")
        return self


class Artifact(Strict):
    """A file of the run: path relative to the run directory, size, SHA-256 in lower-case hexadecimal."""

    path: str
    bytes: Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    @model_validator(mode="after")
    def _stays_inside(self) -> Self:
        parts = self.path.split("/")
        if not self.path or self.path.startswith("/") or ".." in parts or "\\" in self.path:
            raise ValueError(f"path {self.path!r} is not relative to the run directory")
        return self


class Manifest(Strict):
    """The whole of ``run.json``.

    ``complete`` turns true only when every phase ended well; ``summary`` and ``validity`` are ``None`` until the
    analysis has run. Not safe to share between threads that change it.
    """

    format: Literal["lsmlab-run"] = FORMAT
    version: Literal[2] = VERSION
    run_id: Annotated[str, Field(pattern=r"^\d{8}T\d{6}Z(-\d+)?$")]
    experiment: Experiment
    runtime: RuntimeName
    complete: bool = False
    phases: list[Phase] = Field(default_factory=list)
    environment: Environment = Field(default_factory=Environment)
    summary: Summary | None = None
    validity: Validity | None = None
    artifacts: list[Artifact] = Field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read ``path``. Raises ``ManifestError`` for a file that is missing, not JSON, or not this version's."""
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise ManifestError(f"{path}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ManifestError(f"{path}: not UTF-8 text at byte {error.start}") from error
        text = json.dumps(_migrated(_identified(path, text)))
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise ManifestError(_explain(path, error)) from error

    def write(self, path: Path) -> None:
        """Write ``path`` atomically: a reader sees the old file or the new one, never a part of one."""
        document = Manifest.model_validate(self.model_dump()).model_dump_json(indent=2) + "\n"
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        scratch = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(document)
                file.flush()
                os.fsync(file.fileno())
            scratch.chmod(0o644)
            scratch.replace(path)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of ``run.json``."""
    body = Manifest.model_json_schema(mode="serialization")
    body["title"] = "The manifest of a run"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:lsmlab:run:2", **body}


def _identified(path: Path, text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ManifestError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ManifestError(f'{path}: not a run\'s manifest: "format" must be "{FORMAT}"')
    if document.get("version") not in (1, VERSION):
        raise ManifestError(
            f"{path}: version {document.get('version')!r} of the manifest; this lab reads the versions 1 and {VERSION}"
        )
    return document


def _migrated(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document of version 1 as one of this version.

    Version 1 had the send lag of those requests alone that were due while their connection was free. That is another
    quantity under the same name, so it is left out.
    """
    if document["version"] == VERSION:
        return document
    summary = document.get("summary") or {}
    for measurement in (summary, summary.get("profiled") or {}, *summary.get("repetitions", [])):
        measurement.pop("send_lag_us", None)
    return {**document, "version": VERSION}


def _explain(path: Path, error: ValidationError) -> str:
    problems = [
        f"{'.'.join(str(step) for step in problem['loc']) or 'the document'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False)
    ]
    return f"{path}: not a valid manifest: " + "; ".join(problems)


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
