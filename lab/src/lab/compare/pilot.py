"""Finds the warm-up of all sides on one pilot start of each, before the first block.

A pilot is a start under load for a minute. It was steady after the last change of its median latency, or of the
requests answered if it cannot keep up. The longest of these times is the warm-up of all sides. It is fixed before the
first block, because rules that end a warm-up while it goes on misjudge (Traini et al., EMSE 2023).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lab.analysis.checks.steady import LEVEL_MIN_MS
from lab.analysis.load import Second, read_load_json
from lab.analysis.steadiness import steady_from
from lab.compare.blocks import spinning_stopped
from lab.compare.plan import RunningSide, with_warmup
from lab.compare.record import PilotRecord
from lab.run.load import warmup_loads_s

PILOT_S = 60.0
WARMUP_MIN_S, WARMUP_MAX_S = 5.0, 60.0
KEPT_UP = 0.99
"""A pilot that answered a smaller share of what was due is saturated: its latency grows for as long as it runs."""


def run_pilot(sides: Sequence[RunningSide]) -> PilotRecord:
    """Start each side once and return when it was steady. The services stay up until the first block ends them."""
    found: list[float | None] = []
    earlier_s = sum(warmup_loads_s(PILOT_S)[:-1])  # the load whose seconds are known is the last one
    started: list[RunningSide] = []
    for side in sides:
        experiment = with_warmup(side.state.plan.experiment, PILOT_S)
        pilot = replace(side.repetition(1, 1), experiment=experiment, label=f"pilot {side.letter.upper()}")
        with spinning_stopped(started):
            outputs = side.session.prepare(pilot)
        started.append(side)
        steady_s = None if outputs is None else steady_after_s(read_load_json(outputs / "load.json").series)
        found.append(None if steady_s is None else earlier_s + steady_s)
    return PilotRecord(length_s=PILOT_S, steady_s=found)


def steady_after_s(seconds: Sequence[Second]) -> float | None:
    """Return after how many seconds a start was steady; None if it was not, or if its report does not say."""
    whole = seconds[:-1]  # the last second may be a part of one
    known = [second for second in whole if second.requests and second.p50_us is not None]
    due = sum(second.due or 0 for second in whole)
    if due and sum(second.requests for second in whole) < KEPT_UP * due:
        found = steady_from(np.array([float(second.requests) for second in known]), 0.0)
    else:
        found = steady_from(np.array([(second.p50_us or 0.0) / 1e3 for second in known]), LEVEL_MIN_MS)
    return None if found is None else math.ceil(known[found].t_s)


def warmup_of(pilot: PilotRecord) -> float:
    """Return the warm-up of all sides in seconds: the longest one, within its bounds."""
    needed = (WARMUP_MAX_S if steady_s is None else steady_s for steady_s in pilot.steady_s)
    return min(max(WARMUP_MIN_S, *needed), WARMUP_MAX_S)
