"""The load in the docker runtime: the generator's command line, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lab.errors import InputError
from lab.paths import Checkout
from lab.runtime.docker.runtime import DockerRuntime
from support.checkout import LIMIT_S
from support.docker import ANSWERS, PLAN, Alive, free_ports, load_spec, quiet, service_spec
from support.fake_docker import FakeDocker


def test_the_load_generator_gets_wrk2s_options_and_its_output_is_kept(
    docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path
) -> None:
    docker.answers(
        [{"match": "wait lsmlab-load", "stdout": "0\n"}, {"match": "logs lsmlab-load", "stdout": "Running\n"}]
    )
    spec = load_spec(tmp_path, timeout_s=5.0)
    result = runtime.load(spec, Alive(), quiet)  # type: ignore[arg-type]
    assert result.exit_code == 0
    assert (spec.out / "load.txt").read_text() == "Running\n"
    assert not (spec.out / "load.err").exists()
    words = docker.calls("run --detach")[0]["words"]
    ours = words[words.index("loadgen") + 1 :]
    assert ours == [
        *("-t2", "-c64", "-d20s", "-R20000", "-L", "-s", str(spec.script), "--timeout", "5s"),
        *("--json", str(spec.out / "load.json"), "--hdr-log", str(spec.out / "latency.hlog")),
        *("--high-priority", "--metrics", "0.0.0.0:9101", "http://127.0.0.1:8080", "--", "pairs=2000000"),
    ]
    assert f"--volume={spec.out}:{spec.out}" in words
    assert docker.calls("rm --force")[-1]["words"][-1] == f"lsmlab-load-{os.getpid()}"


def test_another_load_generator_gets_no_option_that_it_does_not_know(
    docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADGEN_IMAGE", "somebody/wrk2")
    docker.answers([{"match": "wait lsmlab-load", "stdout": "0\n"}])
    runtime = DockerRuntime(Checkout(tmp_path / "checkout"))
    runtime.load(load_spec(tmp_path), Alive(), quiet)  # type: ignore[arg-type]
    words = docker.calls("run --detach")[0]["words"]
    assert not {"--json", "--hdr-log", "--metrics"} & set(words)
    assert runtime.loadgen_metrics_url(Alive()) is None  # type: ignore[arg-type]
    assert runtime.custom_loadgen == "somebody/wrk2", "the run records which one it was"
    assert docker.calls("run --detach")[0]["environment"]["LOADGEN_IMAGE"] == "somebody/wrk2"
    runtime.build(tmp_path / "build.log", quiet)
    (build,) = docker.calls(" build ")
    assert ("loadgen" in build["words"], build["environment"]["LOADGEN_IMAGE"]) == (True, ""), "ours, for a reference"
    runtime.close()


@pytest.mark.parametrize("setting", ["LOADGEN", "LOADGEN_IMAGE"])
def test_our_own_load_generator_can_be_asked_for_beside_another(
    docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setenv(setting, "/usr/bin/wrk2" if setting == "LOADGEN" else "somebody/wrk2")
    docker.answers([{"match": "wait lsmlab-load", "stdout": "0\n"}])
    runtime = DockerRuntime(Checkout(tmp_path / "checkout"))
    runtime.load(load_spec(tmp_path, own=True), Alive(), quiet)  # type: ignore[arg-type]
    (call,) = docker.calls("run --detach")
    assert {"--json", "--hdr-log", "--metrics"} <= set(call["words"])
    assert not [word for word in call["words"] if word.startswith("--entrypoint")]
    assert call["environment"]["LOADGEN_IMAGE"] == ""
    runtime.close()


@pytest.mark.parametrize("image", ["", "somebody/with-its-libraries"])
def test_a_program_of_this_machine_is_mounted_into_the_container_of_the_load(
    docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: str
) -> None:
    program = tmp_path / "wrk2"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("LOADGEN", str(program))
    monkeypatch.setenv("LOADGEN_IMAGE", image)
    docker.answers([*ANSWERS, {"match": "wait lsmlab-load", "stdout": "0\n"}])
    runtime = DockerRuntime(Checkout(tmp_path / "checkout"))
    runtime.preflight(PLAN, free_ports(), quiet)
    assert runtime.custom_loadgen == str(program)
    assert runtime.loadgen_metrics_url(Alive()) is None  # type: ignore[arg-type]
    spec = load_spec(tmp_path)
    runtime.load(spec, Alive(), quiet)  # type: ignore[arg-type]
    words = docker.calls("run --detach")[0]["words"]
    at = words.index("loadgen")
    assert f"--volume={program}:/opt/lsmlab/other/wrk2:ro" in words[:at]
    assert "--entrypoint=/opt/lsmlab/other/wrk2" in words[:at]
    assert words[at + 1 :][-3:] == ["http://127.0.0.1:8080", "--", "pairs=2000000"]
    assert not {"--json", "--hdr-log", "--metrics"} & set(words)
    runtime.build(tmp_path / "build.log", quiet)
    assert "loadgen" in docker.calls(" build ")[0]["words"], "it runs in ours, which a reference repetition needs too"
    runtime.close()


@pytest.mark.parametrize(("make", "problem"), [(False, "does not exist"), (True, "is no executable file")])
def test_a_load_generator_that_cannot_be_run_ends_the_run_before_it_starts(
    docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: bool, problem: str
) -> None:
    if make:
        (tmp_path / "wrk2").write_text("")
    monkeypatch.setenv("LOADGEN", str(tmp_path / "wrk2"))
    with pytest.raises(InputError, match=f"LOADGEN=.*wrk2: {problem}"):
        DockerRuntime(Checkout(tmp_path / "checkout")).preflight(PLAN, free_ports(), quiet)
    assert not docker.calls("run ")


def test_a_load_that_fails_shows_its_exit_code_and_its_last_lines(
    docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path
) -> None:
    docker.answers(
        [
            {"match": "wait lsmlab-load", "stdout": "1\n"},
            {"match": "logs lsmlab-load", "stderr": "get.lua:3: unexpected symbol\n"},
        ]
    )
    result = runtime.load(load_spec(tmp_path), Alive(), quiet)  # type: ignore[arg-type]
    assert result.exit_code == 1
    assert "unexpected symbol" in result.error_tail


@pytest.mark.parametrize("visible", [True, False])
def test_under_load_no_program_is_started_and_no_engine_is_asked(
    docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path, visible: bool
) -> None:
    """Also if the engine runs on another system, so that no pid is found: every second one is looked for."""
    over = tmp_path / "over"
    docker.answers(
        [
            *ANSWERS,
            {"match": "wait lsmlab-load", "seconds": LIMIT_S, "until": str(over), "stdout": "0\n"},
            {"match": "wait lsmlab-", "seconds": LIMIT_S},
        ]
    )
    runtime.preflight(PLAN, free_ports(), quiet)
    service = runtime.start_service(service_spec(tmp_path))
    assert service.pid is None
    spec = load_spec(tmp_path)
    words = ["-t2", "-c64", "-d20s", "-R20000", "-L", "-s", str(spec.script), "--json", str(spec.out / "load.json")]
    words += ["--hdr-log", str(spec.out / "latency.hlog"), "--high-priority", "--metrics", "0.0.0.0:9101"]
    words += ["http://127.0.0.1:8080", "--", "pairs=2000000"]
    sleep = "import time; time.sleep(600)"
    generator = subprocess.Popen([sys.executable, "-c", sleep, *(words if visible else [])])
    result = []
    load = threading.Thread(target=lambda: result.append(runtime.load(spec, service, quiet)))
    deadline = time.monotonic() + LIMIT_S
    while not (docker.calls("logs --follow") and docker.calls("wait lsmlab-service")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    before = len(docker.calls())
    load.start()
    try:
        while not docker.calls("wait lsmlab-load") or (visible and runtime.loadgen_pid() is None):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        for _ in range(30):
            assert (service.pid, runtime.loadgen_pid() is not None) == (None, visible)
        assert runtime.loadgen_pid() == (generator.pid if visible else None)
        during = [call["words"] for call in docker.calls()[before:]]
    finally:
        over.touch()
        load.join()
        generator.kill()
        generator.wait()
    assert [words[0] for words in during] == ["compose", "wait"], "how the load starts, and what waits for its end"
    assert result[0].exit_code == 0
    assert runtime.loadgen_pid() is None


def test_the_load_ends_when_the_service_dies(docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    docker.answers(
        [
            {"match": "wait lsmlab-load", "seconds": 60, "until": str(killed), "stdout": "130\n"},
            {"match": "logs lsmlab-load", "stdout": "part of a report\n"},
        ]
    )
    service = Alive()

    def die() -> None:
        service.answer = False
        while not docker.calls("kill --signal INT"):
            pass
        killed.touch()

    thread = threading.Timer(0.3, die)
    thread.start()
    spec = load_spec(tmp_path)
    assert runtime.load(spec, service, quiet).exit_code == 130  # type: ignore[arg-type]
    thread.join()
    assert (spec.out / "load.txt").read_text() == "part of a report\n"


def test_ctrl_c_under_load_asks_the_generator_to_end_and_keeps_its_report(
    docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker.answers(
        [
            {"match": "wait lsmlab-load", "seconds": 60},
            {"match": "logs lsmlab-load", "stdout": "report of what was done\n"},
        ]
    )
    monkeypatch.setattr("lab.runtime.docker.load.INTERRUPT_GRACE_S", 0.2)

    class Interrupting(Alive):
        def alive(self) -> bool:
            raise KeyboardInterrupt

    spec = load_spec(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        runtime.load(spec, Interrupting(), quiet)  # type: ignore[arg-type]
    name = f"lsmlab-load-{os.getpid()}"
    ended = [call["words"] for call in docker.calls("kill") + docker.calls("rm --force")]
    assert ["kill", "--signal", "INT", name] in ended
    assert ["kill", name] in ended
    assert ["rm", "--force", "--volumes", name] in ended
    assert (spec.out / "load.txt").read_text() == "report of what was done\n"


def test_a_service_beside_the_first_is_a_project_of_its_own_with_its_own_load(
    docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path
) -> None:
    docker.answers([*ANSWERS, {"match": "wait lsmlab-load", "stdout": "0\n"}, {"match": "wait lsmlab-", "seconds": 60}])
    ports = free_ports()
    runtime.preflight(PLAN, ports, quiet)
    first = runtime.start_service(service_spec(tmp_path / "a"))
    second = runtime.start_service(service_spec(tmp_path / "b", beside=True))
    of_first, of_second = docker.calls("up --detach")
    assert "lsmlab" in of_first["words"]
    assert "lsmlab-beside" in of_second["words"]
    for setting in ("LAB_PORT_DATA", "LAB_PORT_ADMIN", "LAB_PORT_LOADGEN_METRICS"):
        assert of_first["environment"][setting] != of_second["environment"][setting]
    for setting in ("LAB_CPUS_SERVICE", "LAB_OWNER"):
        assert of_first["environment"][setting] == of_second["environment"][setting]
    assert first.data_url == f"http://127.0.0.1:{ports.data}"
    assert second.data_url != first.data_url
    assert runtime.loadgen_metrics_url(second) != runtime.loadgen_metrics_url(first)
    assert runtime.load(load_spec(tmp_path), second, quiet).exit_code == 0
    (load,) = docker.calls("run --detach")
    assert "lsmlab-beside" in load["words"], "the load runs in the network of the service that it is meant for"
    second.stop(1)
    assert docker.calls("rm --force")[-1]["words"][-1] == "lsmlab-beside-service-1"
    first.stop(1)
    runtime.close()
    assert "lsmlab-beside" in docker.calls("down --volumes")[0]["words"]
