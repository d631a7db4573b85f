"""Settings and commands in the words that the reader types.

Messages name both as make does: `RATE=20000`, `make experiment NAME=stack-get`. Who calls `bin/lab` types options.
"""

from __future__ import annotations

import os
import re

COMMANDS = {
    name: name
    for name in (
        *("compare", "search", "suite", "list", "suites", "variants", "check", "capacity", "regress"),
        *("profiling-cost", "findings", "manifests", "results", "changes", "export", "tag", "prune", "diff"),
        *("profile-window", "parse-load", "calibrate", "quiet", "unquiet", "up", "open", "down"),
    )
} | {"experiment": "run"}
"""The lab's command behind each target of make."""
ARGUMENTS = frozenset({"NAME", *"ABCDEF", "SLO", "BASE", "RUN", "TAG", "AGAINST", "FILE"})
"""Words of make that a command takes by their place."""
FLAGS = frozenset({"RESUME", "STRICT", "FORCE", "VALID", "DRY_RUN"})
VARIABLE = re.compile(r"LAB_|GRAFANA_IMAGE|JAVA_|DOCKER_|KEY\b")
"""Words that are no options: environment variables, and KEY=value itself."""
# Quoted text is an argument, such as a side of a comparison. It is typed in the same way for make and for bin/lab.
_WORD = re.compile(
    r"(?<!\w)'(?!make )[^'\n]*'|\bmake (?P<target>[a-z][a-z-]*)|(?<![\w/.-])(?P<word>[A-Z][A-Z_]*)=(?P<one>1\b)?"
)


def as_typed(text: str) -> str:
    """Return a message in make's words if make called the lab, else in those of the command line."""
    return text if os.environ.get("MAKELEVEL") else _WORD.sub(_option, text)


def _option(found: re.Match[str]) -> str:
    target, word = found["target"], found["word"]
    if target in COMMANDS:
        return f"bin/lab {COMMANDS[target]}"
    if word is None or VARIABLE.match(word):
        return found[0]
    if word in ARGUMENTS:
        return found["one"] or ""
    option, one = "--" + word.lower().replace("_", "-"), found["one"] or ""
    return option if word in FLAGS and one else f"{option} {one}"
