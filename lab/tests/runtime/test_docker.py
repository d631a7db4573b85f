"""The docker runtime with a docker command that answers as told: the commands it runs, and its reports of failures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from lab.errors import RunError
from lab.paths import Checkout
from lab.runtime.base import DatasetSpec, Ports, ProfileSpec
from lab.runtime.docker import engine, monitoring
from lab.runtime.docker.monitoring import Stack
from lab.runtime.docker.runtime import DockerRuntime
from support.docker import ANSWERS, PLAN, STACK, Alive, container, free_ports, quiet, service_spec
from support.fake_docker import FakeDocker


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
        runtime.catalogue.listed("variant")


def test_choices_are_asked_once_an_image(docker: FakeDocker, runtime: DockerRuntime, tmp_path: Path) -> None:
    answer = '[{"name": "sync", "summary": "on the selector"}]'
    docker.answers([{"match": "image inspect", "stdout": "sha256:1\n"}, {"match": "variants --json", "stdout": answer}])
    another = DockerRuntime(Checkout(tmp_path / "checkout"))
    assert [choice.name for choice in runtime.catalogue.listed("variant") + another.catalogue.listed("variant")] == [
        "sync",
        "sync",
    ]
    another.close()
    assert len(docker.calls("variants --json")) == 1
    docker.answers([{"match": "image inspect", "stdout": "sha256:2\n"}, {"match": "variants --json", "stdout": answer}])
    runtime.catalogue.listed("variant")
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
