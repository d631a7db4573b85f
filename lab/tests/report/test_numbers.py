"""Numbers and axes as readers see them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.pages.scales import Linear, Log, linear_to, log_around
from lab.report import numbers


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (None, "–"),
        (math.nan, "–"),
        (0, "0 µs"),
        (0.000421, "0.421 µs"),
        (0.0842, "84.2 µs"),
        (0.9994, "999 µs"),
        (0.9996, "1.00 ms"),
        (1.2345, "1.23 ms"),
        (999.6, "1.00 s"),
        (5570, "5.57 s"),
        (123456, "123 s"),
    ],
)
def test_latencies_have_three_digits_and_a_unit_that_fits(ms: float | None, shown: str) -> None:
    assert numbers.latency(ms) == shown


@given(st.floats(1e-6, 1e7))
def test_a_latency_shown_is_the_latency_within_its_rounding(ms: float) -> None:
    value, unit = numbers.latency(ms).split(" ")
    scale = {"µs": 1e-3, "ms": 1.0, "s": 1e3}[unit]
    assert float(value.replace(",", "")) * scale == pytest.approx(ms, rel=0.0051)
    assert "e" not in value


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (numbers.rate(59899.55), "59,900"),
        (numbers.rate(0.5), "0.500"),
        (numbers.rate(2), "2"),
        (numbers.rate(None), "–"),
        (numbers.share(0.8557), "85.6%"),
        (numbers.share(0.0004), "0.040%"),
        (numbers.share(0), "0.0%"),
        (numbers.share_down(0.98996), "98.9%"),
        (numbers.share_down(1), "100.0%"),
        (numbers.share_down(1.001), "100.1%"),
        (numbers.share_up(0.99004), "99.1%"),
        (numbers.share_up(0.99), "99.0%"),
        (numbers.ratio(1.041), "+4.1%"),
        (numbers.ratio(0.88), "−12.0%"),
        (numbers.ratio(2.5), "×2.50"),
        (numbers.size(0), "0 B"),
        (numbers.size(1 << 20), "1.00 MiB"),
        (numbers.size(5e12), "4,657 GiB"),
        (numbers.duration(0.35), "350 ms"),
        (numbers.duration(12.34), "12.3 s"),
        (numbers.duration(125), "2 min 05 s"),
        (numbers.latency_tick(0.3), "300 µs"),
        (numbers.latency_tick(10), "10 ms"),
        (numbers.latency_tick(2000), "2 s"),
        (numbers.latency_tick(0.0005), "500 ns"),
    ],
)
def test_other_numbers_are_shown_as_the_field_writes_them(shown: str, expected: str) -> None:
    assert shown == expected


@given(st.floats(1e-3, 1e6), st.floats(1.001, 1e6))
def test_an_axis_holds_its_values_and_labels_a_few(low: float, factor: float) -> None:
    for scale in (log_around(low, low * factor), linear_to(low * factor)):
        assert 0 <= scale.at(low) < scale.at(low * factor) <= 1
        ticks = scale.ticks()
        assert 1 <= len(ticks) <= 12
        assert ticks == sorted(set(ticks))
        positions = [scale.at(tick) for tick in ticks]
        assert positions == sorted(positions)


def test_positions_on_a_logarithmic_axis_follow_ratios() -> None:
    scale = Log(1, 1e6)
    assert [scale.at(x) for x in (1, 10, 1e3, 1e6)] == pytest.approx([0, 1 / 6, 0.5, 1])
    assert scale.at(0) == scale.at(-5) == 0
    assert scale.at(1e9) == 1


def test_sizes_are_labelled_at_powers_of_two() -> None:
    ticks = Linear(0, 40 * 2**20, 3, binary=True).ticks()
    assert ticks == [0, 16 * 2**20, 32 * 2**20]


def test_an_axis_without_extent_has_one_label() -> None:
    assert Linear(5, 5).ticks() == [5]
    assert linear_to(0).ticks()[0] == 0
