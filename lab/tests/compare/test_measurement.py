"""Blocks are put together as one population of requests."""

from __future__ import annotations

import numpy as np
import pytest

from lab.analysis.histogram import Sample
from lab.compare.measurement import Measured


def sample(*values_us: int) -> Sample:
    unique, counts = np.unique(np.array(values_us, dtype=np.int64) * 1000, return_counts=True)
    return Sample(unique, unique, counts.astype(np.int64))


def measured(latencies: Sample, **changes: float | None) -> Measured:
    known: dict = {"requests": latencies.count, "due": 1000.0, "served": float(latencies.count), "elapsed_s": 1.0,
                   "cpu_s": 0.1, "allocated_bytes": 1e6}  # fmt: skip
    return Measured(latencies, **{**known, **changes})


def test_the_percentile_of_blocks_is_the_one_of_their_merged_histograms_and_no_average() -> None:
    calm = measured(sample(*[100] * 9000))
    stalled = measured(sample(*[100] * 500, *[50_000] * 500))
    together = Measured.together([calm, stalled])
    assert calm.latency_ms("99") == 0.1
    assert stalled.latency_ms("99") == 50.0
    everything = np.concatenate([np.full(9500, 100), np.full(500, 50_000)])
    assert together.latency_ms("99") == np.percentile(everything, 99, method="inverted_cdf") / 1e3 == 50.0
    assert together.latency_ms("90") == 0.1
    averaged = (0.1 + 50.0) / 2
    assert together.latency_ms("99") != averaged
    assert together.latency_ms("90") != (calm.latency_ms("90") + stalled.latency_ms("90")) / 2  # type: ignore[operator]


def test_a_percentile_that_the_sample_does_not_support_is_unknown() -> None:
    assert measured(sample(*[100] * 999)).latency_ms("99") is None
    assert measured(sample(*[100] * 1000)).latency_ms("99") is not None


def test_costs_a_request_weigh_each_block_by_its_requests() -> None:
    small = measured(sample(*[1] * 100), cpu_s=0.1, allocated_bytes=1000.0)
    large = measured(sample(*[1] * 900), cpu_s=0.1, allocated_bytes=1000.0)
    together = Measured.together([small, large])
    assert together.per_request(together.cpu_s) == pytest.approx(200e-6)
    assert together.per_request(together.allocated_bytes) == pytest.approx(2.0)
    assert Measured.together([small, measured(sample(1), cpu_s=None)]).cpu_s is None
