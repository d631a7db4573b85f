"""Datasets: made once, cached by a hash of what determines their bytes, linked into each start of the service.

A dataset is written into a scratch directory beside its final place and renamed when it is complete, so a directory
with a hash's name is always complete. A lock file keeps two labs from making the same dataset at once. Tables (`*.sst`)
never change once written, so a start gets hard links to them; every other file is copied, because the service rewrites
it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import NoSpaceError, RunError
from lab.machine.host import memory_bytes
from lab.paths import Checkout
from lab.progress import Progress
from lab.runtime.base import DatasetSpec, Runtime
from lab.units import format_bytes

INFO = "dataset.json"
STORE = "store"
TABLE_SUFFIX = ".sst"
KEY_AND_OVERHEAD_BYTES = 40
MARGIN_BYTES = 1 << 30
READ_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Dataset:
    """A finished dataset: `store` is the store's directory, `info` what load-dataset printed about it."""

    spec: DatasetSpec
    hash: str
    store: Path
    info: dict[str, Any]


def dataset_hash(spec: DatasetSpec, table_format: str) -> str:
    """Return the hash that a dataset is cached under: of its declaration without its name, and of the table format."""
    text = json.dumps({"table_format": table_format, **spec.declaration()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def find_dataset(checkout: Checkout, spec: DatasetSpec, table_format: str) -> Dataset | None:
    """Return the dataset if it is cached, complete and unchanged; a changed one counts as absent."""
    digest = dataset_hash(spec, table_format)
    directory = checkout.datasets / digest
    try:
        info = json.loads((directory / INFO).read_text(encoding="utf-8"))
        if info["files"] != _describe(directory / STORE):
            return None
    except (OSError, ValueError, KeyError):
        return None
    return Dataset(spec, digest, directory / STORE, info)


def is_cached_in_any_format(checkout: Checkout, spec: DatasetSpec) -> bool:
    """Whether any cached dataset was made from this declaration: a guess that needs no built service."""
    declaration = spec.declaration()
    for path in checkout.datasets.glob(f"*/{INFO}"):
        with contextlib.suppress(OSError, ValueError):
            if json.loads(path.read_text(encoding="utf-8")).get("declaration") == declaration:
                return True
    return False


def estimated_bytes(spec: DatasetSpec) -> int:
    """Return the size on disk to expect, without compression."""
    return spec.pairs * (spec.value_bytes + KEY_AND_OVERHEAD_BYTES)


def can_link(checkout: Checkout) -> bool:
    """Return whether a dataset's tables can be linked into a run's data, or must be copied at each start. Tries it."""
    try:
        with tempfile.NamedTemporaryFile(dir=existing_parent(checkout.datasets), prefix=".link-") as file:
            link = existing_parent(checkout.work) / f"{Path(file.name).name}.tried"
            os.link(file.name, link)
            link.unlink()
    except OSError:
        return False
    return True


def on_one_disk(checkout: Checkout) -> bool:
    """Return whether datasets and the runs' data share a file system."""
    return existing_parent(checkout.datasets).stat().st_dev == existing_parent(checkout.work).stat().st_dev


def existing_parent(path: Path) -> Path:
    """Return the path itself, or its closest parent that exists."""
    while not path.exists():
        path = path.parent
    return path


def require_space(path: Path, needed_bytes: int, what: str, setting: str = "LAB_CACHE") -> None:
    """Raise NoSpaceError if the file system of `path` has not `needed_bytes` and a margin free.

    The environment variable `setting` names another place.
    """
    existing = existing_parent(path)
    free = shutil.disk_usage(existing).free
    wanted = needed_bytes + MARGIN_BYTES
    needs = f"{what} needs about {format_bytes(needed_bytes)}, and " if needed_bytes else ""
    if free < wanted:
        raise NoSpaceError(
            f"the disk of {existing} has {format_bytes(free)} free; {needs}{format_bytes(MARGIN_BYTES)} must stay free",
            f"Free {format_bytes(wanted - free)}, or name another place: {setting}=/path/on/a/larger/disk",
        )


def provide(
    checkout: Checkout, runtime: Runtime, spec: DatasetSpec, *, table_format: str, log: Path, progress: Progress
) -> Dataset:
    """Return the dataset; make it if it is not cached."""
    found = find_dataset(checkout, spec, table_format)
    if found is not None:
        return found
    digest = dataset_hash(spec, table_format)
    checkout.datasets.mkdir(parents=True, exist_ok=True)
    with _lock(checkout.datasets / f"{digest}.lock", progress):
        found = find_dataset(checkout, spec, table_format)
        if found is not None:
            return found
        final = checkout.datasets / digest
        scratch = checkout.datasets / f"{digest}.part"
        for leftover in (final, scratch):
            if leftover.exists():
                shutil.rmtree(leftover)
        require_space(checkout.datasets, estimated_bytes(spec), f"dataset {spec.name}")
        scratch.mkdir()
        try:
            info = runtime.make_dataset(spec, scratch / STORE, log, progress)
            declaration = spec.declaration()
            files = _describe(scratch / STORE)
            document = {**info, "declaration": declaration, "table_format": table_format, "files": files}
            (scratch / INFO).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
            scratch.rename(final)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        _remove_unreadable(checkout, final, declaration)
    made = find_dataset(checkout, spec, table_format)
    if made is None:
        raise RunError(f"dataset {spec.name} was made but cannot be read back from {final}")
    return made


def _describe(store: Path) -> dict[str, str]:
    """Return a fingerprint of a store: the size of each table, the hash of every other file.

    Tables have checksums of their own, which the service verifies as it reads.
    """
    return {
        path.relative_to(store).as_posix(): str(path.stat().st_size)
        if path.suffix == TABLE_SUFFIX
        else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(store.rglob("*"))
        if path.is_file()
    }


def _remove_unreadable(checkout: Checkout, kept: Path, declaration: dict[str, Any]) -> None:
    """Remove the same dataset in other table formats, which the current service cannot read.

    A run that still uses one has links to its tables.
    """
    for path in checkout.datasets.glob(f"*/{INFO}"):
        with contextlib.suppress(OSError, ValueError):
            if path.parent != kept and json.loads(path.read_text(encoding="utf-8"))["declaration"] == declaration:
                shutil.rmtree(path.parent)


def read_into_page_cache(directory: Path) -> bool:
    """Read the tables in `directory`, so that a service finds them in memory; return whether that was done.

    A machine may take pages that nobody used for minutes away, and the warm-up then reads them from the disk in random
    order. Tables of more than half of the available memory are left alone: they would push each other out.
    """
    tables = sorted(directory.rglob(f"*{TABLE_SUFFIX}"))
    if sum(table.stat().st_size for table in tables) > memory_bytes().get("available", 0) / 2:
        return False
    block = bytearray(READ_BLOCK_BYTES)
    for table in tables:
        with table.open("rb", buffering=0) as file:
            while file.readinto(block):
                pass
    return True


def materialise(dataset: Dataset, target: Path) -> str:
    """Put the store's files into the new directory `target`; return `linked` or `copied`.

    Raises NoSpaceError if tables must be copied and the disk has no room for them.
    """
    target.mkdir(parents=True)
    how = "linked"
    sources = sorted(dataset.store.rglob("*"))
    for at, source in enumerate(sources):
        place = target / source.relative_to(dataset.store)
        if source.is_dir():
            place.mkdir()
        elif source.suffix == TABLE_SUFFIX:
            try:
                os.link(source, place)
            except OSError:
                if how == "linked":
                    left = sum(path.stat().st_size for path in sources[at:] if path.suffix == TABLE_SUFFIX)
                    require_space(target, left, f"a copy of dataset {dataset.spec.name}")
                shutil.copyfile(source, place)
                how = "copied"
        else:
            shutil.copyfile(source, place)
    return how


@contextlib.contextmanager
def _lock(path: Path, progress: Progress) -> Iterator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("another lab makes this dataset; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
