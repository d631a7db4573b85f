"""docs/add-a-variant.md, followed word by word in a copy of the checkout: its class, its line, its command."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.checkout import free_port

from .conftest import CHECKOUT
from .copied import VARIANTS, copy_of_checkout, make_in, register_variants

PAGE = CHECKOUT / "docs/add-a-variant.md"
SMALL = {"RATE": "2000", "DURATION": "3s", "WARMUP": "1s", "PROFILE": "off", "RUNTIME": "local"}
ALONE = {"PORT": "0", "ADMIN_PORT": "0", "MONITORING": "off"}
"""With a lock of its own, the run shares nothing with the runs beside it."""


@dataclass(frozen=True)
class Page:
    """The parts that a reader copies from the page."""

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
    with copy_of_checkout("add-a-variant") as directory:
        yield directory


def test_the_page_leads_to_a_report(copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_LOCK", str(tmp_path / "run.lock"))
    page = read_page()
    class_name = re.search(r"^(?:public )?final class (\w+)", page.source, re.MULTILINE).group(1)
    (copy / VARIANTS / f"{class_name}.java").write_text(page.source)
    register_variants(copy, [page.line])

    name, summary = re.search(r'new Entry\("([^"]+)", (\w+)\.SUMMARY', page.line).groups()
    assert summary == class_name
    stated = re.search(r'SUMMARY = "([^"]+)"', page.source).group(1)
    (listing,) = re.findall(r"`make ([a-z -]*variants)`", PAGE.read_text())
    listed = make_in(copy, *listing.split(), "RUNTIME=local")
    assert re.search(rf"^\s*{name}\s+{re.escape(stated[:30])}", listed, re.MULTILINE), listed

    assert f"VARIANT={name}" in page.command
    words = [word for word in page.command[1:] if word.split("=")[0] not in SMALL]
    settings = {**SMALL, **ALONE, "LOADGEN_METRICS_PORT": str(free_port())}
    output = make_in(copy, *words, *(f"{key}={value}" for key, value in settings.items()))
    (run,) = (copy / "results").glob("*/*Z")
    manifest = json.loads((run / "run.json").read_text())
    assert manifest["complete"] is True, output
    assert manifest["experiment"]["resolved"]["service"]["variant"] == name
    assert set(manifest["summary"]["status"]) == {"200"}
    assert manifest["summary"]["requests"] > 0
    assert (run / "report.html").stat().st_size > 0
