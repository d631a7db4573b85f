"""What the docker runtime needs before a run: an engine, Compose, free ports, and no containers of a dead lab."""

from __future__ import annotations

import io
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lab.cli import runtimes as select
from lab.cli.listing import check_machine
from lab.errors import InputError, MissingToolError, RunError
from lab.paths import Checkout
from lab.runtime.base import Ports
from lab.runtime.docker import engine
from lab.runtime.docker.runtime import DockerRuntime
from support.docker import ANSWERS, DEAD_PID, PLAN, container, free_ports, quiet
from support.fake_docker import FakeDocker


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
