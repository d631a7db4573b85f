"""Addresses of Grafana's dashboards at the time of a run."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from urllib.parse import urlencode

from lab.manifest import Manifest
from lab.paths import find_checkout

DASHBOARDS = {
    "lsmlab-experiment": "Experiment",
    "lsmlab-time": "Where the time goes",
    "lsmlab-storage": "Storage engine",
    "lsmlab-jvm": "JVM",
    "lsmlab-host": "Host",
    "lsmlab-compare": "Compare",
}
"""Names by uid; dashboards/common.py has the same."""
MARGIN = timedelta(seconds=5)
PORT = "LAB_PORT_GRAFANA"


def dashboard_links(manifest: Manifest) -> list[tuple[str, str]]:
    """Return name and address of each dashboard, from the first start of the service to the last phase under load.

    Empty for a run of the local runtime, whose metrics Grafana does not show, for one without monitoring, and for one
    that put no load on the service.
    """
    phases = [phase for phase in manifest.phases if phase.name in ("start", "warm-up", "measure", "profile")]
    if manifest.runtime != "docker" or manifest.environment.monitoring is False or not phases:
        return []
    times = {
        "from": round(1000 * (phases[0].start - MARGIN).timestamp()),
        "to": round(1000 * (max(phase.end for phase in phases) + MARGIN).timestamp()),
    }
    base = f"http://127.0.0.1:{_port()}/d"
    chosen = {"var-run": manifest.run_id}
    compared = {"var-run_a": manifest.run_id}
    return [
        (name, f"{base}/{uid}?{urlencode({**times, **(compared if uid == 'lsmlab-compare' else chosen)})}")
        for uid, name in DASHBOARDS.items()
    ]


def _port() -> str:
    """Return the port that Grafana is published at: the environment's, that of .env, or Grafana's own."""
    settings = find_checkout().root / ".env"
    text = settings.read_text(encoding="utf-8") if settings.is_file() else ""
    set_there = re.search(rf"^{PORT}=(\d+)\s*$", text, re.MULTILINE)
    return os.environ.get(PORT) or (set_there[1] if set_there else "3000")
