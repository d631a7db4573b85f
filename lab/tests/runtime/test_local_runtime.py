"""Parts of the local runtime: its questions to the service, the table format, the doctor."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from lab.cli.runtimes import check_name
from lab.errors import InputError, RunError
from lab.paths import Checkout
from lab.runtime.base import LoadSpec, Ports
from lab.runtime.local import requirements
from lab.runtime.local.instruments import JarCatalogue
from lab.runtime.local.runtime import LocalRuntime
from support.checkout import FakeCheckout


def jar(path: Path, files: dict[str, str], manifest: str = "Manifest-Version: 1.0\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", manifest)
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def test_the_service_is_asked_once_a_build(tmp_path: Path) -> None:
    built = jar(tmp_path / "service.jar", {})
    asked = tmp_path / "asked"
    java = tmp_path / "java"
    java.write_text(f'#!/bin/sh\necho "$@" >> {asked}\necho \'[{{"name": "sync", "summary": "no pool"}}]\'\n')
    java.chmod(0o755)
    catalogue = JarCatalogue(built, tmp_path / "cache", lambda: str(java))
    for _ in range(3):
        choices = catalogue.listed("variant")
        assert [(choice.name, choice.summary) for choice in choices] == [("sync", "no pool")]
    assert len(asked.read_text().splitlines()) == 1
    os.utime(built, ns=(1, 1))
    catalogue.listed("variant")
    assert len(asked.read_text().splitlines()) == 2


def test_an_unbuilt_service_and_one_that_fails_are_distinguished(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not built yet") as caught:
        JarCatalogue(tmp_path / "service.jar", tmp_path, lambda: "false").listed("variant")
    assert "make build-service" in caught.value.hint
    built = jar(tmp_path / "service.jar", {})
    with pytest.raises(RunError, match="'variants' failed"):
        JarCatalogue(built, tmp_path, lambda: "false").listed("variant")


def test_the_table_format_is_what_the_service_says_and_its_code_is_not_looked_at(tmp_path: Path) -> None:
    java = tmp_path / "java"

    def table_format(code: str, versions: str = "2 3 textbook-1", engine: str | None = None) -> str:
        built = jar(tmp_path / "service.jar", {"lsmlab/storage/table/TableFormat.class": code})
        listed = ", ".join(f'{{"name": "{version}", "summary": "tables"}}' for version in versions.split())
        java.write_text(f"#!/bin/sh\n[ $4 = table-format ] && echo '[{listed}]'\n")
        java.chmod(0o755)
        return JarCatalogue(built, tmp_path / "cache", lambda: str(java)).table_format(engine)

    assert table_format("code") == table_format("code and comments, which move its lines") == "2,3"
    assert table_format("code, moved", "2 4") == "2,4"
    assert table_format("code", engine="textbook") == "textbook-1"


def test_every_missing_tool_comes_with_the_command_that_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"apt-get": "/usr/bin/apt-get"}
    monkeypatch.setattr("shutil.which", there.get)
    monkeypatch.setattr(requirements, "_apt_knows", lambda package: True)
    missing = {check.name: check for check in requirements.checks() if not check.ok}
    assert "apt-get install -y maven" in missing["maven"].command
    assert "apt-get install -y gcc libc6-dev" in missing["cc"].command
    assert "apt-get install -y prometheus" in missing["prometheus"].command
    assert not missing["prometheus"].required
    monkeypatch.setattr(requirements, "_apt_knows", lambda package: False)
    assert "sdk install java 25" in requirements.jdk_command()


@pytest.mark.parametrize(("polling", "option"), [(False, "--high-priority"), (True, "--idle hybrid")])
def test_the_load_generators_command_line_is_wrk2s_with_our_additions(
    checkout: FakeCheckout, polling: bool, option: str
) -> None:
    spec = LoadSpec(
        script=Path("/s/get.lua"), rate_per_s=70_000, threads=4, connections=64, duration_s=60, words=("pairs=10",),
        out=Path("/o"), cpus=(1,), timeout_s=2.0, polling=polling, lead_in_s=1.0,
    )  # fmt: skip
    command = LocalRuntime(Checkout(checkout.root)).load_command(spec, "http://127.0.0.1:8080")
    assert (
        command[1:]
        == (
            "-t4 -c64 -d1m -R70000 -L -s /s/get.lua --timeout 2s --json /o/load.json --hdr-log /o/latency.hlog "
            f"--warmup 1s {option} --metrics 127.0.0.1:{Ports().loadgen_metrics} http://127.0.0.1:8080 -- pairs=10"
        ).split()
    )


@pytest.mark.parametrize(("libc", "ok"), [(("glibc", "2.38"), True), (("glibc", "2.36"), False), (("", ""), False)])
def test_the_doctor_reports_whether_the_native_transport_can_be_loaded(
    monkeypatch: pytest.MonkeyPatch, libc: tuple[str, str], ok: bool
) -> None:
    monkeypatch.setattr("platform.libc_ver", lambda: libc)
    (check,) = [check for check in requirements.checks() if check.name == "one-nio native"]
    assert (check.ok, check.required) == (ok, False)
    assert ok or "RUNTIME=docker" in check.detail


def test_an_unknown_runtime_is_refused() -> None:
    with pytest.raises(InputError, match="RUNTIME=dokcer: no such runtime; did you mean docker"):
        check_name("dokcer")
    assert check_name("") is None
