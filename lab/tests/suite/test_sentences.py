"""The sentences of a suite: of a group, who is ahead and who behind; of an experiment alone, what it keeps up with."""

from __future__ import annotations

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


NONE = "PUT: none is certainly better than sync (800/s);"


@pytest.mark.parametrize(
    ("queue", "stack", "headline"),
    [
        (FEWER, FEWER, "PUT: sync serves the most, 800/s; against it: queue −20.0% (−20.0% to −20.0%), stack −20.0%"),
        (FEWER, SCATTERED, f"{NONE} queue −20.0% (−20.0% to −20.0%) is certainly worse; no difference could be shown"),
        (SCATTERED, SCATTERED, f"{NONE} no difference could be shown for queue, stack."),
        (MORE, SCATTERED, "PUT: queue serves the most: +10.0% against sync (+10.0% to +10.0%)."),
    ],
)
def test_a_headline_names_every_side_of_a_group(
    queue: tuple[float, ...], stack: tuple[float, ...], headline: str
) -> None:
    cases = {"sync": case("sync", rates(*SYNC)), "queue": case("queue", rates(*queue)),
             "stack": case("stack", rates(*stack))}  # fmt: skip
    assert answer_group("PUT", SUITE, cases).headline.startswith(headline)


def test_an_experiment_alone_is_told_by_the_rates_it_keeps_up_with() -> None:
    point = {rate: case(f"put@{rate}", rates(*[served] * 6, offered=rate))
             for rate, served in ((1000.0, 1000.0), (2000.0, 1999.0), (5000.0, 2100.0))}  # fmt: skip
    for rate, one in point.items():
        object.__setattr__(one, "case", Case("put", int(rate)))
    (said,) = answer_alone(list(point.values()))
    assert said.text == "put keeps up with 2,000/s (p99 –), and serves 2,100/s when 5,000/s are offered."
    assert len(said.runs) == 18
    (said,) = answer_alone([case("sync", rates(*[800.0] * 6))])
    assert said.text == "sync serves 800/s when 1,000/s are offered."
    few = case("few", rates(800.0))
    assert answer_alone([few]) == []
    assert (
        answer_alone([few, case("sync", rates(*[800.0] * 6))])[0].text == "few: too few starts to judge: 1, at least 6."
    )
