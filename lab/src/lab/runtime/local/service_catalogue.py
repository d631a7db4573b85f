"""What the built service offers, asked of itself and remembered for as long as it is not built anew."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lab.errors import RunError
from lab.runtime.base import Choice

ANSWER_LIMIT_S = 60


def ask(command: str, java: Sequence[str], jar: Path, cache_dir: Path) -> list[Choice]:
    """Return what `java -jar jar COMMAND --json` lists.

    A JVM takes half a second to start and a run asks four times, so answers are kept in `cache_dir` with the time and
    the size of the jar that gave them. RunError where the service is not built, or fails.
    """
    try:
        stat = jar.stat()
    except FileNotFoundError:
        hint = "Build it: make build-service"
        raise RunError(f"the service is not built yet, and only it knows its {command}", hint) from None
    cache, built = cache_dir / f"{command}.json", [stat.st_mtime_ns, stat.st_size]
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        document = json.loads(cache.read_text(encoding="utf-8"))
        if document["built"] == built:
            return [Choice(entry["name"], entry["summary"]) for entry in document["choices"]]
    argv = [*java, "-XX:TieredStopAtLevel=1", "-jar", str(jar), command, "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=ANSWER_LIMIT_S, check=False)
    if done.returncode != 0:
        raise RunError(f"the service's command {command!r} failed", log_tail=done.stderr[-2000:])
    choices = [{"name": entry["name"], "summary": entry.get("summary", "")} for entry in json.loads(done.stdout)]
    cache_dir.mkdir(parents=True, exist_ok=True)
    cache.write_text(json.dumps({"built": built, "choices": choices}), encoding="utf-8")
    return [Choice(entry["name"], entry["summary"]) for entry in choices]
