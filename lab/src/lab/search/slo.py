"""The limit of a search, such as `p99.9<100ms`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lab.analysis.percentiles import REPORTED, label, samples_needed
from lab.errors import InputError, did_you_mean
from lab.units import duration_word, parse_duration_s

FORM = "a percentile, < and a time: SLO='p99.9<100ms'"
_SHAPE = re.compile(r"\s*([A-Za-z0-9.]+)\s*(<=?)\s*(\S.*?)\s*")
_NAMES = {label(percentile): percentile for percentile in REPORTED}
SAMPLES_FACTOR = 3
"""A step has this many times the requests that a percentile needs to be reported."""


@dataclass(frozen=True)
class Slo:
    """A percentile of latency ("50" … "100") that must stay below a limit, over all requests that were due."""

    percentile: str
    limit_ms: float

    def __str__(self) -> str:
        return f"{label(self.percentile)}<{duration_word(round(self.limit_ms / 1e3, 9))}"

    @property
    def requests_needed(self) -> int:
        """Requests that a step has at least: 3 × 10 lie beyond the percentile, for the maximum 1,000 in all."""
        return SAMPLES_FACTOR * samples_needed(self.percentile) if self.percentile != "100" else 1_000


def parse_slo(text: str) -> Slo:
    """Parse `p99.9<100ms`. Raises InputError that says what is wrong and what is allowed."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise InputError(f"SLO={text}: is not {FORM}{_upside_down(text)}")
    name, _, limit = match.groups()
    if name not in _NAMES:
        raise InputError(f"SLO={text}: no percentile {name!r}{did_you_mean(name, _NAMES)}; available: {_known()}")
    try:
        limit_s = parse_duration_s(limit)
    except ValueError as error:
        raise InputError(f"SLO={text}: {error}") from error
    if limit_s <= 0:
        raise InputError(f"SLO={text}: the limit must be over 0")
    return Slo(_NAMES[name], limit_s * 1e3)


def _known() -> str:
    return ", ".join(_NAMES)


def _upside_down(text: str) -> str:
    return "; a latency has an upper limit, so it is < and not >" if ">" in text else ""
