"""The building blocks of dashboards: panels, rows and the grid, as Grafana's classic JSON (schemaVersion 41).

Panels are placed from left to right in lines of 24 columns; a row begins a new line. Every panel must have a title, a
description and a unit.
"""

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
#: Over which a rate is taken: derived by Grafana from zoom and scrape interval.
RATE = "$__rate_interval"
GRID_COLUMNS = 24
SCHEMA_VERSION = 41


@dataclass(frozen=True)
class Query:
    """One PromQL expression and the names of its series in the legend; `instant` asks for the last value only."""

    expr: str
    legend: str = "__auto"
    instant: bool = False
    format: str = "time_series"

    def json(self, ref: str) -> Json:
        """Return the query as a panel's target, named `ref`."""
        return {
            "datasource": DATASOURCE,
            "editorMode": "code",
            "expr": self.expr,
            "format": self.format,
            "instant": self.instant,
            "legendFormat": self.legend,
            "range": not self.instant,
            "refId": ref,
        }


@dataclass(frozen=True)
class Panel:
    """A panel of `width` columns and `height` lines; `options` and `custom` go to Grafana as they are."""

    kind: str
    title: str
    description: str
    unit: str
    queries: list[Query]
    width: int = 8
    height: int = 8
    options: Json = field(default_factory=dict)
    defaults: Json = field(default_factory=dict)
    overrides: list[Json] = field(default_factory=list)
    transformations: list[Json] = field(default_factory=list)

    def json(self, number: int, x: int, y: int) -> Json:
        """Return Grafana's JSON for this panel at a place of the grid."""
        panel: Json = {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.description,
            "datasource": DATASOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "fieldConfig": {"defaults": {"unit": self.unit, **self.defaults}, "overrides": self.overrides},
            "options": self.options,
            "targets": [query.json(chr(ord("A") + index)) for index, query in enumerate(self.queries)],
        }
        if self.transformations:
            panel["transformations"] = self.transformations
        return panel


def series(
    title: str,
    description: str,
    unit: str,
    *queries: Query,
    width: int = 8,
    stacked: bool = False,
    log: bool = False,
    minimum: float | None = 0,
    overrides: list[Json] | None = None,
    steps: list[tuple[float | None, str]] | None = None,
) -> Panel:
    """Lines over time, with last and largest value in the legend; `steps` are limits, drawn as lines."""
    custom: Json = {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 30 if stacked else 8,
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"group": "A", "mode": "normal" if stacked else "none"},
        "scaleDistribution": {"type": "log", "log": 10} if log else {"type": "linear"},
    }
    defaults: Json = {"color": {"mode": "palette-classic"}, "custom": custom}
    if minimum is not None and not log:
        defaults["min"] = minimum
    if steps:
        custom["thresholdsStyle"] = {"mode": "dashed"}
        defaults["thresholds"] = _thresholds(steps)
    options = {
        "legend": {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull", "max"]},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return Panel("timeseries", title, description, unit, list(queries), width, 8, options, defaults, overrides or [])


def stat(
    title: str,
    description: str,
    unit: str,
    query: Query,
    *,
    width: int = 4,
    steps: list[tuple[float | None, str]] | None = None,
    mappings: list[Json] | None = None,
    nothing: str | None = None,
) -> Panel:
    """One large number, the last of its series, on a small graph. From the value of a step on it has the step's colour.

    The text `nothing` is shown if there is no number.
    """
    thresholds = _thresholds(steps or [(None, "blue")])
    options = {
        "colorMode": "value",
        "graphMode": "area",
        "justifyMode": "auto",
        "orientation": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "textMode": "value",
    }
    defaults = {
        "color": {"mode": "thresholds"},
        "thresholds": thresholds,
        "decimals": 2 if unit == "s" else None,
        "mappings": mappings,
        "noValue": nothing,
    }
    defaults = {key: value for key, value in defaults.items() if value is not None}
    return Panel("stat", title, description, unit, [query], width, 4, options, defaults)


def texts(*words: str) -> list[Json]:
    """Mappings that show the numbers 0, 1, … as these words."""
    return [{"type": "value", "options": {str(n): {"text": word, "index": n} for n, word in enumerate(words)}}]


def _thresholds(steps: list[tuple[float | None, str]]) -> Json:
    return {"mode": "absolute", "steps": [{"value": value, "color": color} for value, color in steps]}


def heatmap(title: str, description: str, unit: str, query: Query, width: int = 12) -> Panel:
    """Buckets of a histogram over time."""
    options = {
        "calculate": False,
        "cellGap": 0,
        "color": {"mode": "scheme", "scheme": "Turbo", "scale": "exponential", "exponent": 0.4, "steps": 64},
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "rowsFrame": {"layout": "auto"},
        "tooltip": {"mode": "single", "yHistogram": True, "showColorScale": True},
        "yAxis": {"axisPlacement": "left", "unit": unit, "reverse": False},
    }
    return Panel("heatmap", title, description, unit, [query], width, 8, options)


def table(
    title: str,
    description: str,
    query: Query,
    columns: dict[str, str],
    *,
    unit: str = "none",
    width: int = 8,
    height: int = 4,
    overrides: list[Json] | None = None,
) -> Panel:
    """A table of an instant query: the labels in `columns`, under their new names; `Value` stands for the number."""
    organize = {
        "id": "organize",
        "options": {
            "includeByName": dict.fromkeys(columns, True),
            "indexByName": {name: index for index, name in enumerate(columns)},
            "renameByName": columns,
        },
    }
    options = {"showHeader": True, "cellHeight": "sm", "footer": {"show": False}}
    return Panel("table", title, description, unit, [query], width, height, options, {}, overrides or [], [organize])


@dataclass(frozen=True)
class Row:
    """A titled row; a collapsed one hides its panels until it is opened."""

    title: str
    panels: list[Panel]
    collapsed: bool = False


def dashboard(
    *,
    uid: str,
    title: str,
    description: str,
    tags: list[str],
    rows: list[Row],
    variables: list[Json],
    annotations: list[Json],
    links: list[Json] | None = None,
) -> Json:
    """A whole dashboard, laid out from top to bottom."""
    placed: list[Json] = []
    number, y = 1, 0
    for row in rows:
        head: Json = {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": row.collapsed,
            "gridPos": {"x": 0, "y": y, "w": GRID_COLUMNS, "h": 1},
            "panels": [],
        }
        number, y, x, tallest = number + 1, y + 1, 0, 0
        inside: list[Json] = []
        for panel in row.panels:
            if x + panel.width > GRID_COLUMNS:
                x, y, tallest = 0, y + tallest, 0
            inside.append(panel.json(number, x, y))
            number, x, tallest = number + 1, x + panel.width, max(tallest, panel.height)
        y += tallest
        if row.collapsed:
            head["panels"] = inside
            placed.append(head)
        else:
            placed.extend([head, *inside])
    return {
        "uid": uid,
        "title": title,
        "description": description,
        "tags": tags,
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "5s",
        "time": {"from": "now-5m", "to": "now"},
        "timepicker": {"refresh_intervals": ["1s", "5s", "30s", "5m"]},
        "timezone": "utc",
        "links": links or [],
        "fiscalYearStartMonth": 0,
        "weekStart": "",
        "templating": {"list": variables},
        "annotations": {"list": annotations},
        "panels": placed,
    }
