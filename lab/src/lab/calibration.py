"""Calibration: the limits of this machine, and the smallest difference that it can show.

- the ceiling: the rate that the load generator reaches with a service whose engine does nothing;
- the floor: its latency at a low rate, which is the part of any latency that network, HTTP and load generator take;
- the time of an fsync on the file system of the service's data;
- an A/A test: the reference experiment against itself, on as many starts of the service as asked. The standard
  deviation of the log ratio of two starts gives the smallest detectable difference of a metric
  (lab/statistics/design.py): a comparison of n pairs finds a difference of that size in four of five cases.

The result is kept in .cache/calibration.json with the fingerprint of the machine; every comparison prints it. The next
calibration on an equal machine also gives the factor between its smallest differences and these.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from lab.errors import RunError
from lab.experiment import Catalogue, Experiment, tenant
from lab.manifest import Manifest, Measurement, Summary
from lab.paths import Checkout
from lab.statistics import detectable_difference

REFERENCE = "sync-get"
REFERENCE_RATE = 20_000
REFERENCE_SECONDS = 10
REFERENCE_WARMUP_S = 5
FLOOR_RATE = 1_000
CEILING_RATE = 1_000_000
PAIRS = 6
"""The default number of pairs of a comparison."""
FSYNCS = 200
METRICS: Mapping[str, Callable[[Measurement], float | None]] = {
    "rate": lambda m: m.rate_achieved_per_s,
    "p50": lambda m: m.headline_ms.percentiles.get("50"),
    "p99": lambda m: m.headline_ms.percentiles.get("99"),
    "p99.9": lambda m: m.headline_ms.percentiles.get("99.9"),
    "service CPU": lambda m: m.service_cpu_us_per_request,
}

RunOnce = Callable[[str, Experiment], tuple[Path, Manifest]]
"""Runs an experiment to its end and returns its directory and manifest; RunError if it failed."""


class Calibration(BaseModel):
    """The result of `make calibrate`. Differences are ratios minus one, for `pairs` pairs: 0.03 is 3%."""

    model_config = ConfigDict(extra="forbid")

    measured_at: datetime
    fingerprint: str | None
    ceiling_per_s: float | None
    floor_ms: dict[str, float]
    fsync_ms: dict[str, float]
    experiment: str
    starts: int
    pairs: int
    smallest_difference: dict[str, float]
    verdicts: dict[str, str]


def calibrate(checkout: Checkout, run: RunOnce, starts: int) -> Calibration:
    """Measure and store; `starts` is the number of starts of the A/A test, at least 4."""
    floor_dir, floor = run("calibrate-floor", noop_experiment(FLOOR_RATE))
    ceiling_dir, ceiling = run("calibrate-ceiling", noop_experiment(CEILING_RATE))
    same_dir, same = run("calibrate-a-a", reference_experiment(checkout, starts))
    of_floor, of_same = _summary(floor, floor_dir), _summary(same, same_dir)
    result = Calibration(
        measured_at=datetime.now(UTC),
        fingerprint=same.environment.fingerprint,
        ceiling_per_s=_summary(ceiling, ceiling_dir).rate_achieved_per_s,
        floor_ms={
            p: of_floor.headline_ms.percentiles[p] for p in ("50", "99") if p in of_floor.headline_ms.percentiles
        },
        fsync_ms=fsync_ms(checkout.work),
        experiment=f"{REFERENCE} at {REFERENCE_RATE:,}/s",
        starts=len(of_same.repetitions),
        pairs=PAIRS,
        smallest_difference=smallest_differences(of_same.repetitions, PAIRS),
        verdicts={
            name: manifest.validity.state
            for name, manifest in (("floor", floor), ("ceiling", ceiling), ("a/a", same))
            if manifest.validity is not None
        },
    )
    path = calibration_file(checkout)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(result.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return result


def read_calibration(checkout: Checkout) -> Calibration | None:
    """Return the last calibration of this checkout; None if there is none that can be read."""
    try:
        return Calibration.model_validate_json(calibration_file(checkout).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def calibration_file(checkout: Checkout) -> Path:
    """Return the path of the calibration."""
    return checkout.cache / "calibration.json"


def smallest_differences(starts: Sequence[Measurement], pairs: int) -> dict[str, float]:
    """Return by metric the smallest difference that a comparison of `pairs` pairs finds with a power of 80%.

    All starts are of one service, so two of them differ by √2 times the spread of one. Raises ValueError for fewer than
    four starts, or two pairs.
    """
    if len(starts) < 4 or pairs < 2:
        raise ValueError(f"{len(starts)} starts and {pairs} pairs are too few: at least 4 and 2")
    found = {}
    for name, value in METRICS.items():
        values = [v for start in starts if (v := value(start)) is not None and v > 0]
        if len(values) == len(starts):
            of_ratio = math.sqrt(2) * float(np.std(np.log(values), ddof=1))
            found[name] = math.expm1(detectable_difference(of_ratio, pairs))
    return found


def fsync_ms(directory: Path, times: int = FSYNCS) -> dict[str, float]:
    """Return median and p99 of appending 4 KiB to a file and syncing it."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"fsync-{os.getpid()}"
    taken = []
    try:
        with path.open("wb", buffering=0) as file:
            for _ in range(times):
                file.write(bytes(4096))
                begin = time.perf_counter()
                os.fsync(file.fileno())
                taken.append((time.perf_counter() - begin) * 1e3)
    finally:
        path.unlink(missing_ok=True)
    return {"50": float(np.percentile(taken, 50)), "99": float(np.percentile(taken, 99))}


def noop_experiment(rate: int) -> Experiment:
    """Return an experiment whose engine does nothing: every GET is answered 404 at once."""
    return Experiment.model_validate(
        {
            "title": f"A service that does nothing, at {rate:,}/s",
            "service": tenant.LEAST,
            "load": {"script": "get.lua", "rate": rate, "threads": 1, "connections": 64, "duration": "5s",
                     "warmup": "5s", "args": {"pairs": 1000}, "expect": [404]},
            "profile": None,
        }
    )  # fmt: skip


def reference_experiment(checkout: Checkout, starts: int) -> Experiment:
    """Return the experiment that is compared with itself."""
    experiment = Catalogue(checkout).read(REFERENCE)
    load = experiment.load.model_copy(
        update={
            "rate_per_s": REFERENCE_RATE,
            "duration_s": float(REFERENCE_SECONDS),
            "warmup_s": float(REFERENCE_WARMUP_S),
        }
    )
    return experiment.model_copy(update={"load": load, "repeat": starts, "profile": None, "reference": None})


def factors(calibration: Calibration, earlier: Calibration) -> dict[str, float]:
    """Return by metric the factor, at least 1, between the smallest differences of two calibrations."""
    found = {}
    for name, size in calibration.smallest_difference.items():
        if name in earlier.smallest_difference:
            low, high = sorted((size, earlier.smallest_difference[name]))
            found[name] = high / low if low > 0 else math.inf if high > 0 else 1.0
    return found


def against_earlier(calibration: Calibration, earlier: Calibration | None) -> list[str]:
    """Return, as lines for people, how far a calibration is from the one before it; nothing if there was none."""
    if earlier is None:
        return []
    before = f"the calibration of {earlier.measured_at:%Y-%m-%d %H:%M} UTC"
    design = [(one.fingerprint, one.experiment, one.starts, one.pairs) for one in (calibration, earlier)]
    if design[0] != design[1]:
        return [f"{before} was of another machine, source or design: its differences are not set beside these"]
    apart = ", ".join(f"{name} ×{factor:.2f}" for name, factor in factors(calibration, earlier).items())
    return [f"smallest differences against {before}: {apart} (the larger over the smaller)"]


def described(calibration: Calibration) -> list[str]:
    """Return the calibration as lines for people."""
    differences = ", ".join(f"{name} {size:.1%}" for name, size in calibration.smallest_difference.items())
    floor = ", ".join(f"p{p} {ms * 1e3:.0f} µs" for p, ms in calibration.floor_ms.items())
    fsync = ", ".join(f"p{p} {ms:.2f} ms" for p, ms in calibration.fsync_ms.items())
    ceiling = "unknown" if calibration.ceiling_per_s is None else f"{calibration.ceiling_per_s:,.0f} requests/s"
    return [
        f"ceiling, service and load generator together: {ceiling}",
        f"floor, at {FLOOR_RATE:,}/s: {floor}",
        f"fsync of 4 KiB: {fsync}",
        f"smallest detectable difference with {calibration.pairs} pairs ({calibration.experiment}, "
        f"{calibration.starts} starts): {differences}",
        *(f"{name}: {state}" for name, state in calibration.verdicts.items() if state != "valid"),
    ]


def _summary(manifest: Manifest, directory: Path) -> Summary:
    if manifest.summary is None:
        raise RunError(f"{directory}: nothing was measured")
    return manifest.summary
