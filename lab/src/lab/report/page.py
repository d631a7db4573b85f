"""The report of a run as a document: ``report.html`` and ``report.md``."""

from __future__ import annotations

from lab.experiment import Reference
from lab.pages.document import (
    EVENT_NAMES,
    Block,
    Document,
    Figures,
    Flame,
    LinkList,
    Panels,
    Paragraph,
    Part,
    paragraph,
    present,
    section,
)
from lab.pages.pictures import Picture, embed
from lab.report import headline, latency_tables, load_tables, profile_tables, profile_words, run_tables, service_tables
from lab.report.dashboards import dashboard_links
from lab.report.data import Event, ReportData
from lab.report.lsm_timeline import lsm_timeline
from lab.report.percentile_chart import percentile_chart
from lab.report.time_charts import activity, latency_over_time, rate_over_time, time_axis

FORM_NAMES = {
    "": "Flame graph",
    "threads": "By thread",
    "heatmap": "Heatmap",
    "collapsed": "Collapsed stacks",
    "svg": "SVG",
    "pprof": "pprof",
}
NO_LATENCIES = Paragraph("No latencies were recorded.", "gap")
NOT_MEASURED = Paragraph("Nothing was measured.", "gap")
NOT_PROFILED = Paragraph("This run has no flame graphs.", "gap")
NOT_JUDGED = Paragraph("The run ended before it was judged.", "gap")
INCOMPLETE = Paragraph("This run is incomplete. What it left is shown below.", "gap")
OF_TIME = Paragraph(
    "One axis for all: seconds since the service was first started. A stall in the first chart can be followed down to "
    "its cause."
)
OF_PROFILES = Paragraph(
    "Recorded in a repetition of its own at the same rate: none of the latencies above were measured under the "
    "profiler."
)
GRAFANA = "Live graphs of this run, while Grafana is up (make up):"


def report_of(data: ReportData) -> Document:
    """Return the report of a run."""
    manifest = data.manifest
    changed = headline.overrides(data)
    figures = headline.figures(data)
    dashboards = dashboard_links(manifest)
    return Document(
        file="report",
        title=manifest.experiment.title,
        also=f"{manifest.experiment.name} · {manifest.run_id}",
        overline=[manifest.experiment.name, run_tables.started(data), f"{manifest.runtime} runtime"],
        head=present(
            Paragraph(f"Set for this run: {changed}", "overrides") if changed else None,
            paragraph(manifest.experiment.resolved.question or "", "question"),
            headline.verdict(data),
            INCOMPLETE if not manifest.complete and manifest.validity is None else None,
            *(Paragraph(gap, "gap") for gap in data.gaps),
            Figures(figures) if figures else None,
        ),
        sections=[
            section(
                "latency",
                "Latency by percentile",
                percentile_chart(data) or NO_LATENCIES,
                latency_tables.percentile_table(data),
                latency_tables.operation_table(data),
                name="Latency",
            ),
            section("time", "Over time", *_over_time(data)),
            section(
                "service", "Inside the service", service_tables.stage_table(data), service_tables.activity_table(data)
            ),
            section(
                "errors",
                "Rate and errors",
                load_tables.rate_table(data) or NOT_MEASURED,
                load_tables.generator_table(data),
                load_tables.error_table(data),
            ),
            section("profile", "Profile", *_profile(data)),
            section("checks", "Checks", load_tables.check_table(data) or NOT_JUDGED),
            section("environment", "Environment", run_tables.environment_table(data)),
            section(
                "run",
                "The run",
                LinkList(dashboards, GRAFANA) if dashboards else None,
                run_tables.experiment_table(data),
                run_tables.phase_table(data),
                run_tables.artifact_table(data),
            ),
        ],
        made=f"Run {manifest.run_id} of {manifest.experiment.name}",
        beside=[(name, name) for name in ("run.json", "report.md")],
    )


def _over_time(data: ReportData) -> list[Block]:
    axis = time_axis(data)
    if axis is None:
        return []
    panels, quiet = activity(data, axis)
    latency, rate = latency_over_time(data, axis), rate_over_time(data, axis)
    if not (latency or rate or panels):
        return []
    engine = lsm_timeline(data, axis)
    return present(
        OF_TIME,
        Part("Latency of each second", [latency], css="") if latency else None,
        Part("The storage engine", engine, css="") if engine else None,
        Part("Requests a second", [rate], css="") if rate else None,
        Panels(panels) if panels else None,
        Paragraph(f"Nothing to see of: {', '.join(quiet)}.", "note") if quiet else None,
    )


def _profile(data: ReportData) -> list[Block]:
    recording = "profile/profile.jfr"
    shown: list[Block | None] = [NOT_PROFILED]
    if data.events:
        shown = [
            OF_PROFILES,
            *(_event(event, data.reference) for event in data.events),
            _tail(data),
            profile_tables.profile_table(data),
            LinkList([("The recording (JFR)", recording)]) if (data.run_dir / recording).is_file() else None,
        ]
    return present(*shown, profile_tables.cost_table(data))


def _event(event: Event, reference: Reference | None) -> Part:
    title = EVENT_NAMES.get(event.name, event.name)
    published = profile_words.published_beside_ours(event, () if reference is None else reference.shares)
    flame = Flame(
        event.name,
        f"{title} flame graph of the service. The interactive one is linked below.",
        Picture("", problem="There is no picture of this flame graph")
        if event.picture is None
        else embed(event.picture),
        "" if event.picture is None else f"profile/{event.picture.name}",
        event.pages.get("", ""),
    )
    shown = present(
        flame,
        LinkList([(FORM_NAMES[form], path) for form, path in event.pages.items()]),
        profile_tables.category_table(event),
        *(Paragraph(line, "published") for line in published),
        profile_tables.group_table(event),
    )
    return Part(title, shown, "" if event.samples is None else f"{event.samples:,} samples")


def _tail(data: ReportData) -> Part | None:
    tail = profile_words.tail_of_run(data)
    if tail is None:
        return None
    pictures = LinkList(tail.pictures, "Differential flame graphs:") if tail.pictures else None
    shown = present(*map(Paragraph, tail.sentences), tail.lines, tail.seconds, pictures)
    return Part("The slowest seconds", shown, ident="tail")
