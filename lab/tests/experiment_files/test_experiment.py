"""Experiment files: what is read, and what is refused with file, line, key and the allowed values."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from experiment_files.examples import WHOLE
from lab.errors import InputError
from lab.experiment import Catalogue, Experiment, apply_overrides
from lab.paths import Checkout
from support.checkout import FakeCheckout


def test_units_are_resolved_into_the_names_of_fields(read: Callable[[str], Experiment]) -> None:
    resolved = read(WHOLE).resolved()
    assert resolved["service"]["flush_threshold_bytes"] == 20 << 20
    assert resolved["service"]["queue_capacity"] == 1000
    assert resolved["service"]["compaction"] == "on"
    assert resolved["load"]["rate_per_s"] == 70_000
    assert resolved["load"]["duration_s"] == 60.0
    assert resolved["profile"] == {"events": ["cpu", "wall"], "interval_s": 0.001, "pprof": False}
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


def test_every_option_of_the_storage_engine_reaches_service_yaml(read: Callable[[str], Experiment]) -> None:
    knobs = (
        "  compaction: tiered\n  level0_tables_max: 5\n  fanout: 7\n  block_bytes: 8KiB\n"
        "  bloom_bits_per_key: 0\n  compression: lz4\n  flush_backlog: fail\n  read: merge\n  bloom: off\n"
    )
    settings = read(WHOLE.replace("  compaction: on\n", knobs)).service.machine()
    assert dict(list(settings.items())[-9:]) == {
        "compaction": "tiered",
        "level0_tables_max": 5,
        "fanout": 7,
        "block_bytes": 8192,
        "bloom_bits_per_key": 0,
        "compression": "lz4",
        "flush_backlog": "fail",
        "read": "merge",
        "bloom": "off",
    }


def test_a_profile_can_be_left_out(read: Callable[[str], Experiment]) -> None:
    before, after = WHOLE.split("profile:")
    text = before + "profile: false\n" + after[after.index("reference") :]
    assert read(text).profile is None


def test_depth_native_memory_and_pprof_are_there_on_request(read: Callable[[str], Experiment]) -> None:
    asked = WHOLE.replace("[cpu, wall]", "[cpu, nativemem]\n  depth: 64\n  pprof: true")
    profile = {"events": ["cpu", "nativemem"], "interval_s": 0.001, "depth": 64, "pprof": True}
    assert read(asked).resolved()["profile"] == profile
    after, _ = apply_overrides(read(asked), {"rate": "1k", "profile": "on"})
    assert after.resolved()["profile"] == profile


CASES = [
    (
        "  workers: 8",
        "  wokers: 8",
        ":4: unknown key service.wokers; did you mean workers?; allowed here: admin,",
    ),
    ("rate: 70k", "rate: abc", ":13: load.rate: 'abc' is not a whole number, which may end in k or M: 70000, 70k"),
    ("duration: 1m", "duration: 60", ":16: load.duration: '60' is not a number with a unit"),
    ("20MiB", "20 megs", ":7: service.flush_threshold: '20 megs' is not a whole number of bytes"),
    ("  compaction: on\n", "  compaction_rate_max: fast\n", ":8: service.compaction_rate_max: 'fast' is not a whole"),
    ("compaction: on", "compaction: yes", ":8: service.compaction: 'yes' is not allowed; allowed: leveled,"),
    ("compaction: on", "level0_tables_max: 31", ":8: service.level0_tables_max: 31 is out of range: must be at most"),
    ("compaction: on", "fanout: 1", ":8: service.fanout: 1 is out of range: must be at least 2"),
    ("compaction: on", "block_bytes: 8", ":8: service.block_bytes: 8 is out of range: must be at least 64"),
    ("compaction: on", "bloom_bits_per_key: 65", ":8: service.bloom_bits_per_key: 65 is out of range: must be at most"),
    ("compaction: on", "compression: zstd", ":8: service.compression: 'zstd' is not allowed; allowed: none or lz4"),
    ("compaction: on", "flush_backlog: wait", ":8: service.flush_backlog: 'wait' is not allowed; allowed: block, fail"),
    ("compaction: on", "read: scan", ":8: service.read: 'scan' is not allowed; allowed: point or merge"),
    ("duration: 1m", "duration: 1.5s", ":16: load.duration: 1.5 s is not a whole number of seconds"),
    ("250ms", "0.5ms", ":6: service.deadline: '0.5ms' is not a whole number of milliseconds"),
    ("workers: 8", "workers: 5000", ":4: service.workers: 5000 is out of range: must be at most 1024"),
    ("repeat: 3", "repeat: 0", ":18: repeat: 0 is out of range: must be at least 1"),
    ("repeat: 3", "repeat: 101", ":18: repeat: 101 is out of range: must be at most 100"),
    ("[cpu, wall]", "[cpu, wal]", ":20: profile.events.1: 'wal' is not allowed; did you mean wall?; allowed: cpu,"),
    ("interval: 1ms", "depth: 0", ":21: profile.depth: 0 is out of range: must be at least 1"),
    ("interval: 1ms", "depth: 4096", ":21: profile.depth: 4096 is out of range: must be at most 2048"),
    ("interval: 1ms", "depth: deep", ":21: profile.depth: 'deep' is not a whole number"),
    ("interval: 1ms", "pprof: maybe", ":21: profile.pprof: must be true or false, not 'maybe'"),
    ("interval: 1ms", "prof: true", ":21: unknown key profile.prof; did you mean pprof?; allowed here: depth, events,"),
    ("[cpu, wall]", "[nativmem]", ":20: profile.events.0: 'nativmem' is not allowed; did you mean nativemem?"),
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


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("-- PUT\n-- lab: pairs, seed\n", "loadgen/scripts/get.lua:2: 'pairs' is neither reads nor writes"),
        ("-- lab: reads, pears\n", "loadgen/scripts/get.lua:1: 'pears' is no fact of a dataset"),
    ],
)
def test_a_wrong_declaration_of_a_script_is_refused(checkout: FakeCheckout, script: str, message: str) -> None:
    checkout.write("loadgen/scripts/get.lua", script)
    code, output = checkout.lab("check", "fake")
    assert code == 2
    assert message in output
    assert "-- lab: reads, or -- lab: writes" in output


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
    "NUL": ("title: GET", 'title: "a\\0b"', ":1: has the control character U+0000: write it without"),
    "ESC": ("title: GET", 'title: "\\e[31m"', ":1: has the control character U+001B: write it without"),
    "C1": ("title: GET", 'title: "\\x9b31m"', ":1: has the control character U+009B: write it without"),
    "bidi": ("title: GET", 'title: "a\u202eb"', ":1: has the control character U+202E: write it without"),
    "source": ("source: report A", 'source: "\\e[31m"', ":23: has the control character U+001B: write it without"),
    "key": ("title: GET", '"tit\\ele": GET', ":1: has the control character U+001B: write it without"),
    "size": ("title: GET", "title: " + "GET" * 400_000, ": is longer than 1,048,576 bytes"),
}


@pytest.mark.parametrize(("old", "new", "message"), HOSTILE.values(), ids=HOSTILE.keys())
def test_aliases_and_deep_nesting_are_refused_before_they_are_expanded(
    read: Callable[[str], Experiment], old: str, new: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(WHOLE.replace(old, new))
    assert "experiments/x/experiment.yaml" + message in caught.value.message


def test_line_ends_in_a_title_or_a_question_become_blanks(read: Callable[[str], Experiment]) -> None:
    text = 'title: "GET\\n\\nof\\u2028all\\x85"\nquestion: |\n  Does it\n  help?\nservice:'
    found = read(WHOLE.replace(WHOLE[: WHOLE.index("service:") + len("service:")], text))
    assert (found.title, found.question) == ("GET of all", "Does it help?")


def test_a_hostile_file_does_not_hide_the_others(checkout: FakeCheckout) -> None:
    for name, (old, new, _) in HOSTILE.items():
        checkout.write(f"experiments/{name}/experiment.yaml", WHOLE.replace(old, new))
    code, output = checkout.lab("list")
    assert code == 2
    assert "A fake" in output
    assert "Traceback" not in output
    assert all(f"experiments/{name}/experiment.yaml" in output for name in HOSTILE)


def test_settings_of_the_runtime_are_not_keys_of_an_experiment(read: Callable[[str], Experiment]) -> None:
    with pytest.raises(InputError, match=r"unknown key service\.data_port"):
        read(WHOLE.replace("  workers: 8", "  data_port: 80"))


def test_all_findings_are_named_at_once(read: Callable[[str], Experiment]) -> None:
    with pytest.raises(InputError) as caught:
        read(WHOLE.replace("rate: 70k", "rate: x").replace("repeat: 3", "repeat: y"))
    assert len(caught.value.message.splitlines()) == 2


def test_an_experiment_declares_only_its_differences_from_the_one_that_it_extends(
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
    ("extends: x\n", "experiments/x/experiment.yaml:2: extends: x extends x, which is a cycle"),
    ("extends: ring\n", "experiments/ring/experiment.yaml:2: extends: x extends ring extends x, which is a cycle"),
    ("extends: base\nload: {rate: x}\n", "experiments/x/experiment.yaml:3: load.rate: 'x' is not a whole number"),
    ("extends: [base]\n", "experiments/x/experiment.yaml:2: extends: no experiment named ['base']"),
    ("extends: odd\n", "experiments/odd/experiment.yaml:13: load.rate: 'abc' is not a whole number"),
    ("extend: base\n", "experiments/x/experiment.yaml:2: unknown key extend; did you mean extends?"),
]


@pytest.mark.parametrize(("text", "message"), EXTENDING)
def test_an_error_in_a_chain_of_files_names_its_own_file(
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
