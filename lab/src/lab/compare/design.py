"""The design of a comparison: the number of blocks, the order of the sides, and how the load alternates.

A block is one fresh start of each side. In it, windows of load alternate: A B B A in a block that begins with A, so a
drift of the machine that is linear over the block cancels. As many blocks begin with B as with A, in random order, so
that no rhythm of the machine coincides with one side.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lab.compare.measurement import METRICS
from lab.compare.record import LETTERS
from lab.errors import InputError
from lab.experiment import Experiment
from lab.statistics import BLOCKS_MIN

BLOCKS_DEFAULT = 10
BLOCKS_MAX = 100
WINDOW_MAX_S = 30
DECLARABLE = tuple(metric.name for metric in METRICS if not metric.amount)
"""Metrics that may be declared, so that they are judged by themselves."""
DESIGN_SETTINGS = ("blocks", "x", "metric", "seed", "force")


@dataclass(frozen=True)
class Design:
    """The settings, fixed before the first block. `within` is the share up to which a difference is irrelevant.

    `metric` is the declared metric, None to judge all together. With `force` the verdict stands even if the machine was
    not fit to measure.
    """

    blocks: int
    within: float
    metric: str | None
    seed: int
    force: bool = False

    def orders(self, sides: int = 2) -> list[str]:
        """Return the order of the sides in each block, such as `ab` or `ba`: shuffled by the seed.

        Each side is at each place equally often, to within one.
        """
        shuffler = random.Random(self.seed)
        turns = [LETTERS[first:sides] + LETTERS[:first] for first in range(sides)]
        orders = turns * (self.blocks // sides) + shuffler.sample(turns, self.blocks % sides)
        shuffler.shuffle(orders)
        return orders


@dataclass(frozen=True)
class Windows:
    """The division of one block's load on one side: `count` windows of `length_s` each."""

    count: int
    length_s: int

    @staticmethod
    def of(experiment: Experiment, count: int | None = None) -> Windows:
        """Cut the experiment's duration into `count` windows, or into an even number of windows of at most 30 s.

        A duration of one second is one window.
        """
        duration_s = int(experiment.load.duration_s)
        if count is None:
            count = 1 if duration_s < 2 else max(2, 2 * math.ceil(duration_s / WINDOW_MAX_S / 2))
        return Windows(count, max(1, round(duration_s / count)))

    def sequence(self, order: str) -> Iterator[tuple[str, int]]:
        """Yield (side, number of the window on that side, from 1): A B, then B A, and so on, in a block of order ab."""
        for number in range(1, self.count + 1):
            for letter in order if number % 2 else reversed(order):
                yield letter, number


def read_design(given: Mapping[str, str], seed: int) -> Design:
    """Return the design from BLOCKS, X, METRIC, SEED and FORCE. Raises InputError that names the setting."""
    metric = given.get("metric")
    if metric is not None and metric not in DECLARABLE:
        raise InputError(f"METRIC={metric}: is not allowed; allowed: {', '.join(DECLARABLE)}")
    if "seed" in given:
        if not re.fullmatch(r"\d{1,9}", given["seed"]):
            raise InputError(f"SEED={given['seed']}: must be a whole number of at most 9 digits")
        seed = int(given["seed"])
    force = given.get("force", "0")
    if force not in ("0", "1"):
        raise InputError(f"FORCE={force}: is not allowed; allowed: 1, or 0 for the default")
    blocks, within = _blocks(given.get("blocks", str(BLOCKS_DEFAULT))), _share(given.get("x", "5%"))
    return Design(blocks, within, metric, seed, force == "1")


def _blocks(text: str) -> int:
    if not re.fullmatch(r"\d{1,4}", text):
        raise InputError(f"BLOCKS={text}: must be a number of blocks, such as 10")
    if int(text) < BLOCKS_MIN:
        raise InputError(
            f"BLOCKS={text}: at least {BLOCKS_MIN} blocks are needed",
            "Fewer starts cannot tell a difference from luck; for a quick look shorten them: DURATION=4s WARMUP=3s",
        )
    if int(text) > BLOCKS_MAX:
        raise InputError(f"BLOCKS={text}: at most {BLOCKS_MAX} blocks")
    return int(text)


def _share(text: str) -> float:
    match = re.fullmatch(r"(\d{1,3}(?:\.\d+)?)%", text)
    if match is None or not 0 < float(match[1]) <= 100:
        raise InputError(f"X={text}: must be a share in per cent, more than 0% and at most 100%, such as 5%")
    return float(match[1]) / 100
