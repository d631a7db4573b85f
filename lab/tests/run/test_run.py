"""Whole runs of the real lab in the local runtime, on a fake service, load generator and profiler."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import signal
from pathlib import Path

import jsonschema
import pytest
import yaml

from support.checkout import LIMIT_S, SCHEMA, FakeCheckout, free_port, nothing_is_left

ORDER = ["preflight", "build", "dataset"]
PREPARE = ["start", "quiesce", "warm-up"]
END = ["collect", "analyse", "report", "stop"]


def phase_names(manifest: dict) -> list[str]:  # type: ignore[type-arg]
    return [phase["name"] for phase in manifest["phases"]]


def test_a_run_leaves_a_whole_run_directory_and_nothing_else(checkout: FakeCheckout) -> None:
    code, output = checkout.lab("run", "fake", "--rate", "2000", "--repeat", "2")
    assert code == 0, output
    (run,) = checkout.runs()
    manifest = checkout.manifest()
    jsonschema.validate(manifest, json.loads(SCHEMA.read_text()))
    assert manifest["complete"] is True
    assert phase_names(manifest) == [*ORDER, *[*PREPARE, "measure"] * 2, *PREPARE, "profile", *END]
    assert {phase["outcome"] for phase in manifest["phases"]} == {"ok"}
    assert [p["repetition"] for p in manifest["phases"] if p["name"] == "measure"] == [1, 2]
    assert manifest["experiment"]["overrides"] == {"rate": 2000, "repeat": 2}
    assert manifest["experiment"]["resolved"]["load"]["rate_per_s"] == 2000
    assert manifest["environment"]["jvm"] == "25-fake"
    assert manifest["environment"]["profiling_engine"] == "ctimer"
    assert manifest["environment"]["load_generator"] == {"name": "fake", "version": "1", "custom": False}
    assert len(manifest["summary"]["repetitions"]) == 2
    for artifact in manifest["artifacts"]:
        content = (run / artifact["path"]).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (artifact["bytes"], artifact["sha256"])
    paths = {artifact["path"] for artifact in manifest["artifacts"]}
    files = {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()}
    assert paths == files - {"run.json"}
    assert {"measure/2/load.txt", "profile/cpu.png", "service.log", "timeline.csv", "report.html"} <= paths
    assert f"results/fake/{run.name}/report.html" in output
    assert manifest["validity"]["state"] in output
    assert nothing_is_left(checkout)


def test_each_repetition_has_a_fresh_service_on_fresh_data(checkout: FakeCheckout) -> None:
    code, output = checkout.lab("run", "fake", "--repeat", "2")
    assert code == 0, output
    log = (checkout.runs()[0] / "service.log").read_text().splitlines()
    stores = [line for line in log if line.startswith("store ")]
    assert len(stores) == 3
    assert len({line.split()[1] for line in stores}) == 3
    assert {line.split("holds ")[1] for line in stores} == {"['000000.sst', '000001.sst', 'MANIFEST']"}


def test_a_dataset_is_made_once_and_its_tables_are_linked(checkout: FakeCheckout) -> None:
    first = checkout.lab("run", "fake", "--profile", "off")[1]
    second = checkout.lab("run", "fake", "--profile", "off")[1]
    assert "tiny, made" in first
    assert "tiny, cached" in second
    (store,) = (checkout.root / ".cache/datasets").glob("*/store")
    assert "written by this start" not in "".join(path.read_text() for path in store.iterdir())
    assert store.joinpath("000000.sst").stat().st_nlink == 1, "the links of the runs are gone with them"


def test_the_timeline_covers_all_phases(checkout: FakeCheckout) -> None:
    checkout.lab("run", "fake", "--duration", "4s")
    with (checkout.runs()[0] / "timeline.csv").open() as file:
        rows = list(csv.DictReader(file))
    manifest = checkout.manifest()
    assert len(rows) >= 5, "a row a second, of at least eight"
    assert rows[0]["time"] >= manifest["phases"][0]["start"][:19]
    served = [float(row['lsmlab_requests_total{method="get",status="200"}'] or 0) for row in rows]
    assert max(served) >= 1


def test_the_service_gets_the_experiments_settings(checkout: FakeCheckout) -> None:
    checkout.experiment("fake", service={"variant": "stack", "flush_threshold": "20MiB", "jvm": ["-Xmx1g"]})
    process = checkout.start("run", "fake", "--duration", "10m")
    checkout.wait_for_phase("measure")
    (config,) = (checkout.root / ".cache/work").glob("*/1/service.yaml")
    document = yaml.safe_load(config.read_text())
    commands = [line for line in checkout.left_running() if "serve --config" in line]
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=LIMIT_S)
    assert document["flush_threshold_bytes"] == 20 << 20
    assert document["variant"] == "stack"
    assert document["data_dir"] == str(config.parent / "data")
    assert any("-Xmx1g -jar" in command for command in commands)


def test_an_experiment_can_omit_dataset_profile_and_warm_up(checkout: FakeCheckout) -> None:
    load = {"script": "put.lua", "rate": 50, "threads": 1, "connections": 1, "duration": "1s", "warmup": "0s"}
    checkout.experiment("bare", dataset=None, profile=False, load=load)
    code, output = checkout.lab("run", "bare")
    assert code == 0, output
    outcomes = {phase["name"]: phase["outcome"] for phase in checkout.manifest("bare")["phases"]}
    assert (outcomes["dataset"], outcomes["warm-up"], outcomes["profile"]) == ("skipped",) * 3
    assert checkout.manifest("bare")["complete"] is True


def test_a_warm_up_of_4_s_or_more_is_two_loads_of_the_same_length_together(checkout: FakeCheckout) -> None:
    for warmup, wanted in (("8s", ["warm-up 2s", "warm-up 6s"]), ("3s", ["warm-up 3s"])):
        (checkout.root / ".cache/loads").unlink(missing_ok=True)
        code, output = checkout.lab("run", "fake", "--warmup", warmup, "--profile", "off")
        assert code == 0, output
        loads = (checkout.root / ".cache/loads").read_text().splitlines()
        assert [re.sub(r".*/([^/]+)/load.json", r"\1", load) for load in loads] == [*wanted, "1 1s"]
        assert phase_names(checkout.manifest()).count("warm-up") == 1


def test_a_warm_up_begins_with_scrapes_and_without_it_there_are_only_those_of_the_timeline(
    checkout: FakeCheckout,
) -> None:
    scrapes = checkout.root / "scrapes"
    checkout.environment["FAKE_SCRAPES"] = str(scrapes)
    for warmup in ("3s", "0s"):
        scrapes.write_text("")
        code, output = checkout.lab("run", "fake", "--warmup", warmup, "--profile", "off")
        assert code == 0, output
        count = len(scrapes.read_text().splitlines())
        with (checkout.runs()[-1] / "timeline.csv").open() as file:
            rows = list(csv.DictReader(file))
        if warmup == "0s":
            assert count <= len(rows)
        else:
            assert count > sum(1 for row in rows if row.get("lsmlab_tables"))


def test_a_profile_is_recorded_and_drawn_as_the_experiment_says(checkout: FakeCheckout) -> None:
    load = {"script": "put.lua", "rate": 50, "threads": 1, "connections": 1, "duration": "1s", "warmup": "0s"}
    profile = {"events": ["cpu", "nativemem"], "interval": "1ms", "depth": 64, "pprof": True}
    checkout.experiment("deep", dataset=None, load=load, profile=profile)
    log = checkout.root / "profile.log"
    code, output = checkout.lab("run", "deep", FAKE_PROFILE_LOG=str(log))
    assert code == 0, output
    (run,) = checkout.runs("deep")
    plan = checkout.manifest("deep")["environment"]["cpu_plan"]
    assert log.read_text().splitlines() == [
        f"start {run.name} cpu,nativemem every 1ms depth 64 within 121s",
        f"stop {run.name} ",
        f"convert {run.name} cpu,nativemem on {plan['other']}",
    ]
    assert {path.name for path in (run / "profile").glob("*.pprof")} == {"cpu.pprof", "nativemem.pprof"}
    report = (run / "report.html").read_text()
    assert 'href="profile/nativemem.pprof"' in report
    assert "Native memory" in report
    described = json.loads((run / "profile/profile.json").read_text())
    assert described["title"] == "deep · stack on lsm, 1 connections, 50/s"
    assert checkout.manifest("deep")["environment"]["profiling_engine"] == described["engine"] == "ctimer"


def test_another_load_generator_takes_the_place_of_ours(checkout: FakeCheckout) -> None:
    published = Path(__file__).parents[1] / "analysis/testdata/wrk2/put-dummy-t1-c1-R1000-d1m.txt"
    checkout.script("wrk2", f'echo "$@" > {checkout.root}/words; cat {published}')
    code, output = checkout.lab("run", "fake", LOADGEN=str(checkout.root / "wrk2"))
    assert code == 0, output
    words = (checkout.root / "words").read_text().split()
    assert not {"--json", "--hdr-log", "--metrics"} & set(words), "wrk2 knows none of these"
    manifest = checkout.manifest()
    assert manifest["environment"]["load_generator"] == {"name": "wrk2", "version": "unknown", "custom": True}
    summary = manifest["summary"]
    assert summary["requests"] == 60001
    assert summary["latency_ms"]["percentiles"]["50"] == pytest.approx(1.054)
    assert summary["lacks"] == ["load.json", "latency.hlog"]
    checks = {check["name"]: check for check in manifest["validity"]["checks"]}
    assert checks["outputs"]["detail"] == "the load generator does not write load.json, latency.hlog"
    assert {checks[name]["outcome"] for name in ("schedule", "generator's error", "unfinished")} == {"unknown"}
    for report in ("report.md", "report.html"):
        assert "does not write load.json, latency.hlog" in (checkout.runs()[-1] / report).read_text(), report


def test_one_more_repetition_with_our_own_generator_shows_the_size_of_the_others_error(checkout: FakeCheckout) -> None:
    published = Path(__file__).parents[1] / "analysis/testdata/wrk2/put-dummy-t1-c1-R1000-d1m.txt"
    checkout.script("wrk2", f"cat {published}")
    code, output = checkout.lab("run", "fake", "--profile", "off", LOADGEN=str(checkout.root / "wrk2"))
    assert code == 0, output
    directory, manifest = checkout.runs()[-1], checkout.manifest()
    assert [path.name for path in directory.glob("measure/*")] == ["1"]
    own = json.loads((directory / "reference-generator/load.json").read_text())["latency_us"]["percentiles"]
    summary = manifest["summary"]
    reference = summary["reference_generator"]
    assert reference["source"] == "reference-generator"
    assert reference["latency_ms"]["percentiles"]["50"] == pytest.approx(own["50"] / 1e3, rel=0.01)
    assert len(summary["repetitions"]) == 1
    assert summary["latency_ms"]["percentiles"]["50"] == pytest.approx(1.054), "no figure of the run includes it"
    checks = {check["name"]: check for check in manifest["validity"]["checks"]}
    detail = checks["generator's error"]["detail"]
    assert "The lab's own, in one more repetition at the same load, shows its size: p50 " in detail
    assert "against 1.1 ms" in detail
    assert detail in manifest["validity"]["findings"]
    assert [phase["name"] for phase in manifest["phases"]].count("reference") == 1
    for report in ("report.md", "report.html"):
        text = (directory / report).read_text()
        assert "Lab’s generator" in text, report
        assert "shows its size: p50 " in text, report


def test_a_sweep_is_a_run_at_each_of_its_rates(checkout: FakeCheckout) -> None:
    load = {"script": "get.lua", "rate": [100, 200], "threads": 1, "connections": 1, "duration": "1s", "warmup": "0s"}
    reference = {"source": "a report", "at": [{"rate": 200, "requests_per_second": 199}]}
    checkout.experiment("fake", load=load, reference=reference, profile=False)
    code, output = checkout.lab("run", "fake")
    assert code == 0, output
    manifests = [json.loads((run / "run.json").read_text()) for run in checkout.runs()]
    resolved = [manifest["experiment"]["resolved"] for manifest in manifests]
    assert [of["load"]["rate_per_s"] for of in resolved] == [100, 200]
    assert [of.get("reference", {}).get("requests_per_s") for of in resolved] == [None, 199]
    assert all(manifest["validity"] is not None for manifest in manifests), "each rate has a verdict of its own"
    answers = list((checkout.root / "results/sweep").glob("*/record.json"))
    assert json.loads(answers[0].read_text())["state"] == "complete"
    page = (answers[0].parent / "sweep.html").read_text()
    for run in checkout.runs():
        assert f'href="../../fake/{run.name}/report.html"' in page
    assert "The service kept up with 200/s" in page
    code, output = checkout.lab("run", "fake", "--rate", "200")
    assert code == 0, output
    assert len(checkout.runs()) == 3
    code, output = checkout.lab("run", "fake", "--rate", "200", "--resume")
    assert code == 2
    assert "RESUME=1: fake is a single run, not a sweep" in output
    assert len(checkout.runs()) == 3

    answer = json.loads(answers[0].read_text())
    assert answer["request"]["runtime"] == "local", "it is resumed in no other one"
    answer["state"], answer["runs"][1]["run"] = "incomplete", None
    answers[0].write_text(json.dumps(answer))
    code, output = checkout.lab("run", "fake", "--resume")
    assert code == 0, output
    assert f"continuing results/sweep/{answer['id']}" in output
    assert len(checkout.runs()) == 4, "only the missing rate is measured"
    code, output = checkout.lab("run", "fake", "--resume")
    assert code == 2
    assert "RESUME=1: there is no incomplete sweep of fake with this request" in output


def test_an_unused_port_can_be_named(checkout: FakeCheckout) -> None:
    port = free_port()
    code, output = checkout.lab("run", "fake", "--port", str(port), "--profile", "off")
    assert code == 0, output


def test_a_script_gets_only_the_dataset_arguments_that_it_knows(checkout: FakeCheckout) -> None:
    checkout.write(
        "loadgen/scripts/get.lua", "-- GET, whatever the value_bytes\n-- lab: reads, pairs, seed\nvalue_bytes = 1\n"
    )
    load = {"script": "get.lua", "rate": 50, "threads": 1, "connections": 1, "duration": "10m", "warmup": "0s"}
    checkout.experiment("fake", load={**load, "args": {"seed": 7, "hot": "yes"}})
    process = checkout.start("run", "fake")
    command = checkout.wait_for_program("fake_loadgen.py -t1")
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=LIMIT_S)
    assert command.rstrip().endswith("-- pairs=100 seed=7 hot=yes")


def test_an_invalid_run_is_complete_and_exits_with_3_if_requested(checkout: FakeCheckout) -> None:
    """The fake's evidence says that the hypervisor took half of the machine."""
    words = ("run", "fake", "--profile", "off", "--warmup", "0s")
    for strict, wanted in (("1", 3), ("0", 0)):
        code, output = checkout.lab(*words, STRICT=strict, FAKE_STEAL="0.5")
        assert code == wanted, output
        assert checkout.manifest()["complete"]
        assert checkout.manifest()["validity"]["state"] == "invalid"
    code, output = checkout.lab(*words, STRICT="1")
    assert code == 0, output
    assert nothing_is_left(checkout)
