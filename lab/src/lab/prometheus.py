"""Reads the Prometheus text format: enough to put a service's own metrics into the timeline."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from lab.http import fetch

_NAME = re.compile(r"[a-zA-Z_:][\w:]*", re.ASCII)
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

GC_SECONDS = r"jvm_gc_collection_seconds_sum(\{.*\})?"
GC_COUNT = r"jvm_gc_collection_seconds_count(\{.*\})?"
"""Total time of collections and their number."""


def parse_metrics(text: str) -> dict[str, float]:
    """Return the samples by name and labels (`requests_total{method="get",status="200"}`), buckets left out.

    Histogram buckets make up most of a page and are not needed in the timeline; `_sum` and `_count` stay. Lines that
    are no samples are ignored: each line is parsed by itself, so a damaged line costs no other sample. The parser does
    not get the `# TYPE` lines, because it would rename counters by them.
    """
    samples: dict[str, float] = {}
    for line in text.split("\n"):
        if line.startswith("#") or "_bucket{" in line:
            continue
        # To the parser, a label name of blanks is an IndexError, and an integer beyond floats an OverflowError.
        with contextlib.suppress(ValueError, IndexError, OverflowError):
            for family in text_string_to_metric_families(line):
                for sample in family.samples:
                    if _NAME.fullmatch(sample.name):  # the parser takes any name that labels follow
                        samples[_series(sample.name, sample.labels)] = float(sample.value)
    return samples


def _series(name: str, labels: Mapping[str, str]) -> str:
    """Return a sample's name and labels as in the text format, the labels sorted."""
    pairs = ",".join(f'{label}="{value.translate(_ESCAPES)}"' for label, value in sorted(labels.items()))
    return f"{name}{{{pairs}}}" if pairs else name


def scrape(url: str, timeout_s: float = 0.8) -> dict[str, float]:
    """Return the metrics at a URL, or nothing if it does not answer: a service that starts has none yet."""
    try:
        return parse_metrics(fetch(url, timeout_s).decode("utf-8", "replace"))
    except OSError:
        return {}


SCRAPES_MAX_S = 1.0
"""Time in which a JVM compiles most of the code of a scrape, if it does nothing else."""


def warm_up_scrapes(url: str, duration_s: float = SCRAPES_MAX_S) -> None:
    """Scrape a service over and over, so that its JVM compiles that code.

    At one scrape a second the JVM would interpret it for minutes, on the CPUs that serve requests. Returns early if the
    service does not respond.
    """
    end = time.monotonic() + duration_s
    while scrape(url) and time.monotonic() < end:
        pass
