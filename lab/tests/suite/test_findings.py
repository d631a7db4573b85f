"""Verdicts on published findings follow from figures, and say why where there is none."""

from __future__ import annotations

from typing import Any

import pytest

from lab.suite.declaration import Finding
from lab.suite.findings import judge, ratio_of
from suite.made_up import case, rates

BASE = rates(800, 805, 795, 801, 799, 800)


def finding(**rule: Any) -> Finding:
    return Finding.model_validate({"says": "a claim", "rule": rule})


def worse(share: float, spread: float = 0.002) -> list[dict[str, float]]:
    return rates(*(start["rate"] * (1 - share) * (1 + spread * (-1) ** n) for n, start in enumerate(BASE)))


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        (worse(0.06), "reproduced"),
        (worse(0.02), "not reproduced"),
        (worse(-0.06), "not reproduced"),
        (worse(0.10, spread=0.2), "not comparable here"),
    ],
)
def test_a_ratio_is_reproduced_if_its_whole_interval_lies_in_the_claim(
    other: list[dict[str, float]], verdict: str
) -> None:
    cases = {"sync": case("sync", BASE), "queue": case("queue", other)}
    rule = {"kind": "ratio", "metric": "rate", "of": "queue", "to": "sync", "low": 0.9, "high": 0.96}
    judged = judge(finding(**rule), cases)
    assert judged.verdict == verdict, judged
    assert "n = 6" in judged.ours
    assert len(judged.runs) == 12
    if verdict == "not comparable here":
        assert judged.why.startswith("cannot tell")


def test_five_starts_are_too_few_whatever_they_say() -> None:
    cases = {"sync": case("sync", BASE[:5]), "queue": case("queue", worse(0.06)[:5])}
    rule = {"kind": "ratio", "metric": "rate", "of": "queue", "to": "sync", "low": 0.9, "high": 0.96}
    judged = judge(finding(**rule), cases)
    assert (judged.verdict, judged.why) == ("not comparable here", "too few starts to judge: 5, at least 6")


def test_rounds_are_paired_and_a_round_without_its_partner_does_not_count() -> None:
    drift = [1000.0, 2000.0, 4000.0, 500.0, 3000.0, 1500.0, 700.0]
    slow, fast = case("sync", rates(*drift)), case("queue", rates(*(rate * 0.9 for rate in drift)))
    del slow.starts[2]
    ratio = ratio_of(fast, slow, "rate")
    assert ratio is not None
    assert ratio.rounds == 6
    assert ratio.value == pytest.approx(0.9)
    assert ratio.certain


def test_a_claim_about_saturation_is_not_judged_where_the_service_kept_up() -> None:
    kept = rates(*[1000.0] * 6)
    cases = {"sync": case("sync", kept), "queue": case("queue", kept)}
    saturated = {"kind": "ratio", "metric": "rate", "of": "queue", "to": "sync", "high": 0.99, "needs": "saturated"}
    judged = judge(finding(**saturated), cases)
    assert judged.verdict == "not comparable here"
    assert "100.0% of 1,000/s" in judged.why
    cases = {"sync": case("sync", BASE), "queue": case("queue", BASE)}
    judged = judge(finding(**{**saturated, "needs": "kept"}), cases)
    assert judged.verdict == "not comparable here"
    assert "keeps up" in judged.why


@pytest.mark.parametrize(
    ("shares", "samples", "verdict"),
    [
        ({"queue": 0.2, "lock": 0.03, "dao get": 0.77}, 5000, "reproduced"),
        ({"queue": 0.02, "lock": 0.03, "dao get": 0.95}, 5000, "not reproduced"),
        ({"dao get": 1.0}, 5000, "not reproduced"),
        ({"queue": 0.2, "lock": 0.03, "dao get": 0.77}, 399, "not comparable here"),
    ],
)
def test_shares_of_categories_add_up_and_need_samples(shares: dict[str, float], samples: int, verdict: str) -> None:
    cases = {"queue": case("queue", BASE, {"cpu": shares}, samples=samples)}
    rule = {"kind": "share", "event": "cpu", "categories": ["queue", "lock"], "of": "queue", "low": 0.15, "high": 0.3}
    judged = judge(finding(**rule), cases)
    assert judged.verdict == verdict, judged
    assert f"{samples:,} cpu samples" in judged.ours


def test_a_share_without_a_profile_says_so() -> None:
    cases = {"queue": case("queue", BASE)}
    cases["queue"].__dict__["profile"] = None
    rule = {"kind": "share", "event": "lock", "categories": ["queue"], "of": "queue", "low": 0.5}
    judged = judge(finding(**rule), cases)
    assert (judged.verdict, judged.why) == ("not comparable here", "there is no lock profile of queue")


def test_allocation_is_compared_by_bytes_a_request() -> None:
    cases = {
        "sync": case("sync", BASE, {"alloc": {"http parse": 1.0}}, requests=1000),
        "queue": case("queue", BASE, {"alloc": {"http parse": 1.0}}, requests=500),
    }
    rule = {"kind": "ratio", "metric": "alloc", "of": "queue", "to": "sync", "low": 0.9, "high": 1.1}
    judged = judge(finding(**rule), cases)
    assert judged.verdict == "not reproduced"
    assert "×2.00" in judged.ours
    assert "one profiled start each" in judged.ours


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        ({"kind": "kept", "of": "sync", "high": 0.99}, "reproduced"),
        ({"kind": "kept", "of": "sync", "low": 0.99}, "not reproduced"),
        ({"kind": "latency", "metric": "max", "of": "sync", "high": 100}, "not reproduced"),
        ({"kind": "latency", "metric": "max", "of": "sync", "low": 100}, "reproduced"),
        ({"kind": "latency", "metric": "max", "of": "sync", "high": 205}, "not comparable here"),
    ],
)
def test_every_start_has_to_agree_on_a_bound(rule: dict[str, Any], verdict: str) -> None:
    starts = [{**start, "max": 200.0 + n * 2} for n, start in enumerate(BASE)]
    assert judge(finding(**rule), {"sync": case("sync", starts)}).verdict == verdict


def test_nothing_is_said_of_an_experiment_without_an_undisturbed_start() -> None:
    judged = judge(finding(kind="kept", of="sync", low=0.99), {"sync": case("sync", [])})
    assert (judged.verdict, judged.why) == ("not comparable here", "there is no undisturbed start of sync")


def test_a_finding_without_a_rule_gives_its_reason() -> None:
    told = Finding.model_validate({"says": "a claim", "why": "nobody can measure it"})
    assert judge(told, {}).why == "nobody can measure it"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"says": "x"}, "either a rule, or why"),
        ({"says": "x", "rule": {"kind": "kept", "of": "a"}}, "low, high or both"),
        ({"says": "x", "rule": {"kind": "ratio", "of": "a", "low": 1}}, "takes metric, to"),
        ({"says": "x", "rule": {"kind": "kept", "of": "a", "low": 2, "high": 1}}, "less than high"),
        ({"says": "x", "rule": {"kind": "latency", "metric": "cpu", "of": "a", "low": 2}}, "no latency"),
    ],
)
def test_a_rule_that_cannot_be_computed_is_refused(document: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Finding.model_validate(document)
