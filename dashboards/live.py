"""A running Prometheus: runs queries like Grafana, and gives the variables of a dashboard their values."""

import json
import math
import re
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any

import structure

RESPONSE_TIME_MAX_S = 30
POINTS_MAX = 1000
Series = list[dict[str, Any]]


@dataclass(frozen=True)
class Prometheus:
    """The Prometheus at `url`, over a window that ends at `end`, in seconds since the epoch."""

    url: str
    window_s: float
    end: float

    def range(self, query: str) -> Series:
        """Return the series over the window. Raises ValueError if Prometheus refuses the query."""
        words = {"query": query, "start": self._time(self.end - self.window_s), "end": self._time(self.end)}
        return self._ask("query_range", {**words, "step": f"{max(1.0, self.window_s / POINTS_MAX):.3f}"})["result"]

    def instant(self, query: str) -> Series:
        """Return the series at the window's end, each with one `value`. Raises ValueError as `range` does."""
        return self._ask("query", {"query": query, "time": self._time(self.end)})["result"]

    def has_data(self, query: str) -> bool:
        """Whether a query returns at least one number in the window."""
        return any(not math.isnan(float(value)) for one in self.range(query) for _, value in one["values"])

    def label_values(self, selector: str, label: str) -> list[str]:
        """Values of a label over the window."""
        words = {"match[]": selector, "start": self._time(self.end - self.window_s), "end": self._time(self.end)}
        return list(self._ask(f"label/{label}/values", words))

    def variables(self, dashboard: structure.Json, chosen: dict[str, str] | None = None) -> dict[str, str]:
        """Return a value for each variable of a dashboard, chosen as Grafana does; `chosen` gives some of them."""
        values = {"__rate_interval": "5s", "__range": f"{max(1, round(self.window_s))}s"}
        for variable in dashboard["templating"]["list"]:
            name, current = variable["name"], variable.get("current", {}).get("value", "")
            if chosen and name in chosen:
                values[name] = chosen[name]
            elif variable.get("includeAll"):
                values[name] = variable["allValue"]
            elif variable["type"] != "query":
                values[name] = current
            else:
                found = self._found(variable, values)
                values[name] = found[0] if found else ""
        return values

    def _found(self, variable: structure.Json, values: dict[str, str]) -> list[str]:
        """The values that a query variable offers."""
        function, text, label = structure.variable_parts(variable)
        query = structure.concrete(text, values)
        if function == "label_values":
            found = self.label_values(query, label)
        else:
            found = [_as_text(series) for series in self.instant(query)]
        if pattern := variable.get("regex", "").strip("/"):
            found = [match[1] for one in found if (match := re.search(pattern, one))]
        return sorted(found, reverse=variable["sort"] == 2)

    @staticmethod
    def _time(seconds: float) -> str:
        return f"{seconds:.3f}"

    def _ask(self, what: str, words: dict[str, str]) -> Any:
        request = f"{self.url.rstrip('/')}/api/v1/{what}?{urllib.parse.urlencode(words)}"
        try:
            with _opener.open(request, timeout=RESPONSE_TIME_MAX_S) as response:
                return json.load(response)["data"]
        except urllib.error.HTTPError as error:
            raise ValueError(error.read().decode("utf-8", "replace")[:300]) from error


def _as_text(series: dict[str, Any]) -> str:
    """A series as `query_result` shows it to a variable's pattern."""
    labels = ",".join(f'{name}="{value}"' for name, value in series["metric"].items() if name != "__name__")
    time, value = series["value"]
    return f"{series['metric'].get('__name__', '')}{{{labels}}} {value} {1000 * time:.0f}"


# Ignores the environment's proxy, because Prometheus runs on this machine.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
