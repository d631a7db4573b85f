"""Asks the service in its pod what it offers."""

from __future__ import annotations

import json

from lab.runtime.instruments import ServiceCatalogue
from lab.runtime.kubernetes.kubectl import Kubectl
from lab.runtime.specs import Choice


class PodCatalogue(ServiceCatalogue):
    """Asks the service of the image, in the pod of the run."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl

    def _choices(self, command: str) -> list[Choice]:
        words = f"java -XX:TieredStopAtLevel=1 -jar lsmlab-server.jar {command} --json"
        output = self._ask(words, f"asking the service for its {command}")
        return [Choice(str(entry["name"]), str(entry["summary"])) for entry in json.loads(output)]

    def _ask(self, script: str, what: str) -> str:
        return self._kubectl.run("service", "service", ["sh", "-c", script], what)
