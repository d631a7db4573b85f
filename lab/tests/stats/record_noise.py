"""Turns a run of one experiment against itself into the noise that the simulations draw from.

    make experiment NAME=sync-get RATE=10000 REPEAT=8 DURATION=20s WARMUP=4s PROFILE=off RUNTIME=local
    .venv/bin/python lab/tests/stats/record_noise.py results/sync-get/RUN

For each start of the service and each second, the latencies by bucket: real histograms with their bursts and their
dependence from second to second, so that a simulation merges what a comparison merges.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from lab.analysis.histogram import read_log
from lab.analysis.outputs import measured_sources

FILE = Path(__file__).with_name("testdata") / "noise.npz"
BUCKETS_PER_E = 100
"""Buckets in a factor of e: each is 1% wide."""


def main(run: Path) -> None:
    counts: list[list[np.ndarray]] = []
    edges_ns = np.exp(np.arange(np.log(10_000), np.log(2e9), 1 / BUCKETS_PER_E))
    for source in measured_sources(run):
        seconds = []
        for interval in read_log(run / source / "latency.hlog").intervals:
            middle = (interval.sample.low + interval.sample.high) / 2
            seconds.append(np.histogram(middle, edges_ns, weights=interval.sample.counts)[0].astype(np.uint16))
        counts.append(seconds)
    length = min(len(seconds) for seconds in counts)
    table = np.array([seconds[:length] for seconds in counts])
    used = np.flatnonzero(table.sum(axis=(0, 1)))
    first, last = int(used[0]), int(used[-1]) + 1
    middles_us = np.sqrt(edges_ns[first:last] * edges_ns[first + 1 : last + 1]) / 1e3
    np.savez_compressed(FILE, counts=table[:, :, first:last], middles_us=middles_us.astype(np.float32))
    print(f"{FILE}: {table.shape[0]} starts of {length} s, {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
