"""Calibrations as `make calibrate` stores them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lab.calibration import Calibration


def calibration(**changes: Any) -> Calibration:
    """Return a calibration with these values."""
    known = {
        "measured_at": datetime(2026, 11, 24, 22, 5, tzinfo=UTC), "fingerprint": "ab", "ceiling_per_s": 150_000.0,
        "floor_ms": {"50": 0.085}, "fsync_ms": {"50": 1.2}, "experiment": "sync-get at 20,000/s", "starts": 20,
        "pairs": 6, "smallest_difference": {"p50": 0.031}, "verdicts": {"a/a": "suspect", "floor": "valid"},
    }  # fmt: skip
    return Calibration.model_validate({**known, **changes})
