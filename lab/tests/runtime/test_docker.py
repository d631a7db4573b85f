"""The docker runtime against a docker command that answers as told: what it asks for, and what it makes of failures."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.errors import InputError, MissingToolError, RunError
from lab.paths import House
from lab.runtime import docker_engine, docker_monitoring
from lab.runtime.base import CpuPlan, DatasetSpec, LoadSpec, Ports, ProfileSpec, ServiceSpec
from lab.runtime.docker import DockerRuntime
from support.fake_docker import FakeDocker

ANSWERS = [
    {"match": "version --format", "stdout": "28.0.0\n"},
    {"match": "compose version", "stdout": "2.40.0\n"},
]
PLAN = CpuPlan((0, 1), (2,), (3,))
DEAD_PID = 2**22 - 1  # above the kernel's usual limit


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    fake = FakeDocker(tmp_path / "bin").install()
    fake.answers(ANSWERS)
    monkeypatch.setenv("PATH", f"{fake.directory}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("LOADGEN_IMAGE", raising=False)
    monkeypatch.delenv("LOADGEN", raising=False)
    monkeypatch.setattr(docker_monitoring, "port_is_free", lambda *_: True)  # a `make up` of this machine is no matter
    monkeypatch.setattr(docker_monitoring, "SETTLE_S", 0)
    return fake


@pytest.fixture
def runtime(docker: FakeDocker, tmp_path: Path) -> Iterator[DockerRuntime]:
    made = DockerRuntime(House(tmp_path / "house"))
    yield made
    made.close()


def free_ports() -> Ports:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    ports = [opened.getsockname()[1] for opened in sockets]
    for opened in sockets:
        opened.close()
    return Ports(*ports)


def quiet(_: str) -> None:
    pass


def container(service: str, owner: int) -> str:
    labels = f"com.docker.compose.project=lsmlab,com.docker.compose.service={service},lsmlab.owner={owner}"
    line = {"ID": f"id-{service}", "Names": f"lsmlab-{service}-1", "Labels": labels, "Image": "x", "State": "exited"}
    return json.dumps(line) + "\n"


def service_spec(tmp_path: Path, **more: Any) -> ServiceSpec:
    work = tmp_path / "work" / "1"
    (work / "data").mkdir(parents=True)
    values: dict[str, Any] = {"settings": {"variant": "stack", "workers": 8}, "jvm_flags": (), "cpus": (0, 1)}
    return ServiceSpec(work_dir=work, log=tmp_path / "service.log", **(values | more))


def load_spec(tmp_path: Path, **more: Any) -> LoadSpec:
    out = tmp_path / "out"
    out.mkdir()
    values: dict[str, Any] = {"rate_per_s": 20000, "threads": 2, "connections": 64, "duration_s": 20.0}
    values |= {"words": ("pairs=2000000",), "cpus": (2,)}
    return LoadSpec(script=tmp_path / "scripts" / "get.lua", out=out, **(values | more))


# What is wrong with this machine.


def test_without_docker_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolError, match="Docker is not installed") as raised:
        DockerRuntime(House(tmp_path)).preflight(PLAN, free_ports(), quiet)
    assert "docker/engine up" in raised.value.hint
    assert [(check.name, check.ok) for check in DockerRuntime.checks()] == [("docker", False)]


def test_docker_installed_but_not_running_is_told_apart(docker: FakeDocker, runtime: DockerRuntime) -> None:
    said = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n"
    docker.answers([{"match": "version --format {{.Server", "stderr": said, "code": 1}])
    with pytest.raises(MissingToolError, match="installed but not running: Cannot connect") as raised:
        runtime.preflight(PLAN, free_ports(), quiet)
    assert "systemctl start docker" in raised.value.hint


def test_a_user_who_may_not_use_the_engine_is_told_so(docker: FakeDocker, runtime: DockerRuntime) -> None:
    said = "permission denied while trying to connect to the Docker daemon socket\n"
    docker.answers([{"match": "version --format {{.Server", "stderr": said, "code": 1}])
    with pytest.raises(MissingToolError, match="may not use it") as raised:
        runtime.preflight(PLAN, free_ports(), quiet)
    assert "usermod -aG docker" in raised.value.hint


def test_an_engine_that_hangs_is_not_waited_for(
    docker: FakeDocker, runtime: DockerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_engine, "ANSWER_TIMEOUT_S", 0.2)
    docker.answers([{"match": "version", "seconds": 30}])
    with pytest.raises(MissingToolError, match=r"has not answered within 0\.2 s"):
        runtime.preflight(PLAN, free_ports(), quiet)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"stderr": "docker: 'compose' is not a docker command.", "code": 1}, "'docker compose' is missing"),
        ({"stdout": "1.29.2\n"}, "is version 1.29.2; 2 or later"),
    ],
)
def test_compose_that_is_missing_or_old_is_told(
    docker: FakeDocker, runtime: DockerRuntime, answer: dict[str, Any], message: str
) -> None:
    docker.answers([ANSWERS[0], {"match": "compose version", **answer}])
    with pytest.raises(MissingToolError, match=message):
        runtime.preflight(PLAN, free_ports(), quiet)
    assert [check.ok for check in DockerRuntime.checks()] == [True, True, False]


# Preflight.


def test_what_a_dead_lab_left_is_removed(docker: FakeDocker, runtime: DockerRuntime) -> None:
    docker.answers([*ANSWERS, {"match": "ps -a", "stdout": container("service", DEAD_PID)}])
    told: list[str] = []
    runtime.preflight(PLAN, free_ports(), told.append)
    assert docker.calls("rm --force")[0]["words"][-1] == "id-service"
    assert "lsmlab-service-1" in told[0]


def test_a_living_labs_containers_are_left_alone(docker: FakeDocker, runtime: DockerRuntime) -> None:
    with_lab_in_it = os.getppid()
    docker.answers([*ANSWERS, {"match": "ps -a", "stdout": container("service", with_lab_in_it)}])
    words = "python -m lab run stack-get"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(docker_engine, "command_line", lambda _: words)
        with pytest.raises(RunError, match=f"another lab \\(process {with_lab_in_it}\\)"):
            runtime.preflight(PLAN, free_ports(), quiet)
    assert docker.calls("rm --force") == []


def test_a_pid_that_is_no_lab_any_more_counts_as_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker_engine, "command_line", lambda _: "/usr/bin/slabtop")
    assert not docker_engine.is_live_lab(os.getppid())


def test_a_port_that_is_taken_is_named(docker: FakeDocker, runtime: DockerRuntime) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ports = free_ports()
        with pytest.raises(RunError, match=f"port {port} on 127.0.0.1 is taken by process {os.getpid()}"):
            runtime.preflight(PLAN, Ports(ports.data, port, ports.loadgen_metrics), quiet)


def test_port_0_is_refused(runtime: DockerRuntime) -> None:
    with pytest.raises(InputError, match="port 0"):
        runtime.preflight(PLAN, Ports(data=0), quiet)


# The service.


def test_the_service_gets_its_files_and_its_cpus(docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path) -> None:
    docker.answers([*ANSWERS, {"match": "wait lsmlab-service-1", "stdout": "0\n"}])
    ports = free_ports()
    runtime.preflight(PLAN, ports, quiet)
    spec = service_spec(tmp_path, jvm_flags=("-Xmx2g", '-Dsaying=a "b" c\\d'))
    service = runtime.start_service(spec)
    written = yaml.safe_load((spec.work_dir / "service.yaml").read_text())
    assert written == {
        "variant": "stack",
        "workers": 8,
        "data_host": "0.0.0.0",
        "data_port": 8080,
        "admin_host": "0.0.0.0",
        "admin_port": 8081,
        "data_dir": str(spec.data_dir),
    }
    assert (spec.work_dir / "jvm.args").read_text() == '"-Xmx2g"\n"-Dsaying=a \\"b\\" c\\\\d"\n'
    up = docker.calls("up --detach")[0]
    assert up["words"][-1] == "service"
    assert (
        up["environment"]
        | {
            "LAB_SERVICE_DIR": str(spec.work_dir),
            "LAB_CPUS_SERVICE": "0-1",
            "LAB_CPUS_OTHER": "3",
            "LAB_PORT_ADMIN": str(ports.admin),
            "LAB_UID": str(os.getuid()),
            "LAB_OWNER": str(os.getpid()),
        }
        == up["environment"]
    )
    assert service.admin_url == f"http://127.0.0.1:{ports.admin}"


def test_a_service_that_dies_at_its_start_shows_its_log(
    docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path
) -> None:
    docker.answers(
        [
            *ANSWERS,
            {"match": "wait lsmlab-service-1", "stdout": "2\n"},
            {"match": "logs --follow", "stdout": "service.yaml: variant: no such variant\n"},
        ]
    )
    runtime.preflight(PLAN, free_ports(), quiet)
    service = runtime.start_service(service_spec(tmp_path))
    with pytest.raises(RunError, match="ended with exit code 2 before it was ready") as raised:
        service.wait_ready(30)
    assert "no such variant" in raised.value.log_tail
    assert service.stop() == 2
    assert docker.calls("rm --force")[-1]["words"][-1] == "lsmlab-service-1"


def test_a_service_that_is_never_ready_is_given_up(docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path) -> None:
    docker.answers([*ANSWERS, {"match": "wait lsmlab-service-1", "seconds": 60}])
    runtime.preflight(PLAN, free_ports(), quiet)
    service = runtime.start_service(service_spec(tmp_path))
    assert service.alive()
    with pytest.raises(RunError, match=r"not ready after 0\.3 s"):
        service.wait_ready(0.3)
    assert service.alive()


def test_a_container_that_cannot_be_started_says_what_docker_said(
    docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path
) -> None:
    said = "Error response from daemon: driver failed programming external connectivity: port is already allocated\n"
    docker.answers([*ANSWERS, {"match": "up --detach", "stderr": said, "code": 1}])
    with pytest.raises(RunError, match=r"starting the service container failed: .*port is already allocated"):
        runtime.start_service(service_spec(tmp_path))


# The load.


class Alive:
    """A service that lives until it is told otherwise."""

    def __init__(self) -> None:
        self.answer = True

    def alive(self) -> bool:
        return self.answer


def test_the_load_generator_is_asked_in_wrk2s_words_and_its_output_kept(
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
        *("--metrics", "0.0.0.0:9101", "http://127.0.0.1:8080", "--", "pairs=2000000"),
    ]
    assert f"--volume={spec.out}:{spec.out}" in words
    assert docker.calls("rm --force")[-1]["words"][-1] == f"lsmlab-load-{os.getpid()}"


def test_another_load_generator_is_asked_for_nothing_it_does_not_know(
    docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADGEN_IMAGE", "somebody/wrk2")
    docker.answers([{"match": "wait lsmlab-load", "stdout": "0\n"}])
    runtime = DockerRuntime(House(tmp_path / "house"))
    runtime.load(load_spec(tmp_path), Alive(), quiet)  # type: ignore[arg-type]
    words = docker.calls("run --detach")[0]["words"]
    assert not {"--json", "--hdr-log", "--metrics"} & set(words)
    assert runtime.loadgen_metrics_url() is None
    assert runtime.custom_loadgen == "somebody/wrk2", "the run records which one it was"
    runtime.build(tmp_path / "build.log", quiet)
    assert "loadgen" not in docker.calls(" build ")[0]["words"]
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
    runtime = DockerRuntime(House(tmp_path / "house"))
    runtime.preflight(PLAN, free_ports(), quiet)
    assert runtime.custom_loadgen == str(program)
    assert runtime.loadgen_metrics_url() is None
    spec = load_spec(tmp_path)
    runtime.load(spec, Alive(), quiet)  # type: ignore[arg-type]
    words = docker.calls("run --detach")[0]["words"]
    at = words.index("loadgen")
    assert f"--volume={program}:/opt/lsmlab/other/wrk2:ro" in words[:at]
    assert "--entrypoint=/opt/lsmlab/other/wrk2" in words[:at]
    assert words[at + 1 :][-3:] == ["http://127.0.0.1:8080", "--", "pairs=2000000"]
    assert not {"--json", "--hdr-log", "--metrics"} & set(words)
    runtime.build(tmp_path / "build.log", quiet)
    assert ("loadgen" in docker.calls(" build ")[0]["words"]) == (not image), "it runs in ours, or in the one named"
    runtime.close()


@pytest.mark.parametrize(("make", "problem"), [(False, "does not exist"), (True, "is no executable file")])
def test_a_load_generator_that_cannot_be_run_ends_the_run_before_it_starts(
    docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: bool, problem: str
) -> None:
    if make:
        (tmp_path / "wrk2").write_text("")
    monkeypatch.setenv("LOADGEN", str(tmp_path / "wrk2"))
    with pytest.raises(InputError, match=f"LOADGEN=.*wrk2: {problem}"):
        DockerRuntime(House(tmp_path / "house")).preflight(PLAN, free_ports(), quiet)
    assert not docker.calls("run ")


def test_a_load_that_fails_tells_its_exit_code_and_its_last_words(
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
    monkeypatch.setattr("lab.runtime.docker.INTERRUPT_GRACE_S", 0.2)

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


# The rest.


def test_a_dataset_that_ends_without_json_is_an_error(
    docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path
) -> None:
    spec = DatasetSpec("tiny", 10, 100, 1, 1)
    docker.answers([{"match": "load-dataset", "stdout": "done\n"}])
    with pytest.raises(RunError, match="no JSON"):
        runtime.make_dataset(spec, tmp_path / "store", tmp_path / "log", quiet)
    docker.answers([{"match": "load-dataset", "stdout": '{"pairs": 10}\n', "stderr": "writing\n"}])
    assert runtime.make_dataset(spec, tmp_path / "store", tmp_path / "log", quiet) == {"pairs": 10}
    call = docker.calls("load-dataset")[0]
    assert f"{tmp_path}:{tmp_path}" in call["words"]
    assert call["environment"]["LAB_CPUS_SERVICE"] == ""


def test_a_build_that_fails_shows_the_end_of_its_log(
    docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path
) -> None:
    docker.answers([{"match": " build ", "stderr": "ERROR: failed to solve: debian:trixie-slim\n", "code": 17}])
    with pytest.raises(RunError, match="docker compose build ended with exit code 17") as raised:
        runtime.build(tmp_path / "build.log", quiet)
    assert "failed to solve" in raised.value.log_tail
    assert "docker/engine up" in raised.value.hint


def test_a_service_without_an_image_is_not_asked(docker: FakeDocker, runtime: DockerRuntime) -> None:
    docker.answers([{"match": "image inspect", "code": 1}])
    with pytest.raises(RunError, match="not built yet"):
        runtime.variants()


def test_choices_are_asked_once_an_image(docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path) -> None:
    answer = '[{"name": "sync", "summary": "on the selector"}]'
    docker.answers([{"match": "image inspect", "stdout": "sha256:1\n"}, {"match": "variants --json", "stdout": answer}])
    another = DockerRuntime(House(tmp_path / "house"))
    assert [choice.name for choice in runtime.variants() + another.variants()] == ["sync", "sync"]
    another.close()
    assert len(docker.calls("variants --json")) == 1
    docker.answers([{"match": "image inspect", "stdout": "sha256:2\n"}, {"match": "variants --json", "stdout": answer}])
    runtime.variants()
    assert len(docker.calls("variants --json")) == 2


def test_a_profile_is_copied_out_before_the_sidecar_goes(
    docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path
) -> None:
    spec = ProfileSpec(tmp_path / "profile", ("cpu", "alloc"), "500us", "a title", (3,))
    spec.out.mkdir()
    runtime.start_profile(spec, Alive())  # type: ignore[arg-type]
    runtime.stop_profile(spec, Alive())  # type: ignore[arg-type]
    order = [call["words"] for call in docker.calls()]
    start = next(words for words in order if "start" in words)
    assert start[start.index("--events") + 1] == "cpu,alloc"
    assert start[start.index("--interval") + 1] == "500us"
    copied = order.index(["cp", "lsmlab-profiler-1:/profile/profile.jfr", str(spec.out)])
    assert copied < order.index(["rm", "--force", "--volumes", "lsmlab-profiler-1"])
    assert docker.calls("up --detach")[0]["environment"]["LAB_CPUS_OTHER"] == "3"


def test_monitoring_that_fails_is_told_and_no_error(docker: FakeDocker, runtime: DockerRuntime) -> None:
    docker.answers([{"match": "config --images", "stdout": "grafana\n"}, {"match": " build ", "code": 1}])
    told: list[str] = []
    runtime.monitoring_up(told.append)
    assert "the run goes on without it" in told[-1]


def test_monitoring_whose_port_is_taken_is_left_out_and_named(
    docker: FakeDocker, runtime: DockerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker.answers([{"match": "config --images", "stdout": "grafana\n"}])
    monkeypatch.setattr(docker_monitoring, "port_is_free", lambda _, port: port != 9090)
    told: list[str] = []
    runtime.monitoring_up(told.append)
    assert any("prometheus was not started: port 9090" in line for line in told)
    assert "prometheus" not in docker.calls("up --detach")[0]["words"]
    runtime.monitoring_down()
    assert docker.calls("rm --stop")[0]["words"][-2:] == ["node-exporter", "artifacts"]


def test_monitoring_that_was_up_is_pinned_anew_and_stays(docker: FakeDocker, runtime: DockerRuntime) -> None:
    names = ("prometheus", "node-exporter", "artifacts", "grafana")
    running = "".join(container(name, 0).replace(",lsmlab.owner=0", "") for name in names)
    docker.answers(
        [
            *ANSWERS,
            {"match": "label=lsmlab.owner"},
            {"match": "ps -a", "stdout": running},
            {"match": "config --images", "stdout": "grafana/grafana:1\n"},
            {"match": "image inspect", "stdout": "sha256:1\n"},
        ]
    )
    runtime.preflight(PLAN, free_ports(), quiet)
    runtime.monitoring_up(quiet)
    runtime.monitoring_down()
    assert docker.calls("update --cpuset-cpus 3")
    assert not docker.calls("up --detach")
    assert not docker.calls("rm --stop")


def test_without_grafanas_image_one_line_says_so(docker: FakeDocker, runtime: DockerRuntime) -> None:
    docker.answers(
        [{"match": "config --images", "stdout": "grafana/grafana:1\n"}, {"match": "image inspect", "code": 1}]
    )
    told: list[str] = []
    runtime.monitoring_up(told.append)
    assert len([line for line in told if "Grafana" in line]) == 1
    assert "grafana" not in docker.calls("up --detach")[0]["words"][-4:]
    assert any("Grafana" in note for note in runtime.facts().notes)
    assert not docker.calls("pull")


def test_down_refuses_while_a_run_goes_on(docker: FakeDocker, runtime: DockerRuntime) -> None:
    docker.answers([*ANSWERS, {"match": "ps -a", "stdout": container("service", os.getppid())}])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(docker_engine, "command_line", lambda _: "python -m lab run x")
        with pytest.raises(RunError, match="a run goes on"):
            runtime.stack_down()
    assert not docker.calls(" down ")


def test_close_removes_what_is_this_labs_and_never_raises(docker: FakeDocker, tmp_path: Path) -> None:
    docker.answers([{"match": "ps -a", "stdout": container("service", os.getpid())}, {"match": "rm", "code": 1}])
    runtime = DockerRuntime(House(tmp_path))
    runtime.close()
    runtime.close()
    assert f"label=lsmlab.owner={os.getpid()}" in docker.calls("ps -a")[0]["words"]
    assert docker.calls("rm --force")[0]["words"][-1] == "id-service"
    (docker.directory / "docker").unlink()
    runtime.close()
