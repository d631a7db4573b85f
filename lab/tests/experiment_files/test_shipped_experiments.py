"""The experiments of this repository."""

from __future__ import annotations

import json
import re
from pathlib import Path

from lab.experiment import Catalogue
from lab.paths import Checkout
from lab.suite import read_suite, suite_names
from lab.suite.declaration import Rule

ROOT = Path(__file__).resolve().parents[3]
CHECKOUT = Checkout(ROOT)
CATALOGUE = Catalogue(CHECKOUT)


def test_the_shipped_experiments_are_sound() -> None:
    names = CATALOGUE.names()
    assert {f"{variant}-{method}" for variant in ("sync", "queue", "stack") for method in ("get", "put")} <= set(names)
    assert CATALOGUE.datasets()["pairs-2m"].pairs == 2_000_000
    assert all(CATALOGUE.read(name).title for name in names)


def test_every_variant_of_the_service_has_an_experiment() -> None:
    source = ROOT / "service/server/src/main/java/lsmlab/server/variant/Variants.java"
    variants = set(re.findall(r'new Entry\(\s*"([a-z0-9-]+)"', source.read_text()))
    assert "sync" in variants
    used = {CATALOGUE.read(name).service.variant for name in CATALOGUE.names()}
    assert variants == used, "an experiment for each variant, and none for a variant that does not exist"


def test_the_rules_of_profiles_are_tested_on_stacks_of_every_variant_engine_and_script() -> None:
    _, _, table = (ROOT / "profiler/tests/record-fixtures.sh").read_text().partition("<<'TABLE'\n")
    rows = [row.split() for row in table.splitlines() if row.count(" ") == 7]
    recorded = [set(column) for column in zip(*rows, strict=True)]
    shipped = [CATALOGUE.read(name) for name in CATALOGUE.names()]
    assert {experiment.service.variant for experiment in shipped} == recorded[1]
    assert {experiment.service.engine for experiment in shipped} <= recorded[2]
    assert {experiment.load.script for experiment in shipped} <= recorded[4]


def test_no_two_experiments_ask_for_the_same() -> None:
    asked: dict[str, str] = {}
    for name in CATALOGUE.names():
        resolved = CATALOGUE.read(name).resolved()
        what = json.dumps({key: resolved.get(key) for key in ("service", "dataset", "load")}, sort_keys=True)
        assert what not in asked, f"{name} is {asked.get(what)} again"
        asked[what] = name


def test_the_suite_knobs_varies_every_option_of_the_storage_engine() -> None:
    _, cases = read_suite(CHECKOUT, "lsm-knobs")
    experiments = [CATALOGUE.read(case.experiment) for case in cases]
    of_the_service = (
        "durability", "flush_threshold_bytes", "flush_threads", "memtables_max", "compaction", "level0_tables_max",
        "fanout", "compression", "compaction_bytes_per_second_max", "engine",
    )  # fmt: skip
    for knob in of_the_service:
        assert len({getattr(experiment.service, knob) for experiment in experiments}) > 1, knob
    datasets = [CATALOGUE.datasets()[one.dataset] for one in experiments if one.dataset is not None]
    for knob in ("block_bytes", "bloom_bits_per_key", "compression"):
        assert len({getattr(dataset, knob) for dataset in datasets}) > 1, knob


METHODS = {"put.lua": "PUT", "get.lua": "GET"}


def rules() -> list[tuple[str, Rule]]:
    """The text and the rule of every finding that is judged."""
    findings = [finding for name in suite_names(CHECKOUT) for finding in read_suite(CHECKOUT, name)[0].findings]
    return [(finding.says, finding.rule) for finding in findings if finding.rule is not None]


def test_a_finding_is_judged_by_experiments_of_the_rates_and_methods_in_its_text() -> None:
    told = 0
    for says, rule in rules():
        names = [name.partition("@") for name in rule.of]
        loads = [CATALOGUE.read(name).load for name, _, _ in names]
        rates = {int(rate or load.rate_per_s) for load, (_, _, rate) in zip(loads, names, strict=True)}
        named = {int(number.replace(",", "")) for number in re.findall(r"([\d,]+)(?:/s| requests a second are)", says)}
        assert named in (set(), rates), says
        methods = {METHODS.get(load.script, "mixed") for load in loads}
        in_words = set(re.findall(r"PUT|GET|mixed", says))
        assert not in_words or methods <= in_words, says
        told += bool(named) + bool(in_words)
    assert told > 30


def test_a_finding_with_two_figures_compares_the_experiments_that_they_were_published_of() -> None:
    told = 0
    for says, rule in rules():
        figures = re.search(r"([\d.]+) ms against ([\d.]+) ms", says)
        if figures is None:
            continue
        for text, name in zip(figures.groups(), (*rule.of, rule.to), strict=True):
            reference = CATALOGUE.read(name or "").reference
            assert reference is not None, name
            published = reference.latency_ms[(rule.metric or "").removeprefix("p")]
            assert f"{published:.{len(text.partition('.')[2])}f}" == text, says
        told += 1
    assert told == 4


def test_a_share_is_judged_by_a_range_that_holds_what_was_published_of_its_experiment() -> None:
    told = 0
    for says, rule in rules():
        for name in rule.of if rule.kind == "share" else ():
            reference = CATALOGUE.read(name.partition("@")[0]).reference
            for share in () if reference is None else reference.shares:
                if (share.event, set(share.categories)) == (rule.event, set(rule.categories)):
                    assert rule.low <= share.low <= (share.high or 1) <= rule.high, says
                    told += 1
    assert told > 10
