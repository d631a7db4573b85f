"""``compare.html`` and ``compare.md``: the verdict in one sentence, then the evidence. From the directory alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from lab.analysis.histogram import Sample
from lab.analysis.outputs import measured_sources, read_outputs
from lab.compare import tables
from lab.compare.charts import RatioRow, ratio_chart
from lab.compare.judging import change, difference_in_unit, in_unit
from lab.compare.record import ComparisonRecord, MetricResult, Result
from lab.manifest import Manifest
from lab.pages import write as pages
from lab.pages.document import (
    EVENT_NAMES,
    Document,
    Figure,
    Figures,
    Flame,
    LinkList,
    Paragraph,
    Part,
    Table,
    Verdict,
    after,
    present,
    section,
)
from lab.pages.pictures import embed
from lab.pages.plot import Chart
from lab.report import numbers
from lab.report.data import local_time
from lab.report.percentile_chart import samples_chart

PAGE, DIFF = "compare.html", "diff"
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
OF_BLOCKS = (
    "Each dot is the ratio in one block, a fresh start of each side. The verdict rests on the spread between blocks "
    "alone, whatever the number of requests in them."
)
OF_STARTS = "The verdict rests on the spread between the starts of each side."
OF_PROFILES = "Recorded on one more start of each side, at the same rate and without the other side beside it."


def write(directory: Path, record: ComparisonRecord) -> None:
    """Write both files, each replaced as a whole. Raises RecordError, and OSError if one cannot be written."""
    pages.write(directory, _document(directory, record))


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


def _document(directory: Path, record: ComparisonRecord) -> Document:
    sides = tuple(directory / side.directory for side in (record.a, record.b))
    manifests = [Manifest.read(side / "run.json") for side in sides if (side / "run.json").is_file()]
    result = record.result if record.complete else None
    primary = next((m for m in result.metrics if m.primary), None) if result is not None else None
    word = _word(record)
    sentence = (
        f"This comparison was interrupted after {len(record.blocks)} whole blocks, so it is not judged."
        if result is None
        else result.sentence
    )
    titles = " ".join(f"{letter} is {side.label}: {side.title}." for letter, side in (("A", record.a), ("B", record.b)))
    changed, gaps = _changed(directory)
    percentiles = _percentiles(record, sides)
    return Document(
        file="compare",
        title=f"{record.b.label} against {record.a.label}",
        also=record.id,
        overline=["comparison", _started(record), f"{record.runtime} runtime"],
        head=present(
            Paragraph(titles, "question"),
            Verdict(word, sentence, TONES.get(word, ""), _cautions(record)),
            *(Paragraph(gap, "gap") for gap in gaps),
            Figures(_figures(primary)) if primary is not None else None,
        ),
        sections=[
            section(
                "metrics-section",
                "Metrics",
                *after(OF_BLOCKS if record.how == "in turns" else OF_STARTS, _ratios(record, result)),
                _metrics(record, result) or Paragraph("Nothing was judged.", "gap"),
            ),
            section(
                "latency",
                "Latency by percentile",
                *after("All windows of each side, their histograms merged.", percentiles),
                name="Latency",
            ),
            section("profile", "Profiles", *after(OF_PROFILES, *changed)),
            section(
                "sides-section",
                "The sides",
                tables.difference_table(record) or Paragraph("Both sides have the same declaration.", "note"),
                tables.side_table(record, (manifests[0], manifests[1])) if len(manifests) == 2 else None,
            ),
            section("method", "Method", tables.design_table(record)),
        ],
        made=f"Comparison {record.id}",
        beside=[(name, name) for name in ("record.json", "compare.md")],
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
    low, high = (difference_in_unit(metric, v) for v in (metric.difference_low, metric.difference_high))
    return [
        Figure(f"{metric.heading}, A", in_unit(metric, metric.a), "mean of the blocks"),
        Figure(f"{metric.heading}, B", in_unit(metric, metric.b), "mean of the blocks"),
        Figure("B to A", numbers.ratio(metric.ratio), tables.interval(metric)),
        Figure("B − A", difference_in_unit(metric, metric.difference), f"{low} to {high}"),
        Figure("Blocks", str(metric.blocks), f"p {tables.p_value(metric.p_corrected)}"),
        Figure("Detectable", numbers.share(metric.detectable), "found in 4 of 5 such comparisons"),
    ]


def _ratios(record: ComparisonRecord, result: Result | None) -> Chart | None:
    """Draw B to A of each metric, the most important first."""
    rows = [RatioRow("", one) for one in (result.metrics if result is not None else [])]
    label = "The ratio B to A in each metric, of each block and of all blocks with its interval"
    return ratio_chart("ratios", label, sorted(rows, key=lambda row: not row.metric.primary), record.design.within)


def _metrics(record: ComparisonRecord, result: Result | None) -> Table | None:
    if result is None:
        return None
    sample = "blocks" if record.how == "in turns" else "starts a side"
    design = record.design
    return tables.metric_table(result.metrics, design.within, sample=sample, declared=design.metric)


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


def _changed(directory: Path) -> tuple[list[Part], list[str]]:
    """Read the output of `profile diff`: a part for each event, and what is missing."""
    path = directory / DIFF / "diff.json"
    problem = directory / DIFF / "problem.txt"
    gaps = []
    if problem.is_file():
        gaps.append(f"The profiles were not compared: {problem.read_text(encoding='utf-8').strip()}")
    if not path.is_file():
        return [], gaps
    try:
        events: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["events"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return [], [*gaps, f"{DIFF}/diff.json cannot be read: {error}."]
    return [_change(directory, event, changes) for event, changes in events.items()], gaps


def _change(directory: Path, event: str, changes: Mapping[str, Any]) -> Part:
    title = EVENT_NAMES.get(event, event)
    file = f"{DIFF}/{event}-diff.png"
    alt = f"Differential flame graph of {title}: what B uses more of and what less than A."
    links = [
        (name, f"{DIFF}/{event}-{form}.svg")
        for name, form in (("Flame graph of the change", "diff"), ("Reversed", "diff-reverse"))
        if (directory / DIFF / f"{event}-{form}.svg").is_file()
    ]
    shown = present(
        Flame(event, alt, embed(directory / file), file) if (directory / file).is_file() else None,
        LinkList(links) if links else None,
        tables.profile_table(event, changes),
    )
    return Part(title, shown)


def _started(record: ComparisonRecord) -> str:
    return local_time(record.phases[0].start) if record.phases else record.id


def _shown(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
