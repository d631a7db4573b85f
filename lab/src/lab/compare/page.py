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
from lab.compare.charts import CHARTED, RatioRow, ratio_chart
from lab.compare.judging import change, difference_in_unit, in_unit
from lab.compare.record import LETTERS, ComparisonRecord, MetricResult, Result
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
    for at, result in enumerate(record.results):
        console.print()
        console.print(Text.assemble("verdict: ", (_word(record, result), STYLES[result.verdict])))
        console.print(Text(f"  {result.sentence}"), soft_wrap=True, highlight=False)
        for line in [*_cautions(result), *(_of_all(record) if at == 0 else [])]:
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


def _word(record: ComparisonRecord, result: Result) -> str:
    return f"same within {numbers.share(record.design.within)}" if result.verdict == "same" else result.verdict


def _document(directory: Path, record: ComparisonRecord) -> Document:
    sides = [directory / side.directory for side in record.sides]
    manifests = [Manifest.read(side / "run.json") for side in sides if (side / "run.json").is_file()]
    results = dict(zip(LETTERS.upper()[1:], record.results if record.complete else [], strict=False))
    primary = next((m for result in results.values() for m in result.metrics if m.primary), None)
    interrupted = f"This comparison was interrupted after {len(record.blocks)} whole blocks, so it is not judged."
    titles = " ".join(
        f"{letter} is {side.label}: {side.title}." for letter, side in zip(LETTERS.upper(), record.sides, strict=False)
    )
    verdicts = [
        Verdict(
            _word(record, one),
            one.sentence,
            TONES.get(one.verdict, ""),
            [*_cautions(one), *(_of_all(record) if letter == "B" else [])],
            label=f"Verdict on {letter}",
        )
        for letter, one in results.items()
    ] or [Verdict("incomplete", interrupted, TONES["incomplete"], _of_all(record))]
    baseline, *others = [side.label for side in record.sides]
    changed, gaps = _changed(directory)
    percentiles = _percentiles(record, sides)
    return Document(
        file="compare",
        title=f"{', '.join(others)} against {baseline}",
        also=record.id,
        overline=["comparison", _started(record), f"{record.runtime} runtime"],
        head=present(
            Paragraph(titles, "question"),
            *verdicts,
            *(Paragraph(gap, "gap") for gap in gaps),
            Figures(_figures(primary)) if primary is not None and len(results) == 1 else None,
        ),
        sections=[
            section(
                "metrics-section",
                "Metrics",
                *after(OF_BLOCKS if record.how == "in turns" else OF_STARTS, _ratios(record, results)),
                *_metrics(record, results),
                None if results else Paragraph("Nothing was judged.", "gap"),
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
                tables.difference_table(record) or Paragraph("The sides have the same declaration.", "note"),
                tables.side_table(record, manifests) if len(manifests) == len(sides) else None,
            ),
            section("method", "Method", tables.design_table(record)),
        ],
        made=f"Comparison {record.id}",
        beside=[(name, name) for name in ("record.json", "compare.md")],
    )


def _cautions(result: Result) -> list[str]:
    """Return what a reader must know about a verdict, the most serious first."""
    return [*(f"FORCE=1: the machine was not fit to measure: {why}" for why in result.forced), *result.cautions]


def _of_all(record: ComparisonRecord) -> list[str]:
    """Return what a reader must know about every verdict of a comparison."""
    pilot = record.design.pilot
    found = []
    if pilot is not None:
        found += [
            f"{letter} was not steady within the pilot's {pilot.length_s:g} s, so its warm-up may be too short"
            for letter, after_s in zip(LETTERS.upper(), pilot.steady_s, strict=False)
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


def _ratios(record: ComparisonRecord, results: Mapping[str, Result]) -> Chart | None:
    """Draw the ratios to A: of one side in each metric, the leading one first; of several in the most important."""
    several = len(results) > 1
    rows = [
        RatioRow(letter if several else "", metric)
        for letter, result in results.items()
        for metric in sorted(result.metrics, key=lambda metric: not metric.primary)
        if metric.name in CHARTED or not several
    ]
    label = "The ratio to A in each metric, of each block and of all blocks with its interval"
    return ratio_chart("ratios", label, rows, record.design.within)


def _metrics(record: ComparisonRecord, results: Mapping[str, Result]) -> list[Table]:
    """Return a table of all metrics for each side but the first."""
    sample = "blocks" if record.how == "in turns" else "starts a side"
    found = [
        tables.metric_table(
            result.metrics,
            record.design.within,
            name=f"metrics-{letter.lower()}",
            caption=f"{letter} against A in each metric",
            sides=("A", letter),
            sample=sample,
            declared=record.design.metric,
        )
        for letter, result in results.items()
    ]
    return [table for table in found if table is not None]


def _percentiles(record: ComparisonRecord, directories: Sequence[Path]) -> Chart | None:
    named = []
    for letter, side, directory in zip(LETTERS, record.sides, directories, strict=False):
        if record.how == "in turns":
            sources = [w.source for block in record.blocks for w in block.windows if w.side == letter]
        else:
            sources = measured_sources(directory)
        outputs = [found for source in sources if (found := read_outputs(directory, source)) is not None]
        name = f"{letter.upper()}: {side.label}"
        named.append((name, f"side-{letter}", Sample.merged(o.headline for o in outputs)))
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
