"""Whole runs of the real lab in the local runtime, on a fake service, load generator and profiler."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import jsonschema
import pytest
import yaml

from support.house import FakeHouse, free_port

SCHEMA = Path(__file__).resolve().parents[1] / "src/lab/schemas/run.schema.json"
ORDER = ["preflight", "build", "dataset"]
PREPARE = ["start", "quiesce", "warm-up"]
END = ["collect", "analyse", "report", "stop"]


def nothing_is_left(house: FakeHouse) -> bool:
    """Whether no process and no scratch file of a run is left; a process that was just killed gets a moment."""
    deadline = time.monotonic() + 3
    while house.left_running() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert house.left_running() == []
    work = house.root / ".cache/work"
    assert not work.exists() or list(work.iterdir()) == []
    assert not (house.root / ".cache/metrics/lab.prom").exists()
    assert not list((house.root / ".cache").glob("datasets/*.part"))
    return True


def phase_names(manifest: dict) -> list[str]:  # type: ignore[type-arg]
    return [phase["name"] for phase in manifest["phases"]]


def test_a_run_leaves_a_whole_run_directory_and_nothing_else(house: FakeHouse) -> None:
    code, output = house.lab("run", "fake", "--rate", "2000", "--repeat", "2")
    assert code == 0, output
    (run,) = house.runs()
    manifest = house.manifest()
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
    assert nothing_is_left(house)


def test_each_repetition_has_a_fresh_service_on_fresh_data(house: FakeHouse) -> None:
    code, output = house.lab("run", "fake", "--repeat", "2")
    assert code == 0, output
    log = (house.runs()[0] / "service.log").read_text().splitlines()
    stores = [line for line in log if line.startswith("store ")]
    assert len(stores) == 3
    assert len({line.split()[1] for line in stores}) == 3
    assert {line.split("holds ")[1] for line in stores} == {"['000000.sst', '000001.sst', 'MANIFEST']"}


def test_a_dataset_is_made_once_and_its_tables_are_linked(house: FakeHouse) -> None:
    first = house.lab("run", "fake")[1]
    second = house.lab("run", "fake")[1]
    assert "tiny, made" in first
    assert "tiny, cached" in second
    (store,) = (house.root / ".cache/datasets").glob("*/store")
    assert "written by this start" not in "".join(path.read_text() for path in store.iterdir())
    assert store.joinpath("000000.sst").stat().st_nlink == 1, "the links of the runs are gone with them"


def test_the_timeline_covers_all_phases(house: FakeHouse) -> None:
    house.lab("run", "fake", "--duration", "3s")
    with (house.runs()[0] / "timeline.csv").open() as file:
        rows = list(csv.DictReader(file))
    manifest = house.manifest()
    assert len(rows) >= 10
    assert rows[0]["time"] >= manifest["phases"][0]["start"][:19]
    served = [float(row['lsmlab_requests_total{method="get",status="200"}'] or 0) for row in rows]
    assert max(served) >= 1
    assert any(float(row["service_rss_bytes"] or 0) > 1e6 for row in rows)
    assert all(0 <= float(row["host_cpu_share"]) <= 1 for row in rows[1:])


def test_the_service_gets_the_experiments_settings(house: FakeHouse) -> None:
    house.experiment("fake", service={"variant": "stack", "flush_threshold": "20MiB", "jvm": ["-Xmx1g"]})
    process = house.start("run", "fake", "--duration", "20s")
    house.wait_for_phase("measure")
    (config,) = (house.root / ".cache/work").glob("*/1/service.yaml")
    document = yaml.safe_load(config.read_text())
    commands = [line for line in house.left_running() if "serve --config" in line]
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert document["flush_threshold_bytes"] == 20 << 20
    assert document["variant"] == "stack"
    assert document["data_dir"] == str(config.parent / "data")
    assert any("-Xmx1g -jar" in command for command in commands)


def test_an_experiment_may_do_without_dataset_profile_and_warm_up(house: FakeHouse) -> None:
    load = {"script": "put.lua", "rate": 50, "threads": 1, "connections": 1, "duration": "1s", "warmup": "0s"}
    house.experiment("bare", dataset=None, profile=False, load=load)
    code, output = house.lab("run", "bare")
    assert code == 0, output
    outcomes = {phase["name"]: phase["outcome"] for phase in house.manifest("bare")["phases"]}
    assert (outcomes["dataset"], outcomes["warm-up"], outcomes["profile"]) == ("skipped",) * 3
    assert house.manifest("bare")["complete"] is True


# Bad input: what, where, what to do; exit 2; nothing started, nothing changed.


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (["fak"], ["no experiment named 'fak'", "Close to it: fake"]),
        (["fake", "--rate", "abc"], ["RATE=abc: 'abc' is not a whole number, which may end in k or M: 70000, 70k"]),
        (["fake", "--variant", "stak"], ["VARIANT=stak: no such variant; did you mean stack?; there are: sync, queue"]),
        (["fake", "--engine", "rocks"], ["ENGINE=rocks: no such engine; there are: lsm"]),
        (["fake", "--runtime", "lokal"], ["RUNTIME=lokal: no such runtime; did you mean local?"]),
        (["fake", "--port", "http"], ["PORT=http: not a port"]),
        (["fake", "--port", "81", "--admin-port", "81"], ["PORT and ADMIN_PORT are both 81"]),
        (["wrong"], ["experiments/wrong/experiment.yaml:3: unknown key service.wrokers; did you mean workers?"]),
    ],
)
def test_bad_input_changes_nothing(house: FakeHouse, words: list[str], messages: list[str]) -> None:
    house.experiment("wrong", title="Wrong", service={"wrokers": 1, "variant": "stack"})
    code, output = house.lab("run", *words)
    assert code == 2, output
    for message in messages:
        assert message in output
    assert "Traceback" not in output
    assert not (house.root / "results").exists() or not list((house.root / "results").glob("*/*"))
    assert nothing_is_left(house)


def test_cpu_settings_are_checked(house: FakeHouse) -> None:
    code, output = house.lab("run", "fake", CPUS_SERVICE="9999")
    assert code == 2
    assert "CPUS_SERVICE=9999: no CPU 9999 here; usable: 0" in output


def test_a_variant_that_the_service_does_not_have_is_refused_after_a_first_build_too(house: FakeHouse) -> None:
    jar = house.root / "service/server/target/service/lsmlab-server.jar"
    kept = house.root / "kept.jar"
    jar.rename(kept)
    house.write("Makefile", f"build-service:\n\t@cp {kept} {jar}\nbuild-loadgen build-profiler:\n\t@true\n")
    code, output = house.lab("run", "fake", "--variant", "stak")
    assert code == 2
    assert "VARIANT=stak: no such variant; did you mean stack?" in output
    assert house.runs() == []


def test_a_port_that_is_taken_is_named_with_its_owner(house: FakeHouse) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        code, output = house.lab("run", "fake", "--port", str(port))
    assert code == 1
    assert f"port {port} on 127.0.0.1 is taken by process {os.getpid()}" in output
    assert "PORT=" in output
    assert house.runs() == []
    assert nothing_is_left(house)


def test_a_disk_that_is_too_full_for_the_dataset_is_said_before_anything_starts(house: FakeHouse) -> None:
    house.write("experiments/datasets.yaml", "tiny: {pairs: 1000000000, value_bytes: 1MiB}\n")
    code, output = house.lab("run", "fake")
    assert code == 1
    assert "free; dataset tiny needs about" in output
    assert "LAB_CACHE=" in output
    assert house.runs() == []


def test_without_a_jdk_the_command_that_gets_one_is_shown(house: FakeHouse) -> None:
    house.script("bin/find-jdk", "echo no JDK 25 or later found >&2; exit 1")
    code, output = house.lab("run", "fake")
    assert code == 1
    assert "no JDK 25 or later found" in output
    assert "install" in output.lower()
    assert house.runs() == []


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 1", "RUNTIME=docker: Docker is installed, but its engine does not answer"),
        (None, "RUNTIME=docker: Docker is not installed"),
    ],
)
def test_docker_that_cannot_be_had_is_said_with_what_to_do(house: FakeHouse, script: str | None, message: str) -> None:
    path = house.root / "path"
    path.mkdir()
    for tool in ("python3", "sh", "git"):
        found = subprocess.run(["sh", "-c", f"command -v {tool}"], capture_output=True, text=True, check=True)
        (path / tool).symlink_to(found.stdout.strip())
    if script is not None:
        house.script("path/docker", script)
    code, output = house.lab("run", "fake", RUNTIME="docker", PATH=str(path))
    assert code == 1, output
    assert message in output
    assert "RUNTIME=local" in output
    assert house.runs() == []


# Failures: what was collected is kept, and marked incomplete.


@pytest.mark.parametrize(
    ("variant", "phase", "message"),
    [
        ("dies-at-start", "start", "the service ended with exit code 1 before it was ready"),
        ("dies-under-load", "warm-up", "the service died during the warm-up"),
    ],
)
def test_a_service_that_dies_shows_the_end_of_its_log(house: FakeHouse, variant: str, phase: str, message: str) -> None:
    code, output = house.lab("run", "fake", "--variant", variant, "--duration", "30s", "--warmup", "10s")
    assert code == 1, output
    assert message in output
    last_words = {"start": "the moon is in the wrong house", "warm-up": "A fatal error has been detected"}
    assert last_words[phase] in output
    manifest = house.manifest()
    assert manifest["complete"] is False
    assert (manifest["phases"][-1]["name"], manifest["phases"][-1]["outcome"]) == (phase, "failed")
    assert "service.log" in {artifact["path"] for artifact in manifest["artifacts"]}
    assert nothing_is_left(house)


def test_a_service_that_ends_badly_is_remarked_on(house: FakeHouse) -> None:
    code, output = house.lab("run", "fake", "--variant", "ends-badly")
    assert code == 0, output
    remark = "the service ended with exit code 3 when it was asked to end"
    assert output.count(remark) == 2
    assert [phase["name"] for phase in house.manifest()["phases"] if remark in phase["detail"]] == ["start", "collect"]


def test_a_build_that_fails_shows_the_end_of_its_log(house: FakeHouse) -> None:
    house.write("Makefile", "build-service:\n\t@echo 'Foo.java:3: cannot find symbol'; exit 1\n")
    code, output = house.lab("run", "fake")
    assert code == 1
    assert "make build-service ended with exit code 2" in output
    assert "cannot find symbol" in output
    assert "build.log" in output
    assert nothing_is_left(house)


def test_a_load_generator_that_fails_shows_its_error(house: FakeHouse) -> None:
    code, output = house.lab("run", "fake", FAKE_LOADGEN_EXIT="1")
    assert code == 1
    assert "attempt to index a nil value" in output
    assert nothing_is_left(house)


def test_figures_survive_a_profile_that_cannot_be_converted(house: FakeHouse) -> None:
    code, output = house.lab("run", "fake", FAKE_CONVERT_FAILS="1")
    assert code == 1
    assert "not a recording" in output
    manifest = house.manifest()
    assert manifest["complete"] is False
    assert manifest["summary"]["requests"] == 100
    assert manifest["validity"]["state"] == "invalid"
    assert (house.runs()[0] / "report.html").stat().st_size > 0
    assert nothing_is_left(house)


# Interruptions, in each phase.

SLOW = {"FAKE_DATASET_S": "60", "FAKE_CONVERT_S": "60"}
INTERRUPTED = [
    ("preflight", "stack", {}),
    ("build", "stack", {}),
    ("dataset", "stack", {"FAKE_DATASET_S": "60"}),
    ("start", "never-ready", {}),
    ("quiesce", "never-rests", {}),
    ("warm-up", "stack", {}),
    ("measure", "stack", {}),
    ("profile", "stack", {}),
    ("collect", "stack", {"FAKE_CONVERT_S": "60"}),
]
LONG = {"warm-up": ["--warmup", "60s"], "measure": ["--duration", "60s"], "profile": ["--duration", "2s"]}


@pytest.mark.parametrize(("phase", "variant", "environment"), INTERRUPTED, ids=[case[0] for case in INTERRUPTED])
def test_ctrl_c_leaves_nothing_running_and_keeps_what_there_is(
    house: FakeHouse, phase: str, variant: str, environment: dict[str, str]
) -> None:
    if phase == "build":
        house.write("Makefile", "build-service:\n\t@sleep 60 & wait\n")
    if phase == "preflight":
        house.script("bin/find-jdk", "sleep 2")
    earlier = house.root / "results/fake/20200101T000000Z"
    earlier.mkdir(parents=True)
    (earlier / "run.json").write_text("earlier")
    process = house.start("run", "fake", "--variant", variant, *LONG.get(phase, []), **environment)
    house.wait_for_phase(phase)
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGINT)
    began = time.monotonic()
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 130, output
    assert time.monotonic() - began < 15
    assert f"Interrupted in phase {phase}" in output
    assert "Traceback" not in output
    assert (earlier / "run.json").read_text() == "earlier"
    assert nothing_is_left(house)
    if phase == "preflight":
        assert house.runs() == [earlier]
        return
    manifest = house.manifest()
    jsonschema.validate(manifest, json.loads(SCHEMA.read_text()))
    assert manifest["complete"] is False
    assert (manifest["phases"][-1]["name"], manifest["phases"][-1]["outcome"]) == (phase, "interrupted")
    if phase == "measure":
        assert (house.runs()[-1] / "measure/1/load.txt").stat().st_size > 0, "the report of what was done is kept"


def test_sigterm_ends_a_run_like_ctrl_c(house: FakeHouse) -> None:
    process = house.start("run", "fake", "--duration", "60s")
    house.wait_for_phase("measure")
    os.kill(process.pid, signal.SIGTERM)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM, output
    assert house.manifest()["complete"] is False
    assert nothing_is_left(house)


def test_a_service_that_clings_to_life_is_killed(house: FakeHouse) -> None:
    process = house.start("run", "fake", "--variant", "clings", "--duration", "60s")
    house.wait_for_phase("measure")
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert nothing_is_left(house)


def test_nothing_survives_a_lab_that_is_killed(house: FakeHouse) -> None:
    process = house.start("run", "fake", "--duration", "60s")
    house.wait_for_phase("measure")
    deadline = time.monotonic() + 10
    while len(house.left_running()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(house.left_running()) >= 2, "a service and a load generator"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    deadline = time.monotonic() + 5
    while house.left_running() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert house.left_running() == []
    code, output = house.lab("run", "fake")
    assert code == 0, output
    assert nothing_is_left(house), "the next run removes the dead one's scratch files"


def test_another_load_generator_takes_the_place_of_ours(house: FakeHouse) -> None:
    published = Path(__file__).parent / "analysis/testdata/wrk2/put-dummy-t1-c1-R1000-d1m.txt"
    house.script("wrk2", f'echo "$@" > {house.root}/words; cat {published}')
    code, output = house.lab("run", "fake", LOADGEN=str(house.root / "wrk2"))
    assert code == 0, output
    words = (house.root / "words").read_text().split()
    assert not {"--json", "--hdr-log", "--metrics"} & set(words), "wrk2 knows none of these"
    manifest = house.manifest()
    assert manifest["environment"]["load_generator"] == {"name": "wrk2", "version": "unknown", "custom": True}
    summary = manifest["summary"]
    assert summary["requests"] == 60001
    assert summary["latency_ms"]["percentiles"]["50"] == pytest.approx(1.054)
    assert summary["lacks"] == ["load.json", "latency.hlog"]
    checks = {check["name"]: check for check in manifest["validity"]["checks"]}
    assert checks["outputs"]["detail"] == "the load generator does not write load.json, latency.hlog"
    assert {checks[name]["outcome"] for name in ("schedule", "send lag", "unfinished")} == {"unknown"}
    for report in ("report.md", "report.html"):
        assert "does not write load.json, latency.hlog" in (house.runs()[-1] / report).read_text(), report


def test_another_load_generator_that_is_not_there_ends_the_run_before_it_starts(house: FakeHouse) -> None:
    code, output = house.lab("run", "fake", LOADGEN=str(house.root / "no-such-wrk2"))
    assert code == 2
    assert "no-such-wrk2: does not exist" in output
    code, output = house.lab("run", "fake", LOADGEN_IMAGE="somebody/wrk2")
    assert code == 2
    assert "LOADGEN_IMAGE is for the docker runtime" in output
    assert "LOADGEN=/path/to/wrk2" in output


def test_an_unused_port_can_be_named(house: FakeHouse) -> None:
    port = free_port()
    code, output = house.lab("run", "fake", "--port", str(port))
    assert code == 0, output


def test_a_script_gets_the_words_of_the_dataset_that_it_speaks_of(house: FakeHouse) -> None:
    house.write("loadgen/scripts/get.lua", "-- pairs  number of pairs\n-- seed  what keys are drawn from\n")
    load = {"script": "get.lua", "rate": 50, "threads": 1, "connections": 1, "duration": "60s", "warmup": "0s"}
    house.experiment("fake", load={**load, "args": {"seed": 7, "hot": "yes"}})
    process = house.start("run", "fake")
    house.wait_for_phase("measure")
    deadline = time.monotonic() + 10
    while not (commands := [line for line in house.left_running() if "fake_loadgen.py -t1" in line]):
        assert time.monotonic() < deadline
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert commands[0].rstrip().endswith("-- pairs=100 seed=7 hot=yes")


@pytest.mark.parametrize("phase", ["analyse", "report", "stop"])
def test_ctrl_c_in_the_short_phases_leaves_nothing_running(
    house: FakeHouse, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lab runs in this process, so that the signal comes in the middle of a phase that takes milliseconds."""
    from rich.console import Console

    from lab.cpus import pin_self, plan_cpus, usable_cpus
    from lab.experiment import Catalogue
    from lab.paths import House
    from lab.run import Run, RunPlan
    from lab.run.show import Show
    from lab.runtime.base import Ports
    from lab.runtime.local import LocalRuntime

    def interrupt(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
        raise AssertionError("the signal did not come")

    target = {
        "analyse": "lab.analysis.summarise",
        "report": "lab.report.write",
        "stop": "lab.runtime.local.LocalRuntime.monitoring_down",
    }
    monkeypatch.setenv("LAB_ROOT", str(house.root))
    cpus = tuple(usable_cpus())
    checkout = House(house.root)
    run = Run(
        RunPlan(
            checkout, "fake", Catalogue(checkout).read("fake"), {}, LocalRuntime(checkout),
            plan_cpus({}), Ports(0, 0, free_port()), monitoring=False,
        ),
        Show(Console(quiet=True)),
    )  # fmt: skip
    monkeypatch.setattr(target[phase], interrupt)
    try:
        assert run.execute() == 130
    finally:
        pin_self(cpus)
    manifest = house.manifest()
    assert (manifest["phases"][-1]["name"], manifest["phases"][-1]["outcome"]) == (phase, "interrupted")
    assert manifest["complete"] is False
    assert nothing_is_left(house)


def test_two_runs_at_once_are_refused(house: FakeHouse) -> None:
    first = house.start("run", "fake", "--duration", "60s")
    house.wait_for_phase("measure")
    code, output = house.lab("run", "fake")
    assert code == 1
    assert f"another run goes on in this checkout: process {first.pid}, experiment fake" in output
    assert len(house.runs()) == 1
    assert first.poll() is None
    house.wait_for_phase("measure", limit_s=1)
    os.kill(first.pid, signal.SIGINT)
    first.communicate(timeout=30)
    assert nothing_is_left(house)
