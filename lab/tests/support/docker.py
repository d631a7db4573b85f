"""Requests to the docker runtime, for its tests."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from lab.cpu_plan import CpuPlan
from lab.runtime.base import LoadSpec, Ports, ServiceSpec

ANSWERS = [
    {"match": "version --format", "stdout": "28.0.0\n"},
    {"match": "compose version", "stdout": "2.40.0\n"},
]
STACK = json.dumps(
    {
        "services": {
            "prometheus": {"image": "lsmlab-prometheus", "ports": [{"target": 9090, "published": "9090"}]},
            "node-exporter": {"image": "lsmlab-node-exporter", "ports": None},
            "artifacts": {"image": "lsmlab-artifacts", "ports": [{"target": 8000, "published": "8000"}]},
            "grafana": {"image": "grafana/grafana:1", "ports": [{"target": 3000, "published": "3000"}]},
        }
    }
)
PLAN = CpuPlan((0, 1), (2,), (3,))
DEAD_PID = 2**22 - 1  # above the kernel's usual limit


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


class Alive:
    """A service that lives until it is told otherwise."""

    def __init__(self) -> None:
        self.answer = True

    def alive(self) -> bool:
        return self.answer
