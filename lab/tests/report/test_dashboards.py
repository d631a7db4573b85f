"""Links from a report to the dashboards, and the metrics by which the dashboards find a run."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from lab.cpu_plan import CpuPlan
from lab.manifest import Manifest, Phase
from lab.report.dashboards import DASHBOARDS, dashboard_links
from lab.run.phases import write_run_info
from report.synthesis import make_run

CHECKOUT = Path(__file__).resolve().parents[3]
START = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)


def manifest_of(tmp_path: Path, runtime: str, *names: str) -> Manifest:
    path = make_run(tmp_path / "run") / "run.json"
    manifest = Manifest.model_validate_json(path.read_text())
    phases = [
        Phase(name=name, start=START + timedelta(minutes=n), end=START + timedelta(minutes=n + 1), outcome="ok")
        for n, name in enumerate(names)
    ]
    return manifest.model_copy(update={"runtime": runtime, "phases": phases})


def test_the_links_open_the_run_at_the_time_of_its_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_PORT_GRAFANA", "3003")
    manifest = manifest_of(tmp_path, "docker", "build", "start", "warm-up", "measure", "report")
    links = dashboard_links(manifest)
    assert [name for name, _ in links] == list(DASHBOARDS.values())
    first = urlsplit(links[0][1])
    assert first.netloc == "127.0.0.1:3003"
    assert first.path == "/d/lsmlab-experiment"
    query = parse_qs(first.query)
    assert query["var-run"] == [manifest.run_id]
    begin, end = (datetime.fromtimestamp(int(query[word][0]) / 1000, UTC) for word in ("from", "to"))
    assert begin == START + timedelta(minutes=1, seconds=-5)
    assert end == START + timedelta(minutes=4, seconds=5)
    assert parse_qs(urlsplit(links[-1][1]).query)["var-run_a"] == [manifest.run_id]


def test_a_run_that_no_grafana_shows_has_no_links(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path, "local", "start", "measure")
    assert dashboard_links(manifest) == []
    assert dashboard_links(manifest.model_copy(update={"runtime": "docker", "phases": manifest.phases[:0]})) == []
    unmonitored = manifest.environment.model_copy(update={"monitoring": False})
    assert dashboard_links(manifest.model_copy(update={"runtime": "docker", "environment": unmonitored})) == []


def test_the_dashboards_have_the_names_that_the_links_use() -> None:
    files = (CHECKOUT / "dashboards" / "grafana" / "dashboards").rglob("*.json")
    found = {board["uid"]: board["title"] for board in (json.loads(path.read_text()) for path in files)}
    assert found == {uid: f"LSM Lab: {name}" for uid, name in DASHBOARDS.items()}


def test_a_cpu_with_two_roles_is_one_sample(tmp_path: Path) -> None:
    path = tmp_path / "lab.prom"
    plan = CpuPlan(service=(0,), loadgen=(1,), other=(1,))
    write_run_info(path, {"run": 'a"b', "service": "stack"}, "measure", plan)
    samples = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert samples[0] == r'lab_run_info{run="a\"b",service="stack",phase="measure"} 1'
    assert samples[1].startswith('lab_phase_start_seconds{phase="measure"} ')
    assert samples[2:] == [
        'lab_cpu_role{cpu="0",role="service"} 1',
        'lab_cpu_role{cpu="1",role="load generator, other"} 1',
    ]
    write_run_info(path, {}, None)
    assert not path.exists()


def test_the_verdict_is_a_metric_of_the_run_once_it_is_known(tmp_path: Path) -> None:
    path = tmp_path / "lab.prom"
    write_run_info(path, {"run": "r", "service": "stack"}, "report", None, "suspect")
    assert 'lab_run_verdict{run="r",service="stack",verdict="suspect"} 1\n' in path.read_text()
