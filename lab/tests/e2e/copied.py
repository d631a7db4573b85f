"""A copy of the checkout, built as far as the checkout is, for tests that change its code."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from .conftest import CHECKOUT, make

VARIANTS = Path("service/server/src/main/java/lsmlab/server/variant")
# Copied with their times, so that make builds again only what a change affects.
BUILT = ["service/storage/target", "service/peers/target", "service/server/target", "profiler/target/lib"]
# The tests of the service may run beside, and come and go with these.
OF_TESTS = shutil.ignore_patterns("surefire*", "test-*", "jqwik-database*")
PROGRAMS = ["loadgen/target/release/loadgen", "profiler/target/release/profile"]


@contextlib.contextmanager
def copy_of_checkout(name: str) -> Iterator[Path]:
    """Make `.cache/NAME`, beside the caches: a dataset's tables can be linked only on one file system."""
    directory = CHECKOUT / ".cache" / name
    shutil.rmtree(directory, ignore_errors=True)
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    tracked = [name for name in listing.split("\0") if name and (CHECKOUT / name).exists()]
    for path in [*tracked, *PROGRAMS]:
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / path, directory / path, follow_symlinks=False)
    for path in BUILT:
        shutil.copytree(CHECKOUT / path, directory / path, symlinks=True, ignore=OF_TESTS)
    (directory / ".venv").symlink_to(CHECKOUT / ".venv")
    (directory / ".cache").mkdir(exist_ok=True)
    (CHECKOUT / ".cache/datasets").mkdir(exist_ok=True)
    (directory / ".cache/datasets").symlink_to(CHECKOUT / ".cache/datasets")
    yield directory
    shutil.rmtree(directory)


def register_variants(copy: Path, lines: list[str]) -> None:
    """Add lines such as `new Entry("name", Name.SUMMARY, Name::new)` to the end of the list of variants."""
    registry = copy / VARIANTS / "Variants.java"
    before = registry.read_text()
    added = ",\n          ".join(lines)
    after = re.sub(
        r"\)\);\n\n  private Variants\(", lambda end: f"),\n          {added}{end.group()[1:]}", before, count=1
    )
    assert after != before, "the list of variants does not end as it did"
    registry.write_text(after)


def make_in(directory: Path, *words: str, limit_s: float = 600) -> str:
    """Run make there; return what it printed."""
    done = make(*words, directory=directory, limit_s=limit_s)
    assert done.returncode == 0, f"make {' '.join(words)}:\n{done.stdout[-5000:]}"
    return done.stdout
