"""Reads the Prometheus text format: enough to put a service's own metrics into the timeline."""

from __future__ import annotations

import re
import time

from lab.http import fetch

_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(\{.*\})?\s+(\S+)(?:\s+-?\d+)?$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


GC_SECONDS = r"jvm_gc_(collection_seconds_sum|seconds_total)(\{.*\})?"
GC_COUNT = r"jvm_gc_(collection_seconds_count|collections_total)(\{.*\})?"
"""Total time of collections and their number, by the current names and by those in the timelines of older runs."""


def parse_metrics(text: str) -> dict[str, float]:
    """Return the samples by name and labels (`lsmlab_requests_total{method="get",status="200"}`), buckets left out.

    Histogram buckets make up most of a page and are not needed in the timeline; `_sum` and `_count` stay. Lines that
    are no samples are ignored.
    """
    samples: dict[str, float] = {}
    for line in text.splitlines():
        if not line or line.startswith("#") or "_bucket{" in line:
            continue
        match = _SAMPLE.match(line)
        if match is None:
            continue
        try:
            value = float(match[3])
        except ValueError:
            continue
        labels = ",".join(f'{name}="{text}"' for name, text in sorted(_LABEL.findall(match[2] or "")))
        samples[f"{match[1]}{{{labels}}}" if labels else match[1]] = value
    return samples


def scrape(url: str, timeout_s: float = 0.8) -> dict[str, float]:
    """Return the metrics at a URL, or nothing if it does not answer: a service that starts has none yet."""
    try:
        return parse_metrics(fetch(url, timeout_s).decode("utf-8", "replace"))
    except OSError:
        return {}


SCRAPES_MAX_S = 1.0
"""Time in which a JVM compiles most of the code of a scrape, if it does nothing else."""


def warm_up_scrapes(admin_url: str, duration_s: float = SCRAPES_MAX_S) -> None:
    """Scrape a service over and over, so that its JVM compiles that code.

    At one scrape a second the JVM would interpret it for minutes, on the CPUs that serve requests. Returns early if the
    service does not respond.
    """
    end = time.monotonic() + duration_s
    while time.monotonic() < end and scrape(f"{admin_url}/metrics"):
        pass
