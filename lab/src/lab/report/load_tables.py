"""The tables of rate and cost, of responses and errors, and of the checks."""

from __future__ import annotations

from collections.abc import Sequence

from lab.kubernetes.cluster import cluster_of
from lab.manifest import Errors, Measurement, PartOfLoad
from lab.pages.document import Cell, Row, Table
from lab.report import numbers
from lab.report.data import ReportData

OUTCOME_WORDS = {"pass": "ok", "note": "note", "warn": "suspect", "fail": "invalid", "unknown": "unknown"}


def rate_table(data: ReportData) -> Table | None:
    """Offered and achieved rate, requests, CPU time; one row per execution of the load generator."""
    summary = data.manifest.summary
    if summary is None:
        return None
    several = len(summary.repetitions) > 1
    rows: list[Row] = [_rate_row("All repetitions", summary)] if several else []
    rows += [_rate_row(f"Repetition {r.source.rpartition('/')[2]}", r) for r in summary.repetitions]
    if summary.profiled is not None:
        rows.append(_rate_row("While profiled", summary.profiled))
    if summary.reference_generator is not None:
        rows.append(_rate_row("Lab’s generator", summary.reference_generator))
    if data.reference is not None and data.reference.requests_per_s is not None:
        published = ["Published", numbers.UNKNOWN, numbers.rate(data.reference.requests_per_s)]
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
    return Table("rate-table", "Rate and cost", columns, rows, numeric=range(1, 9))


def _rate_row(name: str, m: Measurement) -> Row:
    achieved = m.rate_achieved_per_s
    of_offered = achieved / m.rate_offered_per_s if achieved is not None and m.rate_offered_per_s else None
    lag = m.send_lag_us.percentiles.get("99") if m.send_lag_us is not None else None
    cpu = m.service_cpu_us_per_request
    return [
        name,
        numbers.rate(m.rate_offered_per_s),
        numbers.rate(achieved),
        numbers.share(of_offered),
        numbers.rate(m.goodput_per_s),
        numbers.count(m.requests),
        numbers.duration(m.elapsed_s),
        numbers.latency(None if cpu is None else cpu / 1e3),
        numbers.latency(None if lag is None else lag / 1e3),
    ]


def generator_table(data: ReportData) -> Table | None:
    """List the generators of a load that several applied together, one row each; None if there was only one."""
    summary = data.manifest.summary
    if summary is None:
        return None
    rows: list[Row] = []
    for r in [*summary.repetitions, *([summary.profiled] if summary.profiled is not None else [])]:
        profiled = r is summary.profiled
        of = "while profiled, " if profiled else f"repetition {r.source.rpartition('/')[2]}, "
        due = sum(part.requests_due for part in r.generators)
        several = profiled or len(summary.repetitions) > 1
        rows += [_generator_row(data, of if several else "", part, due) for part in r.generators]
    if not rows:
        return None
    outputs = [*data.repetitions, *([data.profiled] if data.profiled else [])]
    loops = [loop.high_priority for output in outputs for loop in output.load.loops if loop.high_priority is not None]
    note = "The verdict takes the worst generator."
    if loops:
        note += f" {sum(loops)} of {len(loops)} event loops had a higher priority than other processes."
    columns = [
        "Generator",
        "Node",
        "Requests due",
        "of all",
        "Achieved /s",
        "p50",
        "p99",
        "Send lag p99",
        "Busiest loop",
        "Late start",
        "Schedule",
    ]
    return Table("generator-table", "Generators", columns, rows, numeric=range(2, 10), note=note)


def _generator_row(data: ReportData, of: str, part: PartOfLoad, due: int) -> Row:
    cluster = cluster_of(data.manifest.environment)
    lag, late_us = part.send_lag_us, part.start_missed_by_us
    lag_us = None if lag is None else lag.percentiles.get("99")
    p50, p99 = (numbers.latency(part.latency_ms.percentiles.get(p)) for p in ("50", "99"))
    late = numbers.UNKNOWN if late_us is None else numbers.latency(late_us / 1e3) if late_us else "on time"
    kept = part.kept_schedule
    schedule = numbers.UNKNOWN if kept is None else "kept" if kept.verdict else "not kept"
    return [
        f"{of}{part.part}".capitalize(),
        ((cluster and cluster.node_of(part.part)) or numbers.UNKNOWN),
        numbers.count(part.requests_due),
        numbers.share(part.requests_due / due if due else None),
        numbers.rate(part.rate_achieved_per_s),
        p50,
        p99,
        numbers.latency(None if lag_us is None else lag_us / 1e3),
        numbers.share(part.busiest_share),
        Cell(late, "bad" if late_us else ""),
        Cell(schedule, "bad" if kept is not None and not kept.verdict else ""),
    ]


def error_table(data: ReportData) -> Table | None:
    """Errors by class and responses by status: a column for the unprofiled repetitions, one for the profiled."""
    summary = data.manifest.summary
    if summary is None:
        return None
    parts: list[Measurement] = [summary, *([summary.profiled] if summary.profiled is not None else [])]
    rows: list[Row] = [
        [f"Status {status}", *(numbers.count(part.status.get(status, 0)) for part in parts)]
        for status in sorted({status for part in parts for status in part.status})
    ]
    words = {
        "connect": "Connection failed",
        "read": "Read failed",
        "write": "Write failed",
        "timeout": "Timed out",
        "status": "Outside 2xx and 3xx",
    }
    for kind in Errors.model_fields:
        counts = [getattr(part.errors, kind) for part in parts]
        rows.append([words[kind], *(Cell(numbers.count(n), "bad" if n else "") for n in counts)])
        if kind == "read":
            rows += _reasons(parts)
    if any(part.lost for part in parts):
        rows.append(["Lost before their response", *(numbers.count(part.lost) for part in parts)])
    if any(part.unfinished is not None for part in parts):
        rows.append(
            ["Unanswered at the end", *(numbers.count(p.unfinished.count if p.unfinished else None) for p in parts)]
        )
    columns = ["", "Measured", *(["While profiled"] if summary.profiled is not None else [])]
    return Table("error-table", "Answers and errors", columns, rows, numeric=range(1, len(columns)))


def _reasons(parts: Sequence[Measurement]) -> list[Row]:
    """Return a row for each reason of a failed read, with what happened the first time."""
    first = {error.reason: error.first for part in reversed(parts) for error in part.read_errors}
    counts = [{error.reason: error.count for error in part.read_errors} for part in parts]
    return [
        [f"– {reason}: {what}" if what else f"– {reason}", *(numbers.count(n.get(reason, 0)) for n in counts)]
        for reason, what in first.items()
    ]


def check_table(data: ReportData) -> Table | None:
    """Every check of validity with its outcome."""
    validity = data.manifest.validity
    if validity is None:
        return None
    order = {"fail": 0, "warn": 1, "note": 2, "unknown": 3, "pass": 4}
    rows: list[Row] = [
        [c.name, Cell(OUTCOME_WORDS[c.outcome], f"outcome is-{c.outcome}"), c.detail]
        for c in sorted(validity.checks, key=lambda check: order[check.outcome])
    ]
    return Table("check-table", "Checks", ["Check", "Outcome", "What was seen"], rows)
