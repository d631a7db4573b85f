"""Services that are not the lab's own, on a system that gives them no network of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.errors import RunError
from lab.experiment import ServiceSettings
from lab.process.processes import Processes
from lab.runtime.local import foreign
from lab.runtime.local.foreign import ForeignService
from lab.runtime.specs import ServiceSpec
from support.checkout import free_port

SERVER = Path(__file__).parents[1] / "e2e/strangers/server.py"


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Processes]:
    monkeypatch.setattr(foreign, "networks_problem", lambda: "Operation not permitted")
    started = Processes()
    yield started
    started.close()


def start(processes: Processes, directory: Path, behaviour: str, port: int) -> ForeignService:
    directory.mkdir()
    declared = ServiceSettings.model_validate(
        {"command": [sys.executable, str(SERVER), behaviour], "env": {"STRANGER_PORT": port}, "name": "shop"}
    )
    spec = ServiceSpec(directory, {}, (), (), directory / "service.log", declared=declared)
    return ForeignService(spec, declared, processes, "java")


def test_two_services_that_share_one_port_are_never_measured_as_one(processes: Processes, tmp_path: Path) -> None:
    port = free_port()
    first = start(processes, tmp_path / "a", "shared-port", port)
    first.wait_ready(30)
    assert first.data_url == f"http://127.0.0.1:{port}"
    second = start(processes, tmp_path / "b", "shared-port", port)
    with pytest.raises(
        RunError, match=f"another program listens on port {port} too, so the figures would be a mix"
    ) as no:
        second.wait_ready(30)
    assert "This system allows no network of its own for each service (Operation not permitted)" in no.value.hint


def test_a_service_whose_port_is_taken_ends_and_its_log_is_shown(processes: Processes, tmp_path: Path) -> None:
    port = free_port()
    start(processes, tmp_path / "a", "", port).wait_ready(30)
    with pytest.raises(RunError, match="shop ended with exit code 1 before it was ready") as ended:
        start(processes, tmp_path / "b", "", port).wait_ready(30)
    assert "Address already in use" in ended.value.log_tail
    assert "let the service take its port from PORT" in ended.value.hint
