"""Every row of the five published reports is an experiment: under its load, with its figures beside ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.experiment import Catalogue
from lab.paths import Checkout

CATALOGUE = Catalogue(Checkout(Path(__file__).resolve().parents[3]))
A, B, C, D = (4, 64, 60), (8, 64, 60), (4, 64, 20), (1, 1, 60)
"""Threads, connections and seconds of the reports' runs."""

ROWS = [
    # report, experiment, variant, script, (threads, connections, s), rate: {requests/s, latency in ms}
    ("A", "report-a-put-sync", "sync", "put.lua", A, {70_000: (53161.42, {"50": 6800, "99": 14640, "100": 16040})}),
    ("A", "report-a-put-executor", "executor", "put.lua", A,
     {70_000: (56326.70, {"50": 3280, "99": 11300, "100": 11500})}),
    ("A", "report-a-put-stack", "executor-stack", "put.lua", A,
     {70_000: (53849.29, {"50": 9180, "99": 14240, "100": 14990})}),
    ("A", "report-a-get-sync", "sync", "get.lua", A, {70_000: (64580.78, {"50": 3130, "99": 4670, "100": 4800})}),
    ("A", "report-a-get-executor", "executor", "get.lua", A,
     {70_000: (59612.18, {"50": 6370, "99": 8860, "100": 8950})}),
    ("A", "report-a-get-stack", "executor-stack", "get.lua", A,
     {70_000: (59899.55, {"50": 5570, "99": 8320, "100": 8580})}),
    ("B", "report-b-put-array-80k", "executor-array", "put.lua", B,
     {80_000: (None, {"50": 1.44, "75": 2.27, "90": 5.49, "99": 22.4, "99.9": 36.51, "99.99": 44.7, "99.999": 49.66,
                      "100": 51.58})}),
    ("B", "report-b-put-sync-25k", "sync", "put.lua", B,
     {25_000: (None, {"50": 599.55, "75": 804.35, "90": 956.41, "99": 1300, "99.9": 1600, "99.99": 1610,
                      "99.999": 1620, "100": 1620})}),
    ("B", "report-b-get-array-65k", "executor-array", "get.lua", B,
     {65_000: (None, {"50": 4.58, "75": 10.26, "90": 19.09, "99": 46.43, "99.9": 70.53, "99.99": 91.9,
                      "99.999": 98.11, "100": 100.67})}),
    ("B", "report-b-get-sync-25k", "sync", "get.lua", B,
     {25_000: (None, {"50": 2.48, "75": 6.09, "90": 13.12, "99": 99.01, "99.9": 227.71, "99.99": 270.08,
                      "99.999": 275.2, "100": 275.71})}),
    ("B", "report-b-put-stack-80k", "executor-stack", "put.lua", B,
     {80_000: (None, {"50": 1.3, "75": 1.92, "90": 2.82, "99": 18.85, "99.9": 66.05, "99.99": 123.2,
                      "99.999": 159.62, "100": 177.92})}),
    ("B", "report-b-get-stack-50k", "executor-stack", "get.lua", B,
     {50_000: (None, {"50": 2.14, "75": 8.09, "90": 16.82, "99": 40.26, "99.9": 62.14, "99.99": 80.13,
                      "99.999": 97.28, "100": 105.86})}),
    ("B", "report-b-put-array-70k", "executor-array", "put.lua", B, {70_000: (None, {})}),
    ("B", "report-b-get-array-50k", "executor-array", "get.lua", B, {50_000: (None, {})}),
    ("C", "report-c-put-100k", "sync", "put.lua", C, {100_000: (58081.75, {"mean": 4160, "99": 27_000})}),
    ("C", "report-c-put-sync", "sync", "put.lua", C,
     {50_000: (49902.27, {"50": 1.76, "99": 12.06, "99.9": 34.4, "100": 41.92})}),
    ("C", "report-c-put-array", "executor-array", "put.lua", C,
     {50_000: (49901.70, {"50": 1.91, "99": 12.44, "99.9": 17.66, "100": 21.58})}),
    ("C", "report-c-get-sync", "sync", "get.lua", C, {50_000: (49899.99, {"99.9": 13.06, "100": 20.03})}),
    ("C", "report-c-get-array", "executor-array", "get.lua", (4, 64, 50),
     {50_000: (49959.64, {"50": 1.6, "99": 8.33, "99.9": 15.1, "100": 29.9})}),
    ("D", "report-d-put-dummy", "sync", "put.lua", D,
     {1000: (1000, {}), 2000: (1999.97, {}), 5000: (4999.97, {}), 10_000: (9998.75, {}),
      20_000: (19999.66, {"100": 380.42}), 50_000: (21353.57, {"50": 20170})}),
    ("D", "report-d-put-hard-1mb", "sync", "put.lua", D, {1000: (999.99, {}), 2000: (111.56, {})}),
    ("D", "report-d-put-hard-20mb", "sync", "put.lua", D,
     {1000: (1000, {"mean": 1.164}), 2000: (1999.96, {"100": 25.52}), 5000: (467.54, {"50": 25720})}),
    ("D", "report-d-get-dummy", "sync", "get.lua", D,
     {1000: (1000, {}), 2000: (1999.95, {}), 5000: (4997.69, {}), 10_000: (9975.64, {}), 20_000: (12920.81, {})}),
    ("D", "report-d-get-hard", "sync", "get.lua", D,
     {1000: (999.98, {}), 2000: (1999.98, {"99.9": 17.04}), 5000: (4999.81, {"50": 1.39}),
      10_000: (9995.46, {"100": 1720}), 20_000: (13058.31, {"100": 20840})}),
    ("D", "report-d-mixed", "sync", "mixed.lua", D, {1000: None, 5000: None}),
    ("E", "report-e-put", "executor-array", "put.lua", (4, 64, 300),
     {80_000: (79981.72, {"50": 4.56, "90": 35.33, "99": 55.84, "99.9": 72.96, "100": 178.82})}),
    ("E", "report-e-get", "executor-array", "get.lua", (4, 64, 120),
     {2000: (1999.59, {"50": 2.21, "90": 15.29, "99": 46.91, "99.9": 73.02, "100": 122.24})}),
]  # fmt: skip
CPUS = {"B": 8, "C": 16}
"""Logical CPUs of the machines whose reports state them."""


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]}-{row[1]}" for row in ROWS])
def test_a_published_row_is_an_experiment_with_its_load_and_figures(row: tuple) -> None:
    report, name, variant, script, (threads, connections, duration_s), rates = row
    experiment = CATALOGUE.read(name)
    load = experiment.load
    assert (experiment.service.variant, experiment.service.engine, load.script) == (variant, "textbook", script)
    assert (load.threads, load.connections, load.duration_s) == (threads, connections, duration_s)
    assert experiment.reference is not None
    assert f"report {report}" in (experiment.reference.source or "")
    assert experiment.reference.cpus == CPUS.get(report)
    points = {point.load.rate_per_s: point for point in experiment.points()}
    assert list(points) == list(rates)
    for rate, figures in rates.items():
        reference = points[rate].reference
        if figures is None:
            assert reference is None
            continue
        assert reference is not None
        load = (reference.rate_per_s, reference.threads, reference.connections, reference.duration_s)
        assert load == (rate, threads, connections, duration_s), "they carry the load that they were measured under"
        assert reference.requests_per_s == figures[0]
        assert {percentile: reference.latency_ms[percentile] for percentile in figures[1]} == figures[1]


def test_the_small_workload_of_report_d_writes_its_keys_in_order() -> None:
    small = (CATALOGUE.read(name).load.args["keys"] for name in ("report-d-put-dummy", "report-d-get-dummy"))
    assert set(small) == {"sequential"}


def test_only_experiments_of_a_reports_system_carry_published_figures() -> None:
    published = {name for name in CATALOGUE.names() if CATALOGUE.read(name).reference is not None}
    assert published == {row[1] for row in ROWS}
    assert published == {name for name in CATALOGUE.names() if name.startswith("report-")}
