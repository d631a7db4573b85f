"""Bad input and failures of a run: the message, the files that are kept, and that nothing else is left."""

from __future__ import annotations

import json
import os
import re
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.checkout import LIMIT_S, SOURCES, FakeCheckout, nothing_is_left

# Bad input: what, where, what to do; exit 2; nothing started, nothing changed.


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (["fak"], ["no experiment named 'fak'", "Close to it: fake"]),
        (["fake", "--rate", "abc"], ["RATE=abc: 'abc' is not a whole number, which may end in k or M: 70000, 70k"]),
        (["fake", "--variant", "stak"], ["VARIANT=stak: no such variant; did you mean stack?; available: sync, queue"]),
        (["fake", "--engine", "rocks"], ["ENGINE=rocks: no such engine; available: lsm"]),
        (["fake", "--runtime", "lokal"], ["RUNTIME=lokal: no such runtime; did you mean local?"]),
        (["fake", "--port", "http"], ["PORT=http: not a port"]),
        (["fake", "--port", "81", "--admin-port", "81"], ["PORT and ADMIN_PORT are both 81"]),
        (["wrong"], ["experiments/wrong/experiment.yaml:3: unknown key service.wrokers; did you mean workers?"]),
    ],
)
def test_bad_input_changes_nothing(checkout: FakeCheckout, words: list[str], messages: list[str]) -> None:
    checkout.experiment("wrong", title="Wrong", service={"wrokers": 1, "variant": "stack"})
    code, output = checkout.lab("run", *words)
    assert code == 2, output
    for message in messages:
        assert message in output
    assert "Traceback" not in output
    assert not (checkout.root / "results").exists() or not list((checkout.root / "results").glob("*/*"))
    assert nothing_is_left(checkout)


def test_cpu_settings_are_checked(checkout: FakeCheckout) -> None:
    code, output = checkout.lab("run", "fake", CPUS_SERVICE="9999")
    assert code == 2
    assert "CPUS_SERVICE=9999: no CPU 9999 here; usable: 0" in output


def test_a_variant_that_the_service_does_not_have_is_refused_after_a_first_build_too(checkout: FakeCheckout) -> None:
    jar = checkout.root / "service/server/target/service/lsmlab-server.jar"
    kept = checkout.root / "kept.jar"
    jar.rename(kept)
    checkout.write("Makefile", f"build-service:\n\t@cp {kept} {jar}\nbuild-loadgen build-profiler:\n\t@true\n")
    code, output = checkout.lab("run", "fake", "--variant", "stak")
    assert code == 2
    assert "VARIANT=stak: no such variant; did you mean stack?" in output
    assert checkout.runs() == []


def test_a_port_in_use_is_named_with_its_owner(checkout: FakeCheckout) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        code, output = checkout.lab("run", "fake", "--port", str(port))
    assert code == 1
    assert f"port {port} on 127.0.0.1 is taken by process {os.getpid()}" in output
    assert "PORT=" in output
    assert checkout.runs() == []
    assert nothing_is_left(checkout)


def test_a_disk_too_full_for_the_dataset_is_reported_before_anything_starts(checkout: FakeCheckout) -> None:
    checkout.write("experiments/datasets.yaml", "tiny: {pairs: 1000000000, value_bytes: 1MiB}\n")
    code, output = checkout.lab("run", "fake")
    assert code == 1
    assert "free; dataset tiny needs about" in output
    assert "LAB_CACHE=" in output
    assert checkout.runs() == []


def test_without_a_jdk_the_command_that_gets_one_is_shown(checkout: FakeCheckout) -> None:
    checkout.script("bin/find-jdk", "echo no JDK 25 or later found >&2; exit 1")
    checkout.script("tools/apt-get", "exit 1")
    code, output = checkout.lab("run", "fake", PATH=f"{checkout.root}/tools:{os.environ['PATH']}")
    assert code == 1
    assert "no JDK 25 or later found" in output
    assert "install" in output.lower()
    assert checkout.runs() == []


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 1", "RUNTIME=docker: Docker is installed but not running"),
        (None, "RUNTIME=docker: Docker is not installed"),
    ],
)
def test_an_unusable_docker_is_reported_with_what_to_do(
    checkout: FakeCheckout, script: str | None, message: str
) -> None:
    path = checkout.root / "path"
    path.mkdir()
    for tool in ("python3", "sh", "git"):
        found = subprocess.run(["sh", "-c", f"command -v {tool}"], capture_output=True, text=True, check=True)
        (path / tool).symlink_to(found.stdout.strip())
    if script is not None:
        checkout.script("path/docker", script)
    code, output = checkout.lab("run", "fake", RUNTIME="docker", PATH=str(path))
    assert code == 1, output
    assert message in output
    assert "RUNTIME=local" in output
    assert checkout.runs() == []


def test_a_missing_load_generator_ends_the_run_before_it_starts(checkout: FakeCheckout) -> None:
    code, output = checkout.lab("run", "fake", LOADGEN=str(checkout.root / "no-such-wrk2"))
    assert code == 2
    assert "no-such-wrk2: does not exist" in output
    code, output = checkout.lab("run", "fake", LOADGEN_IMAGE="somebody/wrk2")
    assert code == 2
    assert "LOADGEN_IMAGE is for the docker runtime" in output
    assert "LOADGEN=/path/to/wrk2" in output


def test_a_variant_that_is_new_in_the_sources_is_known_to_the_run_that_builds_it(checkout: FakeCheckout) -> None:
    assert "every-other" not in checkout.lab("variants")[1]
    jar = "service/server/target/service/lsmlab-server.jar"
    rule = f"build-service:\n\t@echo every-other > $(dir {jar})variants.txt; touch {jar}\n"
    checkout.write("Makefile", f"{rule}build-loadgen build-profiler:\n\t@true\n")
    code, output = checkout.lab("run", "fake", "--variant", "every-other", "--profile", "off")
    assert code == 0, output


# Failures: what was collected is kept, and marked incomplete.


@pytest.mark.parametrize(
    ("variant", "phase", "message"),
    [
        ("dies-at-start", "start", "the service ended with exit code 1 before it was ready"),
        ("dies-under-load", "warm-up", "the service died during the warm-up"),
    ],
)
def test_a_service_that_dies_shows_the_end_of_its_log(
    checkout: FakeCheckout, variant: str, phase: str, message: str
) -> None:
    words = ("run", "fake", "--variant", variant, "--duration", "30s", "--warmup", "10s")
    code, output = checkout.lab(*words, FAKE_WARM_UP_TAKES_S="10")
    assert code == 1, output
    assert message in output
    last_words = {"start": "the moon is in the wrong lab_checkout", "warm-up": "A fatal error has been detected"}
    assert last_words[phase] in output
    manifest = checkout.manifest()
    assert manifest["complete"] is False
    assert (manifest["phases"][-1]["name"], manifest["phases"][-1]["outcome"]) == (phase, "failed")
    assert "service.log" in {artifact["path"] for artifact in manifest["artifacts"]}
    assert nothing_is_left(checkout)


def test_a_bad_end_of_the_service_is_a_remark(checkout: FakeCheckout) -> None:
    code, output = checkout.lab("run", "fake", "--variant", "ends-badly")
    assert code == 0, output
    remark = "the service ended with exit code 3 when it was asked to end"
    assert output.count(remark) == 2
    assert [phase["name"] for phase in checkout.manifest()["phases"] if remark in phase["detail"]] == [
        "start",
        "collect",
    ]


def test_a_build_that_fails_shows_the_end_of_its_log(checkout: FakeCheckout) -> None:
    checkout.write("Makefile", "build-service:\n\t@echo 'Foo.java:3: cannot find symbol'; exit 1\n")
    code, output = checkout.lab("run", "fake")
    assert code == 1
    assert "make build-service ended with exit code 2" in output
    assert "cannot find symbol" in output
    assert "build.log" in output
    assert nothing_is_left(checkout)


def test_a_load_generator_that_fails_shows_its_error(checkout: FakeCheckout) -> None:
    code, output = checkout.lab("run", "fake", FAKE_LOADGEN_EXIT="1")
    assert code == 1
    assert "attempt to index a nil value" in output
    assert nothing_is_left(checkout)


def test_figures_survive_a_profile_that_cannot_be_converted(checkout: FakeCheckout) -> None:
    code, output = checkout.lab("run", "fake", FAKE_CONVERT_FAILS="1")
    assert code == 1
    assert "not a recording" in output
    manifest = checkout.manifest()
    assert manifest["complete"] is False
    assert manifest["summary"]["requests"] == 100
    assert manifest["validity"]["state"] == "invalid"
    assert (checkout.runs()[0] / "report.html").stat().st_size > 0
    assert nothing_is_left(checkout)


@pytest.mark.parametrize("damage", ["truncated json", "unreadable text"])
def test_an_unreadable_report_of_the_load_generator_keeps_the_run_directory(
    checkout: FakeCheckout, damage: str
) -> None:
    if damage == "truncated json":
        code, output = checkout.lab("run", "fake", FAKE_LOADGEN_CUTS_JSON="1")
    else:
        checkout.script("wrk2", "echo nothing of the kind")
        code, output = checkout.lab("run", "fake", LOADGEN=str(checkout.root / "wrk2"))
    assert code == 1, output
    assert "Traceback" not in output
    file = "load.json" if damage == "truncated json" else "load.txt"
    assert re.search(rf"measure/1/{file}(:1)?: not", " ".join(output.split()))
    (run,) = checkout.runs()
    assert (run / "measure/1" / file).stat().st_size > 0
    assert (run / "report.html").stat().st_size > 0
    manifest = checkout.manifest()
    assert manifest["complete"] is False
    assert (manifest["phases"][-1]["name"], manifest["phases"][-1]["outcome"]) == ("analyse", "failed")
    assert nothing_is_left(checkout)


@pytest.mark.parametrize("limit_bytes", [2_000, 40_000])
def test_a_disk_that_becomes_full_is_reported_without_a_traceback(checkout: FakeCheckout, limit_bytes: int) -> None:
    """A limit for the size of files stands in for a full disk: both make a write fail in the middle."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    checkout.experiment("fake", profile=False)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, before[1]))  # of this process, for the lab to inherit
    try:
        process = checkout.start("run", "fake")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1, output
    assert "Traceback" not in output
    assert "The lab itself failed" not in output
    assert "File too large" in output
    assert "LAB_RESULTS" in output
    assert nothing_is_left(checkout)


@pytest.mark.parametrize("setting", ["LAB_RESULTS", "LAB_CACHE"])
@pytest.mark.parametrize("words", [("run", "fake"), ("compare", "fake", "fake VARIANT=queue", "--blocks", "6")])
def test_a_place_that_cannot_be_written_is_named_before_anything_is_built(
    checkout: FakeCheckout, setting: str, words: tuple[str, ...]
) -> None:
    checkout.write("Makefile", "build-service:\n\t@touch built\n")
    code, output = checkout.lab(*words, **{setting: "/dev/null/place"})
    assert code == 1
    assert "/dev/null/place cannot be written: Not a directory" in output
    assert f"or name another place: {setting}=/path" in output
    assert "Traceback" not in output
    assert not (checkout.root / "built").exists()
    assert checkout.runs() == checkout.runs("compare") == []


def test_a_run_does_not_need_the_metrics_of_the_dashboards(checkout: FakeCheckout) -> None:
    checkout.write(".cache/metrics", "a file, so that none can be written into this directory")
    code, output = checkout.lab("run", "fake", "--profile", "off")
    assert code == 0, output
    assert checkout.manifest()["complete"] is True


def test_a_jvm_finds_its_jar_in_the_locale_c(tmp_path: Path) -> None:
    """The fake JVM, like a real one, cannot open a file whose name its locale cannot express."""
    checkout = FakeCheckout(tmp_path / "prüfung").build()
    process = checkout.start("run", "fake", "--profile", "off", LC_ALL="C")
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, output


@pytest.mark.parametrize("words", [("list",), ("run", "nosuch"), ("results",)])
def test_an_output_that_cannot_be_written_is_an_error_without_a_traceback(
    checkout: FakeCheckout, words: tuple[str, ...]
) -> None:
    program = ["sh", "-c", 'exec "$@" >/dev/full', "sh", sys.executable, "-m", "lab", *words]
    environment = {**os.environ, "LAB_ROOT": str(checkout.root), "PYTHONPATH": str(SOURCES)}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    program[2] = 'exec "$@" >/dev/full 2>/dev/full'
    assert subprocess.run(program, env=environment, check=False).returncode == done.returncode


def test_a_run_whose_output_is_closed_ends_and_leaves_nothing_running(checkout: FakeCheckout) -> None:
    process = checkout.start("run", "fake", "--profile", "off")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(LIMIT_S) == 1
    assert nothing_is_left(checkout)
    assert all(json.loads((run / "run.json").read_text())["complete"] is False for run in checkout.runs())
