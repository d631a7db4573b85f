"""Draws a dashboard from a Prometheus's answers as one HTML page, for tests and for machines without Grafana.

    python dashboards/draw.py --prometheus http://127.0.0.1:9090 --window 60 --out DIR

It supports only the settings that decide whether a panel can be read (type, unit, legend, stacking, logarithmic scale,
thresholds, value mappings, renamed columns, the marks of phases). Nothing is interactive.
"""

import argparse
import html
import json
import math
import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import generate
import live
import structure

COLUMN_PX, LINE_PX, GAP_PX, LEFT_PX = 58, 38, 8, 68
#: A legend of more than LEGEND_ROWS_MAX series has two columns, if the panel is at least LEGEND_SPLIT_PX wide.
LEGEND_ROW_PX, LEGEND_ROWS_MAX, LEGEND_SPLIT_PX = 16, 6, 600
COLOURS = ["#73bf69", "#f2cc0c", "#5794f2", "#ff780a", "#e02f44", "#b877d9", "#37872d", "#fade2a", "#3274d9", "#c4162a"]
NAMED = {"green": "#73bf69", "red": "#f2495c", "blue": "#5794f2", "orange": "#ff9830", "transparent": "none"}
STYLE = """
body { background: #111217; color: #ccccdc; font: 13px Inter, system-ui, sans-serif; margin: 12px; width: 1400px; }
h1 { font-size: 20px; margin: 0 0 2px; } p { margin: 0 0 10px; color: #9fa1ad; }
.grid { position: relative; } .panel, .row { position: absolute; box-sizing: border-box; overflow: hidden; }
.panel { background: #181b1f; border: 1px solid #2c3235; padding: 6px 8px; }
.row { font-weight: 600; padding-top: 12px; font-size: 15px; } h2 { font-size: 13px; margin: 0; font-weight: 600; }
.stat { font-weight: 600; text-align: center; padding-top: 22px; white-space: nowrap; }
table { border-collapse: collapse; width: 100%; font-size: 12px; } td, th { text-align: left; padding: 1px 4px; }
td.n, th.n { text-align: right; } th { color: #9fa1ad; font-weight: 500; } .none { color: #f2495c; padding: 30px; }
i { display: inline-block; width: 12px; height: 3px; margin-right: 5px; vertical-align: middle; }
svg text { fill: #9fa1ad; font-size: 10px; }
svg .phase { stroke: #b877d9; opacity: 0.7; } .legend { display: flex; gap: 24px; align-items: start; }
"""


def unit_text(value: float, unit: str) -> str:
    """A number in a unit, as Grafana abbreviates it: `1.25 ms`, `70.0 K req/s`, `3.10 MiB`."""
    if math.isnan(value):
        return "NaN"
    if unit == "percentunit":
        return f"{100 * value:.3g}%"
    if unit == "dateTimeAsIso":
        return datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    if unit == "s":
        steps = [(60.0, " min", 1 / 60), (1.0, " s", 1.0), (1e-3, " ms", 1e3), (1e-6, " µs", 1e6), (0.0, " ns", 1e9)]
        name, factor = next((name, factor) for least, name, factor in steps if abs(value) >= least)
        return "0 s" if value == 0 else f"{value * factor:.3g}{name}"
    base, names = (1024, ["", "Ki", "Mi", "Gi", "Ti"]) if unit in ("bytes", "Bps") else (1000, ["", "K", "M", "G", "T"])
    power = 0
    while abs(value) >= base and power < len(names) - 1:
        value, power = value / base, power + 1
    end = {"bytes": "B", "Bps": "B/s", "reqps": " req/s", "ops": " ops/s"}.get(unit, "")
    digits = f"{value:.4g}"
    return f"{digits} {names[power]}{end}".strip() if unit in ("bytes", "Bps") else f"{digits}{names[power]}{end}"


def round_numbers(low: float, high: float, unit: str) -> list[float]:
    """About four round numbers between `low` and `high`, for an axis."""
    least = (high - low) / 4
    if unit in ("bytes", "Bps"):
        step = 2.0 ** math.ceil(math.log2(least))
    else:
        power = 10.0 ** math.floor(math.log10(least))
        step = next(power * part for part in (1, 2, 2.5, 5, 10) if power * part >= 0.999 * least)
    return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def name_of(legend: str, labels: dict[str, str]) -> str:
    """A series' name in the legend."""
    if legend == "__auto":
        return ", ".join(f"{name}={value}" for name, value in labels.items()) or "value"
    return re.sub(r"\{\{ *(\w+) *\}\}", lambda match: labels.get(match[1], ""), legend)


def _clock(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}"


def _numbers(series: dict[str, Any]) -> list[tuple[float, float]]:
    pairs = ((float(at), float(value)) for at, value in series["values"])
    return [(at, value) for at, value in pairs if math.isfinite(value)]


def _points_max(width: int) -> int:
    return max(60, width // 3)


def _pieces(pairs: list[tuple[float, float]], step_s: float) -> list[list[tuple[float, float]]]:
    """The pieces of a line between its gaps: like Grafana, draws no line across steps without a number."""
    pieces: list[list[tuple[float, float]]] = []
    for pair in pairs:
        if pieces and pair[0] - pieces[-1][-1][0] < 1.5 * step_s:
            pieces[-1].append(pair)
        else:
            pieces.append([pair])
    return pieces


def _dashes(panel: structure.Json) -> Callable[[str], str]:
    """A function from a series' name to the attribute that dashes its line, empty unless an override asks for it."""
    patterns = [
        one["matcher"]["options"].strip("/")
        for one in panel["fieldConfig"]["overrides"]
        if any(setting["id"] == "custom.lineStyle" for setting in one["properties"])
    ]
    return lambda name: ' stroke-dasharray="6 4"' if any(re.search(one, name) for one in patterns) else ""


class Drawing:
    """A drawing of one dashboard, over one window of one Prometheus."""

    def __init__(self, dashboard: structure.Json, prometheus: live.Prometheus, chosen: dict[str, str] | None = None):
        self._dashboard = dashboard
        self._prometheus = prometheus
        self._values = prometheus.variables(dashboard, chosen)
        self._phases = self._phase_starts()
        self.empty: list[str] = []
        """Titles of the panels whose queries returned no number."""

    def page(self) -> str:
        """Draw the page, and fill `empty`."""
        parts, bottom = [], 0
        for panel in self._dashboard["panels"]:
            place = panel["gridPos"]
            box = (
                f"left:{place['x'] * COLUMN_PX}px;top:{place['y'] * LINE_PX}px;"
                f"width:{place['w'] * COLUMN_PX - GAP_PX}px;height:{place['h'] * LINE_PX - GAP_PX}px"
            )
            bottom = max(bottom, (place["y"] + place["h"]) * LINE_PX)
            title = html.escape(structure.concrete(panel["title"], self._values))
            if panel["type"] == "row":
                parts.append(f'<div class="row" style="{box}">{title}</div>')
            else:
                inside = self._panel(panel, place["w"] * COLUMN_PX - GAP_PX - 18, place["h"] * LINE_PX - GAP_PX - 34)
                hint = html.escape(panel["description"], quote=True)
                parts.append(f'<div class="panel" style="{box}" title="{hint}"><h2>{title}</h2>{inside}</div>')
        head = f"<h1>{html.escape(self._dashboard['title'])}</h1><p>{html.escape(self._dashboard['description'])}</p>"
        if self._phases:
            starts = ", ".join(f"{html.escape(name)} {_clock(at)}" for at, name in self._phases)
            head += f"<p>Phases, at the purple lines: {starts}</p>"
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">'
            f"<title>{html.escape(self._dashboard['title'])}</title><style>{STYLE}</style>"
            f'{head}<div class="grid" style="height:{bottom}px">{"".join(parts)}</div></html>'
        )

    def _phase_starts(self) -> list[tuple[float, str]]:
        """Return the start and the name of each phase in the window, which Grafana marks by annotations."""
        queries = [
            structure.concrete(one["expr"], self._values)
            for one in self._dashboard["annotations"]["list"]
            if one["useValueForTime"]
        ]
        found = {
            (float(value) / 1000, series["metric"]["phase"])
            for query in queries
            for series in self._prometheus.range(query)
            for _, value in series["values"]
        }
        first = self._prometheus.end - self._prometheus.window_s
        return sorted(one for one in found if first <= one[0] <= self._prometheus.end)

    def _panel(self, panel: structure.Json, width: int, height: int) -> str:
        queries = [(t, structure.concrete(t["expr"], self._values)) for t in panel["targets"]]
        unit = panel["fieldConfig"]["defaults"]["unit"]
        if panel["type"] == "table":
            drawn = self._table(panel, [s for _, q in queries for s in self._prometheus.instant(q)], unit)
        else:
            found = [
                (name_of(target["legendFormat"], series["metric"]), _numbers(series), series["metric"])
                for target, query in queries
                for series in self._prometheus.range(query, _points_max(width))
            ]
            found = [one for one in found if one[1]]
            draw = {"timeseries": self._lines, "stat": self._stat, "heatmap": self._heatmap}[panel["type"]]
            drawn = draw(panel, found, unit, width, height) if found else ""
        if not drawn:
            self.empty.append(panel["title"])
            nothing = panel["fieldConfig"]["defaults"].get("noValue", "No data")
            return f'<div class="none">{html.escape(nothing)}</div>'
        return drawn

    def _time_axis(self, width: int, bottom: float) -> tuple[Any, str]:
        start, end = self._prometheus.end - self._prometheus.window_s, self._prometheus.end

        def x(at: float) -> float:
            return LEFT_PX + (at - start) / (end - start) * (width - LEFT_PX - 6)

        ticks = "".join(
            f'<text x="{x(at):.0f}" y="{bottom + 13:.0f}" text-anchor="middle">{_clock(at)}</text>'
            for at in (start + part * (end - start) for part in (0.1, 0.5, 0.9))
        )
        marks = "".join(
            f'<line class="phase" x1="{x(at):.1f}" x2="{x(at):.1f}" y1="8" y2="{bottom:.0f}"/>'
            for at, _ in self._phases
        )
        return x, marks + ticks

    def _lines(self, panel: structure.Json, found: list[Any], unit: str, width: int, height: int) -> str:
        custom = panel["fieldConfig"]["defaults"]["custom"]
        stacked, log = custom["stacking"]["mode"] == "normal", custom["scaleDistribution"]["type"] == "log"
        columns = 2 if len(found) > LEGEND_ROWS_MAX and width >= LEGEND_SPLIT_PX else 1
        rows_a_column = math.ceil(len(found) / columns)
        legend_px = LEGEND_ROW_PX * (rows_a_column + 1)
        plot_px = max(90, height - legend_px)
        sums: dict[float, float] = {}
        shown = []
        for name, pairs, _ in found:
            if stacked:
                pairs_drawn = []
                for at, value in pairs:
                    sums[at] = sums.get(at, 0) + value
                    pairs_drawn.append((at, sums[at]))
            else:
                pairs_drawn = [(at, value) for at, value in pairs if value > 0 or not log]
            shown.append((name, pairs, pairs_drawn))
        values = [value for _, _, pairs in shown for _, value in pairs]
        limits = [
            (step["value"], step["color"])
            for step in panel["fieldConfig"]["defaults"].get("thresholds", {}).get("steps", [])
            if step["value"] is not None
        ]
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        if log:
            low, high = 10 ** math.floor(math.log10(low or 1e-9)), 10 ** math.ceil(math.log10(high or 1.0))
            high = high if high > low else 10 * low
        else:
            low = min(low, panel["fieldConfig"]["defaults"].get("min", low))
            high = high if high > low else low + 1
            high += 0.05 * (high - low)
        bottom = plot_px - 18
        x, ticks = self._time_axis(width, bottom)

        def y(value: float) -> float:
            part = math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)
            return bottom - part * (bottom - 8)

        powers = range(round(math.log10(high / low)) + 1) if log else range(0)
        marks = [low * 10**power for power in powers] or round_numbers(low, high, unit)
        grid = "".join(
            f'<line x1="{LEFT_PX}" x2="{width - 6}" y1="{y(m):.1f}" y2="{y(m):.1f}" stroke="#2c3235"/>'
            f'<text x="{LEFT_PX - 4}" y="{y(m) + 3:.1f}" text-anchor="end">{unit_text(m, unit)}</text>'
            for m in marks
        )
        if panel["fieldConfig"]["defaults"]["custom"].get("thresholdsStyle"):
            grid += "".join(
                f'<line x1="{LEFT_PX}" x2="{width - 6}" y1="{y(v):.1f}" y2="{y(v):.1f}" stroke="{NAMED[c]}" '
                'stroke-dasharray="6 4"/>'
                for v, c in limits
                if low < v < high
            )
        dashes = _dashes(panel)
        lines = "".join(
            f'<polyline class="series" fill="none" stroke="{COLOURS[n % len(COLOURS)]}" stroke-width="1.5"'
            f'{dashes(name)} points="{" ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in piece)}"/>'
            for n, (name, _, pairs) in enumerate(shown)
            for piece in _pieces(pairs, self._prometheus.step_s(_points_max(width)))
        )
        rows = [
            f'<tr><td><i style="background:{COLOURS[n % len(COLOURS)]}"></i>{html.escape(name)}</td>'
            f'<td class="n">{unit_text(pairs[-1][1], unit)}</td>'
            f'<td class="n">{unit_text(max(v for _, v in pairs), unit)}</td></tr>'
            for n, (name, pairs, _) in enumerate(shown)
        ]
        head = '<tr><th>Name</th><th class="n">Last</th><th class="n">Max</th></tr>'
        tables = "".join(
            f"<table>{head}{''.join(rows[first : first + rows_a_column])}</table>"
            for first in range(0, len(rows), rows_a_column)
        )
        plot = f'<svg width="{width}" height="{plot_px}">{grid}{ticks}{lines}</svg>'
        return f'{plot}<div class="legend">{tables}</div>'

    def _stat(self, panel: structure.Json, found: list[Any], unit: str, width: int, height: int) -> str:
        value = found[0][1][-1][1]
        defaults = panel["fieldConfig"]["defaults"]
        reached = [s for s in defaults["thresholds"]["steps"] if s["value"] is None or value >= s["value"]]
        texts = {k: v["text"] for m in defaults.get("mappings", []) for k, v in m["options"].items()}
        text = texts.get(f"{value:g}", unit_text(value, unit))
        size = min(26, round(1.7 * width / len(text)))
        style = f"font-size:{size}px;color:{NAMED[reached[-1]['color']]}"
        return f'<div class="stat" style="{style}">{html.escape(text)}</div>'

    def _heatmap(self, panel: structure.Json, found: list[Any], unit: str, width: int, height: int) -> str:
        bounds = sorted(found, key=lambda one: float(one[2]["le"]))
        bottom = height - 18
        x, ticks = self._time_axis(width, bottom)
        below: dict[float, float] = {}
        cells = []
        for _, pairs, _ in bounds:
            cells.append([(at, max(0.0, value - below.get(at, 0.0))) for at, value in pairs])
            below.update(pairs)
        used = [n for n, row in enumerate(cells) if any(value > 0 for _, value in row)]
        if not used:
            return ""
        rows = range(used[0], used[-1] + 1)
        tall = bottom / len(rows)
        most = max(value for row in cells for _, value in row)

        def heat(value: float) -> str:
            return f"hsl({240 - 240 * (value / most) ** 0.4:.0f} 90% 50%)"

        step = (width - LEFT_PX - 6) / max(1, len(cells[used[0]]))
        rects = "".join(
            f'<rect class="series" x="{x(at):.1f}" y="{bottom - (n - used[0] + 1) * tall:.1f}" '
            f'width="{step + 0.3:.1f}" height="{tall:.1f}" fill="{heat(value)}"/>'
            for n in rows
            for at, value in cells[n]
            if value > 0
        )
        labels = "".join(
            f'<text x="{LEFT_PX - 4}" y="{bottom - (n - used[0]) * tall:.1f}" text-anchor="end">'
            f"{unit_text(float(bounds[n][2]['le']), unit)}</text>"
            for n in rows
            if (n - used[0]) % max(1, len(rows) // 10) == 0 and math.isfinite(float(bounds[n][2]["le"]))
        )
        return f'<svg width="{width}" height="{height}">{rects}{labels}{ticks}</svg>'

    @staticmethod
    def _table(panel: structure.Json, found: list[Any], unit: str) -> str:
        columns = panel["transformations"][0]["options"]["renameByName"]
        if not found:
            return ""
        head = "".join(f"<th>{html.escape(title)}</th>" for title in columns.values())
        cells = [{**one["metric"], "Value": unit_text(float(one["value"][1]), unit)} for one in found]
        rows = "".join(
            f"<tr>{''.join(f'<td>{html.escape(row.get(column, str()))}</td>' for column in columns)}</tr>"
            for row in cells
        )
        return f'<table class="series"><tr>{head}</tr>{rows}</table>'


def main() -> int:
    """Write a page for each dashboard."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prometheus", metavar="URL", required=True)
    parser.add_argument("--window", type=float, default=60, metavar="S", help="seconds to look back (default: 60)")
    parser.add_argument("--end", type=float, metavar="TIME", help="end of the window, Unix time (default: now)")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()
    prometheus = live.Prometheus(options.prometheus, options.window, options.end or time.time())
    options.out.mkdir(parents=True, exist_ok=True)
    for path in sorted(generate.files()):
        drawing = Drawing(json.loads(path.read_text(encoding="utf-8")), prometheus)
        page = options.out / f"{path.stem}.html"
        page.write_text(drawing.page(), encoding="utf-8")
        print(page, f"without data: {', '.join(drawing.empty)}" if drawing.empty else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
