"""The sentences of a suite: the order in a group, and what an experiment alone serves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.suite.declaration import Case, Suite
from lab.suite.sentences import answer_alone, answer_group
from suite.made_up import case, rates

SUITE = Suite.model_validate(
    {"title": "T", "question": "Q?", "groups": {"PUT": {"baseline": "sync", "others": ["queue", "stack"]}}}
)
SYNC = (800, 805, 795, 801, 799, 800)
FEWER = tuple(0.8 * rate for rate in SYNC)
MORE = tuple(1.1 * rate for rate in SYNC)
SCATTERED = tuple(rate * (1 + 0.2 * (-1) ** n) for n, rate in enumerate(SYNC))


AGAINST = "requests served against sync (800 requests/s)"
SMALLER = "−20.0% (−20.0% to −20.0%)"
LARGER = "+10.0% (+10.0% to +10.0%)"
UNSURE = "−2.0% (−22.4% to +23.7%)"


@pytest.mark.parametrize(
    ("queue", "stack", "headline"),
    [
        (FEWER, FEWER, f": sync serves the most, 800 requests/s; against it: queue {SMALLER}, stack {SMALLER}."),
        (FEWER, SCATTERED,
         f", {AGAINST}. Worse: queue {SMALLER}. Not certain: stack {UNSURE}."),
        (SCATTERED, SCATTERED, f", {AGAINST}. Not certain: queue {UNSURE}, stack {UNSURE}."),
        (MORE, SCATTERED,
         f", {AGAINST}. Better: queue {LARGER}. Not certain: stack {UNSURE}."),
        (MORE, MORE, f", {AGAINST}. Better: queue {LARGER}, stack {LARGER}."),
        (MORE, FEWER,
         f", {AGAINST}. Better: queue {LARGER}. Worse: stack {SMALLER}."),
    ],
)  # fmt: skip
def test_a_headline_names_every_side_of_a_group(
    queue: tuple[float, ...], stack: tuple[float, ...], headline: str
) -> None:
    cases = {"sync": case("sync", rates(*SYNC)), "queue": case("queue", rates(*queue)),
             "stack": case("stack", rates(*stack))}  # fmt: skip
    assert answer_group("PUT", SUITE, cases).headline == f"PUT at 1,000/s{headline}"


def test_the_better_one_of_two_is_the_best() -> None:
    group = {"baseline": "sync", "others": "a"}
    suite = Suite.model_validate({"title": "T", "question": "Q?", "groups": {"PUT": group}})
    expected = {MORE: "a serves the most, +10.0% against sync (+10.0% to +10.0%)",
            FEWER: f"sync serves the most, 800 requests/s; against it: a {SMALLER}"}  # fmt: skip
    for served, headline in expected.items():
        cases = {"sync": case("sync", rates(*SYNC)), "a": case("a", rates(*served))}
        assert answer_group("PUT", suite, cases).headline == f"PUT at 1,000/s: {headline}."


def test_a_headline_of_many_experiments_names_only_the_significant_ones() -> None:
    many = ("a", "b", "c", "d", "e")
    suite = Suite.model_validate(
        {"title": "T", "question": "Q?", "groups": {"PUT": {"baseline": "sync", "others": many}}}
    )
    cases = {"sync": case("sync", rates(*SYNC))} | {name: case(name, rates(*SCATTERED)) for name in many}
    within = "(intervals within −22.4% to +23.7%)"
    begin = f"PUT at 1,000/s, {AGAINST}"
    assert answer_group("PUT", suite, cases).headline == f"{begin}. Not certain: all 5 {within}."
    cases["b"] = case("b", rates(*FEWER))
    expected = f"{begin}. Worse: b {SMALLER}. Not certain: the other 4 {within}."
    assert answer_group("PUT", suite, cases).headline == expected


def test_a_rate_that_all_serve_is_stated_once_and_is_the_same() -> None:
    cases = {name: case(name, rates(*[1000.0] * 6)) for name in ("sync", "queue", "stack")}
    texts = [one.text for one in answer_group("PUT", SUITE, cases).sentences]
    assert texts[0] == "Each experiment of the group served at least 99.0% of the offered rate."
    assert [text.partition(":")[0] for text in texts[1:]] == [
        "queue is the same as sync within 5.0%",
        "stack is the same as sync within 5.0%",
    ]


def test_a_saturated_service_is_named_once_with_what_it_served() -> None:
    cases = {name: case(name, rates(*[989.6] * 6)) for name in ("sync", "queue", "stack")}
    texts = [one.text for one in answer_group("PUT", SUITE, cases).sentences]
    why = "so its latency measures the backlog, and the requests served decide"
    assert f"stack served 98.9% of the offered requests, {why}." in texts
    assert sum(text.startswith("sync served 98.9%") for text in texts) == 1, "though it was judged twice"
    cases = {**cases, "sync": case("sync", rates(*[1000.0] * 6)), "stack": case("stack", rates(*FEWER))}
    texts = [one.text for one in answer_group("PUT", SUITE, cases).sentences]
    assert texts[1].startswith("stack served 64.0% of the offered requests")
    assert texts[3].startswith(
        "stack is worse than sync: requests served −36.0% (95% interval −36.3% to −35.7%, 6 rounds)"
    )


def test_a_headline_calls_two_services_that_both_keep_up_the_same() -> None:
    """A difference of 1 in 100,000 that is the same in each start is certain, and means nothing."""
    cases = {"sync": case("sync", rates(*[1000.0] * 6)), "queue": case("queue", rates(*[999.99] * 6)),
             "stack": case("stack", rates(*FEWER))}  # fmt: skip
    expected = (
        "PUT at 1,000/s, requests served against sync (1,000 requests/s). Worse: stack −36.0% (−36.3% to −35.7%). "
        "The same within 5.0%: queue −0.0% (−0.0% to −0.0%)."
    )
    assert answer_group("PUT", SUITE, cases).headline == expected


def test_a_headline_without_enough_data_says_what_is_missing() -> None:
    cases = {"sync": case("sync", rates(*SYNC)), "queue": case("queue", rates(*SYNC)),
             "stack": replace(case("stack", []), refused="ENGINE=x: no such engine")}  # fmt: skip
    expected = "PUT: too few starts to judge: 0 (stack cannot run here), at least 6."
    assert answer_group("PUT", SUITE, cases).headline == expected
    kept = {name: case(name, rates(*[1000.0] * 6)) for name in ("sync", "queue", "stack")}
    expected = (
        "PUT at 1,000/s: cannot be compared, because fewer than 6 rounds have the p99 of sync and of queue or stack."
    )
    assert answer_group("PUT", SUITE, kept).headline == expected


def test_the_metrics_of_an_experiment_are_corrected_together() -> None:
    """A difference that is certain by itself is not, if four metrics are read together."""
    slower = [{**one, "p99": 1.07 + 0.06 * (-1) ** n} for n, one in enumerate(rates(*[1000.0] * 6))]
    steady = [{**one, "p99": 1.0} for one in rates(*[1000.0] * 6)]
    cases = {"sync": case("sync", steady), "queue": case("queue", slower), "stack": case("stack", slower)}
    p99 = next(one for one in answer_group("PUT", SUITE, cases).results["queue"].metrics if one.name == "p99")
    assert p99.p_value < 0.05 < p99.p_corrected
    assert p99.verdict == "cannot tell"


def test_shares_of_too_few_samples_are_not_stated() -> None:
    shares = {"cpu": {"queue": 0.3, "select": 0.7}, "lock": {"select": 0.9, "queue": 0.1}}
    for samples, expected in ((400, True), (399, False)):
        cases = {"sync": case("sync", rates(*SYNC), {"cpu": {"queue": 0.1, "select": 0.9}}),
                 "queue": case("queue", rates(*SYNC), shares, samples=samples),
                 "stack": case("stack", rates(*SYNC))}  # fmt: skip
        text = " ".join(one.text for one in answer_group("PUT", SUITE, cases).sentences)
        assert ("queue 30.0% against 10.0%" in text) == expected
        assert ("90.0% is in select (400 samples)" in text) == expected


def test_a_metric_without_a_significant_difference_is_described_as_such() -> None:
    cases = {name: case(name, rates(*SCATTERED if name == "queue" else SYNC)) for name in ("sync", "queue", "stack")}
    *_, queue, stack = (one.text for one in answer_group("PUT", SUITE, cases).sentences)
    assert queue.startswith(
        "Cannot tell queue from sync: requests served −2.0% (95% interval −22.4% to +23.7%, 6 rounds)"
    )
    assert stack.startswith("stack is the same as sync within 5.0%: requests served +0.0%")


def test_ratio_and_figures_agree_although_one_start_is_far_off() -> None:
    """One start of the baseline has ten times the p99, so the arithmetic means would order the sides the other way."""
    ours = [{**one, "p99": 3.0} for one in rates(*[1000.0] * 6)]
    theirs = [{**one, "p99": 20.0 if number == 1 else 2.0} for number, one in enumerate(rates(*[1000.0] * 6))]
    cases = {"sync": case("sync", theirs), "queue": case("queue", [*ours, {**ours[0], "p99": 900.0}]),
             "stack": case("stack", ours)}  # fmt: skip
    answer = answer_group("PUT", SUITE, cases)
    p99 = next(one for one in answer.results["queue"].metrics if one.name == "p99")
    assert (p99.verdict, p99.blocks) == ("cannot tell", 6)
    assert p99.b / p99.a == pytest.approx(p99.ratio) == pytest.approx(1.022, abs=0.001)
    assert (p99.a, p99.b) == pytest.approx((2.94, 3.0), abs=0.01), (
        "its seventh start has no partner in the baseline, so it is neither in the ratio nor in the figure"
    )
    assert "p99 against sync (2.94 ms)" in answer.headline


def test_an_experiment_outside_groups_is_described_by_the_rates_it_serves() -> None:
    point = {rate: case(f"put@{rate}", rates(*[served] * 6, offered=rate))
             for rate, served in ((1000.0, 1000.0), (2000.0, 1999.0), (5000.0, 2100.0))}  # fmt: skip
    for rate, one in point.items():
        object.__setattr__(one, "case", Case("put", int(rate)))
    (sentence,) = answer_alone(list(point.values()))
    assert sentence.text == "put serves at least 99.0% of up to 2,000/s, and 2,100/s when 5,000/s are offered."
    assert len(sentence.runs) == 18
    spoiled = case("put@1500", rates(*[1400.0] * 6, offered=1500.0))
    object.__setattr__(spoiled, "case", Case("put", 1500))
    (sentence,) = answer_alone([*point.values(), spoiled])
    expected = "put serves at least 99.0% of 1,000/s, and 1,400/s when 1,500/s are offered."
    assert sentence.text == expected, "not with a rate beyond one that it did not keep up with"
    (sentence,) = answer_alone([case("sync", rates(*[800.0] * 6))])
    assert sentence.text == "sync serves 800/s when 1,000/s are offered."
    starts = [{**one, "p99": p99} for one, p99 in zip(rates(*[1000.0] * 6), (1, 1, 1.2, 1.4, 2, 397), strict=True)]
    (sentence,) = answer_alone([case("get", starts)])
    expected = "get serves at least 99.0% of 1,000/s (p99 of its starts: median 1.30 ms, longest 397 ms)."
    assert sentence.text == expected, "one start of six is not hidden, nor is it taken for all"
    few = case("few", rates(800.0))
    assert answer_alone([few]) == []
    assert (
        answer_alone([few, case("sync", rates(*[800.0] * 6))])[0].text == "few: too few starts to judge: 1, at least 6."
    )
