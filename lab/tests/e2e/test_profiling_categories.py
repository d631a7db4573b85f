"""The shipped experiments, briefly: less than a twentieth of what each profile shows is unclassified.

One experiment of each combination of variant, engine, workload and settings that choose other code; the rest run the
same code at other rates and on other data. About 20 minutes for all: `make torture-categories [TESTS='-k rocksdb']`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.experiment import Catalogue, Experiment
from lab.paths import Checkout

from .conftest import CHECKOUT
from .copied import copy_of_checkout, make_in

UNCLASSIFIED_MAX = 0.05
SAMPLES_MIN = 100
"""With fewer samples, one rare stack is a large share."""
RATE_MAX = 5_000
LOAD = {"DURATION": "6s", "WARMUP": "2s", "RUNTIME": "local", "MONITORING": "off"}

pytestmark = pytest.mark.torture


def code_of(experiment: Experiment) -> tuple[object, ...]:
    """Return what decides which code of the service runs."""
    service = experiment.service
    chosen = (service.durability, service.compression, service.compaction, service.idle, service.queue_policy)
    return service.variant, service.engine, experiment.load.script, *chosen


def one_of_each() -> dict[str, Experiment]:
    catalogue = Catalogue(Checkout(CHECKOUT))
    found: dict[tuple[object, ...], tuple[str, Experiment]] = {}
    for name in catalogue.names():
        experiment = catalogue.read(name)
        found.setdefault(code_of(experiment), (name, experiment))
    return dict(found.values())


SHIPPED = one_of_each()


@pytest.fixture(scope="module")
def copy() -> Iterator[Path]:
    """A copy of the checkout, so that these short runs are not among the user's."""
    with copy_of_checkout("categories") as directory:
        yield directory


@pytest.mark.parametrize("name", SHIPPED)
def test_less_than_a_twentieth_is_unclassified(copy: Path, name: str) -> None:
    rate = min(RATE_MAX, SHIPPED[name].load.rate_per_s)
    words = [f"{key}={value}" for key, value in LOAD.items()]
    make_in(copy, "experiment", f"NAME={name}", f"RATE={rate}", *words)
    (run,) = (copy / "results" / name).glob("*Z")
    shares = unclassified(run)
    print(name, *(f"· {event} {100 * share:.1f}% of {samples:,}" for event, (share, samples) in shares.items()))
    assert {"cpu", "alloc", "lock"} <= set(shares)
    assert shares["cpu"][1] >= SAMPLES_MIN
    too_many = {
        event: share
        for event, (share, samples) in shares.items()
        if samples >= SAMPLES_MIN and share >= UNCLASSIFIED_MAX
    }
    assert not too_many, f"{name}: unclassified: {too_many}"


def unclassified(run: Path) -> dict[str, tuple[float, int]]:
    """Return, by event, the share of unclassified samples and the number of all."""
    tables = json.loads((run / "profile/categories.json").read_text())["events"]
    return {
        event: (
            sum(row["share"] for row in rows if row["category"] == "other"),
            sum(row["samples"] for row in rows),
        )
        for event, rows in tables.items()
    }
