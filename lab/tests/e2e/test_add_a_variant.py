"""docs/add-a-variant.md, followed word by word in a copy of the checkout: its class, its line, its command."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from .conftest import CHECKOUT

PAGE = CHECKOUT / "docs/add-a-variant.md"
VARIANTS = Path("service/server/src/main/java/lsmlab/server/variant")
# Taken over with their times, so that make builds again only what the new class changes.
BUILT = ["service/storage/target", "service/peers/target", "service/server/target", "profiler/target/lib"]
PROGRAMS = ["loadgen/target/release/loadgen", "profiler/target/release/profile"]
SMALL = {"RATE": "2000", "DURATION": "3s", "WARMUP": "1s", "RUNTIME": "local"}


@dataclass(frozen=True)
class Page:
    """What a reader copies from the page."""

    source: str
    line: str
    command: list[str]


def read_page() -> Page:
    text = PAGE.read_text()
    source, line = re.findall(r"^```java\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    commands = re.findall(r"^    (make experiment .*)$", text, re.MULTILINE)
    assert len(commands) == 1, commands
    return Page(source, line.strip().rstrip(","), commands[0].split())


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    """A copy of the checkout beside its caches: a dataset's tables can be linked only on one file system."""
    directory = CHECKOUT / ".cache/add-a-variant"
    shutil.rmtree(directory, ignore_errors=True)
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    tracked = [name for name in listing.split("\0") if name and (CHECKOUT / name).exists()]
    for name in [*tracked, *PROGRAMS]:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / name, directory / name, follow_symlinks=False)
    for name in BUILT:
        shutil.copytree(CHECKOUT / name, directory / name, symlinks=True)
    (directory / ".venv").symlink_to(CHECKOUT / ".venv")
    (directory / ".cache").mkdir(exist_ok=True)
    (CHECKOUT / ".cache/datasets").mkdir(exist_ok=True)
    (directory / ".cache/datasets").symlink_to(CHECKOUT / ".cache/datasets")
    yield directory
    shutil.rmtree(directory)


def test_the_page_leads_to_a_report(copy: Path) -> None:
    page = read_page()
    class_name = re.search(r"^(?:public )?final class (\w+)", page.source, re.MULTILINE).group(1)
    (copy / VARIANTS / f"{class_name}.java").write_text(page.source)
    registry = copy / VARIANTS / "Variants.java"
    before = registry.read_text()
    after = re.sub(
        r"\)\);\n\n  private Variants\(", lambda end: f"),\n          {page.line}{end.group()[1:]}", before, count=1
    )
    assert after != before, "the list of variants does not end as it did"
    registry.write_text(after)

    name, summary = re.search(r'new Entry\("([^"]+)", (\w+)\.SUMMARY', page.line).groups()
    assert summary == class_name
    stated = re.search(r'SUMMARY = "([^"]+)"', page.source).group(1)
    (listing,) = re.findall(r"`make ([a-z -]*variants)`", PAGE.read_text())
    listed = make(copy, *listing.split(), "RUNTIME=local")
    assert re.search(rf"^\s*{name}\s+{re.escape(stated[:30])}", listed, re.MULTILINE), listed

    assert f"VARIANT={name}" in page.command
    words = [word for word in page.command[1:] if word.split("=")[0] not in SMALL]
    output = make(copy, *words, *(f"{key}={value}" for key, value in SMALL.items()))
    (run,) = (copy / "results").glob("*/*Z")
    manifest = json.loads((run / "run.json").read_text())
    assert manifest["complete"] is True, output
    assert manifest["experiment"]["resolved"]["service"]["variant"] == name
    assert set(manifest["summary"]["status"]) == {"200"}
    assert manifest["summary"]["requests"] > 0
    assert (run / "report.html").stat().st_size > 0


def make(directory: Path, *words: str) -> str:
    done = subprocess.run(
        ["make", *words],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"make {' '.join(words)}:\n{done.stdout[-5000:]}"
    return done.stdout
