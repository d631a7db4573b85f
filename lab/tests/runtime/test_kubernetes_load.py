"""The load in a cluster, with a kubectl that answers as told: starting generators, reading facts about nodes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lab.errors import RunError
from lab.kubernetes import load as load_module
from lab.kubernetes.cluster import NodeAudit
from lab.kubernetes.inventory import read_cluster
from lab.kubernetes.kubectl import Kubectl
from lab.kubernetes.load import Generator, Load
from lab.kubernetes.placement import Placement
from lab.kubernetes.readings import Clock, Counters, between, parse, read_clock, worst
from lab.kubernetes.service import KubernetesService
from lab.process.processes import Processes
from lab.runtime.base import LoadResult, LoadSpec
from support.fake_docker import FakeDocker

BEFORE = """\
uptime 1000.00 1900.00
cpu  100 0 50 800 10 0 5 35 7 0
memory some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000
memory full avg10=0.00 avg60=0.00 avg300=0.00 total=900000
nr_throttled 4
throttled_usec 250000
"""
GENERATORS = [Generator(1, "load-0-abcde", "n2"), Generator(2, "load-1-fghij", "n3")]
SERVICE = cast("KubernetesService", SimpleNamespace(address="10.0.0.7", alive=lambda: True))


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """A kubectl that returns two generators' files whenever files are fetched."""
    fake = FakeDocker(tmp_path / "bin").install("kubectl")
    monkeypatch.setenv("PATH", f"{fake.directory}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(load_module, "LIVENESS_S", 0.01)
    sums = ""
    records, reports = tmp_path / "records.tar", tmp_path / "reports.tar"
    for archive, names in ((records, ["2.record"]), (reports, ["load.txt", "load.json", "latency.hlog"])):
        with tarfile.open(archive, "w") as packed:
            for name in names:
                file = tmp_path / name
                file.write_text(f"what is in {name}")
                packed.add(file, name)
                sums += f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {name}\n"
    fake.answers(
        [
            {"match": "date +%s.%N", "stdout": "1795252475.5\n"},
            {"match": "sha256sum", "stdout": sums},
            {"match": "-- 2.record", "stdout": records.read_text()},
            {"match": "tar cf", "stdout": reports.read_text()},
            {"match": "/proc/uptime", "stdout": BEFORE},
        ]
    )
    return fake


def applied(tmp_path: Path, *, polling: bool = False, out: str = "measure/1") -> tuple[LoadResult, Load]:
    directory = tmp_path / "run" / out
    directory.mkdir(parents=True)
    script = tmp_path / "get.lua"
    script.write_text("-- a script")
    spec = LoadSpec(script, 1000, threads=2, connections=64, duration_s=1.0, words=(), out=directory, cpus=())
    with contextlib.closing(Processes()) as processes:
        load = Load(Kubectl("x"), processes, GENERATORS)
        return load.run(spec, SERVICE, polling=polling), load


def command_lines(kubectl: FakeDocker) -> list[str]:
    return [" ".join(call["words"]) for call in kubectl.calls("--record")]


def test_all_generators_get_their_part_of_one_load_and_the_same_start(kubectl: FakeDocker, tmp_path: Path) -> None:
    result, _ = applied(tmp_path)
    assert result.exit_code == 0, result.error_tail
    lines = sorted(command_lines(kubectl), key=lambda line: "--part 2/2" in line)
    assert ["--part 1/2" in lines[0], "--part 2/2" in lines[1]] == [True, True]
    starts = {line.split("--start-at ")[1].split()[0] for line in lines}
    assert len(starts) == 1
    assert all("-t2 -c64 -d1s -R1000" in line for line in lines), "each is told the whole load"
    names = {path.name for path in (tmp_path / "run/measure/1").iterdir()}
    assert names == {"load.txt", "load.json", "latency.hlog"}, "records and outputs of single generators are gone"


@pytest.mark.parametrize(("polling", "option"), [(True, "--idle hybrid"), (False, "--high-priority")])
def test_a_generator_without_cpus_of_its_own_asks_for_a_higher_priority(
    kubectl: FakeDocker, tmp_path: Path, polling: bool, option: str
) -> None:
    applied(tmp_path, polling=polling)
    for line in command_lines(kubectl):
        assert [o for o in ("--idle hybrid", "--high-priority") if o in line] == [option]


@pytest.mark.parametrize(("out", "audited"), [("measure/1", True), ("work/warm-up", False), ("profile", False)])
def test_nodes_are_audited_during_measured_loads_alone(
    kubectl: FakeDocker, tmp_path: Path, out: str, audited: bool
) -> None:
    _, load = applied(tmp_path, out=out)
    assert set(load.audits) == ({"service", "load-0-abcde", "load-1-fghij"} if audited else set())
    if audited:
        assert load.audits["service"].throttled_s == 0.0


def test_a_generator_that_fails_is_named_with_its_node(kubectl: FakeDocker, tmp_path: Path) -> None:
    kubectl.answers(
        [
            {"match": "date +%s.%N", "stdout": "1795252475.5\n"},
            {"match": "--part 2/2", "stdout": "script.lua:3: no such thing\n", "code": 1},
            {"match": "get pods", "stdout": '{"items": []}'},
        ]
    )
    result, load = applied(tmp_path)
    assert result.exit_code == 1
    assert result.error_tail.startswith("generator 2 of 2 on node n3: pod load-1-fghij is gone")
    assert "no such thing" in result.error_tail
    assert load.audits == {}


def test_a_clock_is_the_answer_with_the_shortest_round_trip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "kubectl"  # an hour ahead; its first answer takes longer than the others
    program.write_text("#!/bin/sh\nsleep 0.3\nwhile read -r _; do date -d '+1 hour' +%s.%N; done\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    clock = read_clock(Kubectl("x"), "load-0", "loadgen")
    assert clock.ahead_s == pytest.approx(3600, abs=0.1)
    assert 0 < clock.uncertainty_s < 0.1


def test_a_pod_whose_clock_cannot_be_read_is_named(kubectl: FakeDocker) -> None:
    kubectl.answers([{"match": "date", "stderr": 'pods "load-0" not found\n', "code": 1}])
    with pytest.raises(RunError, match='asking pod load-0 for the time: pods "load-0" not found'):
        read_clock(Kubectl("x"), "load-0", "loadgen")


def test_counters_are_read_from_both_versions_of_control_groups() -> None:
    assert parse(BEFORE) == Counters(1000.0, 1000, 155, 35, 1.0, 0.25)
    older = BEFORE.replace("throttled_usec 250000", "throttled_time 250000000")
    assert parse(older) == parse(BEFORE)
    assert parse("") == Counters(None)


def test_the_audit_is_what_grew_between_two_readings() -> None:
    after = """\
uptime 1010.00 1910.00
cpu  500 0 250 1100 10 0 5 135 7 0
memory some avg10=0.00 avg60=0.00 avg300=0.00 total=3000000
throttled_usec 750000
"""
    audit = between(parse(BEFORE), parse(after))
    assert audit.busy_share == pytest.approx(0.6)
    assert audit.steal_share == pytest.approx(0.1)
    assert audit.memory_stall_share == pytest.approx(0.2)
    assert audit.throttled_s == pytest.approx(0.5)
    assert between(None, parse(after)) == NodeAudit()


def test_the_worst_of_several_audits_is_taken_and_nothing_known_is_none() -> None:
    first, second = NodeAudit(busy_share=0.9, throttled_s=0.1), NodeAudit(busy_share=0.2, throttled_s=3.0)
    assert worst([first, NodeAudit(), second]) == NodeAudit(busy_share=0.9, throttled_s=3.0)
    assert worst([NodeAudit()]) is None


def pod(name: str, component: str, node: str) -> dict[str, Any]:
    labels = {"app.kubernetes.io/component": component}
    return {"metadata": {"name": name, "labels": labels}, "spec": {"nodeName": node}, "status": {}}


def test_each_node_has_its_facts_its_clock_and_the_audit_of_its_pods(kubectl: FakeDocker) -> None:
    facts = "cpu_model= a CPU \nallowed_cpus=\t2-3\nclock_source=tsc\ngovernor=\nhuge_pages=madvise\n"
    described = (
        '{"items": [{"metadata": {"name": "n1"}, "status": {"nodeInfo": {"kernelVersion": "6.12", "osImage": "Debian"},'
        ' "capacity": {"cpu": "8", "memory": "1024Ki"}}}]}'
    )
    kubectl.answers(
        [
            {"match": "get nodes", "stdout": described},
            {"match": "/version", "stdout": '{"gitVersion": "v1.34.2"}'},
            {"match": "load-0-abcde", "code": 1},
            {"match": "clock_source", "stdout": facts},
        ]
    )
    load = Load(Kubectl("x"), Processes(), GENERATORS[:1])
    load.clocks["load-0-abcde"] = Clock(0.0015, 0.004)
    load.audits |= {"service": NodeAudit(throttled_s=1.0), "load-0-abcde": NodeAudit()}
    pods = [pod("load-0-abcde", "load", "n2"), pod("service", "service", "n1"), pod("converter", "converter", "n2")]
    cluster = read_cluster(Kubectl("x"), Placement(exclusive_cpus=False), pods, load, 412.0)
    service, other = cluster.nodes
    assert (cluster.version, cluster.measured.round_trip_us, cluster.exclusive_cpus) == ("v1.34.2", 412.0, False)
    assert (service.name, service.kernel, service.cpu_model, service.allowed_cpus) == ("n1", "6.12", "a CPU", "2-3")
    assert (service.cpus, service.memory_bytes) == (8, 1 << 20)
    assert service.host == {"clock_source": "tsc", "huge_pages": "madvise"}
    assert service.measured.audit == NodeAudit(throttled_s=1.0)
    of_run = other.measured
    assert (other.name, of_run.parts, other.kernel, other.host, of_run.audit) == (
        "n2",
        ["load-0-abcde"],
        None,
        {},
        None,
    )
    assert (of_run.clock_ahead_ms, of_run.clock_uncertainty_ms) == (1.5, 4.0)
