"""The functions, against worked examples and against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lab.statistics import (
    BLOCKS_MIN,
    detectable_difference,
    equivalence_p,
    estimate,
    holm,
    independent,
    judge,
    judge_together,
    paired,
)

VALUES = [0.10, 0.12, 0.08, 0.11, 0.14, 0.05, 0.09, 0.13]
finite = st.floats(-5, 5, allow_nan=False).map(lambda v: round(v, 6))


def test_the_interval_is_students() -> None:
    found = estimate(paired(VALUES), 0.95)
    reference = stats.ttest_1samp(VALUES, 0.0)
    interval = reference.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.p_value == pytest.approx(reference.pvalue)


def test_independent_values_are_compared_by_welch() -> None:
    a, b = [1.0, 1.1, 0.9, 1.05, 1.2, 0.8], [1.3, 1.9, 1.1, 1.6, 1.4, 2.0, 1.5]
    found, reference = estimate(independent(a, b)), stats.ttest_ind(b, a, equal_var=False)
    interval = reference.confidence_interval(0.95)
    assert found.p_value == pytest.approx(reference.pvalue)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


@given(st.lists(finite, min_size=6, max_size=12), st.floats(0.01, 3))
def test_equivalence_means_that_the_interval_at_90_percent_lies_within(values: list[float], bound: float) -> None:
    difference = paired(values)
    interval = estimate(difference, 0.90)
    margin = min(bound - interval.high, interval.low + bound)
    if abs(margin) > 1e-9:
        assert (equivalence_p(difference, bound) <= 0.05) == (margin > 0)


def test_holm_as_worked_out_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_is_between_no_correction_and_bonferroni(p_values: list[float]) -> None:
    for raw, corrected in zip(p_values, holm(p_values), strict=True):
        assert raw <= corrected <= min(1.0, raw * len(p_values)) + 1e-12


@pytest.mark.parametrize(("count", "factor"), [(6, 1.43), (8, 1.16), (10, 1.00), (20, 0.66)])
def test_the_detectable_difference_is_the_one_of_the_tables(count: int, factor: float) -> None:
    assert detectable_difference(1.0, count) == pytest.approx(factor, abs=0.01)


def test_equal_values_need_no_spread_to_be_judged() -> None:
    assert judge(paired([0.0] * 6), 0.05).verdict == "same"
    assert judge(paired([math.log(1.2)] * 6), 0.05).verdict == "worse"


def test_the_four_verdicts() -> None:
    wide = np.array([-0.3, 0.4, -0.2, 0.1, 0.5, -0.4])
    assert judge(paired(VALUES), 0.05).verdict == "worse"
    assert judge(paired(VALUES), 0.05, lower_is_better=False).verdict == "better"
    assert judge(paired([-value for value in VALUES]), 0.05).verdict == "better"
    assert judge(paired([value / 20 for value in VALUES]), 0.05).verdict == "same", "certain, and too small to matter"
    assert judge(paired(wide), 0.05).verdict == "cannot tell"


def test_fewer_than_six_blocks_cannot_tell_whatever_they_say() -> None:
    few = VALUES[: BLOCKS_MIN - 1]
    assert estimate(paired(few)).p_value < 0.01
    assert judge(paired(few), 0.05).verdict == "cannot tell"


@pytest.mark.parametrize("values", [[], [0.1], [0.1, math.nan], [0.1, math.inf]])
def test_values_that_have_no_interval_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"too few|not finite"):
        paired(values)


def test_judgements_that_are_read_together_need_smaller_p_values() -> None:
    alone = [judge(paired([value / 10 for value in VALUES]), 0.0001) for _ in range(3)]
    borderline = judge(paired([0.2, 0.01, 0.15, -0.03, 0.1, 0.12]), 0.0001)
    assert borderline.verdict == "worse"
    together = judge_together([*alone, borderline, *[borderline] * 8])
    assert [one.verdict for one in together[:3]] == ["worse"] * 3
    assert together[3].verdict == "cannot tell"
