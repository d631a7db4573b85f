"""Experiment files: what is read, and what is refused with file, line, key and the allowed values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.errors import InputError
from lab.experiment import Catalogue, Experiment, apply_overrides
from lab.paths import House
from support.house import FakeHouse

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
"""


@pytest.fixture
def read(house: FakeHouse) -> Callable[[str], Experiment]:
    def read_text(text: str) -> Experiment:
        house.write("experiments/x/experiment.yaml", text)
        return Catalogue(House(house.root)).read("x")

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
    ("  workers: 8", "  wokers: 8", ":4: unknown key service.wokers; did you mean workers?; allowed here: compaction,"),
    ("rate: 70k", "rate: abc", ":13: load.rate: 'abc' is not a whole number, which may end in k or M: 70000, 70k"),
    ("duration: 1m", "duration: 60", ":16: load.duration: '60' is not a number with a unit"),
    ("20MiB", "20 megs", ":7: service.flush_threshold: '20 megs' is not a whole number of bytes"),
    ("  compaction: on\n", "  compaction_rate_max: fast\n", ":8: service.compaction_rate_max: 'fast' is not a whole"),
    ("compaction: on", "compaction: yes", ":8: service.compaction: 'yes' is not allowed; allowed: on or off"),
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
    ("p50: 5.57s", "p50: 5.57", ":25: reference.latency: '5.57' is not a number with a unit"),
    ("max: 8.58s", "maximum: 8.58s", ":25: reference.latency: 'maximum' is not one of p50"),
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


def test_what_the_runtime_sets_is_no_key_of_an_experiment(read: Callable[[str], Experiment]) -> None:
    with pytest.raises(InputError, match=r"unknown key service\.data_port"):
        read(WHOLE.replace("  workers: 8", "  data_port: 80"))


def test_every_finding_is_named_at_once(read: Callable[[str], Experiment]) -> None:
    with pytest.raises(InputError) as caught:
        read(WHOLE.replace("rate: 70k", "rate: x").replace("repeat: 3", "repeat: y"))
    assert len(caught.value.message.splitlines()) == 2


def test_an_unknown_experiment_lists_the_close_ones(house: FakeHouse) -> None:
    house.experiment("stack-get")
    house.experiment("stack-put")
    with pytest.raises(InputError) as caught:
        Catalogue(House(house.root)).read("stak-get")
    assert "no experiment named 'stak-get'" in caught.value.message
    assert "stack-get" in caught.value.hint


def test_a_bad_dataset_names_its_line(house: FakeHouse) -> None:
    house.write(
        "experiments/datasets.yaml", "tiny: {pairs: 100, value_bytes: 10}\nbig:\n  pairs: lots\n  value_bytes: 9\n"
    )
    with pytest.raises(InputError, match=r"experiments/datasets\.yaml:3: big: pairs: 'lots' is not a whole number"):
        Catalogue(House(house.root)).datasets()


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
    catalogue = Catalogue(House(root))
    names = catalogue.names()
    assert {f"{variant}-{method}" for variant in ("sync", "queue", "stack") for method in ("get", "put")} <= set(names)
    assert catalogue.datasets()["pairs-2m"].pairs == 2_000_000
