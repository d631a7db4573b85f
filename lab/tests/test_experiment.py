"""Experiment files: what is read, and what is refused with file, line, key and the allowed values."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.errors import InputError
from lab.experiment import Catalogue, Experiment, apply_overrides
from lab.paths import Checkout
from support.checkout import FakeCheckout

WHOLE = """\
title: GET at 70,000/s
service:
  variant: stack
  workers: 8
  queue_capacity: 1k
  deadline: 250ms
  flush_threshold: 20MiB
  compaction: on
  jvm: [-Xmx2g, -XX:+UseZGC]
dataset: tiny
load:
  script: get.lua
  rate: 70k
  threads: 4
  connections: 64
  duration: 1m
  warmup: 10s
repeat: 3
profile:
  events: [cpu, wall]
  interval: 1ms
reference:
  source: report A
  requests_per_second: 59899.55
  latency: {mean: 4.486s, p50: 5.57s, p99.9: 8.53s, max: 8.58s}
  shares:
    - {event: cpu, categories: [queue, lock], what: synchronisation, low: 0.2, high: 0.25}
"""


@pytest.fixture
def read(checkout: FakeCheckout) -> Callable[[str], Experiment]:
    def read_text(text: str) -> Experiment:
        checkout.write("experiments/x/experiment.yaml", text)
        return Catalogue(Checkout(checkout.root)).read("x")

    return read_text


def test_units_are_resolved_into_the_names_of_machines(read: Callable[[str], Experiment]) -> None:
    resolved = read(WHOLE).resolved()
    assert resolved["service"]["flush_threshold_bytes"] == 20 << 20
    assert resolved["service"]["queue_capacity"] == 1000
    assert resolved["service"]["compaction"] == "on"
    assert resolved["load"]["rate_per_s"] == 70_000
    assert resolved["load"]["duration_s"] == 60.0
    assert resolved["profile"] == {"events": ["cpu", "wall"], "interval_s": 0.001}
    assert resolved["reference"]["requests_per_s"] == 59899.55
    assert resolved["reference"]["latency_ms"] == {"mean": 4486.0, "50": 5570.0, "99.9": 8530.0, "100": 8580.0}


def test_service_yaml_gets_only_what_the_experiment_sets(read: Callable[[str], Experiment]) -> None:
    assert read(WHOLE).service.machine() == {
        "variant": "stack",
        "engine": "lsm",
        "workers": 8,
        "queue_capacity": 1000,
        "deadline_ms": 250,
        "flush_threshold_bytes": 20 << 20,
        "compaction": "on",
    }


def test_a_rate_of_compaction_is_a_size_for_each_second(read: Callable[[str], Experiment]) -> None:
    limited = WHOLE.replace("  compaction: on\n", "  compaction: on\n  compaction_rate_max: 20MB\n")
    assert read(limited).service.machine()["compaction_bytes_per_second_max"] == 20_000_000
    unlimited = limited.replace("20MB", "0")
    assert read(unlimited).service.machine()["compaction_bytes_per_second_max"] == 0


def test_a_profile_can_be_left_out(read: Callable[[str], Experiment]) -> None:
    before, after = WHOLE.split("profile:")
    text = before + "profile: false\n" + after[after.index("reference") :]
    assert read(text).profile is None


CASES = [
    ("  workers: 8", "  wokers: 8", ":4: unknown key service.wokers; did you mean workers?; allowed here: batch,"),
    ("rate: 70k", "rate: abc", ":13: load.rate: 'abc' is not a whole number, which may end in k or M: 70000, 70k"),
    ("duration: 1m", "duration: 60", ":16: load.duration: '60' is not a number with a unit"),
    ("20MiB", "20 megs", ":7: service.flush_threshold: '20 megs' is not a whole number of bytes"),
    ("  compaction: on\n", "  compaction_rate_max: fast\n", ":8: service.compaction_rate_max: 'fast' is not a whole"),
    ("compaction: on", "compaction: yes", ":8: service.compaction: 'yes' is not allowed; allowed: leveled,"),
    ("duration: 1m", "duration: 1.5s", ":16: load.duration: 1.5 s is not a whole number of seconds"),
    ("250ms", "0.5ms", ":6: service.deadline: '0.5ms' is not a whole number of milliseconds"),
    ("workers: 8", "workers: 5000", ":4: service.workers: 5000 is out of range: must be at most 1024"),
    ("repeat: 3", "repeat: 0", ":18: repeat: 0 is out of range: must be at least 1"),
    ("[cpu, wall]", "[cpu, wal]", ":20: profile.events.1: 'wal' is not allowed; did you mean wall?; allowed: cpu,"),
    ("[cpu, wall]", "[cpu, cpu]", ":20: profile.events: an event is named twice"),
    ("connections: 64", "connections: 2", ":11: load: connections (2) must be at least threads (4)"),
    ("  connections: 64\n", "", ":11: load.connections is missing"),
    (
        "dataset: tiny",
        "dataset: tinny",
        ":10: dataset: 'tinny' is not declared in experiments/datasets.yaml; did you mean t",
    ),
    ("get.lua", "gett.lua", ":12: load.script: 'gett.lua' is not in loadgen/scripts; did you mean get.lua"),
    ("-Xmx2g", "-jar", ":9: service.jvm: '-jar' is not one flag of the JVM"),
    ("rate: 70k", "rate: -5", ":13: load.rate: -5 is out of range: must be at least 1"),
    ("duration: 1m", "duration: -3s", ":16: load.duration: '-3s' is out of range: must be at least 1 (seconds)"),
    ("duration: 1m", "duration: 0", ":16: load.duration: 0 is out of range: must be at least 1 (seconds)"),
    ("warmup: 10s", "timeout: -1s", ":17: load.timeout: '-1s' is out of range: must be at least 1 (seconds)"),
    ("p50: 5.57s", "p50: -5s", ":25: reference.latency: p50: '-5s' is out of range: must be at least 0"),
    ("p50: 5.57s", "p50: 5.57", ":25: reference.latency: '5.57' is not a number with a unit"),
    ("max: 8.58s", "maximum: 8.58s", ":25: reference.latency: 'maximum' is not one of p50"),
    ("[queue, lock]", "[queue, locks]", ":27: reference.shares.0.categories: no category named 'locks'; did you mean"),
    ("high: 0.25", "high: 0.1", ":27: reference.shares.0: high (0.1) is below low (0.2)"),
    ("low: 0.2,", "low: 20,", ":27: reference.shares.0.low: 20 is out of range: must be at most 1"),
    ("event: cpu,", "event: cpus,", ":27: reference.shares.0.event: 'cpus' is not allowed; did you mean cpu"),
    ("repeat: 3", "repeat: 3\nrepeat: 4", ":19: key repeat is given twice"),
    ("title: GET at", "title: [GET at", " not YAML: "),
    ("load:\n", "load: 3\nother:\n", ":11: load: must be a mapping of keys to values, not 3"),
]


@pytest.mark.parametrize(("old", "new", "message"), CASES)
def test_bad_files_are_refused_with_line_and_key(
    read: Callable[[str], Experiment], old: str, new: str, message: str
) -> None:
    assert old in WHOLE
    with pytest.raises(InputError) as caught:
        read(WHOLE.replace(old, new))
    assert "experiments/x/experiment.yaml" in caught.value.message
    assert message in caught.value.message


HOSTILE = {
    "alias": ("title: GET at 70,000/s", "title: &a x\nquestion: *a", ":2: *a is an alias, and aliases are not allowed"),
    "recursion": ("title: GET at 70,000/s", "title: &a [*a]", ":1: *a is an alias, and aliases are not allowed"),
    "bomb": (
        "title: GET at 70,000/s",
        "a: &a [x, x]\n" + "".join(f"{k}: &{k} [*{j}, *{j}, *{j}]\n" for j, k in itertools.pairwise("abcdefghij")),
        ":2: *a is an alias",
    ),
    "nesting": ("title: GET at 70,000/s", "title: " + "[" * 3000, ":1: nested more than 16 levels deep"),
    "digits": ("rate: 70k", "rate: " + "7" * 5000, ":13: a number of 5,000 digits; at most 40 are read"),
    "tag": ("rate: 70k", "rate: !!int abc", ":13: tag:yaml.org,2002:int is a tag, and tags are not allowed"),
    "size": ("title: GET", "title: " + "GET" * 400_000, ": is longer than 1,048,576 bytes"),
}


@pytest.mark.parametrize(("old", "new", "message"), HOSTILE.values(), ids=HOSTILE.keys())
def test_what_no_experiment_needs_is_refused_before_it_is_expanded(
    read: Callable[[str], Experiment], old: str, new: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(WHOLE.replace(old, new))
    assert "experiments/x/experiment.yaml" + message in caught.value.message


def test_a_hostile_file_does_not_hide_the_others(checkout: FakeCheckout) -> None:
    for name, (old, new, _) in HOSTILE.items():
        checkout.write(f"experiments/{name}/experiment.yaml", WHOLE.replace(old, new))
    code, output = checkout.lab("list")
    assert code == 2
    assert "A fake" in output
    assert "Traceback" not in output
    assert all(f"experiments/{name}/experiment.yaml" in output for name in HOSTILE)


def test_what_the_runtime_sets_is_no_key_of_an_experiment(read: Callable[[str], Experiment]) -> None:
    with pytest.raises(InputError, match=r"unknown key service\.data_port"):
        read(WHOLE.replace("  workers: 8", "  data_port: 80"))


def test_every_finding_is_named_at_once(read: Callable[[str], Experiment]) -> None:
    with pytest.raises(InputError) as caught:
        read(WHOLE.replace("rate: 70k", "rate: x").replace("repeat: 3", "repeat: y"))
    assert len(caught.value.message.splitlines()) == 2


def test_an_experiment_says_only_what_differs_from_the_one_that_it_extends(
    checkout: FakeCheckout, read: Callable[[str], Experiment]
) -> None:
    whole = read(WHOLE)
    checkout.write("experiments/base/experiment.yaml", WHOLE)
    child = read("title: At 1,000/s\nextends: base\nservice: {workers: 2}\nload: {rate: 1k}\nprofile: false\n")
    expected = whole.resolved() | {"title": "At 1,000/s"}
    expected["service"]["workers"] = 2
    expected["load"]["rate_per_s"] = 1000
    del expected["reference"], expected["profile"]
    assert child.resolved() == expected, "a published figure belongs to one experiment and is not taken over"


EXTENDING = [
    ("extends: bas\n", "experiments/x/experiment.yaml:2: extends: no experiment named 'bas'; did you mean base?"),
    ("extends: x\n", "experiments/x/experiment.yaml:2: extends: x extends x, which has no end"),
    ("extends: ring\n", "experiments/ring/experiment.yaml:2: extends: x extends ring extends x, which has no end"),
    ("extends: base\nload: {rate: x}\n", "experiments/x/experiment.yaml:3: load.rate: 'x' is not a whole number"),
    ("extends: [base]\n", "experiments/x/experiment.yaml:2: extends: no experiment named ['base']"),
    ("extends: odd\n", "experiments/odd/experiment.yaml:13: load.rate: 'abc' is not a whole number"),
    ("extend: base\n", "experiments/x/experiment.yaml:2: unknown key extend; did you mean extends?"),
]


@pytest.mark.parametrize(("text", "message"), EXTENDING)
def test_what_is_wrong_in_a_chain_of_files_is_named_with_the_file_that_it_stands_in(
    checkout: FakeCheckout, read: Callable[[str], Experiment], text: str, message: str
) -> None:
    checkout.write("experiments/base/experiment.yaml", WHOLE)
    checkout.write("experiments/odd/experiment.yaml", WHOLE.replace("70k", "abc"))
    checkout.write("experiments/ring/experiment.yaml", "title: Ring\nextends: x\n")
    with pytest.raises(InputError) as caught:
        read(f"title: X\n{text}")
    assert message in caught.value.message


def test_a_chain_of_many_files_is_refused(checkout: FakeCheckout, read: Callable[[str], Experiment]) -> None:
    checkout.write("experiments/e0/experiment.yaml", WHOLE)
    for number in range(1, 5):
        checkout.write(f"experiments/e{number}/experiment.yaml", f"title: E\nextends: e{number - 1}\n")
    with pytest.raises(InputError, match="more than 4 files"):
        read("title: X\nextends: e4\n")


@pytest.mark.parametrize(("word", "events"), [("off", None), ("on", ("cpu", "wall"))])
def test_a_run_may_do_without_the_profiled_repetition(
    read: Callable[[str], Experiment], word: str, events: tuple[str, ...] | None
) -> None:
    after, recorded = apply_overrides(read(WHOLE), {"profile": word})
    assert recorded == {"profile": word}
    assert (None if after.profile is None else after.profile.events) == events


def test_a_run_may_be_profiled_although_the_experiment_is_not(read: Callable[[str], Experiment]) -> None:
    before, after = WHOLE.split("profile:")
    unprofiled = read(before + "profile: false\n" + after[after.index("reference") :])
    assert apply_overrides(unprofiled, {"profile": "on"})[0].profile is not None
    assert apply_overrides(unprofiled, {"rate": "1k"})[0].profile is None


def test_an_unknown_experiment_lists_the_close_ones(checkout: FakeCheckout) -> None:
    checkout.experiment("stack-get")
    checkout.experiment("stack-put")
    with pytest.raises(InputError) as caught:
        Catalogue(Checkout(checkout.root)).read("stak-get")
    assert "no experiment named 'stak-get'" in caught.value.message
    assert "stack-get" in caught.value.hint


def test_a_bad_dataset_names_its_line(checkout: FakeCheckout) -> None:
    checkout.write(
        "experiments/datasets.yaml", "tiny: {pairs: 100, value_bytes: 10}\nbig:\n  pairs: lots\n  value_bytes: 9\n"
    )
    with pytest.raises(InputError, match=r"experiments/datasets\.yaml:3: big: pairs: 'lots' is not a whole number"):
        Catalogue(Checkout(checkout.root)).datasets()


def test_overrides_change_the_experiment_and_are_recorded(read: Callable[[str], Experiment]) -> None:
    before = read(WHOLE)
    after, recorded = apply_overrides(before, {"rate": "20k", "duration": "20s", "variant": "queue"})
    assert recorded == {"rate": 20_000, "duration": "20s", "variant": "queue"}
    assert (after.load.rate_per_s, after.load.duration_s, after.service.variant) == (20_000, 20.0, "queue")
    expected = before.resolved()
    expected["load"] |= {"rate_per_s": 20_000, "duration_s": 20.0}
    expected["service"]["variant"] = "queue"
    assert after.resolved() == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": "abc"}, "RATE=abc: 'abc' is not a whole number, which may end in k or M: 70000, 70k"),
        ({"duration": "20"}, "DURATION=20: '20' is not a number with a unit of us, ms, s, m or h"),
        ({"duration": "-3s"}, "DURATION=-3s: '-3s' is out of range: must be at least 1 (seconds)"),
        ({"duration": "0"}, "DURATION=0: '0' is out of range: must be at least 1 (seconds)"),
        ({"duration": "-5"}, "DURATION=-5: '-5' is out of range: must be at least 1 (seconds)"),
        ({"rate": "-5"}, "RATE=-5: '-5' is out of range: must be at least 1"),
        ({"workers": "-5"}, "WORKERS=-5: '-5' is out of range: must be at least 1"),
        ({"profile": "no"}, "PROFILE=no: is not allowed; allowed: on or off"),
        ({"threads": "100"}, "THREADS=100: load: connections (64) must be at least threads (100)"),
        ({"repeat": "0"}, "REPEAT=0: '0' is out of range: must be at least 1"),
    ],
)
def test_a_bad_override_names_the_setting_and_what_is_allowed(
    read: Callable[[str], Experiment], given: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        apply_overrides(read(WHOLE), given)
    assert caught.value.message.startswith(message)


def test_the_shipped_experiments_are_sound() -> None:
    root = Path(__file__).resolve().parents[2]
    catalogue = Catalogue(Checkout(root))
    names = catalogue.names()
    assert {f"{variant}-{method}" for variant in ("sync", "queue", "stack") for method in ("get", "put")} <= set(names)
    assert catalogue.datasets()["pairs-2m"].pairs == 2_000_000
    assert all(catalogue.read(name).title for name in names)


def test_every_variant_of_the_service_has_an_experiment() -> None:
    root = Path(__file__).resolve().parents[2]
    source = root / "service/server/src/main/java/lsmlab/server/variant/Variants.java"
    variants = set(re.findall(r'new Entry\("([a-z0-9-]+)"', source.read_text()))
    assert "sync" in variants
    catalogue = Catalogue(Checkout(root))
    used = {catalogue.read(name).service.variant for name in catalogue.names()}
    assert variants == used, "an experiment for each variant, and none for a variant that does not exist"


def test_the_settings_of_variants_reach_the_service(read: Callable[[str], Experiment]) -> None:
    text = WHOLE.replace(
        "  workers: 8\n",
        "  workers: 8\n  queue_policy: drop-late\n  idle: spin\n  batch: 64\n  carriers: 4\n"
        "  refusals_per_second_max: 5k\n",
    )
    machine = read(text).service.machine()
    assert machine["queue_policy"] == "drop-late"
    assert machine["idle"] == "spin"
    assert machine["batch"] == 64
    assert machine["carriers"] == 4
    assert machine["refusals_per_second_max"] == 5_000


def test_every_published_measurement_of_one_connection_is_an_experiment() -> None:
    catalogue = Catalogue(Checkout(Path(__file__).resolve().parents[2]))
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


SWEEP = WHOLE.replace("rate: 70k", "rate: [1000, 2k, 5000]").replace(
    "  requests_per_second: 59899.55\n  latency: {mean: 4.486s, p50: 5.57s, p99.9: 8.53s, max: 8.58s}\n",
    "  cpus: 8\n  at:\n    - {rate: 2000, requests_per_second: 1990, latency: {p99: 3ms}}\n",
)


def test_a_sweep_is_one_experiment_with_a_reference_for_each_rate(read: Callable[[str], Experiment]) -> None:
    sweep = read(SWEEP)
    assert sweep.sweep_per_s == (1000, 2000, 5000)
    assert sweep.at_rate(5000).reference is None
    point = sweep.at_rate(2000)
    assert point.sweep_per_s == ()
    assert point.resolved()["load"]["rate_per_s"] == 2000
    assert point.resolved()["reference"] == {
        "source": "report A", "rate_per_s": 2000, "requests_per_s": 1990.0, "latency_ms": {"99": 3.0},
        "shares": [{"event": "cpu", "categories": ["queue", "lock"], "what": "synchronisation",
                    "low": 0.2, "high": 0.25}],
        "threads": 4, "connections": 64, "duration_s": 60.0, "cpus": 8,
    }  # fmt: skip


def test_a_rate_given_for_one_run_of_a_sweep_is_one_point_of_it(read: Callable[[str], Experiment]) -> None:
    sweep = read(SWEEP)
    point, overrides = apply_overrides(sweep, {"rate": "2k", "duration": "5s"})
    assert (point.sweep_per_s, point.load.rate_per_s, point.load.duration_s) == ((), 2000, 5)
    assert point.reference is not None
    assert point.reference.requests_per_s == 1990
    assert overrides == {"duration": "5s"}, "a point of a sweep is as declared"
    between, overrides = apply_overrides(sweep, {"rate": "3000"})
    assert overrides == {"rate": 3000}
    assert between.reference is None
    still, _ = apply_overrides(sweep, {"variant": "queue"})
    assert still.sweep_per_s == sweep.sweep_per_s
    assert still.service.variant == "queue"
    with pytest.raises(InputError, match=r"^RATE=\[1000, 2000\]: '\[1000, 2000\]' is not a whole number"):
        apply_overrides(sweep, {"rate": "[1000, 2000]"})


def test_a_reference_has_the_declared_load_and_what_it_says_itself(read: Callable[[str], Experiment]) -> None:
    reference = read(WHOLE.replace("  source: report A\n", "  threads: 8\n  duration: 2m\n  cpus: 16\n")).reference
    assert reference is not None
    assert (reference.rate_per_s, reference.threads, reference.connections) == (70_000, 8, 64)
    assert (reference.duration_s, reference.cpus) == (120, 16)


def test_a_reference_that_fell_behind_says_what_its_service_could_do(read: Callable[[str], Experiment]) -> None:
    def saturated_at(text: str) -> float | None:
        reference = read(text).reference
        assert reference is not None
        return reference.saturated_at_per_s

    assert saturated_at(WHOLE) == 59_899.55
    assert saturated_at(WHOLE.replace("59899.55", "69990")) is None
    assert saturated_at(WHOLE.replace("59899.55", "69990\n  saturation: 80000")) == 80_000


BAD_SWEEPS = [
    ("[1000, 2k, 5000]", "[]", ":13: load.rate: a sweep has at least 2 rates, not 0: [1000, 2000, 5000]"),
    ("[1000, 2k, 5000]", "[1000]", ":13: load.rate: a sweep has at least 2 rates, not 1"),
    ("2k, 5000", "5000, 2k", ":13: load.rate.2: '2k' comes after 5,000: write the rates of a sweep in ascending"),
    ("2k, 5000", "2k, 2000", ":13: load.rate.2: 2000 is there twice: write the rates"),
    ("2k, 5000", "0, 5000", ":13: load.rate.1: 0 is no rate: a whole number"),
    ("2k, 5000", "fast, 5000", ":13: load.rate.1: 'fast' is no rate: a whole number"),
    ("2k, 5000", "[2000], 5000", ":13: load.rate.1: [2000] is no rate: a whole number"),
    ("{rate: 2000,", "{rate: 3000,", ":26: reference.at.0: 3000 is no rate of this sweep: 1000, 2000, 5000"),
    ("{rate: 2000,", "{", ":25: reference.at: each entry needs the rate"),
    (
        "  cpus: 8",
        "  rate: 2000",
        ":22: reference: rate, requests_per_second and latency belong into the",
    ),
    ("p99: 3ms", "p99: 3", ":26: reference.at.0.latency: '3' is not a number with a unit"),
    ("requests_per_second: 1990", "request: 1", ":26: unknown key reference.at.0.request; allowed here: latency"),
    ("[1000, 2k, 5000]", "2k", ":25: reference.at: is for a sweep; here rate, requests_per_second and latency go"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD_SWEEPS)
def test_bad_sweeps_are_refused_with_line_and_key(
    read: Callable[[str], Experiment], old: str, new: str, message: str
) -> None:
    assert old in SWEEP
    with pytest.raises(InputError) as caught:
        read(SWEEP.replace(old, new))
    assert "experiments/x/experiment.yaml" in caught.value.message
    assert message in caught.value.message


def test_no_two_experiments_ask_for_the_same() -> None:
    catalogue = Catalogue(Checkout(Path(__file__).resolve().parents[2]))
    asked: dict[str, str] = {}
    for name in catalogue.names():
        resolved = catalogue.read(name).resolved()
        what = json.dumps({key: resolved.get(key) for key in ("service", "dataset", "load")}, sort_keys=True)
        assert what not in asked, f"{name} is {asked.get(what)} again"
        asked[what] = name
