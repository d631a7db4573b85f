"""The head of a report: the verdict in a sentence, and the key figures."""

from __future__ import annotations

from dataclasses import replace

from lab.analysis.checks import SATURATED
from lab.analysis.percentiles import REPORTED, label, samples_needed
from lab.manifest import Distribution, Measurement, Summary
from lab.pages.document import Figure, Verdict
from lab.report import numbers
from lab.report.data import ReportData

SHOWN = ("50", "99", "99.9", "100")


def verdict(data: ReportData) -> Verdict:
    """Return the state ("valid", "suspect", "invalid", "unjudged") with a sentence, the reasons and the findings."""
    validity = data.manifest.validity
    if validity is None:
        sentence = "This run was not judged: it ended before its analysis."
        return Verdict("unjudged", sentence, "unjudged", _interruption(data))
    sentences = {
        "valid": "No check found a reason to distrust these figures.",
        "suspect": "These figures may be off. Read the reasons before you quote them.",
        "invalid": "Do not use these figures.",
    }
    sentence, findings = sentences[validity.state], validity.findings
    saturated = any(finding.startswith(SATURATED) for finding in findings)
    if validity.state == "valid" and saturated:
        sentence = "The measurement is sound. It is one of an overloaded service: read the finding before you quote it."
    elif validity.state == "valid" and findings:
        sentence += f" Read the finding{'s' if len(findings) > 1 else ''} before you quote them."
    remarks = [*validity.reasons, *findings]
    return Verdict(validity.state, sentence, validity.state, remarks, "saturated" if saturated else "")


def overrides(data: ReportData) -> str:
    """Return the overrides of this run as text: "rate 20,000, duration 20s"."""
    shown = []
    for name, value in data.manifest.experiment.overrides.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        shown.append(f"{name} {value:,}" if number else f"{name} {value}")
    return ", ".join(shown)


def _interruption(data: ReportData) -> list[str]:
    return [
        f"the phase {phase.name} {'failed' if phase.outcome == 'failed' else 'was interrupted'}"
        + (f": {phase.detail}" if phase.detail else "")
        for phase in data.manifest.phases
        if phase.outcome in ("failed", "interrupted")
    ]


def figures_of(measured: Measurement) -> list[Figure]:
    """Return rates, counts and latencies of a measurement: key figures of a page, and lines of the terminal."""
    latency, per_s = measured.headline_ms, "requests/s"
    served = []
    if measured.refused and measured.goodput_per_s is not None:
        refused = f"{numbers.share(measured.refused / max(measured.requests, 1))} refused"
        served = [Figure("Served", numbers.rate(measured.goodput_per_s), refused, per_s)]
    of_served = ", served" if latency is measured.served_ms else ""
    return [
        Figure("Offered", numbers.rate(measured.rate_offered_per_s), unit=per_s),
        Figure("Achieved", numbers.rate(measured.rate_achieved_per_s), unit=per_s),
        *served,
        Figure("Requests", numbers.count(measured.requests)),
        Figure("Errors", numbers.count(measured.errors.total)),
        *(
            Figure(f"Latency {label(p)}{of_served}", numbers.percentile(latency, p), _lacking(latency, p))
            for p in REPORTED
        ),
    ]


def _lacking(latency: Distribution, percentile: str) -> str:
    if percentile in latency.percentiles:
        return ""
    return f"needs {samples_needed(percentile):,} samples" if latency.count else "not recorded"


def figures(data: ReportData) -> list[Figure]:
    """Return offered and achieved rate, p50, p99, p99.9 and the maximum, each with its published figure."""
    summary, reference = data.manifest.summary, data.comparable_reference()
    if summary is None:
        return []
    published = {} if reference is None else reference.latency_ms
    contexts = {f"Latency {label(p)}": f"published {numbers.latency(published[p])}" for p in published}
    contexts |= {"Offered": _repetitions(summary), "Achieved": _achieved_context(data, summary)}
    shown = {"Offered", "Achieved", "Served", *(f"Latency {label(p)}" for p in SHOWN)}
    named = [(figure, figure.name.removesuffix(", served")) for figure in figures_of(summary)]
    return [replace(one, context=one.context or contexts.get(name, "")) for one, name in named if name in shown]


def _repetitions(summary: Summary) -> str:
    times = len(summary.repetitions)
    each = numbers.duration(summary.repetitions[0].elapsed_s)
    return f"{times} × {each}" if times > 1 else each


def _achieved_context(data: ReportData, summary: Summary) -> str:
    reference = data.comparable_reference()
    if reference is not None and reference.requests_per_s is not None:
        return f"published {numbers.rate(reference.requests_per_s)}"
    if summary.rate_achieved_per_s is None or not summary.rate_offered_per_s:
        return ""
    return f"{numbers.share(summary.rate_achieved_per_s / summary.rate_offered_per_s)} of offered"
