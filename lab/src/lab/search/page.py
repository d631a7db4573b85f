"""``search.html``: the answer of a search, latency against rate, and its steps; also as Markdown.

Written from record.json and the run directories that it names.
"""

from __future__ import annotations

from pathlib import Path

from lab.analysis.percentiles import label
from lab.experiment import Experiment
from lab.pages.document import Block, Figure, Figures, Paragraph, Verdict
from lab.rates.charts import Marks
from lab.rates.page import points_table, write_page
from lab.rates.points import Point
from lab.report import numbers
from lab.search.slo import parse_slo
from lab.search.steps import Step
from lab.series import Answer

TONES = {
    "found": "valid",
    "lower bound": "valid",
    "upper bound": "invalid",
    "undecided": "suspect",
    "no answer": "suspect",
}


def write_search_page(results: Path, answer: Answer, experiment: Experiment) -> Path:
    """Write the page of a finished search; return its path."""
    result = answer.result
    slo = parse_slo(str(answer.request["slo"]))
    steps = [Step.model_validate(step) for step in _list(result.get("steps"))]
    points = [
        Point(
            rate_per_s=step.rate_per_s,
            served_per_s=step.served_per_s,
            requests=step.requests,
            percentiles_ms=step.percentiles_ms,
            lower_bounds=step.lower_bounds,
            run=step.run,
            remark=_remark(step),
            good={"yes": True, "no": False}.get(step.holds) if step.counted else None,
            counted=step.counted,
        )
        for step in steps
    ]
    low, high, ended = result.get("low_per_s"), result.get("high_per_s"), str(result.get("ended"))
    interval = (float(low), float(high)) if isinstance(low, int | float) and isinstance(high, int | float) else None
    rate = result.get("rate_per_s")
    shown = numbers.rate(round(rate)) if isinstance(rate, int | float) else numbers.UNKNOWN
    within = ended if interval is None else "90% interval " + " to ".join(numbers.rate(round(end)) for end in interval)
    again = f"{sum(not step.counted for step in steps)} made again"
    changed = ", ".join(f"{name} {value}" for name, value in _dict(answer.request.get("overrides")).items())
    head: list[Block] = [
        Paragraph(f"{experiment.title}. " + (f"Set for every step: {changed}." if changed else ""), "question"),
        Verdict(ended, str(result.get("sentence", "")), TONES.get(ended, "suspect")),
        Figures([Figure("Highest rate", shown, within, unit="requests/s"), Figure("Steps", str(len(steps)), again)]),
    ]
    return write_page(
        results,
        answer,
        title=f"Highest rate of {answer.name} with {slo}",
        head=head,
        points=points,
        marks=Marks(slo.limit_ms, interval),
        table=points_table(points, "Steps", slo.percentile),
        method=[
            "A step is a run: a fresh start of the service, quiescence, a warm-up, then the rate. It holds if at least "
            f"99% of the offered requests were served, {label(slo.percentile)} of all requests that were due is below "
            "the limit, and the median latency does not grow from second to second.",
            "The rate is doubled until a step fails, then each step is made at the median of the belief about the "
            "highest rate that holds (probabilistic bisection on the logarithm of the rate), until 90% of the "
            "probability lie within 5%. A step that the machine disturbed is made again, at most four times, whatever "
            "its outcome.",
        ],
    )


def _remark(step: Step) -> str:
    word = {"yes": "holds", "no": "fails", "unknown": "cannot tell"}[step.holds]
    if step.counted:
        return f"{word}: {step.why}"
    why = step.disturbed[0] if step.disturbed else "the load generator set the bound"
    return f"{word}: {step.why}; made again: {why}"


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
