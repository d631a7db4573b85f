"""Samples: percentiles as HdrHistogram's and numpy's, merging that loses nothing, logs read as the format says."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.analysis import Sample, read_log, supported
from lab.analysis.histogram import HistogramLogError
from lab.analysis.percentiles import REPORTED, label, samples_needed

values_ns = st.lists(st.integers(1, 10**11), min_size=1, max_size=200)


def histogram(values: list[int], figures: int = 3) -> HdrHistogram:
    made = HdrHistogram(1, 3_600_000_000_000, figures)
    for value in values:
        made.record_value(value)
    return made


def sample(values: list[int], figures: int = 3) -> Sample:
    return Sample.of_histogram(histogram(values, figures))


@given(values_ns, st.sampled_from([1, 2, 3]))
@settings(max_examples=40, deadline=None)
def test_a_sample_holds_what_the_histogram_holds(values: list[int], figures: int) -> None:
    made = histogram(values, figures)
    taken = Sample.of_histogram(made)
    assert taken.count == made.get_total_count()
    assert taken.low[0] == made.get_min_value()
    assert taken.high[-1] == made.get_max_value()
    assert taken.mean_ns() == pytest.approx(made.get_mean_value(), rel=10.0**-figures, abs=1)
    for low, high in zip(taken.low, taken.high, strict=True):
        assert made.get_lowest_equivalent_value(int(high)) == low
        assert made.get_highest_equivalent_value(int(low)) == high


@given(values_ns, st.sampled_from(["0", "25", "50", "75", "90", "99", "99.9", "99.999", "100"]))
def test_percentiles_are_numpys_by_nearest_rank_within_the_buckets(values: list[int], percentile: str) -> None:
    exact = int(np.percentile(values, float(percentile), method="inverted_cdf"))
    found = sample(values).percentile_ns(percentile)
    assert exact <= found <= exact * 1.001 + 1


@given(values_ns)
def test_mean_and_deviation_are_numpys_within_the_buckets(values: list[int]) -> None:
    taken = sample(values)
    assert taken.mean_ns() == pytest.approx(np.mean(values), rel=1e-3, abs=1)
    assert taken.stdev_ns() == pytest.approx(np.std(values), abs=max(values) * 1e-3 + 1)


@given(st.lists(values_ns, min_size=1, max_size=5))
def test_merging_is_the_sample_of_all_values_in_any_order(parts: list[list[int]]) -> None:
    together = sample([value for part in parts for value in part])
    for order in (parts, parts[::-1]):
        merged = Sample.merged(sample(part) for part in order)
        np.testing.assert_array_equal(merged.high, together.high)
        np.testing.assert_array_equal(merged.low, together.low)
        np.testing.assert_array_equal(merged.counts, together.counts)


@given(values_ns, values_ns)
def test_merging_agrees_with_hdrhistograms_own(left: list[int], right: list[int]) -> None:
    own = histogram(left)
    own.add(histogram(right))
    merged = Sample.merged([sample(left), sample(right)])
    assert merged.count == own.get_total_count()
    assert merged.percentile_ns("100") == own.get_max_value()
    for low, times in zip(merged.low, merged.counts, strict=True):
        assert own.get_count_at_value(int(low)) == times


def test_an_average_of_percentiles_is_not_what_merging_gives() -> None:
    quick, slow = [1000] * 99 + [2000], [1_000_000] * 100
    merged = Sample.merged([sample(quick), sample(slow)])
    assert merged.percentile_ns("99") >= 1_000_000
    assert (sample(quick).percentile_ns("99") + sample(slow).percentile_ns("99")) / 2 < 600_000


def test_samples_of_unlike_precision_merge() -> None:
    merged = Sample.merged([sample([1000, 5_000_000], figures=2), sample([1001, 70_000_000], figures=3)])
    assert merged.count == 4
    assert merged.percentile_ns("100") >= 70_000_000
    assert list(merged.high) == sorted(merged.high)


def test_an_empty_sample_is_no_zero() -> None:
    empty = Sample.merged([Sample.empty(), Sample.of_histogram(histogram([]))])
    assert empty.count == 0
    assert math.isnan(empty.mean_ns())
    with pytest.raises(ValueError, match="empty sample"):
        empty.percentile_ns("50")
    assert empty.distribution(1e-6).model_dump(exclude_defaults=True) == {"count": 0}


@given(values_ns, st.integers(0, 30), st.sampled_from(REPORTED))
@settings(deadline=None)
def test_unanswered_requests_rank_above_every_value(values: list[int], unanswered: int, percentile: str) -> None:
    longest = 3 * 10**12
    found = replace(sample(values), unanswered=unanswered)
    expected = sample([*values, *[longest] * unanswered]).percentile_ns(percentile)
    assert found.is_lower_bound(percentile) == (expected >= longest)
    largest = sample(values).percentile_ns("100")
    assert found.percentile_ns(percentile) == (largest if expected >= longest else expected)
    parts = [replace(sample(values[:1]), unanswered=unanswered), sample(values[1:])]
    assert Sample.merged(parts).percentile_ns(percentile) == found.percentile_ns(percentile)
    nothing = replace(Sample.empty(), unanswered=unanswered)
    assert Sample.merged([nothing, sample(values)]).unanswered == unanswered


@pytest.mark.parametrize("percentile", ["101", "-1"])
def test_there_are_no_percentiles_beyond_0_and_100(percentile: str) -> None:
    with pytest.raises(ValueError, match="no percentile"):
        sample([1]).percentile_ns(percentile)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=50))
def test_a_spectrum_of_every_value_is_the_sample(values: list[int]) -> None:
    ordered = sorted(values)
    rebuilt = Sample.of_spectrum((value, i + 1) for i, value in enumerate(ordered))
    assert rebuilt.count == len(values)
    for percentile in ("50", "99", "100"):
        exact = int(np.percentile(values, float(percentile), method="inverted_cdf"))
        assert rebuilt.percentile_ns(percentile) == exact


def test_a_coarse_spectrum_gives_upper_bounds() -> None:
    rebuilt = Sample.of_spectrum([(10, 50), (10, 50), (20, 90), (40, 100)])
    assert [rebuilt.percentile_ns(p) for p in ("40", "50", "51", "90", "100")] == [10, 10, 20, 20, 40]


# Percentiles that a sample supports.


@pytest.mark.parametrize(
    ("percentile", "needed"),
    [
        ("50", 20),
        ("75", 40),
        ("90", 100),
        ("99", 1000),
        ("99.9", 10_000),
        ("99.99", 100_000),
        ("99.999", 1_000_000),
        ("100", 1),
    ],
)
def test_ten_values_must_lie_beyond_a_percentile(percentile: str, needed: int) -> None:
    assert samples_needed(percentile) == needed
    assert supported(needed, percentile)
    assert not supported(needed - 1, percentile)


def test_a_distribution_reports_no_percentile_beyond_its_sample() -> None:
    summed = sample(list(range(1000, 6000))).distribution(1e-6)
    assert list(summed.percentiles) == ["50", "75", "90", "99", "100"]
    assert summed.count == 5000
    assert summed.percentiles["50"] == pytest.approx(0.0035, rel=0.01)


def test_percentiles_are_named_as_readers_name_them() -> None:
    assert [label(p) for p in REPORTED[-3:]] == ["p99.99", "p99.999", "max"]


# Logs.

HEADER = "#[Histogram log format version 1.3]\n"
LEGEND = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'


def line(start: float, values: list[int], tag: str = "") -> str:
    made = histogram(values)
    return f"{tag}{start:.3f},1.000,{made.get_max_value() / 1e6:.3f},{made.encode().decode('ascii')}\n"


def log(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "latency.hlog"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("times", "starts"),
    [
        (
            "#[StartTime: 1795252473.500 (seconds since epoch), Sat Nov 21]\n#[BaseTime: 1795252473.500 (s)]\n",
            (0.0, 1.0),
        ),
        ("#[StartTime: 1795252473.500 (seconds since epoch), Sat Nov 21]\n", (0.0, 1.0)),
        ("#[StartTime: 1795252473.500 (s)]\n", (1795252473.5, 1795252474.5)),
        ("", (0.25, 1.25)),
    ],
    ids=["relative to the base time", "relative to the start", "absolute", "no time at all"],
)
def test_intervals_are_placed_from_the_logs_start(tmp_path: Path, times: str, starts: tuple[float, float]) -> None:
    text = HEADER + times + LEGEND + line(starts[0], [1000, 2000]) + line(starts[1], [3000])
    read = read_log(log(tmp_path, text))
    assert [round(interval.start_s, 3) for interval in read.intervals] == [0.0, 1.0]
    assert [interval.sample.count for interval in read.intervals] == [2, 1]
    assert read.total().count == 3
    assert not read.truncated
    assert (read.started_at is None) == (times == "")


def test_comments_may_stand_above_the_formats_own_line(tmp_path: Path) -> None:
    read = read_log(log(tmp_path, "#[Latency in nanoseconds]\n" + HEADER + "#a comment\n" + LEGEND + line(0, [1000])))
    assert read.total().count == 1


def test_tags_and_empty_intervals_are_read(tmp_path: Path) -> None:
    read = read_log(log(tmp_path, HEADER + LEGEND + line(0, [], "Tag=get,") + line(1, [5000], "Tag=get,")))
    assert [interval.sample.count for interval in read.intervals] == [0, 1]


@pytest.mark.parametrize(
    ("times", "legend", "first_s", "end"),
    [
        ("#[StartTime: 0.000 (seconds since epoch)]\n", LEGEND, 0.0, ""),
        ("#[StartTime: 1795252473.500 (s)]\n", "", 0.0, ""),
        ("#[StartTime: 1795252473.500 (s)]\n", LEGEND, 0.0, "\n"),
        ("#[StartTime: 1795252473.500 (s)]\n#[BaseTime: 0.000 (s)]\n", LEGEND, 1795252473.5, ""),
        ("#[StartTime: 1795252473.500 (s)]\n#[BaseTime: 1795252463.500 (s)]\n", LEGEND, 10.0, ""),
    ],
    ids=["started in 1970", "no legend", "blank last line", "base time of 1970", "base time before the start"],
)
def test_logs_of_other_writers_are_read(tmp_path: Path, times: str, legend: str, first_s: float, end: str) -> None:
    text = HEADER + times + legend + line(first_s, [1000]) + line(first_s + 3, [2000], "Tag=put,") + end
    assert [round(interval.start_s, 3) for interval in read_log(log(tmp_path, text)).intervals] == [0.0, 3.0]


def test_a_line_cut_off_at_the_end_affects_only_itself(tmp_path: Path) -> None:
    text = HEADER + LEGEND + line(0, [1000]) + line(1, [2000])
    for cut in (1, 10, 60):
        read = read_log(log(tmp_path, text[:-1][:-cut]))
        assert read.truncated
        assert read.total().count == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": not a histogram log"),
        ("t_s,due\n0,1\n" + HEADER, ": not a histogram log"),
        (HEADER + LEGEND, "holds no interval"),
        (HEADER + LEGEND + "0.0,1.0,HISTFAAA\n" + line(1, [1]), ":3: not an interval"),
        (HEADER + LEGEND + "0.0,1.0,1.0,AAAAAAAA\n" + line(1, [1]), ":3: the histogram cannot be decoded"),
        (HEADER + LEGEND + line(0, [1000])[:-20] + "\n" + line(1, [1]), ":3: the histogram cannot be decoded"),
    ],
)
def test_damage_is_named_by_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = log(tmp_path, text)
    with pytest.raises(HistogramLogError) as error:
        read_log(path)
    assert message in error.value.message
    assert str(path) in error.value.message


def test_a_missing_log_is_reported_by_name(tmp_path: Path) -> None:
    with pytest.raises(HistogramLogError, match=r"absent\.hlog: cannot be read"):
        read_log(tmp_path / "absent.hlog")
