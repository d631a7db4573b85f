"""Packages do not depend on each other in circles, so that each can be read without the ones above it.

This tests the lab and the programs in Rust; the Java modules have a test of their own.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
PACKAGES = sorted(".".join(path.parent.relative_to(SOURCE).parts) for path in SOURCE.rglob("__init__.py"))
FILES_MAX = 25


def imports(path: Path) -> list[str]:
    """Return the modules that a file imports, those inside functions too."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return found


def parts(package: str) -> dict[str, set[str]]:
    """Return what each module and package directly inside a package imports of the others there."""
    inside = SOURCE.joinpath(*package.split("."))
    graph: dict[str, set[str]] = {}
    for path in inside.rglob("*.py"):
        part = path.relative_to(inside).parts[0].removesuffix(".py")
        if part != "__init__":
            others = {
                name.removeprefix(f"{package}.").split(".")[0]
                for name in imports(path)
                if name.startswith(f"{package}.")
            }
            graph.setdefault(part, set()).update(others - {part})
    return graph


def modules(crate: str) -> dict[str, set[str]]:
    """Return what each module of a crate uses of its others, its tests left out."""
    source = SOURCE.parents[1] / crate / "src"
    graph: dict[str, set[str]] = {}
    for path in source.rglob("*.rs"):
        module = path.relative_to(source).parts[0].removesuffix(".rs")
        if module not in ("lib", "main"):
            text = re.sub(r"(?m)^\s*//.*$", "", path.read_text(encoding="utf-8")).partition("#[cfg(test)]\nmod ")[0]
            used = set(re.findall(r"\bcrate::(\w+)", text))
            for several in re.findall(r"\bcrate::\{(.*?)\};", text, re.DOTALL):
                used |= set(re.findall(r"(?:^|,)\s*(\w+)", re.sub(r"\{.*?\}", "", several, flags=re.DOTALL)))
            graph.setdefault(module, set()).update(used - {module})
    return graph


def check_no_circle(graph: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter({part: others & graph.keys() for part, others in graph.items()}).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


@pytest.mark.parametrize("package", PACKAGES)
def test_no_circle_within(package: str) -> None:
    check_no_circle(parts(package))


@pytest.mark.parametrize("crate", ["loadgen", "profiler"])
def test_no_circle_between_modules(crate: str) -> None:
    check_no_circle(modules(crate))


@pytest.mark.parametrize("crate", ["loadgen", "profiler"])
def test_no_directory_of_a_crate_is_a_heap(crate: str) -> None:
    files = Counter(path.parent for path in (SOURCE.parents[1] / crate / "src").rglob("*.rs"))
    assert max(files.values()) <= FILES_MAX


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_is_a_heap(package: str) -> None:
    assert len(list(SOURCE.joinpath(*package.split(".")).glob("*.py"))) <= FILES_MAX


def test_no_directory_of_tests_is_a_heap() -> None:
    files = Counter(path.parent for path in Path(__file__).parent.rglob("*.py"))
    assert {str(directory): count for directory, count in files.items() if count > FILES_MAX} == {}


def test_a_circle_would_be_seen() -> None:
    assert {"report", "search", "run"} <= parts("lab")["cli"]
    assert {"record", "convert", "event"} <= modules("profiler")["cli"]
    with pytest.raises(pytest.fail.Exception, match=r"a <- b <- a|b <- a <- b"):
        check_no_circle({"a": {"b"}, "b": {"a"}})
