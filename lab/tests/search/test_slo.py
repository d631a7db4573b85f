"""The limit of a search: which texts are read, and which are refused, with what to type instead."""

from __future__ import annotations

import pytest

from lab.errors import InputError
from lab.search.slo import Slo, parse_slo
from support.checkout import FakeCheckout


@pytest.mark.parametrize(
    ("text", "slo"),
    [
        ("p99.9<100ms", Slo("99.9", 100)),
        (" p50 < 500us ", Slo("50", 0.5)),
        ("max<=1s", Slo("100", 1000)),
        ("p99<1.5ms", Slo("99", 1.5)),
    ],
)
def test_a_limit_is_a_percentile_and_a_time(text: str, slo: Slo) -> None:
    assert parse_slo(text) == slo
    assert parse_slo(str(slo)) == slo


def test_a_step_has_three_times_the_requests_that_the_percentile_needs() -> None:
    assert parse_slo("p99.9<1ms").requests_needed == 30_000
    assert parse_slo("p50<1ms").requests_needed == 60
    assert parse_slo("max<1ms").requests_needed == 1_000


BAD = [
    ("p99<", "SLO=p99<: is not a percentile, < and a time: SLO='p99.9<100ms'"),
    ("", "SLO=: is not a percentile, < and a time"),
    ("100ms", "SLO=100ms: is not a percentile, < and a time"),
    ("p50>10ms", "SLO=p50>10ms: is not a percentile, < and a time: SLO='p99.9<100ms'; a latency has an upper limit"),
    ("p99,9<10ms", "SLO=p99,9<10ms: is not a percentile"),
    ("p42<10ms", "SLO=p42<10ms: no percentile 'p42'; available: p50, p75"),
    ("p999<10ms", "SLO=p999<10ms: no percentile 'p999'; did you mean"),
    ("p99<10", "SLO=p99<10: '10' is not a number with a unit"),
    ("p99<0ms", "SLO=p99<0ms: the limit must be over 0"),
    ("p99<-5ms", "SLO=p99<-5ms: the limit must be over 0"),
    ("p99<fast", "SLO=p99<fast: 'fast' is not a number with a unit"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_bad_limit_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_slo(text)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fake", "p99<"), "is not a percentile"),
        (("fake", "p99<1ms", "--rate", "5"), "RATE=5: the rate is what is searched for"),
        (("fake", "p99<1ms", "--scale", "auto"), "SCALE=auto: the rate is what is searched for"),
        (("fake", "p99<1ms", "--varian", "queue"), "No such option: --varian"),
        (("fake", "p99<1ms", "VARIANT=queue"), "unexpected extra argument"),
        (("fake", "p99<1ms", "--duration", "5"), "DURATION=5: '5' is not a number with a unit"),
        (("nonesuch", "p99<1ms"), "no experiment named 'nonesuch'"),
    ],
)
def test_from_outside_a_bad_search_changes_nothing(
    checkout: FakeCheckout, words: tuple[str, ...], message: str
) -> None:
    code, output = checkout.lab("search", *words)
    assert code == 2, output
    assert message in output
    assert not (checkout.root / "results").exists()
