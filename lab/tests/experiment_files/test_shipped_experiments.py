"""The experiments of this repository."""

from __future__ import annotations

import json
import re
from pathlib import Path

from lab.experiment import Catalogue
from lab.paths import Checkout


def test_the_shipped_experiments_are_sound() -> None:
    root = Path(__file__).resolve().parents[3]
    catalogue = Catalogue(Checkout(root))
    names = catalogue.names()
    assert {f"{variant}-{method}" for variant in ("sync", "queue", "stack") for method in ("get", "put")} <= set(names)
    assert catalogue.datasets()["pairs-2m"].pairs == 2_000_000
    assert all(catalogue.read(name).title for name in names)


def test_every_variant_of_the_service_has_an_experiment() -> None:
    root = Path(__file__).resolve().parents[3]
    source = root / "service/server/src/main/java/lsmlab/server/variant/Variants.java"
    variants = set(re.findall(r'new Entry\("([a-z0-9-]+)"', source.read_text()))
    assert "sync" in variants
    catalogue = Catalogue(Checkout(root))
    used = {catalogue.read(name).service.variant for name in catalogue.names()}
    assert variants == used, "an experiment for each variant, and none for a variant that does not exist"


def test_every_published_measurement_of_one_connection_is_an_experiment() -> None:
    catalogue = Catalogue(Checkout(Path(__file__).resolve().parents[3]))
    rates = {"put-dummy": (1, 2, 5, 10, 20, 50), "get-dummy": (1, 2, 5, 10, 20), "get-hard": (1, 2, 5, 10, 20),
             "put-hard-1mb": (1, 2), "put-hard-20mb": (1, 2, 5), "mixed": (1, 5)}  # fmt: skip
    for workload, thousands in rates.items():
        sweep = catalogue.read(workload)
        assert sweep.sweep_per_s == tuple(rate * 1000 for rate in thousands)
        assert (sweep.load.threads, sweep.load.connections, sweep.load.duration_s) == (1, 1, 60)
        assert sweep.reference is not None
    saturated = catalogue.read("put-dummy").at_rate(50_000)
    assert saturated.load.rate_per_s == 50_000
    assert saturated.load.args["keys"] == "sequential"
    assert saturated.reference is not None
    assert saturated.reference.requests_per_s == 21353.57
    assert saturated.reference.latency_ms["100"] == 34410


def test_no_two_experiments_ask_for_the_same() -> None:
    catalogue = Catalogue(Checkout(Path(__file__).resolve().parents[3]))
    asked: dict[str, str] = {}
    for name in catalogue.names():
        resolved = catalogue.read(name).resolved()
        what = json.dumps({key: resolved.get(key) for key in ("service", "dataset", "load")}, sort_keys=True)
        assert what not in asked, f"{name} is {asked.get(what)} again"
        asked[what] = name
