"""docs/method.md: it has every check of the verdict, and the code that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

from lab.analysis import judge
from lab.manifest import Manifest
from report.synthesis import Shape, make_run

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs/method.md").read_text(encoding="utf-8")
PLACES = (ROOT, ROOT / "lab/src/lab", ROOT / "lab/src/lab/analysis/checks")


def test_the_code_of_every_rule_is_there() -> None:
    named = set(re.findall(r"`([\w/]+\.(?:py|rs))`", TEXT))
    assert len(named) > 20, named
    assert sorted(name for name in named if not any((place / name).is_file() for place in PLACES)) == []


def test_the_table_has_every_check(tmp_path: Path) -> None:
    run = make_run(tmp_path, Shape(seconds=2))
    rows = [line.split("|")[1] for line in TEXT.splitlines() if line.startswith("| ")]
    checks = judge(run, Manifest.read(run / "run.json")).checks
    assert [check.name for check in checks if not any(check.name in row for row in rows)] == []
