"""The search finds the known threshold of a queueing model, with its uncertainty, below what can be sent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from lab.search.procedure import STEPS_MAX, Answer, Belief, Bounds, Holds, search
from search.queue_model import QueueModel, threshold_per_s

CASES = 20
QueueProbe = Callable[[int], Holds]


def simulated(seed: int, *, start_spread: float = 0.01) -> tuple[Answer, float]:
    rng = np.random.default_rng(1000 + seed)
    capacity = float(np.exp(rng.uniform(np.log(1_000), np.log(20_000))))
    share = float(rng.choice([0.5, 0.9, 0.99]))
    limit_s = float(rng.uniform(8, 40)) * -np.log(1 - share) / 4.6 / capacity
    model = QueueModel(capacity, share, limit_s, seed, start_spread=start_spread)
    start = int(capacity * rng.uniform(0.05, 3))
    answer = search(model.probe, Bounds(start, 50, 1_000_000))
    return answer, threshold_per_s(capacity, share, limit_s)


def test_in_20_simulated_cases_the_answer_is_within_5_percent_of_the_truth() -> None:
    errors, inside, steps = [], 0, []
    for seed in range(CASES):
        answer, truth = simulated(seed)
        assert answer.ended == "found", (seed, answer)
        assert answer.low_per_s is not None
        assert answer.high_per_s is not None
        errors.append(answer.rate_per_s / truth - 1)
        inside += answer.low_per_s <= truth <= answer.high_per_s
        steps.append(len(answer.outcomes))
    assert max(map(abs, errors)) < 0.05, [f"{error:+.3f}" for error in errors]
    assert inside >= 16, f"90% intervals hold the truth in {inside} of {CASES} cases"
    assert np.mean(steps) < 18, steps


def test_starts_that_differ_by_3_percent_widen_the_interval_or_take_more_steps() -> None:
    answers = [simulated(seed, start_spread=0.03) for seed in range(10)]
    errors = [answer.rate_per_s / truth - 1 for answer, truth in answers]
    assert max(map(abs, errors)) < 0.06, errors
    for answer, _ in answers:
        assert answer.ended in ("found", "undecided")
        assert len(answer.outcomes) <= STEPS_MAX


def test_the_model_itself_has_the_threshold_that_theory_says() -> None:
    truth = threshold_per_s(5_000, 0.99, 0.005)
    model = QueueModel(5_000, 0.99, 0.005, 1, start_spread=0)
    shares = {
        factor: np.mean([model.probe(int(truth * factor)) == "yes" for _ in range(20)]) for factor in (0.97, 1.03)
    }
    assert shares[0.97] > 0.75
    assert shares[1.03] < 0.25


def known(threshold: float, *, sendable: float = np.inf) -> tuple[list[int], QueueProbe]:
    asked: list[int] = []

    def probe(rate: int) -> Holds:
        asked.append(rate)
        if rate > sendable:
            return "unknown"
        return "yes" if rate < threshold else "no"

    return asked, probe


def test_a_limit_that_is_never_broken_gives_a_lower_bound_at_the_highest_rate() -> None:
    asked, probe = known(10**9)
    answer = search(probe, Bounds(1_000, 10, 50_000))
    assert (answer.ended, answer.rate_per_s, answer.high_per_s) == ("lower bound", 50_000, None)
    assert max(asked) == 50_000
    assert len(asked) < 10


def test_a_rate_that_the_generator_cannot_send_does_not_count_against_the_service() -> None:
    asked, probe = known(10**9, sendable=33_000)
    answer = search(probe, Bounds(1_000, 10, 1_000_000))
    assert answer.ended == "lower bound"
    assert 31_000 < answer.rate_per_s <= 33_000
    assert answer.high_per_s is None
    assert len(asked) < STEPS_MAX


def test_a_threshold_below_the_lowest_rate_that_can_be_sent_is_still_found() -> None:
    _, probe = known(20_000, sendable=33_000)
    answer = search(probe, Bounds(1_000, 10, 1_000_000))
    assert answer.ended == "found"
    assert answer.rate_per_s == pytest.approx(20_000, rel=0.03)


def test_a_limit_that_not_even_the_lowest_rate_holds_gives_an_upper_bound() -> None:
    asked, probe = known(0)
    answer = search(probe, Bounds(1_000, 100, 50_000))
    assert (answer.ended, answer.high_per_s) == ("upper bound", 100)
    assert min(asked) == 100


def test_a_search_whose_every_step_is_unknown_has_no_answer_and_never_goes_below_its_lowest_rate() -> None:
    asked, probe = known(0, sendable=0)
    answer = search(probe, Bounds(1_000, 90, 1_000_000))
    assert (answer.ended, answer.rate_per_s, answer.low_per_s, answer.high_per_s) == ("no answer", None, None, None)
    assert asked == [1_000, 500, 250, 125, 90, 90]


@pytest.mark.parametrize("sendable", [0, 60, 95, 120, 700])
@pytest.mark.parametrize("threshold", [0, 95, 600, 10**9])
def test_no_step_is_below_the_lowest_rate_and_no_rate_is_answered_that_no_step_held(
    threshold: float, sendable: float
) -> None:
    asked, probe = known(threshold, sendable=sendable)
    answer = search(probe, Bounds(1_000, 90, 1_000_000))
    assert min(asked) >= 90
    held = [step.rate_per_s for step in answer.outcomes if step.holds == "yes"]
    assert (answer.rate_per_s is None or answer.ended == "upper bound") == (not held), answer


def test_a_search_that_fails_at_high_rates_and_cannot_tell_at_low_ones_says_where_it_fails() -> None:
    answer = search(lambda rate: "no" if rate > 400 else "unknown", Bounds(1_000, 90, 1_000_000))
    assert (answer.ended, answer.rate_per_s, answer.high_per_s) == ("no answer", None, 500)


def test_a_search_whose_steps_all_held_answers_with_the_highest_of_them() -> None:
    _, probe = known(10**9)
    answer = search(probe, Bounds(1_000, 10, 1_000_000), steps_max=3)
    assert (answer.ended, answer.rate_per_s, answer.high_per_s) == ("undecided", 4_000, None)


def test_one_wrong_outcome_does_not_lead_the_search_astray() -> None:
    for lie in range(6):
        asked, honest = known(8_000)

        def probe(rate: int, lie: int = lie, asked: list[int] = asked, honest: QueueProbe = honest) -> Holds:
            outcome = honest(rate)
            return ("no" if outcome == "yes" else "yes") if len(asked) - 1 == lie else outcome

        answer = search(probe, Bounds(1_000, 10, 1_000_000))
        assert answer.rate_per_s == pytest.approx(8_000, rel=0.05), (lie, answer)


def test_a_search_that_runs_out_of_steps_says_that_its_interval_is_wide() -> None:
    _, probe = known(8_000)
    answer = search(probe, Bounds(1_000, 10, 1_000_000), steps_max=5)
    assert answer.ended == "undecided"
    assert answer.low_per_s is not None
    assert answer.high_per_s is not None
    assert answer.low_per_s < 8_000 < answer.high_per_s
    assert answer.high_per_s / answer.low_per_s > 1.05


def test_a_belief_needs_a_range() -> None:
    with pytest.raises(ValueError, match="no range of rates"):
        Belief(100, 100)
