"""The fingerprint: equal if nothing relevant differs; else unequal, with the names of the facts."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.kubernetes.cluster import Cluster, ClusterMeasured, Node, NodeAudit, NodeMeasured
from lab.machine.environment import describe_machine
from lab.machine.fingerprint import Difference, differences, digest, facts, host_facts
from lab.manifest import Cpu, CpuPlan, Dataset, Environment, Git, Tool
from lab.paths import Checkout


def environment() -> Environment:
    return Environment(
        cpu=Cpu(model="a CPU", logical=2),
        jvm="25.0.1",
        jvm_flags=["-Xmx1g", "-XX:+UseG1GC"],
        native_transport=True,
        libraries={"one-nio": "2.2.0", "async-profiler": "4.6"},
        images={"service": "sha256:1", "grafana": "sha256:2"},
        cpu_plan=CpuPlan(service=[0], loadgen=[1], other=[1]),
        git=Git(commit="c0ffee", dirty=False),
        load_generator=Tool(name="loadgen", version="1"),
        host={"smt": "on", "clock_source": "tsc"},
    )


def test_equal_environments_have_equal_hashes_whatever_the_order_of_their_facts() -> None:
    other = environment()
    other.host = dict(reversed(other.host.items()))
    assert digest(environment()) == digest(other)
    assert differences(environment(), other) == []


def test_a_clusters_machines_are_compared_and_its_measured_values_are_not() -> None:
    def in_a_cluster(pod: str, value: float, kernel: str = "6.12") -> Environment:
        audit = NodeAudit(busy_share=value)
        measured = NodeMeasured(parts=["service", pod], clock_ahead_ms=value, clock_uncertainty_ms=value, audit=audit)
        cluster = Cluster(network="cluster", store="pvc", generators=1,
                          nodes=[Node(name="n1", kernel=kernel, measured=measured)],
                          measured=ClusterMeasured(round_trip_us=value))  # fmt: skip
        made = environment()
        made.cluster = cluster.model_dump(mode="json")
        return made

    assert differences(in_a_cluster("load-0-abcde", 1.0), in_a_cluster("load-0-fghij", 2.0)) == []
    (found,) = differences(in_a_cluster("load-0-abcde", 1.0), in_a_cluster("load-0-abcde", 1.0, kernel="6.1"))
    assert found.name == "cluster.nodes.1.kernel"


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (lambda e: e.jvm_flags.append("-XX:+UseZGC"), "jvm_flags: -Xmx1g -XX:+UseG1GC against "),
        (lambda e: setattr(e.git, "diff_hash", "abc"), "git.diff_hash: unknown against abc"),
        (lambda e: e.host.update(smt="off"), "host.smt: on against off"),
        (lambda e: setattr(e, "native_transport", False), "native_transport: True against False"),
        (lambda e: setattr(e.cpu_plan, "other", [0]), "cpu_plan.other: 1 against 0"),
        (lambda e: setattr(e, "load_generator", None), "load_generator.custom: False against unknown"),
        (lambda e: setattr(e.cpu, "model", "another CPU"), "cpu.model: a CPU against another CPU"),
        (lambda e: setattr(e.cpu, "governor", "powersave"), "cpu.governor: unknown against powersave"),
        (lambda e: setattr(e, "kernel", "7.0"), "kernel: unknown against 7.0"),
        (lambda e: setattr(e, "jvm", "26"), "jvm: 25.0.1 against 26"),
        (lambda e: setattr(e, "gc", "ZGC"), "gc: unknown against ZGC"),
        (lambda e: e.libraries.update({"one-nio": "3.0"}), "libraries.one-nio: 2.2.0 against 3.0"),
        (lambda e: e.images.update(service="sha256:9"), "images.service: sha256:1 against sha256:9"),
        (lambda e: setattr(e.git, "commit", "beef"), "git.commit: c0ffee against beef"),
        (lambda e: setattr(e, "dataset", Dataset(name="tiny", hash="7")), "dataset.hash: unknown against 7"),
    ],
)
def test_facts_that_can_change_a_number_are_named(change: Callable[[Environment], None], difference: str) -> None:
    other = environment()
    change(other)
    assert digest(environment()) != digest(other)
    assert str(differences(environment(), other)[0]).startswith(difference)


def test_observing_processes_do_not_matter() -> None:
    other = environment()
    other.images["grafana"] = "sha256:3"
    other.libraries["async-profiler"] = "4.7"
    other.profiling_engine = "ctimer"
    assert differences(environment(), other) == []


def test_facts_that_a_comparison_varies_on_purpose_can_be_ignored() -> None:
    other = environment()
    other.jvm_flags = ["-Xmx2g"]
    assert differences(environment(), other, ignoring=frozenset({"jvm_flags"})) == []
    assert differences(environment(), other) == [Difference("jvm_flags", "-Xmx1g -XX:+UseG1GC", "-Xmx2g")]


KERNEL = {
    "clock_source": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "huge_pages": "/sys/kernel/mm/transparent_hugepage/enabled",
    "kernel_command_line": "/proc/cmdline",
    "mitigations": "/sys/devices/system/cpu/vulnerabilities/meltdown",
    "smt": "/sys/devices/system/cpu/smt/control",
    "storage": "/proc/mounts",
    "swappiness": "/proc/sys/vm/swappiness",
    "topology": "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
}


def test_every_fact_that_this_kernel_shows_is_found(tmp_path: Path) -> None:
    shown = {name for name, file in KERNEL.items() if Path(file).is_file()}
    if re.search(r"^microcode\s*: \S", Path("/proc/cpuinfo").read_text(), re.MULTILINE):
        shown.add("microcode")
    assert {"kernel_command_line", "storage"} <= shown
    assert shown <= host_facts(tmp_path).keys()


def test_the_hosts_facts_are_those_of_this_machine(tmp_path: Path) -> None:
    found = host_facts(tmp_path)
    assert found["kernel_command_line"] == Path("/proc/cmdline").read_text().strip()
    assert found["storage"].split()[0] in Path("/proc/mounts").read_text()
    assert host_facts(tmp_path) == found
    names = [name for name in facts(Environment(host=found)) if name.startswith("host.")]
    assert names == sorted(f"host.{name}" for name in found)


def test_the_hash_of_uncommitted_changes_covers_the_contents_of_new_files(tmp_path: Path) -> None:
    identity = {f"GIT_{who}_{what}": "t@t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    (tmp_path / "kept").write_text("1")
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "base"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, env={**os.environ, **identity})

    def git() -> Git:
        found = describe_machine(Checkout(tmp_path)).git
        assert found is not None
        return found

    assert (git().dirty, git().diff_hash) == (False, None)
    hashes = []
    for name, text in (("new", b"1"), ("new", b"2"), ("kept", b"\xff"), ("new", b"1")):
        (tmp_path / name).write_bytes(text)
        assert git().dirty
        hashes.append(git().diff_hash)
    assert len(set(hashes)) == 4
    (tmp_path / "kept").write_text("1")
    assert git().diff_hash == hashes[0]
