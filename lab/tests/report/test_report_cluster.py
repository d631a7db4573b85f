"""The verdict and the report of a run in a cluster: its generators side by side, and its nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab.analysis import judge, summarise
from lab.kubernetes.cluster import Cluster, ClusterMeasured, Node, NodeAudit, NodeMeasured
from lab.manifest import Check, Cpu, Environment, Manifest
from report.pages import report
from report.synthesis import Shape, make_run

QUIET = NodeAudit(busy_share=0.4, steal_share=0.0, memory_stall_share=0.0, throttled_s=0.0)


def generator(part: str, p99_us: float, **more: Any) -> dict[str, Any]:
    """Return the row of a generator in load.json, with 5,000 requests."""
    latency = {"count": 5000, "percentiles": {"50": 240.0, "99": p99_us}}
    lag = {"count": 5000, "percentiles": {"50": 2.0, "99": 9.0}}
    row = {"part": part, "started_at": "2026-11-21T09:14:33Z", "start_missed_by_us": 0.0, "requests_due": 5000,
           "requests": 5000, "requests_per_s": 1000.0, "latency_us": latency, "send_lag_us": lag, "cpu_s": 1.0,
           "busiest_loop_share": 0.2, "kept_schedule": {"verdict": True, "reasons": []}}  # fmt: skip
    return row | more


def node(name: str, *parts: str, **more: Any) -> Node:
    values: dict[str, Any] = {"kernel": "6.12", "cpu_model": "a CPU", "cpus": 8, "allowed_cpus": "2-3", "audit": QUIET}
    values |= more
    measured = {key: values.pop(key) for key in NodeMeasured.model_fields if key in values}
    return Node(name=name, measured=NodeMeasured(parts=list(parts), **measured), **values)


NODES = (node("n1", "service"), node("n2", "load-0-abcde"), node("n3", "load-1-fghij"))


def made(
    directory: Path,
    *generators: dict[str, Any],
    nodes: tuple[Node, ...] = NODES,
    exclusive: bool = True,
    **load: Any,
) -> Path:
    """Make a run of five seconds as a cluster would have left it."""
    run = make_run(directory, Shape(seconds=5, profiled=False))
    (run / "machine.csv").unlink()
    path = run / "measure/1/load.json"
    rows = list(generators) or [generator("1/2", 800.0), generator("2/2", 900.0)]
    path.write_text(json.dumps({**json.loads(path.read_text()), "generators": rows, **load}))
    manifest = Manifest.read(run / "run.json")
    manifest.runtime = "kubernetes"
    manifest.environment.cpu_plan = None
    manifest.environment.cluster = Cluster(
        version="v1.34.2", network="cluster", store="emptyDir", generators=len(rows), exclusive_cpus=exclusive,
        nodes=list(nodes), measured=ClusterMeasured(round_trip_us=412.0),
    ).model_dump(mode="json")  # fmt: skip
    manifest.summary = summarise(run, rate_offered_per_s=2000)
    manifest.validity = judge(run, manifest)
    manifest.write(run / "run.json")
    return run


def verdict(run: Path) -> tuple[str, list[str]]:
    validity = Manifest.read(run / "run.json").validity
    assert validity is not None
    return validity.state, validity.reasons


def check(run: Path, name: str) -> Check:
    validity = Manifest.read(run / "run.json").validity
    assert validity is not None
    return next(check for check in validity.checks if check.name == name)


def row(markdown: str, start: str) -> list[str]:
    line = next(line for line in markdown.splitlines() if line.startswith(f"| {start} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_sound_run_is_valid_and_says_what_is_unknown(tmp_path: Path) -> None:
    run = made(tmp_path)
    assert verdict(run) == ("valid", [])
    assert check(run, "CPU plan").detail == "the service had CPU 2-3 of node n1 alone"
    assert check(run, "nodes").outcome == "pass"
    assert check(run, "other load").outcome == "unknown"
    assert "over 3 nodes: an idle round trip with its GET takes 412 µs" in check(run, "network").detail


def test_each_generator_has_a_row_so_that_skew_is_seen(tmp_path: Path) -> None:
    loops = [{"cpu_s": 1.0, "spin_s": 0.0, "high_priority": high} for high in (True, False)]
    slow = generator("2/2", 90_000.0, requests_due=1000, requests_per_s=200.0, busiest_loop_share=0.7)
    page, markdown = report(made(tmp_path, generator("1/2", 800.0), slow, loops=loops))
    assert row(markdown, "1/2")[1:] == ["n2", "5,000", "83.3%", "1,000", "240 µs", "800 µs", "9.00 µs", "20.0%",
                                        "on time", "kept"]  # fmt: skip
    assert row(markdown, "2/2")[1:7] == ["n3", "1,000", "16.7%", "200", "240 µs", "90.0 ms"]
    assert "1 of 2 event loops had a higher priority" in page.text
    assert "Busiest loop" in page.text


def test_a_priority_that_the_generators_did_not_report_is_not_called_none(tmp_path: Path) -> None:
    loops = [{"cpu_s": 1.0, "spin_s": 0.0}]
    page, _ = report(made(tmp_path, generator("1/2", 800.0), generator("2/2", 800.0), loops=loops))
    assert "The verdict takes the worst generator." in page.text
    assert "higher priority" not in page.text


def test_a_run_of_one_generator_has_no_table_of_generators(tmp_path: Path) -> None:
    page, markdown = report(make_run(tmp_path, Shape(seconds=4, profiled=False)))
    assert "Busiest loop" not in page.text + markdown


def test_a_start_that_one_generator_missed_makes_the_run_invalid(tmp_path: Path) -> None:
    schedule = {"verdict": False, "reasons": ["the start was missed by 1.50s"]}
    late = generator("2/2", 900.0, start_missed_by_us=1_500_000.0, kept_schedule=schedule)
    run = made(tmp_path, generator("1/2", 800.0), late, kept_schedule=schedule)
    reason = "generator 2/2 missed the common start by 1.5 s, so the load was not the one asked for"
    assert verdict(run) == ("invalid", [f"{reason}: are the nodes' clocks synchronised?"])
    page, markdown = report(run)
    assert "1.50 s" in row(markdown, "2/2")
    assert "not kept" in row(markdown, "2/2")
    assert "invalid" in page.text


def test_the_verdict_takes_the_worst_generator(tmp_path: Path) -> None:
    reason = "generator 2/2: requests were sent late"
    run = made(tmp_path, kept_schedule={"verdict": False, "reasons": [reason]})
    state, reasons = verdict(run)
    assert state == "suspect"
    assert reasons == [f"the load generator did not keep its schedule: {reason}"]


@pytest.mark.parametrize(
    ("audit", "outcome", "message"),
    [
        ({"steal_share": 0.05}, "warn", "the hypervisor took 5.0% of the CPU time of node n2"),
        ({"throttled_s": 0.3}, "warn", "a CPU quota held a pod of the run on node n2 back for 300 ms"),
        ({"memory_stall_share": 0.2}, "warn", "processes on node n2 waited for memory 20% of the time"),
        ({"throttled_s": 0.02, "steal_share": 0.005}, "pass", "no node lost CPU time"),
        ({"steal_share": None}, "unknown", "are not all known of node n2"),
    ],
)
def test_the_kernel_counters_of_the_nodes_are_judged(
    tmp_path: Path, audit: dict[str, float | None], outcome: str, message: str
) -> None:
    audited = QUIET.model_copy(update=audit)
    run = made(tmp_path, nodes=(NODES[0], node("n2", "load-0-abcde", audit=audited), NODES[2]))
    assert (check(run, "nodes").outcome, verdict(run)[0]) == (outcome, "suspect" if outcome == "warn" else "valid")
    assert message in check(run, "nodes").detail


def test_a_service_without_cpus_of_its_own_is_suspect(tmp_path: Path) -> None:
    state, reasons = verdict(made(tmp_path, exclusive=False))
    assert state == "suspect"
    assert "it ran on CPU 2-3 of node n1, which others may use (EXCLUSIVE_CPUS=off)" in reasons[0]


def test_the_environment_names_each_node_with_its_audit_and_what_differs(tmp_path: Path) -> None:
    same, other = {"clock_source": "tsc", "huge_pages": "madvise"}, {"clock_source": "tsc", "huge_pages": "always"}
    nodes = (
        node("n1", "service", host=same),
        node("n2", "load-0-abcde", host=other, clock_ahead_ms=1.5, clock_uncertainty_ms=4.0),
        node("n3", "load-1-fghij", host=same, audit=None),
    )
    _, markdown = report(made(tmp_path, nodes=nodes))
    assert row(markdown, "Idle round trip")[1] == "412 µs, a GET included"
    service, load, unknown = (row(markdown, f"Node {name}")[1] for name in ("n1", "n2", "n3"))
    assert service == (
        "service; a CPU; 8 CPUs; 6.12; service on CPU 2-3; "
        "under the load busy 40.0%, steal 0.0%, waits for memory 0.0%, held back by a quota 0 ms"
    )
    assert "huge pages always" in load
    assert "clock source" not in load
    assert "clock +1.5 ms ± 4.0 ms" in load
    assert unknown.endswith("what its kernel counted under the load is unknown")


def test_the_machine_of_the_report_is_the_services_node() -> None:
    environment = Environment(host={"clock_source": "hpet"}, cpu=Cpu(model="the lab's", logical=2))
    host = {"clock_source": "tsc", "governor": "performance", "no_turbo": "1"}
    cluster = Cluster(network="host", store="pvc", generators=1, nodes=[node("n1", "service", host=host)])
    cluster.describe(environment)
    assert environment.cpu == Cpu(model="a CPU", logical=8, governor="performance", turbo=False)
    assert environment.host == {"clock_source": "tsc"}
