"""bin/lab: finds a Python, makes the environment once, and then costs next to nothing."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from lab.cli.settings import SETTINGS
from support.fake_docker import FakeDocker

CHECKOUT = Path(__file__).resolve().parents[2]


def make_checkout(root: Path) -> Path:
    """A checkout with a launcher, an empty lock file and a lab that prints its words."""
    (root / "bin").mkdir(parents=True)
    (root / "lab/src/lab").mkdir(parents=True)
    shutil.copy(CHECKOUT / "bin/lab", root / "bin/lab")
    (root / "lab/requirements.lock").write_text("")
    (root / "lab/requirements-dev.lock").write_text("# for developers\n")
    (root / "lab/src/lab/__init__.py").touch()
    (root / "lab/src/lab/__main__.py").write_text("import sys; print('lab:', sys.argv[1:])")
    return root


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return make_checkout(tmp_path / "checkout")


Started = tuple[Path, subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Started:
    """A checkout whose environment was made by its first lab, which takes seconds, and what that lab printed."""
    root = make_checkout(tmp_path_factory.mktemp("first") / "checkout")
    return root, launch(root, "run", "a b")


@pytest.fixture
def with_environment(first: Started, checkout: Path) -> Path:
    """A checkout with an environment that is whole, but of no lock file."""
    shutil.copytree(first[0] / ".venv", checkout / ".venv", symlinks=True)
    (checkout / ".venv/requirements.lock").unlink()
    return checkout


def launch(checkout: Path, *words: str, path: str | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": path or "/usr/local/bin:/usr/bin:/bin", "HOME": str(checkout), **more}
    return subprocess.run(
        ["/bin/sh", str(checkout / "bin/lab"), *words], capture_output=True, text=True, env=environment, check=False
    )


def test_it_makes_the_environment_once_and_passes_words_on(first: Started) -> None:
    checkout, done = first
    assert done.returncode == 0, done.stderr
    assert "making .venv" in done.stderr
    assert done.stdout == "lab: ['run', 'a b']\n"
    second = launch(checkout)
    assert second.stderr == ""
    (checkout / "lab/requirements.lock").write_text("# changed\n")
    third = launch(checkout)
    assert "making .venv" in third.stderr
    assert third.returncode == 0


def test_the_packages_of_developers_are_installed_only_if_asked_for_and_then_stay(with_environment: Path) -> None:
    assert "making .venv from lab/requirements.lock" in launch(with_environment).stderr
    assert "making .venv from lab/requirements-dev.lock" in launch(with_environment, LAB_PACKAGES="dev").stderr
    assert launch(with_environment).stderr == "", "a run between two tests installs nothing"


def names(lock: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+==\S+)", (CHECKOUT / "lab" / lock).read_text(), re.MULTILINE))


def test_tests_use_the_versions_that_users_have() -> None:
    assert names("requirements.lock") < names("requirements-dev.lock")


PERMISSIVE = re.compile(r"\b(MIT|BSD|Apache|ISC|PSF|Redistribution and use in source and binary forms)\b")


def test_every_package_that_a_user_installs_has_a_permissive_licence() -> None:
    licences = {}
    for name in {one.partition("==")[0] for one in names("requirements.lock")} - {"colorama"}:  # Windows only
        found = metadata.distribution(name)
        declared = [found.metadata.get(key, "") for key in ("License-Expression", "License")]
        declared += [one for one in found.metadata.get_all("Classifier") or [] if one.startswith("License")]
        files = [file.read_text() for file in found.files or [] if "LICENSE" in file.name.upper()]
        licences[name] = " ".join(text[:300] for text in [*declared, *files])
    assert len(licences) > 20
    assert {name: text for name, text in licences.items() if not PERMISSIVE.search(text)} == {}


def test_it_fails_clearly_when_the_packages_cannot_be_installed(with_environment: Path) -> None:
    (with_environment / "lab/requirements.lock").write_text("./nonesuch\n")
    done = launch(with_environment)
    assert done.returncode != 0
    assert "could not be installed" in done.stderr
    assert launch(with_environment).returncode != 0, "a broken environment is not taken for a whole one"


def test_without_python_and_docker_the_error_names_what_to_install(checkout: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("dirname", "cmp"):
        (tools / tool).symlink_to(shutil.which(tool) or f"/usr/bin/{tool}")
    launcher, last_place = checkout / "bin/lab", " /usr/bin/python3;"  # looked at whatever the PATH
    text = launcher.read_text()
    assert text.count(last_place) == 1
    launcher.write_text(text.replace(last_place, f" {tools}/python3;"))
    done = launch(checkout, path=str(tools))
    assert done.returncode == 1
    assert "needs Python 3.11 or later" in done.stderr


def test_a_checkout_with_a_colon_in_its_path_is_refused_in_one_line(checkout: Path, tmp_path: Path) -> None:
    place = tmp_path / "12:30"
    shutil.copytree(checkout / "bin", place / "bin")
    done = launch(place, "list")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"lab: {place} has a colon in its name, at which Python, Java and Docker split lists of paths: rename it"
    ]


def test_a_checkout_that_cannot_be_written_is_named_in_one_line(checkout: Path) -> None:
    (checkout / ".cache").write_text("a file, so that nothing can be made in it")
    done = launch(checkout, "list")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"lab: {checkout} cannot be written, so .venv cannot be made in it")


def test_a_jdk_is_found_without_a_home(tmp_path: Path) -> None:
    """As in a systemd unit."""
    java = tmp_path / "jvm/25/bin/javac"
    java.parent.mkdir(parents=True)
    java.touch(0o755)
    (tmp_path / "jvm/25/release").write_text('JAVA_VERSION="25.0.1"\n')
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("dirname", "readlink", "sed"):
        (tools / tool).symlink_to(shutil.which(tool) or f"/usr/bin/{tool}")
    done = subprocess.run(
        ["/bin/sh", str(CHECKOUT / "bin/find-jdk")],
        capture_output=True,
        text=True,
        env={"PATH": str(tools), "JVM_DIR": str(tmp_path / "jvm")},
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/jvm/25\n"), done.stderr


def test_the_lab_in_a_container_has_every_setting_of_the_environment(tmp_path: Path) -> None:
    """LOADGEN, a program that replaces the load generator, is there at the same path."""
    shutil.copytree(CHECKOUT / "bin", tmp_path / "bin")
    docker = FakeDocker(tmp_path / "tools").install()
    (wrk2 := tmp_path / "wrk2").touch(0o755)
    (tmp_path / "socket").touch()
    settings = {name.upper() for name, setting in SETTINGS.items() if setting.variable} - {"RUNTIME"}
    assert {"STRICT", "RESUME", "MONITORING", "LOADGEN"} <= settings
    environment = {
        "PATH": f"{tmp_path}/tools:{os.environ['PATH']}",
        "DOCKER_HOST": f"unix://{tmp_path}/socket",
        "LOADGEN": str(wrk2),
    }
    done = subprocess.run(
        [tmp_path / "bin/lab-in-docker", "run", "x"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (words,) = [call["words"] for call in docker.calls(" run ")]
    passed = {word.partition("=")[0] for option, word in itertools.pairwise(words) if option == "--env"}
    assert settings <= passed
    assert f"LOADGEN={wrk2}" in words
    assert f"{wrk2}:{wrk2}:ro" in words
    assert words[-3:] == ["lab", "run", "x"]
