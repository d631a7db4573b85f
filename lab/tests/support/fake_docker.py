"""Stands in for the docker command, or for kubectl: it notes each call and answers as the test said it should.

`rules.json` beside the program is a list of `{match, stdout, stderr, code, seconds, until}`; the first whose `match` is
in the words of the call answers. `until` names a file whose appearance ends the wait early.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


class FakeDocker:
    """A directory for the PATH, with the program, its rules and its calls."""

    # Not a dataclass: each call of the program would take half as long again to import them.
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def install(self, name: str = "docker") -> FakeDocker:
        self.directory.mkdir(parents=True, exist_ok=True)
        program = self.directory / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__)}" "{self.directory}" "$@"\n')
        program.chmod(0o755)
        self.answers([])
        return self

    def answers(self, rules: list[dict[str, Any]]) -> None:
        """Set how calls are answered; a call that matches no rule prints nothing and succeeds."""
        temporary = self.directory / "rules.part"
        temporary.write_text(json.dumps(rules))
        temporary.rename(self.directory / "rules.json")

    def calls(self, mention: str = "") -> list[dict[str, Any]]:
        """Return the calls so far, `words` and `environment` of each, whose words hold `mention`."""
        path = self.directory / "calls.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [call for call in map(json.loads, lines) if mention in " ".join(call["words"])]


def main() -> None:
    directory, words = Path(sys.argv[1]), sys.argv[2:]
    environment = {key: value for key, value in os.environ.items() if key.startswith(("LAB_", "LOADGEN"))}
    with (directory / "calls.jsonl").open("a") as file:
        file.write(json.dumps({"words": words, "environment": environment}) + "\n")
    for rule in json.loads((directory / "rules.json").read_text()):
        if rule["match"] in " ".join(words):
            deadline = time.monotonic() + rule.get("seconds", 0)
            while time.monotonic() < deadline and not (rule.get("until") and Path(rule["until"]).exists()):
                time.sleep(0.01)
            sys.stdout.write(rule.get("stdout", ""))
            sys.stderr.write(rule.get("stderr", ""))
            sys.exit(rule.get("code", 0))


if __name__ == "__main__":
    main()
