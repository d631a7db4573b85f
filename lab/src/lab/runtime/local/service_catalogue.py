"""Asks the built service what it offers; the answers are kept until the next build."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from lab.errors import RunError
from lab.runtime.instruments import ServiceCatalogue
from lab.runtime.specs import Choice

ANSWER_LIMIT_S = 60


class JarCatalogue(ServiceCatalogue):
    """Asks `java -jar JAR variants --json`. `java` returns the path of the JDK's java when it is first needed.

    A JVM takes half a second to start and a run asks five times, so answers are kept in `cache_dir`, with the time and
    the size of the jar that gave them.
    """

    def __init__(self, jar: Path, cache_dir: Path, java: Callable[[], str]) -> None:
        self._jar = jar
        self._cache_dir = cache_dir
        self._java = java

    def _choices(self, command: str) -> list[Choice]:
        try:
            stat = self._jar.stat()
        except FileNotFoundError:
            hint = "Build it: make build-service"
            raise RunError(f"the service is not built yet, and only it knows its {command}", hint) from None
        cache, built = self._cache_dir / f"{command}.json", [stat.st_mtime_ns, stat.st_size]
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            document = json.loads(cache.read_text(encoding="utf-8"))
            if document["built"] == built:
                return [Choice(entry["name"], entry["summary"]) for entry in document["choices"]]
        argv = [self._java(), "-XX:TieredStopAtLevel=1", "-jar", str(self._jar), command, "--json"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=ANSWER_LIMIT_S, check=False)
        if done.returncode != 0:
            raise RunError(f"the service's command {command!r} failed", log_tail=done.stderr[-2000:])
        choices = [{"name": entry["name"], "summary": entry.get("summary", "")} for entry in json.loads(done.stdout)]
        self._cache_dir.mkdir(parents=True, exist_ok=True)
        cache.write_text(json.dumps({"built": built, "choices": choices}), encoding="utf-8")
        return [Choice(entry["name"], entry["summary"]) for entry in choices]
