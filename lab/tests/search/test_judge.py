"""Whether a step holds the limit, and which disturbances make it repeat."""

from __future__ import annotations

import numpy as np
import pytest

from lab.manifest import Check, Distribution, Errors, Measurement
from lab.search.judge import backlog_growth, disturbances, judge_measurement
from lab.search.slo import Slo

LIMIT = Slo("99", 10.0)
STEADY = [(float(second), 1.0) for second in range(10)]


def measured(
    *, achieved: float = 1000, goodput: float | None = None, p99: float = 5, net: float | None = None, **rest: object
) -> Measurement:
    return Measurement.model_validate(
        {
            "source": "measure/1",
            "rate_offered_per_s": 1000.0,
            "rate_achieved_per_s": float(achieved),
            "goodput_per_s": goodput,
            "requests": 10_000,
            "latency_ms": Distribution(count=10_000, percentiles={"99": float(p99)}),
            "net_latency_ms": None if net is None else Distribution(count=10_000, percentiles={"99": float(net)}),
            "errors": Errors(),
            **rest,
        }
    )


def all_requests(p99: float, **rest: object) -> Distribution:
    return Distribution.model_validate({"count": 10_000, "percentiles": {"99": p99}, **rest})


def test_a_step_holds_if_all_is_served_in_time_and_nothing_piles_up() -> None:
    assert judge_measurement(measured(), LIMIT, STEADY, []) == ("yes", "p99 is 5.00 ms")


@pytest.mark.parametrize(
    ("measurement", "why"),
    [
        (measured(p99=10), "p99 is 10.0 ms"),
        (measured(achieved=985), "985/s of 1,000/s were served"),
        (measured(p99=5, served_ms=all_requests(12.0)), "p99 is 12.0 ms"),
        (measured(goodput=800.0), "800/s of 1,000/s were served"),
        (measured(p99=12, net=11), "p99 is 12.0 ms"),
        (
            measured(latency_ms=all_requests(9.0, unanswered=200, lower_bounds=["99"])),
            "p99 is ≥ 9.00 ms: too many requests had no response",
        ),
        (
            measured(latency_ms=all_requests(40.0, unanswered=50), answered_ms=all_requests(9.0), net=8.0),
            "p99 is 40.0 ms",
        ),
    ],
)
def test_a_step_fails_by_latency_by_what_is_not_served_and_by_what_has_no_answer(
    measurement: Measurement, why: str
) -> None:
    assert judge_measurement(measurement, LIMIT, STEADY, []) == ("no", why)


def test_a_backlog_that_grows_fails_a_step_before_the_limit_breaks() -> None:
    growing = [(float(second), 1.0 + 3 * second) for second in range(10)]
    holds, why = judge_measurement(measured(), LIMIT, growing, [])
    assert holds == "no"
    assert "the backlog grows by 3.0 ms each second" in why


def test_noise_and_one_bad_second_are_no_backlog() -> None:
    rng = np.random.default_rng(3)
    noisy = [(float(second), float(1 + rng.exponential(0.5))) for second in range(10)]
    noisy[8] = (8.0, 90.0)
    assert judge_measurement(measured(), LIMIT, noisy, [])[0] == "yes"
    assert backlog_growth(noisy[:4]) is None, "too few seconds for a slope"


def test_a_step_spoilt_by_the_load_generator_does_not_count() -> None:
    assert judge_measurement(measured(p99=12, net=9), LIMIT, STEADY, [])[0] == "unknown"
    late = Check(name="schedule", outcome="warn", detail="it did not keep its schedule")
    assert judge_measurement(measured(achieved=900), LIMIT, STEADY, [late]) == ("unknown", late.detail)
    busy = Check(name="generator CPU", outcome="warn", detail="its busiest thread used 99% of a CPU")
    assert judge_measurement(measured(achieved=900), LIMIT, STEADY, [busy])[0] == "unknown"


def test_too_few_requests_for_the_percentile_say_nothing() -> None:
    few = measured(requests=99)
    few.latency_ms = Distribution(count=99)
    assert judge_measurement(few, LIMIT, STEADY, []) == ("unknown", "99 requests are too few for p99")


def test_the_machine_disturbs_a_step_by_its_own_checks_alone() -> None:
    steal = Check(name="steal", outcome="warn", detail="the hypervisor took a CPU", environment=True)
    plan = Check(name="CPU plan", outcome="warn", detail="both sides share CPUs", environment=True)
    steady = Check(name="steady state", outcome="warn", detail="the median changes")
    quiet = Check(name="other load", outcome="note", detail="a little", environment=True)
    assert disturbances([steal, plan, steady, quiet]) == [steal.detail]
