"""The service of another revision, built in a temporary git worktree."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from lab.compare.sides import Revision
from lab.errors import InputError, RunError
from lab.paths import Checkout
from lab.process.commands import run_bytes, run_text
from lab.process.processes import tail
from lab.progress import Progress
from lab.runtime.instruments import ServiceCatalogue
from lab.runtime.local.instruments import JarCatalogue
from lab.runtime.local.requirements import find_jdk
from lab.runtime.local.runtime import SERVICE_JAR as JAR

DIRECTORY = "regress"
MAKE_VARIABLES = ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL")


@contextlib.contextmanager
def built_revision(checkout: Checkout, name: str, tell: Progress) -> Iterator[Revision]:
    """Build the service of a revision in .cache/regress, and remove it afterwards.

    Raises InputError for a name that is no revision, RunError if its service cannot be built.
    """
    commit = _commit(checkout, name)
    root = checkout.cache / DIRECTORY / commit[:12]
    _remove(checkout, root)
    root.parent.mkdir(parents=True, exist_ok=True)
    try:
        _git(checkout, "worktree", "add", "--detach", str(root), commit)
        log = root.parent / f"{commit[:12]}.log"
        tell(f"building the service of {name} ({commit[:12]})")
        with log.open("wb") as out:
            environment = {key: value for key, value in os.environ.items() if key not in MAKE_VARIABLES}
            done = run_bytes(
                ["make", "--no-print-directory", "build-service"],
                cwd=root,
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        if done.returncode != 0 or not (root / JAR).is_file():
            raise RunError(f"the service of {name} cannot be built", f"Its log: {log}", tail(log, 20))
        yield Revision(name, commit, root)
    finally:
        _remove(checkout, root)


def require_one_table_format(checkout: Checkout, revision: Revision, own: ServiceCatalogue) -> None:
    """Raise InputError if the two services cannot read the same dataset; `own` is this checkout's service."""
    hint = "Compare with an experiment that has no dataset"
    java = str(find_jdk() / "bin" / "java")
    try:
        other = JarCatalogue(revision.root / JAR, revision.root / ".cache", lambda: java).table_format()
    except RunError:
        raise InputError(
            f"{revision.name}: its service has no command table-format, so it is not known if it can read the dataset",
            hint,
        ) from None
    if own.table_format() != other:
        raise InputError(
            f"{revision.name} has table format {other} and this checkout {own.table_format()}: they cannot read one "
            "dataset",
            hint,
        )


def _commit(checkout: Checkout, name: str) -> str:
    done = run_text(
        ["git", "-C", str(checkout.root), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    )
    if done.returncode != 0:
        raise InputError(f"BASE={name}: no such revision", "Name a commit, a branch or a tag: BASE=HEAD~1, BASE=main")
    return done.stdout.strip()


def _remove(checkout: Checkout, root: Path) -> None:
    if root.exists():
        run_text(["git", "-C", str(checkout.root), "worktree", "remove", "--force", str(root)])
        shutil.rmtree(root, ignore_errors=True)
    run_text(["git", "-C", str(checkout.root), "worktree", "prune"])


def _git(checkout: Checkout, *words: str) -> None:
    done = run_text(["git", "-C", str(checkout.root), *words])
    if done.returncode != 0:
        raise RunError(f"git {words[0]} failed: {done.stderr.strip()}")
