"""The tables of a report, once, for both of its forms: the page and the Markdown file show the same rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from lab.analysis.checks.generator import moved_ms
from lab.analysis.percentiles import REPORTED, label, samples_needed, supported
from lab.manifest import Cluster, Distribution, Errors, Measurement, Summary
from lab.report import numbers
from lab.report.data import Category, Event, ReportData, local_time

EVENT_NAMES = {"cpu": "CPU", "alloc": "Allocation", "lock": "Lock", "wall": "Wall clock"}
_UNITS = {"bytes": "bytes", "ns": "waiting time"}
OUTCOME_WORDS = {"pass": "ok", "note": "note", "warn": "suspect", "fail": "invalid", "unknown": "unknown"}


@dataclass(frozen=True)
class Cell:
    """One cell: its text, and where it has them a class, a link, and a bar (0…1)."""

    text: str
    css: str = ""
    href: str = ""
    bar: float | None = None


@dataclass(frozen=True)
class Table:
    """A table. ``numeric`` are the columns to align right; the first cell of each row is its heading."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: list[list[Cell]]
    numeric: frozenset[int] = field(default_factory=frozenset)
    note: str = ""


def _table(
    name: str,
    caption: str,
    columns: Iterable[str],
    rows: list[list[Cell]],
    *,
    numeric: Iterable[int] = (),
    note: str = "",
) -> Table:
    return Table(name, caption, tuple(columns), rows, frozenset(numeric), note)


def percentile_table(data: ReportData) -> Table | None:
    """Latency by percentile: together, each repetition, profiled, from the moment of sending, and published."""
    summary = data.manifest.summary
    if summary is None:
        return None
    columns: list[tuple[str, Distribution | None, dict[str, float] | None]] = []
    several = len(summary.repetitions) > 1
    columns.append(("All repetitions" if several else "Measured", summary.latency_ms, None))
    if several and len(summary.repetitions) <= 7:
        columns += [(f"Repetition {r.source.rpartition('/')[2]}", r.latency_ms, None) for r in summary.repetitions]
    if summary.net_latency_ms is not None and summary.net_latency_ms.count:
        columns.append(("Net", summary.net_latency_ms, None))
    if _has_unserved(summary):
        columns.append(("Served", summary.served_ms, None))
    if summary.profiled is not None:
        columns.append(("While profiled", summary.profiled.latency_ms, None))
    if summary.uncorrected_ms is not None and summary.uncorrected_ms.count:
        columns.append(("From sending", summary.uncorrected_ms, None))
    reference = data.reference
    if reference is not None and reference.latency_ms:
        columns.append(("Published", None, reference.latency_ms))
    rows = [
        [Cell(label(p)), *(_percentile_cell(p, measured, published) for _, measured, published in columns)]
        for p in REPORTED
    ]
    for percentile, row in zip(REPORTED, rows, strict=True):
        row[1] = _marked(row[1], percentile, summary)
    rows.append([Cell("mean"), *(_moment("mean", m, published) for _, m, published in columns)])
    rows.append([Cell("st. dev."), *(_moment("stdev", m, published) for _, m, published in columns)])
    rows.append([Cell("samples"), *(Cell(numbers.count(m.count) if m else numbers.UNKNOWN) for _, m, _ in columns)])
    return _table(
        "percentile-table",
        "Latency by percentile",
        ["Percentile", *(name for name, _, _ in columns)],
        rows,
        numeric=range(1, len(columns) + 1),
        note=_percentile_note(data, summary),
    )


def _has_unserved(summary: Summary) -> bool:
    return summary.served_ms is not None and summary.errors.status > 0


def _marked(cell: Cell, percentile: str, summary: Summary) -> Cell:
    """Mark a percentile that requests without an answer make a lower bound, or that the load generator moved."""
    known = {} if summary.censored is None else summary.censored.percentiles_ms
    if percentile in known and percentile in summary.latency_ms.percentiles:
        value = known[percentile]
        if value is None:
            return Cell(f"≥ {numbers.latency(summary.latency_ms.max)}", cell.css)
        cell = Cell(numbers.latency(value), cell.css)
    if moved_ms(summary, percentile) is not None:
        return Cell(f"{cell.text} *", cell.css)
    return cell


def _percentile_cell(percentile: str, measured: Distribution | None, published: dict[str, float] | None) -> Cell:
    if published is not None:
        return Cell(
            numbers.latency(published.get(percentile)), "reference-figure" if percentile in published else "none"
        )
    if measured is None:
        return Cell(numbers.UNKNOWN, "none")
    value = measured.percentiles.get(percentile)
    if value is not None:
        return Cell(numbers.latency(value))
    if measured.count and not supported(measured.count, percentile):
        return Cell(f"needs {samples_needed(percentile):,}", "none")
    return Cell(numbers.UNKNOWN, "none")


def _moment(name: str, measured: Distribution | None, published: dict[str, float] | None) -> Cell:
    value = published.get(name) if published is not None else getattr(measured, name)
    return Cell(numbers.latency(value), "none" if value is None else "")


def _percentile_note(data: ReportData, summary: Summary) -> str:
    notes = ["Latency counts from the moment each request was due, so the wait of late sends is in it."]
    if len(summary.repetitions) > 1:
        notes.append("Percentiles of all repetitions come from their merged histograms.")
    if summary.net_latency_ms is not None and summary.net_latency_ms.count:
        notes.append("“Net” is without the load generator's own delays.")
        if any(moved_ms(summary, p) is not None for p in REPORTED):
            notes.append("* It moved this percentile by more than 10% and 100 µs: read the net value.")
    if summary.censored is not None:
        left = numbers.count(summary.censored.count)
        notes.append(f"{left} requests had no answer at the end; they count as the longest, so “≥” is a lower bound.")
    if _has_unserved(summary):
        notes.append(
            "“Served” are the responses with an expected status; the first column has refusals and errors too."
        )
    if any(not supported(summary.latency_ms.count, p) for p in REPORTED):
        notes.append("“needs n” stands where the sample is too small: ten requests must lie beyond a percentile.")
    if any(output.log is None and "latency.hlog" in output.lacks for output in data.repetitions):
        notes.append("The load generator wrote no histogram log: figures are those of its text, rounded as it rounds.")
    elif any(not output.exact for output in data.repetitions):
        notes.append("A histogram log cannot be read: figures are those that the load generator reports.")
    if summary.uncorrected_ms is not None and summary.uncorrected_ms.count:
        notes.append("“From sending” counts from the moment of sending and leaves that wait out.")
    if data.reference is not None and data.reference.latency_ms:
        notes.append("“Published” was measured by others on other hardware: a landmark, not a target.")
        if unlike := data.unlike_the_reference():
            notes.append(f"It was measured otherwise: {'; '.join(unlike)}.")
        plan = data.manifest.environment.cpu_plan
        if data.reference.cpus is not None and plan is not None and plan.service:
            here = f"{len(plan.service)} for the service and {len(plan.loadgen)} for the load generator"
            notes.append(f"That machine had {data.reference.cpus} CPUs in all; here are {here}.")
    return " ".join(notes)


def rate_table(data: ReportData) -> Table | None:
    """Offered and achieved rate, requests, CPU time; a row for each execution of the load generator."""
    summary = data.manifest.summary
    if summary is None:
        return None
    several = len(summary.repetitions) > 1
    rows = [_rate_row("All repetitions", summary)] if several else []
    rows += [_rate_row(f"Repetition {r.source.rpartition('/')[2]}", r) for r in summary.repetitions]
    if summary.profiled is not None:
        rows.append(_rate_row("While profiled", summary.profiled))
    if data.reference is not None and data.reference.requests_per_s is not None:
        published = [Cell("Published"), Cell(numbers.UNKNOWN), Cell(numbers.rate(data.reference.requests_per_s))]
        rows.append([*published, *(Cell(numbers.UNKNOWN, "none") for _ in range(6))])
    columns = [
        "",
        "Offered /s",
        "Achieved /s",
        "of offered",
        "Served /s",
        "Requests",
        "Time",
        "Service CPU / request",
        "Send lag p99",
    ]
    return _table("rate-table", "Rate and cost", columns, rows, numeric=range(1, 9))


def _rate_row(name: str, m: Measurement) -> list[Cell]:
    achieved = m.rate_achieved_per_s
    of_offered = achieved / m.rate_offered_per_s if achieved is not None and m.rate_offered_per_s else None
    lag = m.send_lag_us.percentiles.get("99") if m.send_lag_us is not None else None
    cpu = m.service_cpu_us_per_request
    return [
        Cell(name),
        Cell(numbers.rate(m.rate_offered_per_s)),
        Cell(numbers.rate(achieved)),
        Cell(numbers.share(of_offered)),
        Cell(numbers.rate(m.goodput_per_s)),
        Cell(numbers.count(m.requests)),
        Cell(numbers.duration(m.elapsed_s)),
        Cell(numbers.latency(None if cpu is None else cpu / 1e3)),
        Cell(numbers.latency(None if lag is None else lag / 1e3)),
    ]


def error_table(data: ReportData) -> Table | None:
    """Errors by class and answers by status: a column for the unprofiled repetitions, one for the profiled."""
    summary = data.manifest.summary
    if summary is None:
        return None
    parts: list[Measurement] = [summary, *([summary.profiled] if summary.profiled is not None else [])]
    rows = [
        [Cell(f"Status {status}"), *(Cell(numbers.count(part.status.get(status, 0))) for part in parts)]
        for status in sorted({status for part in parts for status in part.status})
    ]
    words = {"connect": "Connection failed", "read": "Read failed", "write": "Write failed", "timeout": "Timed out",
             "status": "Outside 2xx and 3xx"}  # fmt: skip
    for kind in Errors.model_fields:
        counts = [getattr(part.errors, kind) for part in parts]
        rows.append([Cell(words[kind]), *(Cell(numbers.count(n), "bad" if n else "") for n in counts)])
    if any(part.unfinished is not None for part in parts):
        rows.append([Cell("Unanswered at the end"),
                     *(Cell(numbers.count(p.unfinished.count if p.unfinished else None)) for p in parts)])  # fmt: skip
    columns = ["", "Measured", *(["While profiled"] if summary.profiled is not None else [])]
    return _table("error-table", "Answers and errors", columns, rows, numeric=range(1, len(columns)))


def check_table(data: ReportData) -> Table | None:
    """Every check of validity with its outcome."""
    validity = data.manifest.validity
    if validity is None:
        return None
    order = {"fail": 0, "warn": 1, "note": 2, "unknown": 3, "pass": 4}
    rows = [
        [Cell(c.name), Cell(OUTCOME_WORDS[c.outcome], f"outcome is-{c.outcome}"), Cell(c.detail)]
        for c in sorted(validity.checks, key=lambda check: order[check.outcome])
    ]
    return _table("check-table", "Checks", ["Check", "Outcome", "What was seen"], rows)


def category_table(event: Event) -> Table | None:
    """List samples of an event by category of code."""
    return _share_table(event, event.categories, "categories", "Category")


def group_table(event: Event) -> Table | None:
    """List samples of an event by group of threads."""
    return _share_table(event, event.groups, "groups", "Thread group")


def _share_table(event: Event, shares: list[Category], ident: str, heading: str) -> Table | None:
    if not shares:
        return None
    unit = shares[0].unit
    most = max(part.share for part in shares) or 1.0
    rows = [
        [
            Cell(c.name),
            Cell(numbers.share_within(c.share, c.bounds), bar=c.share / most),
            Cell(numbers.count(c.samples)),
        ]
        for c in shares
    ]
    name = EVENT_NAMES.get(event.name, event.name)
    bounded = any(part.bounds for part in shares)
    return _table(
        f"{ident}-{event.name}",
        f"{name} by {heading.lower()}",
        [heading, f"Share of {_UNITS.get(unit, unit)}", "Samples"],
        rows,
        numeric=(1, 2),
        note="In brackets: 95% confidence interval within this recording." if bounded else "",
    )


def synchronisation(event: Event) -> str | None:
    """Say in a sentence what queues and locks take of an event; None for an event without categories."""
    if not event.categories:
        return None
    parts = [c for c in event.categories if c.name in {"queue", "lock"}]
    named = " and ".join(f"{c.name} {numbers.share_within(c.share, c.bounds)}" for c in parts)
    name = EVENT_NAMES.get(event.name, event.name)
    together = numbers.share(sum(part.share for part in parts))
    return f"{name}: synchronisation takes {together}{f' ({named})' if parts else ''}."


def profile_table(data: ReportData) -> Table | None:
    """List the number of samples of each event, and how they were taken."""
    if not data.events:
        return None
    rows = [
        [Cell(EVENT_NAMES.get(e.name, e.name)), Cell(numbers.count(e.samples)),
         Cell(", ".join(form or "flame graph" for form in e.pages) or "none")]
        for e in data.events
    ]  # fmt: skip
    engine = data.profile.get("engine") or data.manifest.environment.profiling_engine
    interval = data.profile.get("interval_had_us") or data.profile.get("interval_us")
    how = [f"CPU engine {engine}" if engine else "CPU engine unknown"]
    how += [f"interval {interval:,g} µs"] if isinstance(interval, int | float) else []
    version = data.profile.get("async_profiler")
    how += [f"async-profiler {version}"] if isinstance(version, str) else []
    return _table(
        "profile-table",
        "Samples by event",
        ["Event", "Samples", "Files"],
        rows,
        numeric=(1,),
        note=" ".join([", ".join(how) + ".", *_quality(data.profile), *filter(None, map(synchronisation, data.events))])
        + _cost_is_unknown(data),
    )


def _cost_is_unknown(data: ReportData) -> str:
    """Say why there is no table of what profiling cost."""
    summary = data.manifest.summary
    if summary is None or summary.profiled is None or summary.profiling_cost is not None:
        return ""
    return (
        " What profiling cost is not known: with one unprofiled repetition it cannot be told from the difference "
        f"between two starts of the service. make profiling-cost NAME={data.manifest.experiment.name} measures it."
    )


def _quality(profile: dict[str, Any]) -> list[str]:
    """Say how far the recording can be trusted, in sentences."""
    said = []
    used, sampled, lost = profile.get("cpu_s"), profile.get("cpu_sampled_s"), profile.get("samples_lost")
    if isinstance(used, int | float) and isinstance(sampled, int | float):
        said.append(f"The samples account for {sampled:.1f} s of the {used:.1f} s of CPU that the service used.")
    if isinstance(lost, int):
        said.append(f"{numbers.count(lost)} samples were lost.")
    events = profile.get("events")
    broken = [e["broken"] for e in events.values() if isinstance(e, dict) and isinstance(e.get("broken"), int)] \
        if isinstance(events, dict) else []  # fmt: skip
    if broken:
        said.append(f"{numbers.count(sum(broken))} stacks are broken.")
    warnings = profile.get("warnings")
    said += [f"Warning: {warning}." for warning in warnings] if isinstance(warnings, list) else []
    return said


def cost_table(data: ReportData) -> Table | None:
    """Set the profiled repetition beside the others: what recording cost."""
    summary = data.manifest.summary
    if summary is None or summary.profiled is None or summary.profiling_cost is None:
        return None
    cost, before, after = summary.profiling_cost, summary, summary.profiled
    rows = [[Cell("Achieved rate"), Cell(numbers.rate(before.rate_achieved_per_s)),
             Cell(numbers.rate(after.rate_achieved_per_s)), Cell(numbers.ratio(cost.rate_achieved_ratio))]]  # fmt: skip
    rows += [
        [Cell(f"Latency {label(p)}"), Cell(numbers.latency(before.latency_ms.percentiles.get(p))),
         Cell(numbers.latency(after.latency_ms.percentiles.get(p))), Cell(numbers.ratio(change))]
        for p, change in cost.latency_ratio.items()
    ]  # fmt: skip
    if cost.service_cpu_ratio is not None:
        cpu = [m.service_cpu_us_per_request or 0.0 for m in (before, after)]
        rows.append([Cell("Service CPU / request"), *(Cell(numbers.latency(us / 1e3)) for us in cpu),
                     Cell(numbers.ratio(cost.service_cpu_ratio))])  # fmt: skip
    times = len(summary.repetitions)
    spread = None if summary.agreement is None else summary.agreement.latency_spread.get("50")
    apart = "" if spread is None else f", whose p50 has a standard deviation of {numbers.share(spread)}"
    note = f"One profiled repetition against {times} others{apart}: a smaller difference is noise."
    return _table(
        "cost-table",
        "What profiling cost",
        ["", "Unprofiled", "Profiled", "Change"],
        rows,
        numeric=(1, 2, 3),
        note=note,
    )


def _cluster(cluster: Cluster) -> list[tuple[str, str | None]]:
    idle = None if cluster.round_trip_us is None else f"{cluster.round_trip_us:,.0f} µs, a GET included"
    pairs: list[tuple[str, str | None]] = [
        ("Kubernetes", cluster.version),
        ("Network", f"the {cluster.network}’s"),
        ("Idle round trip", idle),
        ("Store", cluster.store),
        ("Generators", str(cluster.generators)),
    ]
    for node in cluster.nodes:
        facts = [", ".join(node.parts), node.cpu_model, None if node.cpus is None else f"{node.cpus} CPUs", node.kernel]
        if node.allowed_cpus is not None:
            facts.append(f"{node.parts[0]} on CPU {node.allowed_cpus}")
        if node.clock_ahead_ms is not None:
            facts.append(f"clock {node.clock_ahead_ms:+.1f} ms ± {node.clock_uncertainty_ms or 0:.1f} ms")
        pairs.append((f"Node {node.name}", "; ".join(fact for fact in facts if fact)))
    return pairs


def environment_table(data: ReportData) -> Table:
    """List the fingerprint of machine and software."""
    e = data.manifest.environment
    cpu, plan = e.cpu, e.cpu_plan
    tool = e.load_generator
    own = "" if tool is None or not tool.custom else " (not the lab’s own)"
    pairs: list[tuple[str, str | None]] = [
        ("Processor", None if cpu is None else cpu.model),
        ("CPUs", None if cpu is None else _cpus(cpu.logical, cpu.cores, cpu.threads_per_core)),
        ("Virtual machine", None if cpu is None or cpu.hypervisor is None else cpu.hypervisor),
        ("Frequency governor", None if cpu is None else cpu.governor),
        ("Turbo", None if cpu is None or cpu.turbo is None else "on" if cpu.turbo else "off"),
        ("Memory", None if e.memory_bytes is None else numbers.size(e.memory_bytes)),
        ("Kernel", e.kernel),
        ("System", e.os),
        ("CPUs of the service", None if plan is None else _list(plan.service)),
        ("CPUs of the load generator", None if plan is None else _list(plan.loadgen)),
        ("CPUs of everything else", None if plan is None else _list(plan.other)),
        ("JVM", e.jvm),
        ("Garbage collector", e.gc),
        ("JVM flags", "\n".join(e.jvm_flags) or None),
        ("one-nio's native transport", None if e.native_transport is None else "yes" if e.native_transport else "no"),
        ("Load generator", None if tool is None else f"{tool.name} {tool.version}{own}"),
        ("Profiling engine", e.profiling_engine),
        ("Dataset", None if e.dataset is None else f"{e.dataset.name} ({e.dataset.hash})"),
        ("Source", None if e.git is None else e.git.commit + (", with changes" if e.git.dirty else "")),
    ]  # fmt: skip
    if e.libraries:
        pairs.append(("Libraries", ", ".join(f"{name} {version}" for name, version in sorted(e.libraries.items()))))
    pairs += [(name.replace("_", " ").capitalize(), fact) for name, fact in sorted(e.host.items())]
    if e.cluster is not None:
        pairs += _cluster(e.cluster)
    pairs.append(("Fingerprint", e.fingerprint))
    pairs += [(f"Image {name}", digest) for name, digest in sorted(e.images.items())]
    rows = [
        [Cell(name), Cell(value or "unknown", "none" if not value else "code" if name in _CODE else "")]
        for name, value in pairs
    ]
    return _table("environment-table", "Environment", ["", ""], rows)


_CODE = ("JVM flags", "Source", "Kernel", "Fingerprint")


def _cpus(logical: int, cores: int | None, threads: int | None) -> str:
    if cores is None:
        return f"{logical} logical"
    siblings = f", {threads} threads a core" if threads and threads > 1 else ""
    return f"{logical} logical, {cores} {'core' if cores == 1 else 'cores'}{siblings}"


def _list(cpus: list[int]) -> str:
    return ", ".join(map(str, cpus)) if cpus else "not pinned"


def phase_table(data: ReportData) -> Table:
    """List the phases of the run and how long each took."""
    phases = data.manifest.phases
    longest = max((p.duration_s for p in phases), default=0.0) or 1.0
    rows = [
        [
            Cell(p.name if p.repetition is None else f"{p.name} {p.repetition}"),
            Cell(p.start.strftime("%H:%M:%S")),
            Cell(numbers.duration(p.duration_s), bar=p.duration_s / longest),
            Cell(p.outcome, "" if p.outcome == "ok" else "none" if p.outcome == "skipped" else "bad"),
            Cell(p.detail),
        ]
        for p in phases
    ]
    return _table("phase-table", "Phases", ["Phase", "Start (UTC)", "Took", "Outcome", "Detail"], rows, numeric=(1, 2))


def experiment_table(data: ReportData) -> Table:
    """List the experiment as it was resolved; what the command line overrode is marked."""
    overrides = data.manifest.experiment.overrides
    rows = []
    for key, value in _flat(data.manifest.experiment.resolved):
        if key.startswith("reference"):
            continue
        leaf = key.rpartition(".")[2]
        over = key in overrides or leaf in overrides or leaf.removesuffix("_per_s").removesuffix("_s") in overrides
        rows.append([Cell(key), Cell(value + ("  (set for this run)" if over else ""), "override" if over else "")])
    if (rate := data.manifest.experiment.rate) is not None and rate.how != "declared":
        rows.append([Cell("how the rate came"), Cell(rate.sentence(), "override")])
    return _table("experiment-table", "Experiment as run", ["Key", "Value"], rows)


def _flat(value: object, prefix: str = "") -> Iterable[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        yield prefix, ", ".join(map(str, value)) or "none"
    else:
        yield (
            prefix,
            "none" if value in ({}, []) else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
        )


def artifact_table(data: ReportData) -> Table:
    """List the files of the run directory."""
    rows = [[Cell(a.path, href=a.path), Cell(numbers.size(a.bytes)), Cell(a.sha256, "hash")] for a in data.artifacts]
    note = "run.json lists the reports too: they are finished after this list was made."
    return _table("artifact-table", "Files", ["File", "Size", "SHA-256"], rows, numeric=(1,), note=note)


def started(data: ReportData) -> str:
    """Return when the run began, as readers see it."""
    return local_time(data.manifest.phases[0].start) if data.manifest.phases else data.manifest.run_id
