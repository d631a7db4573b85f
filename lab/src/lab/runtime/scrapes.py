"""Finds what Prometheus did not store of a run: it may have been killed, or have lacked CPU time or disk space."""

from __future__ import annotations

import json
import time
import urllib.parse
from datetime import UTC, datetime
from itertools import pairwise

from lab.http import fetch

ANSWER_LIMIT_S = 5.0
SCRAPED_S = 2.2
"""A value that is published for this long is scraped: once a second, and a scrape takes up to 0.9 s."""
GAP_MIN_S = 5.0
"""Rates in the dashboards look back 5 s or more, so a shorter gap does not show in them."""


def await_scrape(published_s: float) -> None:
    """Wait until what was published at `published_s`, a time.monotonic(), has been scraped."""
    time.sleep(max(0.0, published_s + SCRAPED_S - time.monotonic()))


class LoadedTime:
    """The time from the first load of a run to the end of its last one."""

    def __init__(self) -> None:
        self._begin = self._end = 0.0

    def add(self, begin: float) -> None:
        """Note a load that began at this Unix time and ends now."""
        self._begin = self._begin or begin
        self._end = time.time()

    def take(self) -> tuple[float, float] | None:
        """Return begin and end as Unix times and forget them, so that the next run of a series has its own."""
        taken = (self._begin, self._end) if self._begin else None
        self._begin = self._end = 0.0
        return taken


def missing(url: str, begin: float, end: float) -> list[str]:
    """Return sentences on what the Prometheus at `url` did not store between two Unix times, and on node-exporter.

    Empty if every gap between two scrapes of the service is under 5 s, and node-exporter answered at least once.
    Prometheus scrapes once a second and stores whether the target answered.
    """
    try:
        service = _scrapes(url, "service", begin, end)
        node = _scrapes(url, "node", begin, end)
    except (OSError, ValueError, KeyError) as error:
        return [f"Prometheus does not answer at the end of the run ({error}): the dashboards may lack parts of it"]
    found = _gaps([at for at, _ in service], begin, end)
    if node and not any(answered for _, answered in node):
        found.append("node-exporter did not answer: the dashboards lack the host's figures and the run's name")
    return found


def _gaps(scrapes: list[float], begin: float, end: float) -> list[str]:
    edges = [begin, *scrapes, end]
    gaps = [(after - before, before) for before, after in pairwise(edges) if after - before >= GAP_MIN_S]
    if not gaps:
        return []
    if not scrapes:
        return [f"Prometheus stored nothing in {end - begin:.0f} s under load: the dashboards do not have this run"]
    longest, since = max(gaps)
    at = datetime.fromtimestamp(since, UTC).strftime("%H:%M:%S")
    rest = sum(gap for gap, _ in gaps) - longest
    more = f" (and {rest:.0f} s in shorter gaps)" if rest else ""
    return [f"Prometheus stored nothing for {longest:.0f} s from {at} UTC on{more}: the dashboards have gaps there"]


def _scrapes(url: str, job: str, begin: float, end: float) -> list[tuple[float, bool]]:
    """Return the time of each stored scrape of a job, and whether the target answered."""
    query = f'up{{job="{job}"}}[{max(1, round(end - begin))}s]'
    words = urllib.parse.urlencode({"query": query, "time": f"{end:.3f}"})
    series = json.loads(fetch(f"{url}/api/v1/query?{words}", ANSWER_LIMIT_S))["data"]["result"]
    return sorted((float(at), value == "1") for one in series for at, value in one["values"])
