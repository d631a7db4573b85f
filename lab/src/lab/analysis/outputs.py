"""One directory of a load generator's outputs (``measure/<n>`` or ``profile``), read and combined.

Latencies come from the histogram log if there is one. If another load generator wrote none, they come from the text's
spectrum, or else from the percentiles that it printed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.analysis.histogram import HistogramLog, HistogramLogError, Sample, read_log
from lab.analysis.load import Load, Part, Values, read_load_json
from lab.analysis.percentiles import REPORTED, supported
from lab.analysis.wrk2 import parse_load_text
from lab.manifest import Distribution, LoadFigures, Measurement, PartOfLoad

US_PER_MS = 1e3
REFERENCE_GENERATOR = "reference-generator"
"""The directory of the repetition that the lab's own load generator adds to a run with another one."""


@dataclass(frozen=True)
class Outputs:
    """The outputs of one execution of the load generator.

    ``sample`` is empty without log, histogram and spectrum; ``exact`` says that it comes from one of the first two.
    ``served`` leaves out the responses with an unexpected status; None if there are none, or if they are not known.
    ``lacks`` names missing outputs, ``problems`` says what is wrong with the others.
    """

    source: str
    load: Load
    log: HistogramLog | None
    sample: Sample
    exact: bool
    served: Sample | None = None
    lacks: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def headline(self) -> Sample:
        """The latencies that every figure is of: of served requests, and of unanswered ones as the longest."""
        return self.sample if self.served is None else self.served

    def measurement(self, rate_offered_per_s: float) -> Measurement:
        """Summarise the outputs. ``rate_offered_per_s`` is used if the load generator does not report its own."""
        load = self.load
        latency = self.sample.distribution(1e-6) if self.exact else _reported(load)
        answered = (
            self.sample.answered().distribution(1e-6) if self.exact else _distribution(load.latency_us, 1 / US_PER_MS)
        )
        return Measurement(
            **{name: getattr(load, name) for name in LoadFigures.model_fields},
            source=self.source,
            rate_offered_per_s=rate_offered_per_s if load.rate_per_s is None else load.rate_per_s,
            rate_achieved_per_s=load.requests_per_s,
            latency_ms=latency,
            answered_ms=answered if latency.unanswered else None,
            served_ms=None if self.served is None else self.served.distribution(1e-6),
            net_latency_ms=_optional(load.net_latency_us, 1 / US_PER_MS),
            by_operation_ms={name: _distribution(v, 1 / US_PER_MS) for name, v in load.by_operation.items()},
            uncorrected_ms=_optional(load.uncorrected_us, 1 / US_PER_MS),
            send_lag_us=_optional(load.send_lag_us, 1.0),
            generator_cpu_s=None if load.cpu_s is None else load.cpu_s - (load.spin_s or 0.0),
            generators=[_part(part) for part in load.generators],
            lacks=self.lacks,
            problems=self.problems,
        )


def read_outputs(run_dir: Path, source: str) -> Outputs | None:
    """Read the directory ``source`` of a run; None if the load generator left no report there.

    A report that cannot be read raises ``LoadError``; a damaged histogram log is noted as a problem of the measurement.
    """
    directory = run_dir / source
    lacks: list[str] = []
    problems: list[str] = []
    text = None
    if (directory / "load.txt").is_file():
        text = (directory / "load.txt").read_text(encoding="utf-8", errors="replace")
    else:
        lacks.append("load.txt")
    if (directory / "load.json").is_file():
        load = read_load_json(directory / "load.json")
    elif text is not None and text.strip():
        lacks.append("load.json")
        load = parse_load_text(text, str(directory / "load.txt"))
        problems += [f"{source}/load.txt: {doubt}" for doubt in (load.text.doubts if load.text is not None else [])]
    else:
        return None
    log: HistogramLog | None = None
    if (directory / "latency.hlog").is_file():
        try:
            log = read_log(directory / "latency.hlog")
        except HistogramLogError as error:
            problems.append(str(error).replace(f"{run_dir}/", ""))
    else:
        lacks.append("latency.hlog")
    if log is None:
        sample = load.latency_us.sample
    else:
        sample = log.total()
        problems += _disagreements(source, log, sample, load)
    exact = sample.count > 0 and (log is not None or load.latency_us.histogram is not None)
    served = None
    if load.errors.status and load.served_us is not None and load.served_us.count == load.served_us.sample.count:
        served = replace(load.served_us.sample, unanswered=_unanswered(load))
    sample = replace(sample, unanswered=_unanswered(load))
    return Outputs(source, load, log, sample, exact, served, lacks, problems)


def measured_sources(run_dir: Path) -> list[str]:
    """Return ``measure/1`` … in order of their number."""
    directories = (run_dir / "measure").glob("*") if (run_dir / "measure").is_dir() else iter(())
    numbers = sorted(int(d.name) for d in directories if d.is_dir() and d.name.isdecimal())
    return [f"measure/{number}" for number in numbers]


def _disagreements(source: str, log: HistogramLog, sample: Sample, load: Load) -> list[str]:
    found = []
    if log.truncated:
        found.append(f"{source}/latency.hlog was cut off in its last line")
    count = load.latency_us.count
    if count is not None and count != sample.count:
        found.append(f"{source}/latency.hlog holds {sample.count:,} values, the load generator reports {count:,}")
    return found


def _unanswered(load: Load) -> int:
    return 0 if load.censored is None else load.censored.count


def _reported(load: Load) -> Distribution:
    """Return the latency in ms by the load generator's own percentiles, which leave unanswered requests out."""
    answered, unanswered = _distribution(load.latency_us, 1 / US_PER_MS), _unanswered(load)
    return answered.model_copy(update={"unanswered": unanswered, "percentiles": {}}) if unanswered else answered


def _part(part: Part) -> PartOfLoad:
    return PartOfLoad(
        part=part.part,
        start_missed_by_us=part.start_missed_by_us,
        requests_due=part.requests_due,
        requests=part.requests,
        rate_achieved_per_s=part.requests_per_s,
        latency_ms=_distribution(part.latency_us, 1 / US_PER_MS),
        send_lag_us=_optional(part.send_lag_us, 1.0),
        busiest_share=part.busiest_loop_share,
        kept_schedule=part.kept_schedule,
    )


def _optional(values: Values | None, scale: float) -> Distribution | None:
    return None if values is None else _distribution(values, scale)


def _distribution(values: Values, scale: float) -> Distribution:
    count = values.count or 0

    def scaled(value: float | None) -> float | None:
        return None if value is None or not count else value * scale

    kept = {
        name: value * scale
        for name in REPORTED
        if (value := values.percentiles.get(name)) is not None and supported(count, name)
    }
    return Distribution(
        count=count,
        mean=scaled(values.mean),
        stdev=scaled(values.stdev),
        min=scaled(values.min),
        max=scaled(values.max),
        percentiles=kept,
    )
