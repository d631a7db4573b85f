"""Checks that apply to every dashboard and rule.

A name in square brackets is the rule of Grafana's dashboard-linter that is broken. promtool checks two more of its
rules, template-label-promql-rule and target-promql-rule. The file .lint beside the dashboards excludes the others.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]

SCHEMA_VERSION_MAX = 42
#: Stands for Grafana's variables when an expression is only parsed.
ANY_VALUES = {
    "__rate_interval": "5s",
    "__range": "1m",
    "method": ".*",
    "quantile": "0.99",
    "run": ".*",
    "experiment": ".*",
    "service": ".*",
    "phase": ".*",
    "run_a": "20260101T000000Z",
    "run_b": "20260101T000000Z",
    "shift": "0",
}
#: Of Grafana's units, those that the dashboards use.
UNITS = {"Bps", "bytes", "dateTimeAsIso", "none", "ops", "percentunit", "reqps", "s", "short"}
OF_GRAFANA = {"__rate_interval", "__range"}
#: Files of a run to which every dashboard has a link.
LINKED = ("report.html", "profile/cpu.html", "profile/alloc.html", "profile/lock.html")
#: Names of series that are counters, plain or of a histogram.
COUNTER = re.compile(r"\b[a-z_][a-z0-9_]*_(?:total|bucket|sum|count)\b")
METRIC = re.compile(r"\b(?:lsmlab|loadgen|lab|jvm|process|node)_[a-z0-9_]+\b")
SELECTOR = re.compile(r"\b(?:(?:lsmlab|loadgen|lab|jvm|process|node)_[a-z0-9_]+|up\b)(?:\{[^}]*\})?")


@dataclass(frozen=True)
class Expression:
    """A PromQL expression and its place. An alert's expression returns nothing as long as the alert does not fire."""

    place: str
    text: str
    alert: bool = False
    dashboard: str = ""
    """Path of the dashboard whose variables it uses; empty for a rule."""


def panels_of(dashboard: Json) -> Iterator[Json]:
    """All panels, including those inside collapsed rows, except the rows themselves."""
    for panel in dashboard.get("panels", []):
        if panel.get("type") == "row":
            yield from panel.get("panels", [])
        else:
            yield panel


def links_of(panels: Iterable[Json]) -> Iterator[str]:
    """The addresses that panels link to from their data."""
    for panel in panels:
        for override in panel.get("fieldConfig", {}).get("overrides", []):
            for setting in override["properties"]:
                if setting["id"] == "links":
                    yield from (link["url"] for link in setting["value"])


def dashboard_expressions(name: str, dashboard: Json) -> list[Expression]:
    """The expressions of panels, query variables and annotations."""
    found = [
        Expression(f"{name}: {panel.get('title')!r}", target.get("expr", ""), dashboard=name)
        for panel in panels_of(dashboard)
        for target in panel.get("targets", [])
    ]
    for variable in dashboard.get("templating", {}).get("list", []):
        if variable.get("type") == "query":
            place = f"{name}: variable {variable['name']!r}"
            found.append(Expression(place, variable_parts(variable)[1], dashboard=name))
    for annotation in dashboard.get("annotations", {}).get("list", []):
        if "expr" in annotation:
            alert = annotation["expr"].startswith("ALERTS")
            found.append(Expression(f"{name}: annotation {annotation['name']!r}", annotation["expr"], alert, name))
    return found


def variable_parts(variable: Json) -> tuple[str, str, str]:
    """Function, PromQL and label (empty for `query_result`) of a query variable. ValueError for another function."""
    text = variable["query"]["query"]
    if labels := re.fullmatch(r"label_values\((.+), *(\w+)\)", text):
        return "label_values", labels[1], labels[2]
    if result := re.fullmatch(r"query_result\((.+)\)", text):
        return "query_result", result[1], ""
    raise ValueError(f"variable {variable['name']!r}: {text} is neither label_values(…, label) nor query_result(…)")


def rule_expressions(name: str, rules: Json) -> list[Expression]:
    """The expressions of a rule file."""
    return [
        Expression(f"{name}: {rule.get('alert', rule.get('record'))!r}", rule["expr"], "alert" in rule)
        for group in rules["groups"]
        for rule in group["rules"]
    ]


def concrete(text: str, values: dict[str, str] = ANY_VALUES) -> str:
    """An expression with Grafana's variables replaced."""
    for variable, value in values.items():
        text = re.sub(rf"\$(?:\{{{variable}\}}|{variable}\b)", value, text)
    return text


def live_queries(expression: Expression, values: dict[str, str] = ANY_VALUES) -> list[str]:
    """Return the queries that must have data during a run: the expression; for an alert, each series in it."""
    if not expression.alert:
        return [concrete(expression.text, values)]
    return sorted(set(SELECTOR.findall(concrete(expression.text, values))))


def dashboard_findings(name: str, dashboard: Json) -> list[str]:
    """The faults of one dashboard."""
    findings = []
    if not dashboard.get("uid"):
        findings.append("it has no uid: links to it would break at each provisioning")
    if dashboard.get("id") is not None:
        findings.append("it has an id, which belongs to one Grafana alone")
    if dashboard.get("editable") is not False:
        findings.append("it is editable, but is provisioned from a file [uneditable-dashboard-rule]")
    if not 0 < dashboard.get("schemaVersion", 0) <= SCHEMA_VERSION_MAX:
        findings.append(f"schemaVersion has to be 1…{SCHEMA_VERSION_MAX}, the classic JSON")
    variables = {variable["name"]: variable for variable in dashboard.get("templating", {}).get("list", [])}
    source = variables.get("datasource", {})
    if (source.get("type"), source.get("query"), source.get("label")) != ("datasource", "prometheus", "Data source"):
        findings.append("it has no variable `datasource` to choose the Prometheus with [template-datasource-rule]")
    findings += [
        f"variable {name!r} is not asked for again when the time changes [template-on-time-change-reload-rule]"
        for name, variable in variables.items()
        if variable["type"] == "query" and variable.get("refresh") != 2
    ]
    panels = list(panels_of(dashboard))
    linked = " ".join(links_of(panels))
    findings += [f"no link to a run's {file}" for file in LINKED if f"/{file}" not in linked]
    every_id = [panel["id"] for panel in [*panels, *dashboard.get("panels", [])] if panel.get("type") != "row"]
    if len(set(every_id)) != len({id(panel) for panel in panels}):
        findings.append("two panels have one id")
    findings += overlaps(panels)
    for panel in panels:
        findings += [f"panel {panel.get('title')!r}: {finding}" for finding in panel_findings(panel)]
    for expression in dashboard_expressions(name, dashboard):
        used = set(re.findall(r"\$\{?(\w+)", expression.text))
        findings += [f"{expression.text}: ${one} is no variable" for one in used - set(variables) - OF_GRAFANA]
    return [f"{name}: {finding}" for finding in findings]


def panel_findings(panel: Json) -> list[str]:
    """The faults of one panel."""
    findings = [
        f"it has no {key} [panel-title-description-rule]"
        for key in ("title", "description")
        if not panel.get(key, "").strip()
    ]
    if (unit := panel.get("fieldConfig", {}).get("defaults", {}).get("unit")) not in UNITS:
        findings.append(f"its unit, {unit!r}, is none of {', '.join(sorted(UNITS))} [panel-units-rule]")
    if not panel.get("targets"):
        findings.append("it has no query [panel-no-targets-rule]")
    for target in [panel, *panel.get("targets", [])]:
        if target.get("datasource") != {"type": "prometheus", "uid": "${datasource}"}:
            findings.append("its data source is not ${datasource} [panel-datasource-rule]")
    for target in panel.get("targets", []):
        findings += expression_findings(target.get("expr", ""))
    return findings


def expression_findings(text: str) -> list[str]:
    """Counters without rate or increase over the interval that Grafana derives from scrape interval and zoom."""
    findings = []
    for counter in COUNTER.finditer(text):
        after = re.match(r"(\{[^}]*\})?\[([^\]]+)\]", text[counter.end() :])
        function = re.search(r"(\w+)\($", text[: counter.start()])
        if after is None or function is None or function[1] not in ("rate", "irate", "increase"):
            findings.append(
                f"{text}: the counter {counter[0]} is shown without rate or increase [target-counter-agg-rule]"
            )
        elif function[1] == "rate" and after[2] != "$__rate_interval":
            findings.append(f"{text}: rate over {after[2]}, not over $__rate_interval [target-rate-interval-rule]")
    return findings


def overlaps(panels: list[Json]) -> list[str]:
    """Panels that extend beyond the grid or overlap."""
    findings = []
    for index, panel in enumerate(panels):
        place = panel["gridPos"]
        if place["x"] < 0 or place["x"] + place["w"] > 24:
            findings.append(f"panel {panel.get('title')!r} leaves the grid")
        for other in panels[index + 1 :]:
            there = other["gridPos"]
            if (
                place["x"] < there["x"] + there["w"]
                and there["x"] < place["x"] + place["w"]
                and place["y"] < there["y"] + there["h"]
                and there["y"] < place["y"] + place["h"]
            ):
                findings.append(f"panels {panel.get('title')!r} and {other.get('title')!r} overlap")
    return findings


def metrics_of_contract(text: str) -> set[str]:
    """Every metric that docs/contracts.md names, with the series of its histograms."""
    names = {name for code in re.findall(r"`([^`]+)`", text) for name in METRIC.findall(code)}
    return names | {
        f"{name}_{part}" for name in names if name.endswith("_seconds") for part in ("bucket", "sum", "count")
    }


def unknown_metrics(expressions: Iterable[Expression], known: set[str]) -> list[str]:
    """Metrics that docs/contracts.md does not name, except those of node-exporter."""
    return [
        f"{expression.place}: docs/contracts.md names no metric {metric}"
        for expression in expressions
        for metric in sorted(set(METRIC.findall(expression.text)) - known)
        if not metric.startswith("node_")
    ]


def untested_alerts(rules: Iterable[Json], tests: Iterable[Json]) -> list[str]:
    """Alerts that promtool's tests never show firing, or never show silent."""
    alerts = [rule["alert"] for file in rules for group in file["groups"] for rule in group["rules"] if "alert" in rule]
    expected = [one for file in tests for test in file["tests"] for one in test.get("alert_rule_test", [])]
    shown = {(one["alertname"], bool(one.get("exp_alerts"))) for one in expected}
    return [
        f"{alert}: no test in which it {'fires' if firing else 'stays silent'}"
        for alert in alerts
        for firing in (True, False)
        if (alert, firing) not in shown
    ]


def provisioning_findings(directory: Path, dashboards: Iterable[Json]) -> list[str]:
    """Dashboards whose data source, when they open, is not the provisioned one."""
    findings = []
    sources = yaml.safe_load((directory / "datasources" / "prometheus.yaml").read_text(encoding="utf-8"))
    uids = {source["uid"] for source in sources["datasources"]}
    for dashboard in dashboards:
        for variable in dashboard.get("templating", {}).get("list", []):
            if variable["type"] == "datasource" and variable["current"]["value"] not in uids:
                findings.append(
                    f"{dashboard['uid']}: the data source {variable['current']['value']!r} is not provisioned"
                )
    providers = yaml.safe_load((directory / "dashboards" / "lsmlab.yaml").read_text(encoding="utf-8"))["providers"]
    if any(provider.get("allowUiUpdates") for provider in providers):
        findings.append(
            "provisioning: changes in the browser would be lost at the next start: allowUiUpdates has to be false"
        )
    return findings
