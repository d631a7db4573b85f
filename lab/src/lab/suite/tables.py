"""The tables of a suite's page, the same for HTML and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from lab.analysis.percentiles import label
from lab.cpu_plan import cpu_list
from lab.manifest import Manifest
from lab.pages.document import EVENT_NAMES, Cell, Row, Table, slug
from lab.report import numbers
from lab.series import Answer
from lab.suite.figures import CaseFigures, Start

PERCENTILES = ("50", "99", "99.9", "100")
CATEGORIES_MAX = 12


def figure_table(name: str, caption: str, cases: Sequence[CaseFigures]) -> Table:
    """Return every case: its starts, rates, latencies of all its requests, CPU; below it the published figures."""
    columns = ["Experiment", "Starts", "Offered/s", "Served/s", *map(label, PERCENTILES), "Requests", "CPU a request"]
    rows: list[Row] = []
    for case in cases:
        cpu = case.mean("cpu")
        rows.append(
            [
                str(case.case),
                (str(len(case.starts)) + (f" of {case.planned}" if len(case.starts) < case.planned else "")),
                numbers.rate(case.offered_per_s),
                numbers.rate(case.served_per_s),
                *[_latency(case, percentile) for percentile in PERCENTILES],
                numbers.count(sum(start.measured.requests for start in case.starts) or None),
                (numbers.UNKNOWN if cpu is None else f"{numbers.significant(cpu)} µs"),
            ]
        )
        published = case.experiment.reference
        if published is not None and (published.requests_per_s or published.latency_ms):
            css = "reference-figure"
            rows.append(
                [
                    Cell(f"published: {published.source or 'elsewhere'}", css),
                    Cell("1", css),
                    Cell(numbers.rate(published.rate_per_s), css),
                    Cell(numbers.rate(published.requests_per_s), css),
                    *[Cell(numbers.latency(published.latency_ms.get(percentile)), css) for percentile in PERCENTILES],
                    Cell(numbers.UNKNOWN, css),
                    Cell(numbers.UNKNOWN, css),
                ]
            )
    return Table(
        f"figures-{slug(name)}",
        caption,
        tuple(columns),
        rows,
        range(1, len(columns)),
        "Served/s and CPU are means over starts. Percentiles are those of all requests of all starts, from merged "
        "histograms; unanswered ones count as the longest. A percentile is left out if too few lie beyond it.",
    )


def category_table(name: str, event: str, cases: Sequence[CaseFigures]) -> Table | None:
    """Show in which code an event is spent, a column for each case; None without profiles of it."""
    shown = [(case, case.profile) for case in cases if case.profile is not None and case.profile.events.get(event)]
    if not shown:
        return None
    shares = {
        str(case.case): {category.name: category for category in profile.events[event]} for case, profile in shown
    }
    totals: dict[str, float] = {}
    for of_case in shares.values():
        for category in of_case.values():
            totals[category.name] = max(totals.get(category.name, 0.0), category.share)
    rows: list[Row] = []
    for category_name in sorted(totals, key=lambda one: -totals[one])[:CATEGORIES_MAX]:
        cells = [category_name]
        for case, _ in shown:
            found = shares[str(case.case)].get(category_name)
            cells.append(numbers.share_within(found.share, found.bounds) if found else "–")
        rows.append(cells)
    counts = ", ".join(f"{case.case} {profile.samples.get(event, 0):,}" for case, profile in shown)
    what = {"cpu": "samples", "alloc": "bytes", "lock": "waiting time"}.get(event, "samples")
    return Table(
        f"categories-{slug(name)}-{event}",
        f"{name}: {EVENT_NAMES.get(event, event)}, share of {what}",
        ("Category", *(str(case.case) for case, _ in shown)),
        rows,
        frozenset(range(1, len(shown) + 1)),
        f"One profiled start each; samples: {counts}. In brackets: the 95% interval, if known.",
    )


def run_table(answer: Answer, cases: Sequence[CaseFigures], link: str) -> Table:
    """Return every run of the plan in its order; `link` is the path to results/, empty for no links."""
    known: dict[str, tuple[Start, bool]] = {}
    for case in cases:
        known |= {start.run: (start, False) for start in case.starts}
        known |= {start.run: (start, True) for start in case.disturbed}
    rows: list[Row] = []
    for number, planned in enumerate(answer.runs, 1):
        found = known.get(planned.run or "")
        if found is None:
            what = f"incomplete: {', '.join(planned.attempts)}" if planned.attempts else "not run"
            if planned.refused:
                what = "cannot run here"
            rows.append([str(number), str(planned.round), planned.name, Cell(what, "none"), *[""] * 3, "never used"])
            continue
        start, disturbed = found
        validity = start.manifest.validity
        rows.append(
            [
                str(number),
                str(planned.round),
                planned.name,
                Cell(start.run.rpartition("/")[2], "", f"{link}{start.run}/report.html" if link else ""),
                numbers.rate(start.measured.served_per_s),
                start.p99,
                (validity.state if validity is not None else "unjudged"),
                (
                    f"left out of every claim: {start.troubles[0]}"
                    if disturbed
                    else f"repeated: {planned.disturbed[-1].rpartition('/')[2]} was disturbed"
                    if planned.disturbed
                    else ""
                ),
            ]
        )
    columns = ("Run", "Round", "Experiment", "Report", "Served/s", "p99", "Verdict", "Note")
    note = f"In the order of execution; that of each round was shuffled with seed {answer.seed}."
    if any(case.profile is not None for case in cases):
        note += " Only the last round was profiled."
    return Table("runs-table", "Runs", columns, rows, {4, 5}, note)


def environment_table(manifest: Manifest) -> Table:
    """Return the machine and the software of the first run."""
    environment, rows = manifest.environment, []

    def add(name: str, value: str | None) -> None:
        if value:
            rows.append([name, value])

    if (cpu := environment.cpu) is not None:
        add(
            "Processor",
            f"{cpu.model}, {cpu.logical} CPUs" + (f", {_virtual(cpu.hypervisor)}" if cpu.hypervisor else ""),
        )
    add("Memory", numbers.size(environment.memory_bytes) if environment.memory_bytes else None)
    add("System", f"{environment.os}, Linux {environment.kernel}" if environment.os else environment.kernel)
    if (plan := environment.cpu_plan) is not None and plan.service:
        parts = (("service", plan.service), ("load generator", plan.loadgen), ("the rest", plan.other))
        add("CPUs", ", ".join(f"{name} {cpu_list(tuple(cpus))}" for name, cpus in parts))
    add("Runtime", manifest.runtime)
    add("JVM", f"{environment.jvm}, {environment.gc}" if environment.gc else environment.jvm)
    if (tool := environment.load_generator) is not None:
        add("Load generator", f"{tool.name} {tool.version}")
    if (git := environment.git) is not None:
        add("Source", f"commit {git.commit[:12]}" + (", changed" if git.dirty else ""))
    add("Fingerprint", environment.fingerprint)
    return Table("environment-table", "Environment", ("", ""), rows, note="Of the first run.", kind="pairs")


def _virtual(hypervisor: str) -> str:
    return "in a virtual machine" if hypervisor == "yes" else f"in {hypervisor}"


def _latency(case: CaseFigures, percentile: str) -> Cell:
    known = bool(case.starts) and percentile in case.latency.percentiles
    return Cell(numbers.percentile(case.latency, percentile) if known else numbers.UNKNOWN, "" if known else "none")
