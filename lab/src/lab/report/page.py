"""``report.html``: one self-contained page. Style, script, charts and pictures are inside; links are relative."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cache
from importlib import resources

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from lab import __version__
from lab.report import headline, latency_tables, load_tables, profile_tables, profile_words, run_tables, service_tables
from lab.report.chart import Chart
from lab.report.dashboards import dashboard_links
from lab.report.data import Event, Reference, ReportData
from lab.report.lsm_timeline import LsmTimeline, lsm_timeline
from lab.report.percentile_chart import percentile_chart
from lab.report.pictures import Picture, embed
from lab.report.tables import EVENT_NAMES, Table
from lab.report.time_charts import Panel, activity, latency_over_time, rate_over_time, time_axis

FORM_NAMES = {
    "": "Flame graph",
    "threads": "By thread",
    "heatmap": "Heatmap",
    "collapsed": "Collapsed stacks",
    "svg": "SVG",
    "pprof": "pprof",
}


@dataclass(frozen=True)
class _Gallery:
    """One event's pictures and tables."""

    title: str
    event: Event
    picture: Picture | None
    links: list[tuple[str, str]]
    categories: Table | None
    groups: Table | None
    published: list[str]


@dataclass(frozen=True)
class _OverTime:
    """The charts over time."""

    latency: Chart | None
    lsm: LsmTimeline | None
    rate: Chart | None
    panels: list[Panel]
    quiet: list[str]


def render_page(data: ReportData) -> str:
    """Return the whole page."""
    recording = data.run_dir / "profile" / "profile.jfr"
    return render(
        "lab.report",
        "report.html.j2",
        data=data,
        manifest=data.manifest,
        question=data.manifest.experiment.resolved.get("question"),
        overrides=headline.overrides(data),
        started=run_tables.started(data),
        verdict=headline.verdict(data),
        figures=headline.figures(data),
        percentiles=percentile_chart(data),
        over_time=_over_time(data),
        galleries=[_gallery(event, data.reference) for event in data.events],
        tail=profile_words.tail_of_run(data),
        recording="profile/profile.jfr" if recording.is_file() else None,
        percentile_table=latency_tables.percentile_table(data),
        rate_table=load_tables.rate_table(data),
        generator_table=load_tables.generator_table(data),
        error_table=load_tables.error_table(data),
        check_table=load_tables.check_table(data),
        stage_table=service_tables.stage_table(data),
        activity_table=service_tables.activity_table(data),
        cost_table=profile_tables.cost_table(data),
        profile_table=profile_tables.profile_table(data),
        environment_table=run_tables.environment_table(data),
        phase_table=run_tables.phase_table(data),
        experiment_table=run_tables.experiment_table(data),
        artifact_table=run_tables.artifact_table(data),
        dashboards=dashboard_links(data.manifest),
    )


def render(package: str, template: str, **values: object) -> str:
    """Render a template with these values, the lab's version, and the fonts, style and script of every page.

    Templates are those of `package`, then those of this one.
    """
    return (
        _environment(package)
        .get_template(template)
        .render(values, lab_version=__version__, fonts=fonts(), style=asset("report.css"), script=asset("report.js"))
    )


@cache
def _environment(package: str) -> Environment:
    """Return the environment of a package's templates, which keeps them compiled: a series writes many pages."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(one, "template") for one in (package, "lab.report")]),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence"] = headline.sentence
    return environment


def _over_time(data: ReportData) -> _OverTime | None:
    axis = time_axis(data)
    if axis is None:
        return None
    panels, quiet = activity(data, axis)
    charts = _OverTime(
        latency_over_time(data, axis), lsm_timeline(data, axis), rate_over_time(data, axis), panels, quiet
    )
    return charts if charts.latency or charts.rate or charts.panels else None


def _gallery(event: Event, reference: Reference | None) -> _Gallery:
    return _Gallery(
        title=EVENT_NAMES.get(event.name, event.name),
        event=event,
        picture=embed(event.picture) if event.picture is not None else None,
        links=[(FORM_NAMES[form], path) for form, path in event.pages.items()],
        categories=profile_tables.category_table(event),
        groups=profile_tables.group_table(event),
        published=profile_words.published_beside_ours(event, () if reference is None else reference.shares),
    )


FONTS = (
    ("Lab Sans", "100 900", "normal", "inter-latin.woff2"),
    ("Lab Serif", "600", "normal", "source-serif-4-latin-600-normal.woff2"),
    ("Lab Serif", "400", "italic", "source-serif-4-latin-400-italic.woff2"),
)
"""Inter and Source Serif 4, Latin letters only: they travel inside the page, so it looks the same everywhere."""


@cache
def fonts() -> Markup:
    """Return the style rules that embed the fonts."""
    rules = []
    for family, weight, style, name in FONTS:
        data = (resources.files("lab.report") / "template" / "fonts" / name).read_bytes()
        source = f"url(data:font/woff2;base64,{base64.b64encode(data).decode('ascii')}) format('woff2')"
        rules.append(
            f"@font-face {{ font-family: '{family}'; font-weight: {weight}; font-style: {style}; src: {source}; }}"
        )
    return Markup("\n".join(rules))  # noqa: S704


def asset(name: str, package: str = "lab.report") -> Markup:
    """Return a file of a package's template unescaped: it is ours, and contains nothing from a run."""
    return Markup((resources.files(package) / "template" / name).read_text(encoding="utf-8"))  # noqa: S704
