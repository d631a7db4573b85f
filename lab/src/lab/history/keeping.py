"""Keeps runs: exports them as one file, tags them, and prunes them without breaking references."""

from __future__ import annotations

import json
import re
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

from lab.errors import InputError
from lab.history.index import History, RunRow, read_tags, references
from lab.paths import Checkout
from lab.process.locks import RunLock
from lab.record import RECORD
from lab.units import format_bytes
from lab.whole_file import replacing, write_whole

TAG = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
KEEP_DEFAULT = 10


@dataclass(frozen=True)
class Pruned:
    """A run that is removed, and its bytes; or an old one that stays, and why."""

    name: str
    bytes: int
    kept_for: str = ""


def export(checkout: Checkout, name: str, out: Path | None = None) -> Path:
    """Write a run, or an answer with all runs that it refers to, as one `.tar.gz`; return its path.

    Names inside begin below results/, so the links between an answer and its runs work wherever it is unpacked.
    InputError if there is no such run.
    """
    results = checkout.results
    directory = _directory(checkout, name)
    relative = directory.relative_to(results).as_posix()
    members = [directory]
    if not (directory / "run.json").is_file():
        pointing = {run for run, sources in references(results).items() if any(s.startswith(relative) for s in sources)}
        members += [results / run for run in sorted(pointing) if (results / run).is_dir()]
    path = out or Path.cwd() / f"{relative.replace('/', '-')}.tar.gz"
    with replacing(path) as scratch, tarfile.open(scratch, "w:gz", compresslevel=6) as archive:
        for member in members:
            archive.add(member, arcname=member.relative_to(results).as_posix())
    return path


def tag(checkout: Checkout, name: str, word: str) -> None:
    """Tag a run, so that `prune` keeps it; a tag that exists already moves. InputError."""
    if not TAG.fullmatch(word):
        raise InputError(
            f"TAG={word}: a tag has at most 64 lowercase letters, digits, dots and dashes, such as baseline-2"
        )
    directory = _directory(checkout, name)
    tags = {**read_tags(checkout.results), word: directory.relative_to(checkout.results).as_posix()}
    write_whole(checkout.results / "tags.json", json.dumps(tags, indent=2, sort_keys=True) + "\n")


def prune(checkout: Checkout, keep: int = KEEP_DEFAULT, *, dry_run: bool = False) -> tuple[list[Pruned], list[Pruned]]:
    """Remove all but the newest `keep` complete runs of each experiment; return removed ones and old ones that stay.

    A run that did not end well is removed once a complete one of its experiment is newer. Runs that a suite, a search,
    a comparison or a tag refers to stay. RunError while a run goes on; with `dry_run` nothing is removed.
    """
    if keep < 1:
        raise InputError(f"KEEP={keep}: must be at least 1: the newest run of each experiment is always kept")
    lock = RunLock(checkout.run_lock)
    lock.take("prune")
    try:
        rows = History(checkout).rows()
        pointing = references(checkout.results)
        gone, kept = [], []
        for row in _surplus(rows, keep):
            directory = checkout.results / row.name
            size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
            if row.name in pointing:
                kept.append(Pruned(row.name, size, ", ".join(sorted(pointing[row.name]))))
                continue
            gone.append(Pruned(row.name, size))
            if not dry_run:
                shutil.rmtree(directory)
        return gone, kept
    finally:
        lock.release()


def _surplus(rows: list[RunRow], keep: int) -> list[RunRow]:
    """Return the rows, newest first, that the rule of `prune` does not keep."""
    complete: dict[str, int] = {}
    surplus = []
    for row in rows:
        number = complete.get(row.experiment, 0)
        if row.state in ("incomplete", "unreadable"):
            if number:
                surplus.append(row)
            continue
        complete[row.experiment] = number + 1
        if number >= keep:
            surplus.append(row)
    return surplus


def find_run(checkout: Checkout, name: str, holding: str | Path = "run.json") -> Path | None:
    """Return the directory that `name` means and that holds this file; None if there is none.

    `name` is a path, a name below results/ (`stack-get/20261121T091433Z`), or a tag.
    """
    named = read_tags(checkout.results).get(name, name)
    for place in (checkout.results / named, Path(name)):
        if (place / holding).exists():
            return place.resolve()
    return None


def _directory(checkout: Checkout, name: str) -> Path:
    """Return the directory of a run, or of a record, below results/."""
    results = checkout.results.resolve()
    found = find_run(checkout, name, "run.json") or find_run(checkout, name, RECORD)
    if found is not None and found.is_relative_to(results) and len(found.relative_to(results).parts) == 2:
        return found
    raise InputError(f"no run {name!r} below {results}", "make results shows the runs: RUN=stack-get/20261121T091433Z")


def described(pruned: list[Pruned]) -> str:
    """Return the number of runs and their size: "12 runs, 340 MiB"."""
    count = "1 run" if len(pruned) == 1 else f"{len(pruned):,} runs"
    return f"{count}, {format_bytes(sum(one.bytes for one in pruned))}"
