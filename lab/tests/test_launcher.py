"""bin/lab: finds a Python, makes the environment once, and then costs next to nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a launcher, an empty lock file and a lab that prints its words."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "lab/src/lab").mkdir(parents=True)
    shutil.copy(CHECKOUT / "bin/lab", tmp_path / "bin/lab")
    (tmp_path / "lab/requirements.lock").write_text("")
    (tmp_path / "lab/src/lab/__init__.py").touch()
    (tmp_path / "lab/src/lab/__main__.py").write_text("import sys; print('lab:', sys.argv[1:])")
    return tmp_path


def launch(checkout: Path, *words: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": path or "/usr/local/bin:/usr/bin:/bin", "HOME": str(checkout)}
    return subprocess.run(
        ["/bin/sh", str(checkout / "bin/lab"), *words], capture_output=True, text=True, env=environment, check=False
    )


def test_it_makes_the_environment_once_and_passes_words_on(checkout: Path) -> None:
    first = launch(checkout, "run", "a b")
    assert first.returncode == 0, first.stderr
    assert "making .venv" in first.stderr
    assert first.stdout == "lab: ['run', 'a b']\n"
    second = launch(checkout)
    assert second.stderr == ""
    (checkout / "lab/requirements.lock").write_text("# changed\n")
    third = launch(checkout)
    assert "making .venv" in third.stderr
    assert third.returncode == 0


def test_it_fails_clearly_when_the_packages_cannot_be_installed(checkout: Path) -> None:
    (checkout / "lab/requirements.lock").write_text("./nonesuch\n")
    done = launch(checkout)
    assert done.returncode != 0
    assert "could not be installed" in done.stderr
    assert launch(checkout).returncode != 0, "a broken environment is not taken for a whole one"


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
