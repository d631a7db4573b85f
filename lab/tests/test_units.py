from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.units import duration_word, format_bytes, format_duration, parse_bytes, parse_count, parse_duration_s


@pytest.mark.parametrize(
    ("text", "count"), [("70000", 70_000), ("70k", 70_000), ("1.5M", 1_500_000), (12, 12), ("0", 0), (" 8 ", 8)]
)
def test_counts_are_understood(text: object, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["abc", "", "70kk", "1.5", "1.2345k", "--1", "7 s", True, None, "1e3", "70m"])
def test_text_that_is_not_a_count_is_refused_with_what_is_allowed(text: object) -> None:
    with pytest.raises(ValueError, match="whole number"):
        parse_count(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1m", 60), ("10s", 10), ("500us", 0.0005), ("500µs", 0.0005), ("2.5ms", 0.0025), ("1h", 3600)],
)
def test_durations_are_understood(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize("text", ["10", 10, "s", "10 sec", "1d", "--1s", "1:30", True])
def test_a_duration_without_a_known_unit_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="500us, 10s, 1m"):
        parse_duration_s(text)


@pytest.mark.parametrize(
    ("text", "size"), [("64MiB", 64 << 20), ("1048576", 1 << 20), ("1kB", 1000), ("1.5GiB", 3 << 29), (7, 7), ("3B", 3)]
)
def test_sizes_are_understood(text: object, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["64MB/s", "1.5", "MiB", "64mib", "--1"])
def test_text_that_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="64MiB"):
        parse_bytes(text)


def test_negative_numbers_are_parsed_so_that_the_caller_can_refuse_their_range() -> None:
    assert (parse_count("-5"), parse_duration_s("-3s"), parse_duration_s("0"), parse_bytes("-1")) == (-5, -3, 0, -1)


@pytest.mark.parametrize("parse", [parse_count, parse_duration_s, parse_bytes])
@pytest.mark.parametrize("text", ["7" * 5000, 10**5000], ids=["text", "int"])
def test_a_number_of_thousands_of_digits_is_refused(parse: Callable[[object], object], text: object) -> None:
    with pytest.raises(ValueError, match="too long"):
        parse(text)


@given(st.integers(min_value=1, max_value=10**12).map(lambda us: us / 1e6))
def test_a_duration_survives_the_way_through_a_command_line(seconds: float) -> None:
    assert parse_duration_s(duration_word(seconds)) == pytest.approx(seconds, rel=1e-9)


def test_the_largest_whole_unit_is_taken() -> None:
    assert [duration_word(s) for s in (3600, 60, 90, 0.5, 0.0005)] == ["1h", "1m", "90s", "500ms", "500us"]


def test_people_can_read_them() -> None:
    assert [format_duration(s) for s in (0.0002, 0.25, 12.34, 125)] == ["200 µs", "250 ms", "12.3 s", "2 min 05 s"]
    assert [format_bytes(b) for b in (12, 2048, 5 << 20, 3 << 30)] == ["12 B", "2.00 KiB", "5.00 MiB", "3.00 GiB"]
