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
ROOT = SOURCE.parents[1]
RUST = sorted({str(path.parent.relative_to(ROOT)) for path in ROOT.glob("*/src/**/*.rs")})
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


def names(path: Path, source: Path) -> list[str]:
    """Return the names in its crate that a file uses by `crate::` or `super::`, from the root; its tests left out."""
    text = re.sub(r"(?m)^\s*//.*$", "", path.read_text(encoding="utf-8")).partition("#[cfg(test)]\nmod ")[0]
    grouped = ""
    while grouped != text:  # a::{b, c} becomes a::b,a::c, the innermost group first
        grouped = text
        text = re.sub(r"([\w:]+::)\{([^{}]*)\}", lambda m: ",".join(m[1] + n.strip() for n in m[2].split(",")), text)
    own = [part for part in path.relative_to(source).with_suffix("").parts if part != "mod"]
    found = []
    for supers, name in re.findall(r"\b(?:crate::|((?:super::)+))(\w+(?:::\w+)*)", text):
        above = own[: len(own) - supers.count("super")] if supers else []
        found.append("::".join([*above, name]))
    return found


def modules(directory: str) -> dict[str, set[str]]:
    """Return what each module directly inside a directory of a crate's `src` uses of the others there."""
    inside = ROOT / directory
    source = ROOT / directory.partition("/")[0] / "src"
    prefix = "".join(f"{part}::" for part in inside.relative_to(source).parts)
    graph: dict[str, set[str]] = {}
    for path in inside.rglob("*.rs"):
        module = path.relative_to(inside).parts[0].removesuffix(".rs")
        if module not in ("lib", "main", "mod"):
            others = {
                name.removeprefix(prefix).split("::")[0] for name in names(path, source) if name.startswith(prefix)
            }
            graph.setdefault(module, set()).update(others - {module})
    return graph


def check_no_circle(graph: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter({part: others & graph.keys() for part, others in graph.items()}).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


@pytest.mark.parametrize("package", PACKAGES)
def test_no_cycle_within(package: str) -> None:
    check_no_circle(parts(package))


@pytest.mark.parametrize("directory", RUST)
def test_no_cycle_between_modules(directory: str) -> None:
    check_no_circle(modules(directory))


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_have_few_files(package: str) -> None:
    assert len(list(SOURCE.joinpath(*package.split(".")).glob("*.py"))) <= FILES_MAX


@pytest.mark.parametrize("directory", RUST)
def test_rust_directories_have_few_files(directory: str) -> None:
    assert 0 < len(list(ROOT.joinpath(directory).glob("*.rs"))) <= FILES_MAX


def test_the_directories_of_rust_are_found() -> None:
    assert {"loadgen/src", "loadgen/src/exec/worker", "profiler/src", "profiler/src/record"} <= set(RUST)


def test_test_directories_have_few_files() -> None:
    files = Counter(path.parent for path in Path(__file__).parent.rglob("*.py"))
    assert {str(directory): count for directory, count in files.items() if count > FILES_MAX} == {}


def test_a_cycle_would_be_found() -> None:
    assert {"report", "search", "run"} <= parts("lab")["cli"]
    assert {"record", "convert", "event", "tools"} <= modules("profiler/src")["cli"]
    assert {"perf", "asprof"} <= modules("profiler/src/record")["recorder"]
    assert "connection" in modules("loadgen/src/exec")["worker"]
    with pytest.raises(pytest.fail.Exception, match=r"a <- b <- a|b <- a <- b"):
        check_no_circle({"a": {"b"}, "b": {"a"}})
