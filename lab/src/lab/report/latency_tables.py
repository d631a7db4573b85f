"""The table of latency by percentile."""

from __future__ import annotations

from lab.analysis.checks.generator import moved_ms
from lab.analysis.percentiles import REPORTED, label, samples_needed, supported
from lab.manifest import Distribution, Summary
from lab.pages.document import Cell, Table
from lab.report import numbers
from lab.report.data import ReportData


def percentile_table(data: ReportData) -> Table | None:
    """Latency by percentile: together, each repetition, all responses, profiled, from sending, and published."""
    summary = data.manifest.summary
    if summary is None:
        return None
    columns: list[tuple[str, Distribution | None, dict[str, float] | None]] = []
    several = len(summary.repetitions) > 1
    columns.append(("All repetitions" if several else "Measured", summary.headline_ms, None))
    if several and len(summary.repetitions) <= 7:
        columns += [(f"Repetition {r.source.rpartition('/')[2]}", r.headline_ms, None) for r in summary.repetitions]
    if summary.served_ms is not None:
        columns.append(("With unserved", summary.latency_ms, None))
    if summary.answered_ms is not None:
        columns.append(("Answered", summary.answered_ms, None))
    if summary.net_latency_ms is not None and summary.net_latency_ms.count:
        columns.append(("Net", summary.net_latency_ms, None))
    if summary.profiled is not None:
        columns.append(("While profiled", summary.profiled.headline_ms, None))
    if summary.reference_generator is not None:
        columns.append(("Lab’s generator", summary.reference_generator.headline_ms, None))
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
        if moved_ms(summary, percentile) is not None:
            row[1] = Cell(f"{row[1].text} *", row[1].css)
    rows.append([Cell("mean"), *(_moment("mean", m, published) for _, m, published in columns)])
    rows.append([Cell("st. dev."), *(_moment("stdev", m, published) for _, m, published in columns)])
    rows.append([Cell("samples"), *(Cell(numbers.count(m.count) if m else numbers.UNKNOWN) for _, m, _ in columns)])
    return Table(
        "percentile-table",
        "Latency by percentile",
        ["Percentile", *(name for name, _, _ in columns)],
        rows,
        numeric=range(1, len(columns) + 1),
        note=_percentile_note(data, summary),
    )


def operation_table(data: ReportData) -> Table | None:
    """Latency of responses by method; None if the load had only one."""
    summary = data.manifest.summary
    if summary is None or len(summary.by_operation_ms) < 2:
        return None
    rows = [
        [Cell(name), Cell(numbers.count(found.count)), *(_percentile_cell(p, found, None) for p in REPORTED)]
        for name, found in summary.by_operation_ms.items()
    ]
    columns = ["Method", "Responses", *map(label, REPORTED)]
    note = "Of responses with any status; unanswered requests are not in it."
    return Table("operation-table", "Latency by method", columns, rows, numeric=range(1, len(columns)), note=note)


def _percentile_cell(percentile: str, measured: Distribution | None, published: dict[str, float] | None) -> Cell:
    if published is not None:
        return Cell(
            numbers.latency(published.get(percentile)), "reference-figure" if percentile in published else "none"
        )
    if measured is None:
        return Cell(numbers.UNKNOWN, "none")
    if percentile in measured.percentiles:
        return Cell(numbers.percentile(measured, percentile))
    if measured.count and not supported(measured.count + measured.unanswered, percentile):
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
    if summary.latency_ms.unanswered:
        left = numbers.count(summary.latency_ms.unanswered)
        notes.append(f"{left} requests had no response at the end; they count as the longest, so “≥” is a lower bound.")
        notes.append("Only “Answered”, “Net”, “From sending”, mean and deviation leave them out.")
    if summary.served_ms is not None:
        notes.append(
            "Figures are of responses with an expected status; “With unserved”, “Answered”, “Net” and “From sending” "
            "have refusals and errors too."
        )
    if any(p not in summary.headline_ms.percentiles for p in REPORTED):
        notes.append("“needs n” stands where the sample is too small: ten requests must lie beyond a percentile.")
    if summary.reference_generator is not None:
        notes.append(
            "“Lab’s generator” is one more repetition at the same load with the lab's own load generator; no figure of "
            "this run includes it."
        )
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
