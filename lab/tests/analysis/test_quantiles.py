"""The fast percentiles of the tests' histograms are those of the library."""

from __future__ import annotations

import numpy as np
import pytest

from report.synthesis import NAMES, histogram, recorded
from support.quantiles import spectrum, values_at


@pytest.mark.parametrize("count", [1, 2, 7, 5_000])
def test_the_percentiles_are_the_librarys(count: int) -> None:
    filled = histogram()
    for seed in (1, 2):
        values = np.exp(np.random.default_rng(seed).normal(12, 1.5, count)).astype(np.int64)
        filled.add(recorded(values))
    assert values_at(filled, NAMES) == {name: filled.get_value_at_percentile(float(name)) for name in NAMES}
    assert spectrum(filled, 5) == [
        (step.value_iterated_to, step.percentile_level_iterated_to, step.total_count_to_this_value)
        for step in filled.get_percentile_iterator(5)
    ]
