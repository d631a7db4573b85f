"""The promises of docker-compose.yml, the Dockerfiles and docker/engine, read from the files themselves."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[3]
DOCKERFILES = sorted(
    path.relative_to(CHECKOUT).as_posix()
    for path in CHECKOUT.glob("**/Dockerfile")
    if not {"target", ".venv", "results"} & set(path.relative_to(CHECKOUT).parts)
)
RUN_SERVICES = {"service", "loadgen", "profiler", "converter"}


@pytest.fixture(scope="module")
def stack() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())
    return document


def test_every_port_is_published_on_the_loopback_address_only(stack: dict[str, Any]) -> None:
    ports = [port for service in stack["services"].values() for port in service.get("ports", [])]
    assert len(ports) == 6
    for port in ports:
        assert port.startswith("127.0.0.1:"), port


def test_every_container_of_a_run_can_be_pinned_and_none_is_throttled(stack: dict[str, Any]) -> None:
    for name, service in stack["services"].items():
        if name != "lab":  # it pins itself
            assert re.fullmatch(r"\$\{LAB_CPUS_(SERVICE|LOADGEN|OTHER):-\}", service["cpuset"]), name
        assert not {"cpus", "cpu_quota", "deploy", "cpu_count", "cpu_percent"} & set(service), name


def test_no_health_check_starts_a_process_during_a_run(stack: dict[str, Any]) -> None:
    checks = {name: service["healthcheck"] for name, service in stack["services"].items() if "healthcheck" in service}
    assert set(checks) == {"service", "prometheus", "node-exporter", "grafana", "artifacts"}
    for name, check in checks.items():
        assert check["interval"] == "${LAB_HEALTH_INTERVAL:-10s}", name


def test_containers_of_a_run_name_their_lab(stack: dict[str, Any]) -> None:
    for name in RUN_SERVICES:
        assert stack["services"][name]["labels"] == {"lsmlab.owner": "${LAB_OWNER:-}"}, name
    for name in set(stack["services"]) - RUN_SERVICES:
        assert "labels" not in stack["services"][name], f"{name}: a pid in its configuration would recreate it each run"


def test_nothing_is_privileged_and_the_profiler_alone_has_capabilities(stack: dict[str, Any]) -> None:
    for name, service in stack["services"].items():
        assert "privileged" not in service, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["read_only"], name
        assert service["security_opt"] == ["no-new-privileges"], name
        if name == "profiler":
            assert sorted(service["cap_add"]) == ["KILL", "SETGID", "SETUID", "SYSLOG", "SYS_ADMIN", "SYS_PTRACE"]
        else:
            assert "cap_add" not in service, name


def test_every_tag_but_the_ones_built_here_is_pinned(stack: dict[str, Any]) -> None:
    for name, service in stack["services"].items():
        if "build" not in service and name != "converter":
            assert re.search(r":-[\w/]+:\d+\.\d+\.\d+\}$", service["image"]), name


def test_every_build_names_a_dockerfile_that_is_there(stack: dict[str, Any]) -> None:
    named = {service["build"]["dockerfile"] for service in stack["services"].values() if "build" in service}
    assert named == set(DOCKERFILES)


@pytest.mark.parametrize("name", DOCKERFILES)
def test_images_need_no_registry_but_for_their_base(name: str) -> None:
    text = (CHECKOUT / name).read_text()
    assert "ARG BASE_IMAGE=debian:trixie-slim\n" in text
    stages = re.findall(r"^FROM (\S+)(?: AS (\S+))?$", text, re.MULTILINE)
    assert stages
    named = {"${BASE_IMAGE}"}
    for base, name_of_stage in stages:
        assert base in named
        named.add(name_of_stage)
    assert not re.search(r"^#\s*syntax\s*=", text, re.MULTILINE), "it would have a frontend pulled"
    assert not re.search(r"^RUN .*<<", text, re.MULTILINE), "an engine of version 20.10 knows no here-documents"
    assert not re.search(r"curl|wget|ADD http", text)


@pytest.mark.parametrize("name", DOCKERFILES)
def test_sources_of_an_image_are_in_the_build_context(name: str) -> None:
    """A path that .dockerignore leaves out would fail only on a machine that builds."""
    allowed = [line[1:] for line in (CHECKOUT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for source in re.findall(r"^COPY (?!--from)(\S+)", (CHECKOUT / name).read_text(), re.MULTILINE):
        assert any(source == place or source.startswith(f"{place}/") for place in allowed), source
        assert (CHECKOUT / source).exists(), source


def engine(*words: str, path: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(CHECKOUT / "docker" / "engine"), *words],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_engine_without_a_command_shows_its_use() -> None:
    done = engine(path=os.environ["PATH"])
    assert done.returncode == 2
    assert "docker/engine up" in done.stderr


def test_engine_status_fails_if_nothing_answers(tmp_path: Path) -> None:
    docker = tmp_path / "docker"
    docker.write_text("#!/bin/sh\nexit 1\n")
    docker.chmod(0o755)
    done = engine("status", path=f"{tmp_path}:/usr/bin:/bin")
    assert done.returncode == 1
    assert "no Docker Engine answers ('docker/engine up'" in done.stderr
    assert "'docker compose' is missing" in done.stderr


def test_engine_up_without_root_names_its_requirements(tmp_path: Path) -> None:
    """As a user that is not root, with neither dockerd nor a docker that answers."""
    for name, text in {"docker": "exit 1", "id": "echo 1000", "apt-get": "exit 1"}.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    for tool in ("bash", "mktemp", "rm", "cat", "sed"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    done = engine("up", path=str(tmp_path))
    assert done.returncode == 1
    assert "needs root: run 'sudo docker/engine up'" in done.stderr
