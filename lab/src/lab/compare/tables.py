"""The tables of a comparison, the same for HTML and Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lab.compare.judging import difference_in_unit, in_unit
from lab.compare.record import LETTERS, ComparisonRecord, DesignRecord, MetricResult
from lab.manifest import Manifest
from lab.pages.document import EVENT_NAMES, Cell, Row, Table
from lab.report import numbers

CHANGES_MAX = 12
NOT_CALIBRATED = "unknown: there was no calibration (make calibrate)"


def metric_table(
    metrics: Sequence[MetricResult],
    within: float,
    *,
    name: str = "metrics",
    caption: str = "B against A in each metric",
    sides: tuple[str, str] = ("A", "B"),
    sample: str = "blocks",
    declared: str | None = None,
    folded: bool = False,
) -> Table | None:
    """Return every metric: both sides, B against A with its interval, p-values, blocks, verdict; None without any.

    `sides` are the headings of the columns of A and B. A folded table has no note.
    """
    if not metrics:
        return None
    first = next((metric for metric in metrics if metric.primary), metrics[0])
    a, b = sides
    return Table(
        name,
        caption,
        ("Metric", a, b, f"{b} to {a}", f"{first.confidence * 100:.4g}% interval", f"{b} − {a}", "p", "n", f"{b} is"),
        [_metric_row(metric, declared) for metric in metrics],
        {1, 2, 3, 4, 5, 6, 7},
        "" if folded else metric_note(within, sample),
        folded=folded,
    )


def metric_note(within: float, sample: str) -> str:
    """Return what the figures of `metric_table` are."""
    return (
        f"Figures are means over {sample}, geometric except for amounts that may be 0; ratio and difference are of "
        f"these means. n counts {sample}. p is corrected by Holm over all metrics but a declared one. "
        f"Same: the ratio lies within {numbers.share(within)} of equal."
    )


def _metric_row(metric: MetricResult, declared: str | None) -> Row:
    return [
        (f"{metric.heading}, declared" if metric.name == declared else metric.heading),
        in_unit(metric, metric.a),
        in_unit(metric, metric.b),
        numbers.ratio(metric.ratio),
        interval(metric),
        difference_in_unit(metric, metric.difference),
        p_value(metric.p_corrected),
        str(metric.blocks),
        Cell(metric.verdict, "outcome " + OUTCOMES[metric.verdict]),
    ]


def interval(metric: MetricResult) -> str:
    """Return the interval of B to A, or of B − A for an amount."""
    if metric.ratio_low is None:
        low, high = metric.difference_low, metric.difference_high
        return f"{difference_in_unit(metric, low)} to {difference_in_unit(metric, high)}"
    return f"{numbers.ratio(metric.ratio_low)} to {numbers.ratio(metric.ratio_high)}"


OUTCOMES: Mapping[str, str] = {"better": "is-pass", "worse": "is-fail", "same": "is-note", "cannot tell": "is-unknown"}


def p_value(value: float) -> str:
    """Return a p-value with two digits, "< 0.001" below."""
    return "< 0.001" if value < 0.001 else numbers.significant(value, 2)


def difference_table(record: ComparisonRecord) -> Table | None:
    """Return the differences of the sides; None if their declarations are the same."""
    rows: list[Row] = [["compared", line] for line in record.compared]
    rows += [[Cell("besides", "outcome is-warn"), line] for line in record.besides]
    if not rows:
        return None
    note = "The sides differ in more than the service, and that may be the cause." if record.besides else ""
    return Table(
        "differences",
        "What the sides do not share",
        ("", "A against B" if len(record.sides) == 2 else "A against each"),
        rows,
        note=note,
    )


def side_table(record: ComparisonRecord, manifests: Sequence[Manifest]) -> Table:
    """Return the sides as runs: declaration, rate, verdict of the checks, page."""
    rows: list[Row] = []
    for letter, side, manifest in zip(LETTERS.upper(), record.sides, manifests, strict=False):
        state = manifest.validity.state if manifest.validity is not None else "unknown"
        rows.append(
            [
                letter,
                side.label,
                side.title,
                numbers.rate(manifest.experiment.resolved.load.rate_per_s),
                state,
                Cell("report", href=f"{side.directory}/report.html"),
            ]
        )
    columns = ("Side", "Named", "Title", "Offered, requests/s", "Checks", "Run")
    note = "Each side's windows are a run of their own, with its checks, charts over time and environment."
    return Table("sides", "Their runs", columns, rows, {3}, note)


def design_table(record: ComparisonRecord) -> Table:
    """Return the design of the comparison, by name and value."""
    design = record.design
    pairs = [("Declared metric", design.metric or "none: all are judged together")]
    pairs.append(("Same means", f"within {numbers.share(design.within)}"))
    if record.how == "in turns":
        pairs += [
            ("Blocks", f"{len(record.blocks)}, in the order {' '.join(b.order.upper() for b in record.blocks)}"),
            ("Seed of the order", str(design.seed)),
            ("Load in a block", f"{design.windows} windows of {design.window_s:g} s a side, in turns"),
            ("Warm-up of each start", f"{design.warmup_s:g} s, {_origin(design)}"),
        ]
    pairs.append(("Smallest differences by calibration", design.calibration or NOT_CALIBRATED))
    for share in [result.idle_cpu_share for result in record.results[:1] if result.idle_cpu_share is not None]:
        pairs.append(("CPU of the sides without load", numbers.share(share) + " of one CPU"))
    rows: list[Row] = [[name, value] for name, value in pairs]
    return Table("design", "Method", ("", "Value"), rows, kind="pairs")


def _origin(design: DesignRecord) -> str:
    return "as set, without a pilot" if design.pilot is None else str(design.pilot)


def profile_table(event: str, found: Mapping[str, Any]) -> Table | None:
    """Return the categories of code whose share of an event changed most, from diff.json."""
    categories = [c for c in found.get("categories", []) if isinstance(c, Mapping)]
    if not categories:
        return None
    categories.sort(key=lambda c: -abs(float(c.get("change") or 0)))
    rows: list[Row] = []
    for c in categories[:CHANGES_MAX]:
        rows.append(
            [
                str(c.get("name")),
                numbers.share(c.get("a")),
                numbers.share(c.get("b")),
                _points(c.get("change")),
                ("yes" if c.get("significant") else "no"),
            ]
        )
    name = EVENT_NAMES.get(event, event)
    columns = ("Category", "A", "B", "B − A, points", "Certain")
    return Table(f"diff-{event}", f"{name} by category", columns, rows, {1, 2, 3})


def _points(change: object) -> str:
    if not isinstance(change, int | float):
        return numbers.UNKNOWN
    return f"{'+' if change >= 0 else '−'}{abs(change) * 100:.1f}"
