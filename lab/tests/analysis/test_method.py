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


def checks_in(text: str) -> set[str]:
    """Return what the first column of the verdict's table names: the checks, and marks such as E."""
    table = text[text.index("| check | note | suspect | invalid |") :]
    rows = table[: table.index("\n\n")].splitlines()[2:]
    return {name for row in rows for name in re.split(", |: ", row.split("|")[1].strip())}


def test_the_table_has_every_check(tmp_path: Path) -> None:
    run = make_run(tmp_path, Shape(seconds=2))
    checks = {check.name for check in judge(run, Manifest.read(run / "run.json")).checks}
    assert checks - checks_in(TEXT) == set()
    for name in checks:  # names hold one another: "rate" is in "profiled rate"
        without = "".join(line for line in TEXT.splitlines(keepends=True) if not line.startswith(f"| {name} |"))
        assert without == TEXT or name not in checks_in(without)
