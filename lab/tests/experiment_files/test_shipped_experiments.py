"""The experiments of this repository."""

from __future__ import annotations

import json
import re
from pathlib import Path

from lab.experiment import Catalogue
from lab.paths import Checkout
from lab.suite import read_suite


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


def test_the_rules_of_profiles_are_tested_on_stacks_of_every_variant_engine_and_script() -> None:
    root = Path(__file__).resolve().parents[3]
    _, _, table = (root / "profiler/tests/record-fixtures.sh").read_text().partition("<<'TABLE'\n")
    rows = [row.split() for row in table.splitlines() if row.count(" ") == 7]
    recorded = [set(column) for column in zip(*rows, strict=True)]
    catalogue = Catalogue(Checkout(root))
    shipped = [catalogue.read(name) for name in catalogue.names()]
    assert {experiment.service.variant for experiment in shipped} == recorded[1]
    assert {experiment.service.engine for experiment in shipped} <= recorded[2]
    assert {experiment.load.script for experiment in shipped} <= recorded[4]


def test_no_two_experiments_ask_for_the_same() -> None:
    catalogue = Catalogue(Checkout(Path(__file__).resolve().parents[3]))
    asked: dict[str, str] = {}
    for name in catalogue.names():
        resolved = catalogue.read(name).resolved()
        what = json.dumps({key: resolved.get(key) for key in ("service", "dataset", "load")}, sort_keys=True)
        assert what not in asked, f"{name} is {asked.get(what)} again"
        asked[what] = name


def test_every_knob_of_the_storage_engine_is_turned_in_the_suite_of_knobs() -> None:
    checkout = Checkout(Path(__file__).resolve().parents[3])
    catalogue = Catalogue(checkout)
    _, cases = read_suite(checkout, "lsm-knobs")
    experiments = [catalogue.read(case.experiment) for case in cases]
    of_the_service = (
        "durability", "flush_threshold_bytes", "flush_threads", "memtables_max", "compaction", "level0_tables_max",
        "fanout", "compression", "compaction_bytes_per_second_max", "engine",
    )  # fmt: skip
    for knob in of_the_service:
        assert len({getattr(experiment.service, knob) for experiment in experiments}) > 1, knob
    datasets = [catalogue.datasets()[one.dataset] for one in experiments if one.dataset is not None]
    for knob in ("block_bytes", "bloom_bits_per_key", "compression"):
        assert len({getattr(dataset, knob) for dataset in datasets}) > 1, knob
