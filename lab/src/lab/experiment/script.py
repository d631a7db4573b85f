"""What a script of the load generator declares about itself to the lab.

A line in the comment at its top says whether its requests write, and which facts of the dataset it takes as words:

    -- lab: writes, pairs, value_bytes, seed
    -- lab: reads, pairs, seed

A script without such a line, as those written for wrk2 are, takes no words and may write.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from lab.errors import InputError
from lab.experiment.model import LoadSettings

WORDS = ("pairs", "value_bytes", "seed")
"""Facts of a dataset that a script may take."""
_DECLARATION = re.compile(r"--\s*lab:\s*(.*?)\s*")
FORM = f"-- lab: reads, or -- lab: writes, and of {', '.join(WORDS)} those that its init(args) takes"


@dataclass(frozen=True)
class ScriptDeclaration:
    """Whether the script's requests write, None if it does not say so, and its words of the dataset."""

    writes: bool | None
    words: frozenset[str]


def read_load(scripts: Path, load: LoadSettings) -> ScriptDeclaration:
    """Return what a load declares about itself; a single GET reads. `scripts` is the directory of the workloads."""
    if load.script is None:
        return ScriptDeclaration(False, frozenset())
    return read_script(scripts / load.script)


def read_script(path: Path, shown_as: str = "") -> ScriptDeclaration:
    """Read the declaration of a script. Raises InputError with file and line if it is wrong."""
    name = shown_as or str(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if match := _DECLARATION.fullmatch(line):
            kind, *words = (word.strip() for word in match[1].split(","))
            if kind not in ("reads", "writes"):
                raise InputError(f"{name}:{number}: {kind!r} is neither reads nor writes", f"The line is {FORM}")
            if unknown := [word for word in words if word not in WORDS]:
                raise InputError(f"{name}:{number}: {unknown[0]!r} is no fact of a dataset", f"The line is {FORM}")
            return ScriptDeclaration(kind == "writes", frozenset(words))
        if line.strip() and not line.startswith("--"):
            break
    return ScriptDeclaration(None, frozenset())
