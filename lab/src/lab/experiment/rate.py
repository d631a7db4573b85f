"""The rate of one run: as declared, given (RATE=20000), scaled (SCALE=0.3), or fitted to this machine (RATE=auto).

RATE=auto keeps the share. If a reference offered 70,000/s to a service that saturates at 60,000/s, RATE=auto offers
35,000/s to a service that saturates at 30,000/s. All rates of a sweep are multiplied by one factor.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from lab.errors import InputError
from lab.experiment.model import Experiment, RateChoice

AUTO = "auto"
DEFAULT_SHARE = 0.7
"""Share of the saturation that RATE=auto offers without a reference; for a sweep at its highest rate. At 70% the queue
of a single server is short (a mean of 2.3 requests in M/M/1), and half as much again overloads it."""
SCALE_FORM = "a number over 0 and at most 100, such as 0.3, or auto"
SCALE_MAX = 100.0
_NUMBER = re.compile(r"\d{1,4}(\.\d{1,6})?|\.\d{1,6}")


@dataclass(frozen=True)
class Saturation:
    """The highest rate that a service answered on this machine; `lower_bound`: it may be higher."""

    per_s: float
    lower_bound: bool = False


SaturationOf = Callable[[Experiment], Saturation]
"""Returns this machine's saturation under an experiment. Raises InputError if it was never measured."""


def split_rate(given: dict[str, str]) -> tuple[dict[str, str], str | None]:
    """Return the settings without SCALE and RATE=auto, and the scale that these mean: a number, auto, or None."""
    rest = {name: text for name, text in given.items() if name != "scale"}
    scale = given.get("scale")
    if given.get("rate", "").strip().lower() == AUTO:
        del rest["rate"]
        if scale not in (None, AUTO):
            raise InputError(f"RATE=auto SCALE={scale}: RATE=auto chooses the scale: leave one of them out")
        return rest, AUTO
    return rest, scale


def chosen(experiment: Experiment, scale: str | None, declared: Experiment, saturation_of: SaturationOf) -> Experiment:
    """Return the experiment at the requested rate; `declared` is it before anything was set for one run."""
    if scale is None:
        if declared.sweep_per_s or experiment.load.rate_per_s == declared.load.rate_per_s:
            return experiment
        return experiment.at_scale(1.0, RateChoice(how="given", declared_per_s=declared.load.rate_per_s))
    highest = max(experiment.sweep_per_s or (experiment.load.rate_per_s,))
    if not declared.sweep_per_s and highest != declared.load.rate_per_s:
        both = f"RATE={highest} SCALE={scale}"
        raise InputError(f"{both}: SCALE multiplies the declared {declared.load.rate_per_s}/s: leave one of them out")
    if scale.strip().lower() != AUTO:
        factor = _number(scale)
        choice = RateChoice(how="scaled", declared_per_s=highest, scale=factor)
        return _scaled(experiment, factor, choice, f"SCALE={scale}")
    saturation = saturation_of(experiment)
    base = max(declared.sweep_per_s or (highest,))  # one point of a sweep is scaled like all of them
    theirs = _reference_saturation(experiment, declared)
    share = DEFAULT_SHARE if theirs is None else base / theirs
    source: Literal["reference", "default"] = "default" if theirs is None else "reference"
    factor = share * saturation.per_s / base
    choice = RateChoice(
        how="auto",
        declared_per_s=highest,
        scale=factor,
        share=share * highest / base,
        share_from=source,
        saturation_per_s=saturation.per_s,
        saturation_is_lower_bound=saturation.lower_bound,
    )
    return _scaled(experiment, factor, choice, "RATE=auto")


def _reference_saturation(experiment: Experiment, declared: Experiment) -> float | None:
    reference = declared.reference or experiment.reference
    return None if reference is None else reference.saturated_at_per_s


def _scaled(experiment: Experiment, factor: float, choice: RateChoice, setting: str) -> Experiment:
    lowest = min(experiment.sweep_per_s or (experiment.load.rate_per_s,))
    highest = max(experiment.sweep_per_s or (experiment.load.rate_per_s,))
    if round(lowest * factor) < 1 or highest * factor > 10_000_000:
        raise InputError(f"{setting}: {lowest:,}/s becomes {lowest * factor:,.3g}/s: must be from 1 to 10,000,000")
    return experiment.at_scale(factor, choice)


def _number(text: str) -> float:
    factor = float(text) if _NUMBER.fullmatch(text.strip()) else math.nan
    if not 0 < factor <= SCALE_MAX:
        raise InputError(f"SCALE={text}: is not {SCALE_FORM}")
    return factor
