"""Asks the service's image what it offers. Each question takes a container, so the answers are kept for each image."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.errors import RunError
from lab.runtime.docker.engine import Docker
from lab.runtime.instruments import ServiceCatalogue
from lab.runtime.specs import Choice

SERVICE_IMAGE = "lsmlab-service"


class ServiceImage(ServiceCatalogue):
    """The image `lsmlab-service`. Answers are kept in the file `memory` for as long as the image's digest is the same.

    Not for use by two threads at once.
    """

    def __init__(self, docker: Docker, memory: Path) -> None:
        self._docker = docker
        self._memory = memory

    def _choices(self, command: str) -> list[Choice]:
        known = self._remember(command, lambda: self._ask_choices(command))
        return [Choice(name, summary) for name, summary in known]

    def _ask_choices(self, command: str) -> list[tuple[str, str]]:
        # Without the options of an experiment, which would fill a large heap at once.
        argv = self._docker.compose(
            *("run", "--rm", "-T", "--no-deps", "--entrypoint", "java", "service", "-XX:TieredStopAtLevel=1"),
            *("-jar", "lsmlab-server.jar", command, "--json"),
        )
        output = self._docker.ask(argv, f"asking the service for its {command}")
        try:
            return [(str(entry["name"]), str(entry["summary"])) for entry in json.loads(output)]
        except (ValueError, TypeError, KeyError) as error:
            raise RunError(f"the service's answer to '{command} --json' cannot be read: {output[:200]!r}") from error

    def _remember(self, key: str, ask: Callable[[], Any]) -> Any:
        image = self._docker.image_id(SERVICE_IMAGE)
        if image is None:
            raise RunError(
                "the service's image is not built yet, and only the service knows what it offers",
                "Build it: docker compose build service",
            )
        known: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            document = json.loads(self._memory.read_text(encoding="utf-8"))
            if document["image"] == image:
                known = document
        if key not in known:
            known = {**known, "image": image, key: ask()}
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            self._memory.write_text(json.dumps(known), encoding="utf-8")
        return known[key]
