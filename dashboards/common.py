"""Parts that all dashboards share: the choice of runs, the marks of phases and warnings, the links to a run's files."""

from dataclasses import replace

from panels import DATASOURCE, RATE, Json, Query, Row, dashboard, table

TITLES = {
    "experiment": "Experiment",
    "time": "Where the time goes",
    "storage": "Storage engine",
    "jvm": "JVM",
    "host": "Host",
    "compare": "Compare",
}
#: Selects the runs chosen at the top. Between runs the series has no labels, which `.*` matches.
CHOSEN_RUNS = 'run=~"$run", experiment=~"$experiment", service=~"$service"'
CHOSEN = f'lsmlab:run{{{CHOSEN_RUNS}, phase=~"$phase"}}'


#: The verdicts on runs, which the lab publishes some time after the load: the range may end before that.
VERDICTS = "(last_over_time(lab_run_verdict[$__range]) or last_over_time(lab_run_verdict[1h] offset -1h))"
STARTS = "min_over_time(lsmlab:measure_start_seconds[$__range])"


def of_run(expr: str, legend: str = "__auto", *, instant: bool = False, format: str = "time_series") -> Query:  # noqa: A002
    """A query that returns data only for times at which one of the chosen runs was in progress."""
    return Query(f"({expr}) and on() {CHOSEN}", legend, instant, format)


def rate(counter: str, by: str = "") -> str:
    """The sum of a counter's rates, by labels if any are given."""
    return f"sum{f' by ({by})' if by else ''} (rate({counter}[{RATE}]))"


def query_variable(
    name: str, label: str, query: str, *, regex: str = "", all_values: bool = True, hide: int = 0
) -> Json:
    """A variable whose values come from a query to Prometheus; with `hide` 2 it is not shown."""
    every = {"current": {"text": ["All"], "value": ["$__all"]}, "allValue": ".*"}
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": name},
        "regex": regex,
        **(every if all_values else {"current": {"text": "", "value": ""}}),
        "includeAll": all_values,
        "multi": all_values,
        "hide": hide,
        "refresh": 2,
        "sort": 2 if name.startswith("run") else 1,
        "options": [],
    }


def data_source() -> Json:
    """The first variable of every dashboard: its data source."""
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": {"text": "Prometheus", "value": "lsmlab-prometheus"},
        "hide": 0,
        "includeAll": False,
        "multi": False,
        "options": [],
        "refresh": 1,
    }


def text_variable(name: str, label: str, value: str) -> Json:
    """A text that the user can change."""
    return {
        "name": name,
        "label": label,
        "type": "textbox",
        "query": value,
        "current": {"text": value, "value": value},
        "options": [{"text": value, "value": value, "selected": True}],
        "hide": 0,
    }


def choice(name: str, label: str, values: list[str], chosen: str) -> Json:
    """A fixed list of values."""
    return {
        "name": name,
        "label": label,
        "type": "custom",
        "query": ",".join(values),
        "current": {"text": chosen, "value": chosen},
        "includeAll": False,
        "multi": False,
        "options": [{"text": value, "value": value, "selected": value == chosen} for value in values],
    }


def run_variables() -> list[Json]:
    """Experiment, service, run and phase. Each offers the values that fit the choices before it."""
    experiment = 'experiment=~"$experiment"'
    return [
        query_variable("experiment", "Experiment", "label_values(lab_run_info, experiment)"),
        query_variable("service", "Service", f"label_values(lab_run_info{{{experiment}}}, service)"),
        query_variable("run", "Run", f'label_values(lab_run_info{{{experiment}, service=~"$service"}}, run)'),
        query_variable("phase", "Phase", "label_values(lab_run_info, phase)"),
    ]


METHOD = query_variable("method", "Method", "label_values(lsmlab_requests_total, method)")
QUANTILE = choice("quantile", "Quantile", ["0.5", "0.9", "0.99", "0.999"], "0.99")
RESULTS = text_variable("results", "Results at", "http://127.0.0.1:8000")


def annotations(which: str) -> list[Json]:
    """Marks of phases and warnings in all panels, from Prometheus. `which` selects the runs."""
    return [
        {
            "name": "Phases of the run",
            "datasource": DATASOURCE,
            "enable": True,
            "hide": False,
            "iconColor": "purple",
            "expr": "1000 * lab_phase_start_seconds"
            f" * on (phase, instance) group_left (run, experiment, service) lab_run_info{{{which}}}",
            "step": "1s",
            "titleFormat": "{{phase}}",
            "textFormat": "{{experiment}} ({{service}}), run {{run}}",
            "tagKeys": "experiment,service",
            "useValueForTime": True,
        },
        {
            "name": "Warnings",
            "datasource": DATASOURCE,
            "enable": True,
            "hide": False,
            "iconColor": "red",
            "expr": 'ALERTS{alertstate="firing"}',
            "step": "5s",
            "titleFormat": "{{alertname}}",
            "textFormat": "{{reason}}",
            "tagKeys": "severity",
            "useValueForTime": False,
        },
    ]


def _links(own: str) -> list[Json]:
    """Links to the other dashboards, which keep the time range and the chosen run, and to the files of all runs."""
    common = {"type": "link", "icon": "dashboard", "asDropdown": False, "tags": [], "tooltip": ""}
    others = [
        {
            **common,
            "title": title,
            "url": f"/d/lsmlab-{name}",
            "keepTime": True,
            "includeVars": True,
            "targetBlank": False,
        }
        for name, title in TITLES.items()
        if name != own
    ]
    results = {**common, "icon": "doc", "keepTime": False, "includeVars": False, "targetBlank": True}
    return [*others, {**results, "title": "Results", "url": "${results}/"}]


def runs_row(title: str, starts: str = STARTS, verdicts: str = VERDICTS) -> Row:
    """A table of runs: when each was measured, its verdict, and links to its report and flame graphs."""
    # The links contain the labels of their row.
    place = "${results}/${__data.fields.Experiment}/${__data.fields.Run}"
    links = [
        {"title": "Report", "url": f"{place}/report.html", "targetBlank": True},
        {"title": "CPU flame graph", "url": f"{place}/profile/cpu.html", "targetBlank": True},
        {"title": "Allocation flame graph", "url": f"{place}/profile/alloc.html", "targetBlank": True},
        {"title": "Lock flame graph", "url": f"{place}/profile/lock.html", "targetBlank": True},
    ]
    begun = f"1000 * min by (run, experiment, service, runtime) ({starts})"
    judged = f"max by (run, verdict) ({verdicts})"
    overrides: list[Json] = [
        {"matcher": {"id": "byName", "options": "Run"}, "properties": [{"id": "links", "value": links}]},
    ]
    expr = f"{begun} * on (run) group_left (verdict) (0 * {judged} + 1) or ({begun} unless on (run) {judged})"
    columns = {
        "Value": "Measured from",
        "experiment": "Experiment",
        "service": "Service",
        "run": "Run",
        "runtime": "Runtime",
        "verdict": "Verdict",
    }
    panel = table(
        title,
        "Click a run for its report and its flame graphs.",
        once(Query(expr)),
        columns,
        unit="dateTimeAsIso",
        width=24,
        height=5,
        overrides=overrides,
    )
    return Row("Runs", [panel])


def build(
    name: str,
    description: str,
    rows: list[Row],
    *,
    variables: list[Json] | None = None,
    more_variables: list[Json] | None = None,
    which: str = CHOSEN_RUNS,
    runs: Row | None = None,
) -> Json:
    """A complete dashboard with the shared variables and links; `which` selects the runs whose phases are marked.

    Its last row is `runs`, by default a table of the runs in the time shown.
    """
    chosen = run_variables() if variables is None else variables
    return dashboard(
        uid=f"lsmlab-{name}",
        title=f"LSM Lab: {TITLES[name]}",
        description=description,
        tags=["lsmlab"],
        rows=[*rows, runs or runs_row("Runs in the time shown")],
        variables=[data_source(), *chosen, *(more_variables or []), RESULTS],
        annotations=annotations(which),
        links=_links(name),
    )


def once(query: Query) -> Query:
    """The same query for a table: the last value only."""
    return replace(query, instant=True, format="table")
