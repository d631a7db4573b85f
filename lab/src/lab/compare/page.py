"""``compare.html`` and ``compare.md``: the verdict in one sentence, then the evidence. From the directory alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from lab.analysis.histogram import Sample
from lab.analysis.outputs import measured_sources, read_outputs
from lab.compare import tables
from lab.compare.charts import ratio_chart
from lab.compare.judging import change, difference_in_unit, in_unit
from lab.compare.record import ComparisonRecord, MetricResult
from lab.manifest import Manifest
from lab.report import numbers
from lab.report.chart import Chart
from lab.report.data import local_time
from lab.report.headline import Figure, sentence
from lab.report.markdown import markdown_table, markdown_text
from lab.report.page import render
from lab.report.percentile_chart import samples_chart
from lab.report.pictures import Picture, embed
from lab.report.tables import EVENT_NAMES, Table
from lab.whole_file import write_whole

PAGE, MARKDOWN, DIFF = "compare.html", "compare.md", "diff"
STYLES = {
    "better": "bold green",
    "worse": "bold red",
    "better and worse": "bold yellow",
    "same": "bold",
    "cannot tell": "bold yellow",
}
TONES = {
    "better": "valid",
    "worse": "invalid",
    "better and worse": "suspect",
    "same": "",
    "cannot tell": "suspect",
    "incomplete": "suspect",
}


@dataclass(frozen=True)
class EventChanges:
    """The changes in one event of the profiles."""

    title: str
    picture: Picture | None
    links: list[tuple[str, str]]
    categories: Table | None


@dataclass(frozen=True)
class _Content:
    """What the HTML and the Markdown page both show."""

    record: ComparisonRecord
    verdict: str
    sentence: str
    cautions: list[str]
    figures: list[Figure]
    ratios: Chart | None
    percentiles: Chart | None
    metrics: Table | None
    differences: Table | None
    sides: Table | None
    design: Table
    changed: list[EventChanges]
    gaps: list[str]


def write(directory: Path, record: ComparisonRecord) -> None:
    """Write both files, each replaced as a whole. Raises RecordError, and OSError if one cannot be written."""
    content = _content(directory, record)
    for name, text in ((MARKDOWN, _markdown(content)), (PAGE, _page(content, directory))):
        write_whole(directory / name, text)


def tell(console: Console, record: ComparisonRecord, directory: Path) -> None:
    """Print the verdict, the metrics and the page's path."""
    result = record.result
    if result is None:
        raise AssertionError("a comparison that ended well has a result")
    console.print()
    console.print(Text.assemble("verdict: ", (_word(record), STYLES[result.verdict])))
    console.print(Text(f"  {result.sentence}"), soft_wrap=True, highlight=False)
    for line in _cautions(record):
        console.print(Text(f"  • {line}"), soft_wrap=True, highlight=False)
    for metric in result.metrics:
        if not metric.primary:
            console.print(Text(f"  {_line(metric)}"), soft_wrap=True, highlight=False)
    smallest = record.design.calibration or tables.NOT_CALIBRATED
    console.print(f"  smallest differences by calibration: {smallest}", soft_wrap=True, highlight=False)
    console.print(f"page:    {_shown(directory / PAGE)}", soft_wrap=True, highlight=False)


def _line(metric: MetricResult) -> str:
    figures = f"{in_unit(metric, metric.a)} against {in_unit(metric, metric.b)}, {change(metric)}"
    return f"{metric.title}: {figures}, corrected p {tables.p_value(metric.p_corrected)}: {metric.verdict}"


def _word(record: ComparisonRecord) -> str:
    if record.result is None or not record.complete:
        return "incomplete"
    word = record.result.verdict
    return f"same within {numbers.share(record.design.within)}" if word == "same" else word


def _content(directory: Path, record: ComparisonRecord) -> _Content:
    gaps: list[str] = []
    sides = tuple(directory / side.directory for side in (record.a, record.b))
    manifests = [Manifest.read(side / "run.json") for side in sides if (side / "run.json").is_file()]
    result = record.result if record.complete else None
    primary = next((m for m in result.metrics if m.primary), None) if result is not None else None
    if result is None:
        sentence = f"This comparison was interrupted after {len(record.blocks)} whole blocks, so it is not judged."
    else:
        sentence = result.sentence
    return _Content(
        record=record,
        verdict=_word(record),
        sentence=sentence,
        cautions=_cautions(record),
        figures=_figures(primary) if primary is not None else [],
        ratios=ratio_chart(primary, record.design.within) if primary is not None else None,
        percentiles=_percentiles(record, sides),
        metrics=tables.metric_table(record) if result is not None else None,
        differences=tables.difference_table(record),
        sides=tables.side_table(record, (manifests[0], manifests[1])) if len(manifests) == 2 else None,
        design=tables.design_table(record),
        changed=_changed(directory, gaps),
        gaps=gaps,
    )


def _cautions(record: ComparisonRecord) -> list[str]:
    """Return what a reader must know about the verdict, the most serious first."""
    result, pilot = record.result, record.design.pilot
    found = [] if result is None else [f"FORCE=1: the machine was not fit to measure: {why}" for why in result.forced]
    found += [] if result is None else result.cautions
    if pilot is not None:
        found += [
            f"{letter} was not steady within the pilot's {pilot.length_s:g} s, so its warm-up may be too short"
            for letter, after_s in (("A", pilot.a), ("B", pilot.b))
            if after_s is None
        ]
    return found + [f"the sides differ in more than the service: {line}" for line in record.besides]


def _figures(metric: MetricResult) -> list[Figure]:
    def split(text: str) -> tuple[str, str]:
        value, _, unit = text.partition(" ")
        return value, unit

    low, high = (difference_in_unit(metric, v) for v in (metric.difference_low, metric.difference_high))
    name = metric.title[:1].upper() + metric.title[1:]
    return [
        Figure(f"{name}, A", *split(in_unit(metric, metric.a)), "mean of the blocks"),
        Figure(f"{name}, B", *split(in_unit(metric, metric.b)), "mean of the blocks"),
        Figure("B to A", numbers.ratio(metric.ratio), "", tables.interval(metric)),
        Figure("B − A", *split(difference_in_unit(metric, metric.difference)), f"{low} to {high}"),
        Figure("Blocks", str(metric.blocks), "", f"p {tables.p_value(metric.p_corrected)}"),
        Figure("Detectable", numbers.share(metric.detectable), "", "found in 4 of 5 such comparisons"),
    ]


def _percentiles(record: ComparisonRecord, sides: Sequence[Path]) -> Chart | None:
    named = []
    for letter, label, directory in zip(("a", "b"), (record.a.label, record.b.label), sides, strict=True):
        if record.how == "in turns":
            sources = [w.source for block in record.blocks for w in block.windows if w.side == letter]
        else:
            sources = measured_sources(directory)
        outputs = [found for source in sources if (found := read_outputs(directory, source)) is not None]
        named.append((f"{letter.upper()}: {label}", f"side-{letter}", Sample.merged(o.headline for o in outputs)))
    return samples_chart(named)


def _changed(directory: Path, gaps: list[str]) -> list[EventChanges]:
    """Read the output of `profile diff`."""
    path = directory / DIFF / "diff.json"
    problem = directory / DIFF / "problem.txt"
    if problem.is_file():
        gaps.append(f"The profiles were not compared: {problem.read_text(encoding='utf-8').strip()}")
    if not path.is_file():
        return []
    try:
        events: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["events"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        gaps.append(f"{DIFF}/diff.json cannot be read: {error}.")
        return []
    found = []
    for event, changes in events.items():
        picture = directory / DIFF / f"{event}-diff.png"
        links = [
            (name, f"{DIFF}/{event}-{form}.svg")
            for name, form in (("Flame graph of the change", "diff"), ("Reversed", "diff-reverse"))
            if (directory / DIFF / f"{event}-{form}.svg").is_file()
        ]
        title = EVENT_NAMES.get(event, event)
        shown = embed(picture) if picture.is_file() else None
        found.append(EventChanges(title, shown, links, tables.profile_table(event, changes)))
    return found


def _page(content: _Content, directory: Path) -> str:
    return render(
        "lab.compare",
        "compare.html.j2",
        c=content,
        record=content.record,
        title=_title(content.record),
        tone=TONES[content.verdict if content.verdict in TONES else "same"],
        started=_started(content.record),
    )


def _title(record: ComparisonRecord) -> str:
    return f"{record.b.label} against {record.a.label}"


def _started(record: ComparisonRecord) -> str:
    return local_time(record.phases[0].start) if record.phases else record.id


def _markdown(content: _Content) -> str:
    record = content.record
    parts = [
        f"# {markdown_text(_title(record))}",
        f"Comparison `{record.id}`, {_started(record)}, runtime {record.runtime}. [{PAGE}]({PAGE}) has the charts.",
        f"**{content.verdict}.** {markdown_text(content.sentence)}",
        "\n".join(f"- {markdown_text(sentence(line))}" for line in [*content.cautions, *content.gaps]),
    ]
    shown = [content.metrics, content.differences, content.sides, content.design]
    for table in [*shown, *(changed.categories for changed in content.changed)]:
        if table is not None:
            parts += [f"## {table.caption}", markdown_table(table), markdown_text(table.note)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
