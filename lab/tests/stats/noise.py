"""Comparisons of a service with itself, drawn from noise that was recorded on a real machine (record_noise.py)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).with_name("testdata") / "noise.npz"
BLOCK_S = 8
TURNS_S = ((0, 1, 6, 7), (2, 3, 4, 5))
"""The seconds of a block in which its first and its second side have the load: windows of two seconds, A B B A."""


@cache
def _recorded() -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
    with np.load(FILE) as file:
        return file["counts"], file["middles_us"]


@cache
def second_log_p99() -> NDArray[np.float64]:
    """Return ln p99 by start and second."""
    return _log_p99(_recorded()[0])


@cache
def _turn_log_p99() -> NDArray[np.float64]:
    """Return ln p99 by turn, start and first second of the block: of the histograms of the turn's seconds, merged."""
    counts = _recorded()[0]
    offsets = range(counts.shape[1] - BLOCK_S + 1)
    merged = [[counts[:, [o + s for s in turn]].sum(axis=1, dtype=np.int64) for o in offsets] for turn in TURNS_S]
    return _log_p99(np.array(merged)).swapaxes(1, 2)


def _log_p99(counts: NDArray[np.generic]) -> NDArray[np.float64]:
    cumulative = np.cumsum(counts, axis=-1, dtype=np.int64)
    rank = np.ceil(0.99 * cumulative[..., -1:])
    return np.log(_recorded()[1][(cumulative >= rank).argmax(axis=-1)].astype(np.float64))


def log_ratios(random: np.random.Generator, comparisons: int, blocks: int) -> NDArray[np.float64]:
    """Return ln(p99 of B ÷ p99 of A) by comparison and block, for a B that is A.

    A block takes two starts that followed each other on the machine, as a block does, and a random stretch of each.
    """
    table = _turn_log_p99()
    shape = (comparisons, blocks)
    earlier = random.integers(0, table.shape[1] - 1, shape)
    swapped = random.integers(0, 2, shape)
    offset = random.integers(0, table.shape[2], shape)
    first, second = table[0, earlier + swapped, offset], table[1, earlier + 1 - swapped, offset]
    b_is_first = random.integers(0, 2, shape).astype(bool)
    return np.where(b_is_first, first - second, second - first)


def second_by_second(random: np.random.Generator, comparisons: int, blocks: int) -> NDArray[np.float64]:
    """Return such noise with a value for each second, by comparison and (block, second)."""
    table = second_log_p99()
    shape = (comparisons, blocks, 1)
    earlier = random.integers(0, table.shape[0] - 1, shape)
    swapped = random.integers(0, 2, shape)
    seconds = random.integers(0, table.shape[1] - BLOCK_S + 1, shape) + np.arange(BLOCK_S)
    values = table[earlier + swapped, seconds] - table[earlier + 1 - swapped, seconds]
    return values.reshape(comparisons, -1)
