"""Makes the ``Summary`` of a run from its outputs: merged percentiles, agreement of repetitions, cost of profiling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from statistics import mean, stdev

from lab.analysis.histogram import Sample
from lab.analysis.load import Values
from lab.analysis.outputs import REFERENCE_GENERATOR, Outputs
from lab.analysis.run_files import RunFiles
from lab.analysis.timeline import RowsError, Timeline
from lab.errors import LabError
from lab.manifest import (
    Agreement,
    Distribution,
    Errors,
    Measurement,
    ProfilingCost,
    ReadError,
    Schedule,
    Summary,
    Unfinished,
)

PROFILED = "profile"
COMPARED = ("50", "99", "99.9")
"""The percentiles by which repetitions, and the profiled one, are compared."""


class NothingMeasuredError(LabError):
    """A run directory without a single report of the load generator."""


def summarise(run_dir: Path, *, rate_offered_per_s: float, files: RunFiles | None = None) -> Summary:
    """Summarise the run in ``run_dir``; ``files`` are its files, if they have been read.

    ``rate_offered_per_s`` is the experiment's rate, used if the load generator does not report it (wrk2). Reads
    ``measure/<n>``, ``profile``, ``reference-generator`` and, for the service's CPU time, ``timeline.csv``; changes
    nothing. Raises ``NothingMeasuredError`` if no repetition left a report, ``LoadError`` if one cannot be read.
    """
    files = files or RunFiles(run_dir)
    outputs = files.repetitions
    if not outputs:
        raise NothingMeasuredError(
            f"{run_dir}: nothing was measured: no measure/<n> holds a report of the load generator",
            "See service.log and the phases in run.json for what ended the run.",
        )
    timeline = _timeline(files)
    repetitions = [_measurement(output, rate_offered_per_s, timeline) for output in outputs]
    profiled, reference = (
        None if (output := files.outputs(name)) is None else _measurement(output, rate_offered_per_s, timeline)
        for name in (PROFILED, REFERENCE_GENERATOR)
    )
    together = _together(repetitions, outputs)
    return Summary(
        **{name: getattr(together, name) for name in Measurement.model_fields},
        repetitions=repetitions,
        agreement=_agreement(repetitions),
        profiled=profiled,
        reference_generator=reference,
        # With one unprofiled repetition, the difference between two starts would be taken for the profiler's.
        profiling_cost=None if profiled is None or len(outputs) < 2 else _profiling_cost(together, profiled),
    )


def _timeline(files: RunFiles) -> Timeline | None:
    try:
        return files.timeline
    except RowsError:
        return None  # the verdict names it (checks.py); the figures are made without it


def _measurement(output: Outputs, rate_per_s: float, timeline: Timeline | None) -> Measurement:
    measurement = output.measurement(rate_per_s)
    start = started_at(output)
    if timeline is not None and start is not None and measurement.elapsed_s and measurement.requests:
        start_s = start.timestamp()
        cpu_s, allocated = (
            timeline.increase(counter, start_s, start_s + measurement.elapsed_s)
            for counter in (SERVICE_CPU, ALLOCATED_BYTES)
        )
        if cpu_s is not None:
            measurement.service_cpu_us_per_request = cpu_s / measurement.requests * 1e6
        if allocated is not None:
            measurement.allocated_bytes_per_request = allocated / measurement.requests
    return measurement


SERVICE_CPU = r"process_cpu_seconds_total"
"""The service's CPU time in the timeline."""
ALLOCATED_BYTES = r"jvm_allocated_bytes_total"
"""The bytes that the service's threads allocated, in the timeline."""


def started_at(output: Outputs) -> datetime | None:
    """Return when the load began, from the first output that says so."""
    if output.load.started_at is not None:
        return output.load.started_at
    return output.log.started_at if output.log is not None else None


def _together(repetitions: Sequence[Measurement], outputs: Sequence[Outputs]) -> Measurement:
    if len(repetitions) == 1:
        return repetitions[0].model_copy(update={"source": "measure"})
    merged = Sample.merged(output.sample for output in outputs)
    exact = all(output.exact for output in outputs)
    latency = merged.distribution(1e-6)
    if not exact and any(not output.sample.count and output.load.latency_us.count for output in outputs):
        merged = Sample.empty()
        latency = Distribution(count=0)  # one cannot be merged: no figure is better than one of the others alone
    loads = [output.load for output in outputs]
    operations = {name: [load.by_operation[name] for load in loads if name in load.by_operation]
                  for name in dict.fromkeys(name for load in loads for name in load.by_operation)}  # fmt: skip
    elapsed = [r.elapsed_s for r in repetitions]
    achieved = _sum([None if r.rate_achieved_per_s is None or r.elapsed_s is None
                     else r.rate_achieved_per_s * r.elapsed_s for r in repetitions])  # fmt: skip
    elapsed_s = _sum(elapsed)
    return Measurement(
        source="measure",
        rate_offered_per_s=repetitions[0].rate_offered_per_s,
        rate_achieved_per_s=achieved / elapsed_s if achieved is not None and elapsed_s else None,
        requests=sum(r.requests for r in repetitions),
        requests_due=_int(_sum([r.requests_due for r in repetitions])),
        lost=_int(_sum([r.lost for r in repetitions])),
        served=_int(_sum([r.served for r in repetitions])),
        refused=_int(_sum([r.refused for r in repetitions])),
        goodput_per_s=_mean_rate([(r.goodput_per_s, r.elapsed_s) for r in repetitions]),
        bytes_read=_int(_sum([r.bytes_read for r in repetitions])),
        elapsed_s=elapsed_s,
        latency_ms=latency,
        answered_ms=merged.answered().distribution(1e-6) if merged.unanswered else None,
        served_ms=Sample.merged(output.headline for output in outputs).distribution(1e-6)
        if any(output.served is not None for output in outputs)
        else None,
        net_latency_ms=_merged([load.net_latency_us for load in loads], 1e-6),
        by_operation_ms={name: found for name in operations if (found := _merged(operations[name], 1e-6)) is not None},
        uncorrected_ms=_merged([load.uncorrected_us for load in loads], 1e-6),
        generator_stops=sorted((s for r in repetitions for s in r.generator_stops), key=lambda s: -s.length_us)[:10],
        busiest_loop_share=_max([r.busiest_loop_share for r in repetitions]),
        failure=next((r.failure for r in repetitions if r.failure), None),
        send_lag_us=_merged([load.send_lag_us for load in loads], 1e-3),
        errors=Errors(**{kind: sum(getattr(r.errors, kind) for r in repetitions) for kind in Errors.model_fields}),
        read_errors=_read_errors(repetitions),
        status=dict(sum((Counter(r.status) for r in repetitions), Counter[str]())),
        unfinished=_unfinished([r.unfinished for r in repetitions]),
        generator_cpu_s=_sum([r.generator_cpu_s for r in repetitions]),
        service_cpu_us_per_request=_per_request([(r.service_cpu_us_per_request, r.requests) for r in repetitions]),
        allocated_bytes_per_request=_per_request([(r.allocated_bytes_per_request, r.requests) for r in repetitions]),
        kept_schedule=_schedule(repetitions),
        lacks=sorted({name for r in repetitions for name in r.lacks}),
        problems=[problem for r in repetitions for problem in r.problems],
    )


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _mean_rate(parts: Sequence[tuple[float | None, float | None]]) -> float | None:
    total = _sum([None if rate is None or seconds is None else rate * seconds for rate, seconds in parts])
    seconds = _sum([seconds for _, seconds in parts])
    return total / seconds if total is not None and seconds else None


def _max(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _int(value: float | None) -> int | None:
    return None if value is None else int(value)


def _merged(parts: Sequence[Values | None], per_ns: float) -> Distribution | None:
    """Return the distribution of the repetitions together; None if one of them does not report its samples."""
    known = [part.sample for part in parts if part is not None and part.sample.count == part.count]
    return Sample.merged(known).distribution(per_ns) if len(known) == len(parts) else None


def _read_errors(repetitions: Sequence[Measurement]) -> list[ReadError]:
    """Return the reasons of lost responses, each with its count over all repetitions."""
    found: dict[str, ReadError] = {}
    for error in (error for r in repetitions for error in r.read_errors):
        known = found.get(error.reason)
        found[error.reason] = error if known is None else known.model_copy(update={"count": known.count + error.count})
    return list(found.values())


def _unfinished(parts: Sequence[Unfinished | None]) -> Unfinished | None:
    known = [part for part in parts if part is not None]
    if not known:
        return None
    oldest = [part.oldest_us for part in known if part.oldest_us is not None]
    return Unfinished(count=sum(part.count for part in known), oldest_us=max(oldest, default=None))


def _per_request(known: Sequence[tuple[float | None, int]]) -> float | None:
    """Return the mean of a cost over all requests, from the cost a request and the requests of each repetition."""
    total = _sum([None if cost is None else cost * requests for cost, requests in known])
    requests = sum(requests for _, requests in known)
    return total / requests if total is not None and requests else None


def _schedule(repetitions: Sequence[Measurement]) -> Schedule | None:
    parts = [(r.source, r.kept_schedule) for r in repetitions if r.kept_schedule is not None]
    if not parts:
        return None
    reasons = [f"{source}: {reason}" for source, part in parts for reason in part.reasons]
    return Schedule(verdict=all(part.verdict for _, part in parts), reasons=reasons)


def _agreement(repetitions: Sequence[Measurement]) -> Agreement | None:
    if len(repetitions) < 2:
        return None

    def spread(value: Callable[[Measurement], float | None]) -> float | None:
        values = [v for r in repetitions if (v := value(r)) is not None]
        return stdev(values) / mean(values) if len(values) > 1 and mean(values) > 0 else None

    latency = {p: s for p in COMPARED if (s := spread(lambda r, p=p: r.headline_ms.percentiles.get(p))) is not None}  # type: ignore[misc]
    return Agreement(rate_spread=spread(lambda r: r.rate_achieved_per_s), latency_spread=latency)


def _profiling_cost(unprofiled: Measurement, profiled: Measurement) -> ProfilingCost:
    def ratio(after: float | None, before: float | None) -> float | None:
        return after / before if after is not None and before else None

    after, before = profiled.headline_ms.percentiles, unprofiled.headline_ms.percentiles
    return ProfilingCost(
        rate_achieved_ratio=ratio(profiled.rate_achieved_per_s, unprofiled.rate_achieved_per_s),
        latency_ratio={p: r for p in COMPARED if (r := ratio(after.get(p), before.get(p))) is not None},
        service_cpu_ratio=ratio(profiled.service_cpu_us_per_request, unprofiled.service_cpu_us_per_request),
    )
