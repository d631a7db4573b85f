"""Turns the files of a run into figures and a verdict.

``summarise`` makes the ``Summary``, ``judge`` the ``Validity`` of ``run.json``; ``parse_load_text`` reads the text of
wrk2, ``read_load_json`` the load generator's own report, ``read_log`` an HdrHistogram log. Nothing here changes a file.
"""

from lab.analysis.checks import judge
from lab.analysis.histogram import Sample, read_log
from lab.analysis.load import Load, LoadError, read_load_json
from lab.analysis.percentiles import label, supported
from lab.analysis.run_files import RunFiles
from lab.analysis.summary import NothingMeasuredError, summarise
from lab.analysis.wrk2 import parse_load_text

__all__ = [
    "Load",
    "LoadError",
    "NothingMeasuredError",
    "RunFiles",
    "Sample",
    "judge",
    "label",
    "parse_load_text",
    "read_load_json",
    "read_log",
    "summarise",
    "supported",
]
