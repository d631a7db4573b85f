"""``search.html`` and ``sweep.html``: an answer, latency against rate, and the runs behind it; each also as Markdown.

Both are written from answer.json and the run directories that it names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from lab import __version__
from lab.analysis.percentiles import label
from lab.experiment import Experiment
from lab.manifest import Manifest
from lab.rates.charts import Marks, latency_chart, served_chart
from lab.rates.points import Point, knee_per_s, point_of
from lab.report import numbers
from lab.report.data import local_time
from lab.report.headline import Figure
from lab.report.markdown import markdown_table, markdown_text
from lab.report.page import asset, fonts, template_environment
from lab.report.tables import Cell, Table
from lab.search.slo import parse_slo
from lab.search.steps import Step
from lab.series import Answer

TONES = {"found": "valid", "lower bound": "valid", "upper bound": "invalid", "undecided": "suspect"}


@dataclass(frozen=True)
class Content:
    """What both forms show. `tone` colours the box of the sentence as a verdict's."""

    title: str
    kind: str
    question: str
    badge: str
    tone: str
    sentence: str
    remarks: list[str]
    figures: list[Figure]
    points: list[Point]
    marks: Marks
    table: Table
    method: list[str] = field(default_factory=list)


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
            run=step.run,
            said=_said(step),
            good={"yes": True, "no": False}.get(step.holds) if step.counted else None,
            counted=step.counted,
        )
        for step in steps
    ]
    low, high, ended = result.get("low_per_s"), result.get("high_per_s"), str(result.get("ended"))
    interval = (float(low), float(high)) if isinstance(low, int | float) and isinstance(high, int | float) else None
    knee = knee_per_s(points)
    rate = result.get("rate_per_s")
    shown = numbers.rate(round(rate)) if isinstance(rate, int | float) else numbers.UNKNOWN
    within = ended if interval is None else "90% interval " + " to ".join(numbers.rate(round(end)) for end in interval)
    figures = [Figure("Highest rate", shown, "requests/s", within)]
    figures.append(Figure("Steps", str(len(steps)), "", f"{sum(not step.counted for step in steps)} made again"))
    if knee is not None:
        figures.append(Figure("Knee of p99", numbers.rate(knee), "requests/s", "for the eye alone"))
    changed = ", ".join(f"{name} {value}" for name, value in _dict(answer.request.get("overrides")).items())
    content = Content(
        title=f"Highest rate of {answer.name} with {slo}",
        kind="search",
        question=f"{experiment.title}. " + (f"Set for every step: {changed}." if changed else ""),
        badge=ended,
        tone=TONES.get(ended, "suspect"),
        sentence=str(result.get("sentence", "")),
        remarks=[],
        figures=figures,
        points=points,
        marks=Marks(slo.limit_ms, interval, knee),
        table=points_table(points, "Steps", slo.percentile),
        method=[
            "A step is a run: a fresh start of the service, quiescence, a warm-up, then the rate. It holds if at least "
            f"99% of the offered requests were served, {label(slo.percentile)} of all requests that were due is below "
            "the limit, and the median latency does not grow from second to second.",
            "The rate is doubled until a step fails, then each step is made at the median of what is known of the "
            "highest rate that holds (probabilistic bisection on the logarithm of the rate), until 90% of the "
            "probability lie within 5%. A step that the machine disturbed is made again, at most four times, whatever "
            "it said.",
        ],
    )
    return _write(results, answer, content)


def write_sweep_page(results: Path, answer: Answer, experiment: Experiment) -> Path:
    """Write the page of a sweep, whole or not; return its path."""
    runs = [planned.run for planned in answer.runs if planned.run is not None]
    points = [point_of(Manifest.read(results / run / "run.json"), run) for run in runs]
    knee = knee_per_s(points)
    kept_up = [p for p in points if p.served_per_s is not None and p.served_per_s >= 0.99 * p.rate_per_s]
    best = max((p.served_per_s for p in points if p.served_per_s is not None), default=None)
    highest = max((p.rate_per_s for p in kept_up), default=None)
    figures = [Figure("Kept up to", numbers.rate(highest), "requests/s", "at least 99% of it served")]
    figures.append(Figure("Most served", numbers.rate(best), "requests/s"))
    if knee is not None:
        figures.append(Figure("Knee of p99", numbers.rate(knee), "requests/s", "for the eye alone"))
    missing = len(answer.missing)
    sentence = (
        f"The service kept up with {numbers.rate(highest)}/s; the most that it served were {numbers.rate(best)}/s."
        if highest is not None
        else f"The service kept up with none of these rates; the most that it served were {numbers.rate(best)}/s."
    )
    content = Content(
        title=experiment.title,
        kind="sweep",
        question=experiment.question or "",
        badge="incomplete" if missing else "sweep",
        tone="suspect" if missing else "",
        sentence=sentence,
        remarks=[f"{missing} of {len(answer.runs)} rates were not measured"] if missing else [],
        figures=figures,
        points=points,
        marks=Marks(knee_per_s=knee),
        table=points_table(points, "Rates", "99.9"),
    )
    return _write(results, answer, content)


def points_table(points: Sequence[Point], caption: str, percentile: str) -> Table:
    """Return a row for each point, with the percentiles that are drawn and the one that is asked for."""
    shown = list(dict.fromkeys(("50", "99", percentile, "100")))
    published = any(point.published_per_s is not None or point.published_ms for point in points)
    rows = []
    for number, point in enumerate(points, 1):
        css = "" if point.counted else "none"
        row = [
            Cell(str(number), css),
            Cell(numbers.rate(point.rate_per_s), css),
            Cell(numbers.rate(point.served_per_s), css),
        ]
        row += [Cell(numbers.latency(point.percentiles_ms.get(name)), css) for name in shown]
        if published:
            row.append(Cell(numbers.rate(point.published_per_s), "reference-figure"))
            row.append(Cell(numbers.latency(point.published_ms.get("99")), "reference-figure"))
        tone = {True: "said", False: "said bad", None: "said none"}[point.good]
        row += [Cell(numbers.count(point.requests), css), Cell(point.said, tone), _link(point.run)]
        rows.append(row)
    columns = ["", "Offered /s", "Served /s", *(label(name) for name in shown)]
    columns += ["Published /s", "Published p99"] if published else []
    columns += ["Requests", "Verdict", "Run"]
    return Table("points", caption, tuple(columns), rows, frozenset(range(1, len(columns) - 2)))


def _said(step: Step) -> str:
    word = {"yes": "holds", "no": "fails", "unknown": "cannot tell"}[step.holds]
    if step.counted:
        return f"{word}: {step.why}"
    why = step.disturbed[0] if step.disturbed else "the load generator set the bound"
    return f"{word}: {step.why}; made again: {why}"


def _link(run: str) -> Cell:
    """Return a link from results/<kind>/<id>/ to a run's report."""
    return Cell(run.rpartition("/")[2], href=f"../../{run}/report.html" if run else "")


def _write(results: Path, answer: Answer, content: Content) -> Path:
    directory = answer.directory(results)
    for name, text in ((f"{content.kind}.md", _markdown(content)), (f"{content.kind}.html", _html(answer, content))):
        scratch = directory / f".{name}"
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(directory / name)
    return directory / f"{content.kind}.html"


def _html(answer: Answer, content: Content) -> str:
    started = datetime.strptime(answer.id[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return (
        template_environment("lab.rates", "lab.report")
        .get_template("rates.html.j2")
        .render(
            c=content,
            answer=answer,
            started=local_time(started),
            lab_version=__version__,
            fonts=fonts(),
            style=asset("report.css"),
            script=asset("report.js"),
            latency=latency_chart(content.points, content.marks),
            served=served_chart(content.points),
        )
    )


def _markdown(content: Content) -> str:
    figures = " | ".join(f"{figure.value} {figure.unit}".strip() for figure in content.figures)
    names = " | ".join(figure.name for figure in content.figures)
    parts = [
        f"# {markdown_text(content.title)}",
        markdown_text(content.question),
        f"**{content.badge}.** {markdown_text(content.sentence)}",
        "\n".join(f"- {markdown_text(remark)}" for remark in content.remarks),
        f"| {names} |\n|{'---:|' * len(content.figures)}\n| {figures} |",
        f"## {content.table.caption}",
        markdown_table(content.table),
        *map(markdown_text, content.method),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
