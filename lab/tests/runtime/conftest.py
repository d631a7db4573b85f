"""A docker command that answers as told, and the runtime that asks it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.paths import Checkout
from lab.runtime.docker import monitoring
from lab.runtime.docker.runtime import DockerRuntime
from support.docker import ANSWERS
from support.fake_docker import FakeDocker


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    fake = FakeDocker(tmp_path / "bin").install()
    fake.answers(ANSWERS)
    monkeypatch.setenv("PATH", f"{fake.directory}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("LOADGEN_IMAGE", raising=False)
    monkeypatch.delenv("LOADGEN", raising=False)
    monkeypatch.setattr(monitoring, "port_is_free", lambda *_: True)  # `make up` may have taken them
    monkeypatch.setattr(monitoring, "SETTLE_S", 0)
    return fake


@pytest.fixture
def runtime(docker: FakeDocker, tmp_path: Path) -> Iterator[DockerRuntime]:
    made = DockerRuntime(Checkout(tmp_path / "checkout"))
    yield made
    made.close()
