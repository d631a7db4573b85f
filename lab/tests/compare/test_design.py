"""Orders and windows, and what a user may ask for."""

from __future__ import annotations

import pytest

from lab.compare.design import Design, Windows, read_design
from lab.compare.sides import differences_of
from lab.errors import InputError


def design(**given: str) -> Design:
    return read_design(given, seed=7)


@pytest.mark.parametrize("seed", range(20))
def test_as_many_blocks_begin_with_a_as_with_b(seed: int) -> None:
    assert Design(18, 0.05, None, seed).orders().count("ab") == 9


@pytest.mark.parametrize("sides", [3, 6])
def test_each_side_is_at_each_place_equally_often(sides: int) -> None:
    orders = Design(12, 0.05, None, 7).orders(sides)
    for place in range(sides):
        assert {sum(order[place] == letter for order in orders) for letter in "abcdef"[:sides]} == {12 // sides}


def test_the_seed_decides_the_order_and_another_one_another() -> None:
    assert design(seed="1").orders() == design(seed="1").orders()
    assert len({tuple(design(seed=str(seed)).orders()) for seed in range(10)}) > 5
    assert abs(design(blocks="7").orders().count("ab") - 3.5) == 0.5


def test_windows_alternate_so_that_a_linear_drift_cancels() -> None:
    for order in ("ab", "ba"):
        turns = [letter for letter, _ in Windows(2, 5).sequence(order)]
        at = {letter: [i for i, turn in enumerate(turns) if turn == letter] for letter in "ab"}
        assert sum(at["a"]) == sum(at["b"])
        assert turns[0] == order[0]


def test_the_default_is_ten_blocks_within_five_per_cent_by_all_metrics() -> None:
    default = design()
    assert (default.blocks, default.within, default.metric) == (10, 0.05, None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"blocks": "3"}, "BLOCKS=3: at least 6 blocks are needed"),
        ({"blocks": "many"}, "BLOCKS=many: must be a number of blocks, such as 10"),
        ({"blocks": "6/12/18"}, "BLOCKS=6/12/18: must be a number of blocks, such as 10"),
        ({"blocks": "101"}, "BLOCKS=101: at most 100 blocks"),
        ({"x": "5"}, "X=5: must be a share in per cent"),
        ({"x": "0%"}, "X=0%: must be a share in per cent"),
        ({"metric": "p95"}, "METRIC=p95: is not allowed; allowed: p50, p90, p99, p99.9, typical-p50"),
        ({"seed": "-1"}, "SEED=-1: must be a whole number"),
        ({"force": "yes"}, "FORCE=yes: is not allowed; allowed: 1"),
    ],
)
def test_invalid_designs_are_refused_with_the_reason(given: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match="^" + message.replace("/", "/")):
        design(**given)


def test_differences_besides_the_service_are_named() -> None:
    a = {"title": "A", "service": {"variant": "queue"}, "dataset": "small", "load": {"rate_per_s": 100}}
    b = {"title": "B", "service": {"variant": "stack", "workers": 8}, "dataset": "large", "load": {"rate_per_s": 200}}
    found = differences_of(a, b)
    assert found.compared == ("service.variant: queue against stack", "service.workers: default against 8")
    assert found.besides == ("dataset: small against large", "load.rate_per_s: 100 against 200")
