"""Reads how the profile of a run was taken, for run.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lab.manifest import Recording


def read_recording(run_dir: Path) -> Recording | None:
    """Return what ``profile/profile.json`` says; None if it is missing or damaged."""
    try:
        document: dict[str, Any] = json.loads((run_dir / "profile" / "profile.json").read_text(encoding="utf-8"))
        events: dict[str, dict[str, Any]] = document["events"]
        known = {name: document.get(name) for name in Recording.model_fields if name in document}
        counts = {
            count: {name: event[count] for name, event in events.items() if count in event}
            for count in ("samples", "broken")
        }
        return Recording.model_validate({**known, **counts})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
