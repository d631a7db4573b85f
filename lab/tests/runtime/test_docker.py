"""The docker runtime with a docker command that answers as told: the commands it runs, and its reports of failures."""

from __future__ import annotations

import io
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from lab.cli import runtimes as select
from lab.cli.listing import check_machine
from lab.errors import InputError, MissingToolError, RunError
from lab.paths import Checkout
from lab.runtime.base import DatasetSpec, Ports, ProfileSpec
from lab.runtime.docker import engine, monitoring
from lab.runtime.docker.monitoring import Stack
from lab.runtime.docker.runtime import DockerRuntime
from support.docker import ANSWERS, DEAD_PID, PLAN, STACK, Alive, container, free_ports, quiet, service_spec
from support.fake_docker import FakeDocker

# Faults of the machine.


def test_without_docker_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingToolError, match="Docker is not installed") as raised:
        DockerRuntime(Checkout(tmp_path)).preflight(PLAN, free_ports(), quiet)
    assert "docker/engine up" in raised.value.hint
    assert [(check.name, check.ok) for check in DockerRuntime.checks()] == [("docker", False)]


def test_docker_installed_but_not_running_has_its_own_error(docker: FakeDocker, runtime: DockerRuntime) -> None:
    stderr = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n"
    docker.answers([{"match": "version --format {{.Server", "stderr": stderr, "code": 1}])
    with pytest.raises(MissingToolError, match="installed but not running: Cannot connect") as raised:
        runtime.preflight(PLAN, free_ports(), quiet)
    assert "systemctl start docker" in raised.value.hint


def test_a_user_without_permission_for_the_engine_gets_an_error(docker: FakeDocker, runtime: DockerRuntime) -> None:
    stderr = "permission denied while trying to connect to the Docker daemon socket\n"
    docker.answers([{"match": "version --format {{.Server", "stderr": stderr, "code": 1}])
    with pytest.raises(MissingToolError, match="may not use it") as raised:
        runtime.preflight(PLAN, free_ports(), quiet)
    assert "usermod -aG docker" in raised.value.hint


def test_an_engine_that_hangs_is_not_waited_for(
    docker: FakeDocker, runtime: DockerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "ANSWER_TIMEOUT_S", 0.2)
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
def test_a_missing_or_old_compose_is_reported(
    docker: FakeDocker, runtime: DockerRuntime, answer: dict[str, Any], message: str
) -> None:
    docker.answers([ANSWERS[0], {"match": "compose version", **answer}])
    with pytest.raises(MissingToolError, match=message):
        runtime.preflight(PLAN, free_ports(), quiet)
    assert [check.ok for check in DockerRuntime.checks()] == [True, True, False]


def test_a_compose_built_from_source_is_accepted(docker: FakeDocker, runtime: DockerRuntime) -> None:
    docker.answers([ANSWERS[0], {"match": "compose version", "stdout": "dev\n"}])
    runtime.preflight(PLAN, free_ports(), quiet)
    assert [(check.name, check.detail) for check in DockerRuntime.checks()][-1] == ("docker compose", "dev")


def test_without_compose_every_command_takes_the_local_runtime_and_says_why(
    docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.runtime.local.requirements.checks", list)
    docker.answers([ANSWERS[0], {"match": "compose version", "stderr": "unknown flag: --short", "code": 125}])
    told: list[str] = []
    chosen = select.choose(Checkout(tmp_path), None, told.append)
    assert chosen.name == "local"
    assert told == ["runtime: local, because 'docker compose' is missing: Docker is there without its Compose plugin"]
    console = Console(record=True, width=200, file=io.StringIO())
    check_machine(console)
    assert "By default, they run in: local, because 'docker compose' is missing" in console.export_text()
    with pytest.raises(MissingToolError, match="RUNTIME=docker: 'docker compose' is missing") as raised:
        select.choose(Checkout(tmp_path), "docker", told.append)
    assert "RUNTIME=local" in raised.value.hint


def test_if_containers_can_be_run_docker_is_chosen_silently(docker: FakeDocker, tmp_path: Path) -> None:
    told: list[str] = []
    assert select.choose(Checkout(tmp_path), None, told.append).name == "docker"
    assert told == []


# Preflight.


def test_leftovers_of_a_dead_lab_are_removed(docker: FakeDocker, runtime: DockerRuntime) -> None:
    docker.answers([*ANSWERS, {"match": "ps -a", "stdout": container("service", DEAD_PID)}])
    told: list[str] = []
    runtime.preflight(PLAN, free_ports(), told.append)
    assert docker.calls("rm --force")[0]["words"][-1] == "id-service"
    assert "lsmlab-service-1" in told[0]


def test_a_stack_under_another_name_is_left_alone(docker: FakeDocker, runtime: DockerRuntime) -> None:
    another = container("service", DEAD_PID).replace("project=lsmlab,", "project=lsmlab-plain,")
    docker.answers([*ANSWERS, {"match": "ps -a", "stdout": another}])
    runtime.preflight(PLAN, free_ports(), quiet)
    assert docker.calls("rm --force") == []


def test_a_living_labs_containers_are_left_alone(docker: FakeDocker, runtime: DockerRuntime) -> None:
    with_lab_in_it = os.getppid()
    docker.answers([*ANSWERS, {"match": "ps -a", "stdout": container("service", with_lab_in_it)}])
    words = "python -m lab run stack-get"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "command_line", lambda _: words)
        with pytest.raises(RunError, match=f"another lab \\(process {with_lab_in_it}\\)"):
            runtime.preflight(PLAN, free_ports(), quiet)
    assert docker.calls("rm --force") == []


def test_a_pid_that_is_no_lab_any_more_counts_as_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "command_line", lambda _: "/usr/bin/slabtop")
    assert not engine.is_live_lab(os.getppid())


def test_a_killed_lab_counts_as_dead_before_its_parent_has_waited_for_it() -> None:
    killed = subprocess.Popen(["sleep", "60"])
    killed.kill()
    os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is still there
    try:
        os.kill(killed.pid, 0)
        assert not engine.is_live_lab(killed.pid)
    finally:
        killed.wait()


def test_a_port_in_use_is_named(docker: FakeDocker, runtime: DockerRuntime) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ports = free_ports()
        with pytest.raises(RunError, match=f"port {port} on 127.0.0.1 is taken by process {os.getpid()}"):
            runtime.preflight(PLAN, Ports(ports.data, port, ports.loadgen_metrics), quiet)


@pytest.mark.parametrize("setting", ["LAB_RESULTS", "LAB_CACHE"])
def test_a_directory_whose_name_docker_would_split_is_refused(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, setting: str
) -> None:
    monkeypatch.setenv(setting, str(tmp_path / "10:30"))
    with pytest.raises(InputError, match=f"/10:30 has a colon in its name, at which Docker splits {setting}: "):
        DockerRuntime(Checkout(tmp_path)).preflight(PLAN, free_ports(), quiet)
    assert not (tmp_path / "10:30").exists()


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
        service.wait_ready(60)
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


def test_a_container_that_cannot_be_started_shows_dockers_message(
    docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path
) -> None:
    stderr = "Error response from daemon: driver failed programming external connectivity: port is already allocated\n"
    docker.answers([*ANSWERS, {"match": "up --detach", "stderr": stderr, "code": 1}])
    with pytest.raises(RunError, match=r"starting the service container failed: .*port is already allocated"):
        runtime.start_service(service_spec(tmp_path))


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
        runtime.catalogue.variants()


def test_choices_are_asked_once_an_image(docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path) -> None:
    answer = '[{"name": "sync", "summary": "on the selector"}]'
    docker.answers([{"match": "image inspect", "stdout": "sha256:1\n"}, {"match": "variants --json", "stdout": answer}])
    another = DockerRuntime(Checkout(tmp_path / "checkout"))
    assert [choice.name for choice in runtime.catalogue.variants() + another.catalogue.variants()] == ["sync", "sync"]
    another.close()
    assert len(docker.calls("variants --json")) == 1
    docker.answers([{"match": "image inspect", "stdout": "sha256:2\n"}, {"match": "variants --json", "stdout": answer}])
    runtime.catalogue.variants()
    assert len(docker.calls("variants --json")) == 2


def test_a_profile_is_copied_out_before_the_sidecar_goes(
    docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path
) -> None:
    spec = ProfileSpec(tmp_path / "profile", ("cpu", "alloc"), "500us", "a title", (3,), depth=64, pprof=True)
    spec.out.mkdir()
    runtime.profiler.start(spec, Alive(), 179.5)  # type: ignore[arg-type]
    runtime.profiler.stop(spec, Alive())  # type: ignore[arg-type]
    order = [call["words"] for call in docker.calls()]
    start = next(words for words in order if "start" in words)
    assert start[start.index("--events") + 1] == "cpu,alloc"
    assert start[start.index("--interval") + 1] == "500us"
    assert start[start.index("--depth") + 1] == "64"
    assert start[start.index("--timeout") + 1] == "180s"
    gone = order.index(["rm", "--force", "--volumes", "lsmlab-profiler-1"])
    for name in ("profile.jfr", "recorder.json"):
        assert order.index(["cp", f"lsmlab-profiler-1:/profile/{name}", str(spec.out)]) < gone
    runtime.profiler.convert(spec, lambda _: None)
    assert "--pprof" in docker.calls("convert")[0]["words"]
    assert docker.calls("up --detach")[0]["environment"]["LAB_CPUS_OTHER"] == "3"


def test_monitoring_that_fails_is_reported_without_an_error(docker: FakeDocker, runtime: DockerRuntime) -> None:
    docker.answers([{"match": "config --format json", "stdout": STACK}, {"match": " build ", "code": 1}])
    told: list[str] = []
    runtime.monitoring.up(PLAN, Ports(), told.append)
    assert "the run goes on without it" in told[-1]


def test_monitoring_whose_port_is_taken_is_left_out_and_named(
    docker: FakeDocker, runtime: DockerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker.answers([{"match": "config --format json", "stdout": STACK}])
    monkeypatch.setattr(monitoring, "port_is_free", lambda _, port: port != 9090)
    told: list[str] = []
    runtime.monitoring.up(PLAN, Ports(), told.append)
    assert any("prometheus was not started: port 9090" in line for line in told)
    assert "prometheus" not in docker.calls("up --detach")[0]["words"]
    runtime.monitoring.down()
    assert docker.calls("rm --stop")[0]["words"][-2:] == ["node-exporter", "artifacts"]


def test_monitoring_that_was_up_is_pinned_again_and_stays(docker: FakeDocker, runtime: DockerRuntime) -> None:
    names = ("prometheus", "node-exporter", "artifacts", "grafana")
    running = "".join(container(name, 0).replace(",lsmlab.owner=0", "") for name in names)
    docker.answers(
        [
            *ANSWERS,
            {"match": "label=lsmlab.owner"},
            {"match": "ps -a", "stdout": running},
            {"match": "config --format json", "stdout": STACK},
            {"match": "image inspect", "stdout": "sha256:1\n"},
        ]
    )
    runtime.preflight(PLAN, free_ports(), quiet)
    runtime.monitoring.up(PLAN, Ports(), quiet)
    runtime.monitoring.down()
    assert docker.calls("update --cpuset-cpus 3")
    assert not docker.calls("up --detach")
    assert not docker.calls("rm --stop")


def test_the_addresses_are_those_of_running_services(docker: FakeDocker, tmp_path: Path) -> None:
    running = "".join(container(name, 0) for name in ("prometheus", "node-exporter", "artifacts"))
    docker.answers(
        [*ANSWERS, {"match": "ps -a", "stdout": running}, {"match": "config --format json", "stdout": STACK}]
    )
    assert Stack(Checkout(tmp_path)).addresses() == {
        "prometheus": "http://127.0.0.1:9090",
        "artifacts": "http://127.0.0.1:8000",
    }


def test_without_grafanas_image_one_line_reports_that(docker: FakeDocker, runtime: DockerRuntime) -> None:
    docker.answers([{"match": "config --format json", "stdout": STACK}, {"match": "image inspect", "code": 1}])
    told: list[str] = []
    runtime.monitoring.up(PLAN, Ports(), told.append)
    assert len([line for line in told if "Grafana" in line]) == 1
    assert "grafana" not in docker.calls("up --detach")[0]["words"][-4:]
    assert any("Grafana" in note for note in runtime.facts().notes)
    assert not docker.calls("pull")


def test_down_refuses_while_a_run_goes_on(docker: FakeDocker, tmp_path: Path) -> None:
    docker.answers([*ANSWERS, {"match": "ps -a", "stdout": container("service", os.getppid())}])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "command_line", lambda _: "python -m lab run x")
        with pytest.raises(RunError, match="a run is in progress"):
            Stack(Checkout(tmp_path)).down()
    assert not docker.calls(" down ")


def test_close_removes_the_containers_of_this_lab_and_never_raises(docker: FakeDocker, tmp_path: Path) -> None:
    docker.answers([{"match": "ps -a", "stdout": container("service", os.getpid())}, {"match": "rm", "code": 1}])
    runtime = DockerRuntime(Checkout(tmp_path))
    runtime.close()
    runtime.close()
    assert f"label=lsmlab.owner={os.getpid()}" in docker.calls("ps -a")[0]["words"]
    assert docker.calls("rm --force")[0]["words"][-1] == "id-service"
    (docker.directory / "docker").unlink()
    runtime.close()


def test_containers_that_cannot_be_removed_are_named(docker: FakeDocker, runtime: DockerRuntime) -> None:
    docker.answers(
        [{"match": "ps -a", "stdout": container("service", os.getpid())}, {"match": "rm --force", "code": 1}]
    )
    (left,) = runtime.close()
    assert "containers of this run (removing containers failed" in left
    assert f"docker ps -aq --filter label=lsmlab.owner={os.getpid()}" in left
    docker.answers([])
    assert runtime.close() == []
