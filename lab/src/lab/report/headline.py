"""The head of a report: the verdict in a sentence, and the key figures."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lab.analysis.checks import SATURATED
from lab.analysis.percentiles import label, samples_needed
from lab.manifest import Summary
from lab.report import numbers
from lab.report.data import ReportData

SHOWN = ("50", "99", "99.9", "100")


@dataclass(frozen=True)
class Figure:
    """One key figure: its name, value with unit, and a line of context."""

    name: str
    value: str
    unit: str
    context: str = ""


@dataclass(frozen=True)
class Verdict:
    """The state ("valid", "suspect", "invalid", "unjudged"), a sentence, and the reasons."""

    state: str
    sentence: str
    reasons: list[str]
    findings: list[str]

    @property
    def saturated(self) -> bool:
        """Whether a finding says that the service was overloaded."""
        return any(finding.startswith(SATURATED) for finding in self.findings)


def verdict(data: ReportData) -> Verdict:
    """Return the verdict in words."""
    validity = data.manifest.validity
    if validity is None:
        return Verdict("unjudged", "This run was not judged: it ended before its analysis.", _interruption(data), [])
    sentences = {
        "valid": "No check found a reason to distrust these figures.",
        "suspect": "These figures may be off. Read the reasons before you quote them.",
        "invalid": "Do not use these figures.",
    }
    found = Verdict(validity.state, sentences[validity.state], list(validity.reasons), list(validity.findings))
    if found.state == "valid" and found.saturated:
        sentence = "The measurement is sound. It is one of an overloaded service: read the finding before you quote it."
        return replace(found, sentence=sentence)
    if found.state == "valid" and found.findings:
        several = "s" if len(found.findings) > 1 else ""
        return replace(found, sentence=f"{found.sentence} Read the finding{several} before you quote them.")
    return found


def overrides(data: ReportData) -> str:
    """Return the overrides of this run as text: "rate 20,000, duration 20s"."""
    shown = []
    for name, value in data.manifest.experiment.overrides.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        shown.append(f"{name} {value:,}" if number else f"{name} {value}")
    return ", ".join(shown)


def sentence(text: str) -> str:
    """Return a check's detail as a sentence: with a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def _interruption(data: ReportData) -> list[str]:
    return [
        f"the phase {phase.name} {'failed' if phase.outcome == 'failed' else 'was interrupted'}"
        + (f": {phase.detail}" if phase.detail else "")
        for phase in data.manifest.phases
        if phase.outcome in ("failed", "interrupted")
    ]


def figures(data: ReportData) -> list[Figure]:
    """Return offered and achieved rate, p50, p99, p99.9 and the maximum, each with its published figure."""
    summary = data.manifest.summary
    if summary is None:
        return []
    reference = data.comparable_reference()
    found = [
        Figure("Offered", numbers.rate(summary.rate_offered_per_s), "requests/s", _repetitions(summary)),
        Figure("Achieved", numbers.rate(summary.rate_achieved_per_s), "requests/s", _achieved_context(data, summary)),
    ]
    if summary.refused and summary.goodput_per_s is not None:
        refused = f"{numbers.share(summary.refused / max(summary.requests, 1))} refused"
        found.append(Figure("Served", numbers.rate(summary.goodput_per_s), "requests/s", refused))
    shown = summary.headline_ms
    of_served = ", served" if shown is summary.served_ms else ""
    for percentile in SHOWN:
        value, _, unit = numbers.percentile(shown, percentile).rpartition(" ")
        published = reference.latency_ms.get(percentile) if reference is not None else None
        context = f"published {numbers.latency(published)}" if published is not None else ""
        if percentile not in shown.percentiles:
            context = f"needs {samples_needed(percentile):,} samples" if shown.count else "not recorded"
        if not value:
            value, unit = unit, ""  # no unit: the percentile is unknown
        found.append(Figure(f"Latency {label(percentile)}{of_served}", value, unit, context))
    return found


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
