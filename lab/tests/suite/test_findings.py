"""Verdicts on published findings follow from figures; if there is none, the page says why."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram
from pydantic import ValidationError

from lab.compare.measurement import Measured, of_run
from lab.suite.declaration import Case, Finding
from lab.suite.figures import CaseFigures
from lab.suite.findings import Judged, against, judge
from suite.made_up import EXPERIMENT, case, rates

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
    rule = {"kind": "ratio", "metric": "throughput", "of": "queue", "to": "sync", "low": 0.9, "high": 0.96}
    judged = judge(finding(**rule), cases)
    assert judged.verdict == verdict, judged
    assert "n = 6" in judged.ours
    assert len(judged.runs) == 12
    if verdict == "not comparable here":
        assert judged.why.startswith("cannot tell")


def test_a_claim_of_no_change_is_worded_as_equal() -> None:
    cases = {"sync": case("sync", BASE), "queue": case("queue", worse(0.06))}
    judged = judge(finding(kind="ratio", metric="throughput", of="queue", to="sync", low=1), cases)
    assert judged.why == "claimed at least equal"


def test_five_starts_are_too_few_whatever_they_say() -> None:
    cases = {"sync": case("sync", BASE[:5]), "queue": case("queue", worse(0.06)[:5])}
    rule = {"kind": "ratio", "metric": "throughput", "of": "queue", "to": "sync", "low": 0.9, "high": 0.96}
    judged = judge(finding(**rule), cases)
    assert (judged.verdict, judged.why) == ("not comparable here", "too few starts to judge: 5, at least 6")


def test_rounds_are_paired_and_a_round_without_its_partner_does_not_count() -> None:
    drift = [1000.0, 2000.0, 4000.0, 500.0, 3000.0, 1500.0, 700.0]
    slow, fast = case("sync", rates(*drift)), case("queue", rates(*(rate * 0.9 for rate in drift)))
    del slow.starts[2]
    (ratio,) = against(fast, slow).metrics
    assert ratio.name == "throughput"
    assert ratio.blocks == 6
    assert ratio.ratio == pytest.approx(0.9)
    assert ratio.verdict == "worse"


def test_a_claim_about_saturation_is_not_judged_if_the_service_kept_up() -> None:
    kept = rates(*[1000.0] * 6)
    cases = {"sync": case("sync", kept), "queue": case("queue", kept)}
    saturated = {
        "kind": "ratio",
        "metric": "throughput",
        "of": "queue",
        "to": "sync",
        "high": 0.99,
        "needs": "saturated",
    }
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


def test_a_share_of_stacks_is_weighed_and_counts_a_stack_once(tmp_path: Path) -> None:
    (tmp_path / "alloc.collapsed").write_text(
        "Pool.take;Pool.run;Pool.run;Task 30\nMain.main;Pool.runner 60\nFlush 10\n"
    )
    cases = {"queue": case("queue", BASE, {"alloc": {"queue": 1.0}})}
    known = cases["queue"].profile
    assert known is not None
    cases["queue"].__dict__["profile"] = replace(known, directory=tmp_path)
    rule = {
        "kind": "share",
        "event": "alloc",
        "frames": ["Pool.run", "Flush"],
        "of": "queue",
        "low": 0.38,
        "high": 0.42,
    }
    judged = judge(finding(**rule), cases)
    assert judged.verdict == "reproduced"
    assert (
        judged.ours
        == "queue: stacks with Pool.run or Flush 40.0% of the bytes in 5,000 alloc samples, one profiled start"
    )
    assert judge(finding(**{**rule, "low": 0.41}), cases).verdict == "not reproduced"
    (tmp_path / "alloc.collapsed").unlink()
    judged = judge(finding(**rule), cases)
    assert judged.verdict == "not comparable here"
    assert judged.why == "the alloc stacks of queue cannot be read: No such file or directory"


def test_a_share_is_of_categories_or_of_frames_and_not_of_both() -> None:
    rule = {"kind": "share", "event": "cpu", "of": "queue", "low": 0.5}
    for names in ({}, {"categories": ["queue"], "frames": ["Pool.run"]}):
        with pytest.raises(ValidationError, match="a rule of kind share takes"):
            finding(**rule, **names)


def test_a_share_of_locks_is_one_of_waiting_time() -> None:
    cases = {"queue": case("queue", BASE, {"lock": {"queue": 0.9, "dao get": 0.1}})}
    rule = {"kind": "share", "event": "lock", "categories": ["queue"], "of": "queue", "low": 0.7}
    assert "90.0% of the waiting time in 5,000 lock samples" in judge(finding(**rule), cases).ours


def test_a_share_without_a_profile_is_marked() -> None:
    cases = {"queue": case("queue", BASE)}
    cases["queue"].__dict__["profile"] = None
    rule = {"kind": "share", "event": "lock", "categories": ["queue"], "of": "queue", "low": 0.5}
    judged = judge(finding(**rule), cases)
    assert (judged.verdict, judged.why) == ("not comparable here", "there is no lock profile of queue")


def test_a_ratio_that_was_not_measured_says_why() -> None:
    cases = {name: case(name, BASE, {"cpu": {"jit": 1.0}}) for name in ("sync", "queue")}
    judged = judge(finding(kind="ratio", metric="alloc", of="queue", to="sync", high=1.1), cases)
    assert judged.verdict == "not comparable here"
    assert judged.why == "fewer than 6 rounds have the alloc of queue and of sync"
    judged = judge(finding(kind="ratio", metric="p99.9", of="queue", to="sync", high=1.1), cases)
    assert judged.why == "fewer than 6 rounds have the p99.9 of queue and of sync"
    cases["queue"] = replace(case("queue", []), refused="ENGINE=x: no such engine")
    judged = judge(finding(kind="ratio", metric="throughput", of="queue", to="sync", high=1.1), cases)
    assert judged.why == "queue cannot run here: ENGINE=x: no such engine"


def test_allocation_is_compared_start_by_start_like_every_other_metric() -> None:
    rule = {"kind": "ratio", "metric": "alloc", "of": "queue", "to": "sync", "low": 0.9, "high": 1.1}

    def judged(starts: int) -> Judged:
        sides = {"sync": 1000.0, "queue": 2000.0}
        return judge(
            finding(**rule),
            {name: case(name, [{"alloc": size + i} for i in range(starts)]) for name, size in sides.items()},
        )

    assert judged(6).verdict == "not reproduced"
    assert "allocated a request +99.8% (+99.6% to +99.9%, n = 6)" in judged(6).ours
    assert judged(1).verdict == judged(5).verdict == "not comparable here"
    assert "5, at least 6" in judged(5).why


@pytest.mark.parametrize(
    ("rule", "verdict", "ours"),
    [
        ({"kind": "kept", "of": "sync", "high": 0.99}, "reproduced", "at most 80.5%"),
        ({"kind": "kept", "of": "sync", "low": 0.99}, "not reproduced", "at least 79.5%"),
        ({"kind": "latency", "metric": "max", "of": "sync", "high": 100}, "not reproduced", "at most 210 ms"),
        ({"kind": "latency", "metric": "max", "of": "sync", "low": 100}, "reproduced", "at least 200 ms"),
        ({"kind": "latency", "metric": "max", "of": "sync", "high": 205}, "not comparable here", "at most 210 ms"),
    ],
)
def test_every_start_has_to_agree_on_a_bound(rule: dict[str, Any], verdict: str, ours: str) -> None:
    starts = [{**start, "max": 200.0 + n * 2} for n, start in enumerate(BASE)]
    judged = judge(finding(**rule), {"sync": case("sync", starts)})
    assert judged.verdict == verdict
    assert ours in judged.ours, "the end of the figures that decides"
    assert ("only some of the starts are within" in judged.why) == (verdict == "not comparable here")


@pytest.mark.parametrize(
    ("served", "rule", "told"),
    [
        (989.6, {"kind": "kept", "low": 0.99}, "at least 98.9% of the offered rate"),
        (990.4, {"kind": "kept", "high": 0.99}, "at most 99.1% of the offered rate"),
        (989.6, {"kind": "latency", "metric": "max", "high": 9, "needs": "kept"}, "answered 98.9% of 1,000/s"),
    ],
)
def test_a_share_that_misses_a_bound_is_not_rounded_to_it(served: float, rule: dict[str, Any], told: str) -> None:
    judged = judge(finding(of="sync", **rule), {"sync": case("sync", rates(*[served] * 6))})
    assert judged.verdict != "reproduced"
    assert told in judged.ours + judged.why


def test_nothing_is_claimed_of_an_experiment_without_an_undisturbed_start() -> None:
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
        ({"says": "x", "rule": {"kind": "latency", "metric": "cpu", "of": "a", "low": 2}}, "not a latency"),
        ({"says": "x", "rule": {"kind": "ratio", "metric": "max", "of": "a", "to": "b", "low": 2}}, "has no ratio"),
    ],
)
def test_a_rule_that_cannot_be_computed_is_refused(document: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Finding.model_validate(document)


def test_percentiles_are_those_of_merged_histograms_never_an_average(tmp_path: Path) -> None:
    """Nine starts answer in 1 ms and one in 100 ms: p99 of all is 100 ms, and the average of their p99s 10.9 ms."""
    starts = case("sync", [{"rate": 1.0}] * 10).starts
    for number, one in enumerate(starts, 1):
        make_load(tmp_path / one.run / "measure" / "1", 100.0 if number == 10 else 1.0)
    starts = [replace(one, measured=Measured.together(of_run(tmp_path / one.run, one.manifest))) for one in starts]
    figures = CaseFigures(Case("sync"), EXPERIMENT, starts, [], 10, [], tmp_path)
    percentiles = figures.latency.percentiles
    assert figures.latency.count == 10 * 1000
    assert percentiles["50"] == pytest.approx(1.0, rel=0.01)
    assert percentiles["99"] == pytest.approx(100.0, rel=0.01)


def make_load(directory: Path, ms: float) -> None:
    directory.mkdir(parents=True)
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    histogram.record_value(round(ms * 1e6), 1000)
    lines = ["#[Histogram log format version 1.3]", "#[StartTime: 1795252473.000 (seconds since epoch), now]"]
    lines += ['"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"']
    lines += [f"0.000,1.000,{ms:.3f},{histogram.encode().decode('ascii')}"]
    (directory / "latency.hlog").write_text("\n".join(lines) + "\n")
    us = dict.fromkeys(("50", "75", "90", "99", "99.9", "99.99", "99.999", "100"), ms * 1e3)
    values = {"count": 1000, "min": ms * 1e3, "mean": ms * 1e3, "stdev": 0.0, "max": ms * 1e3, "percentiles": us}
    document = {"format": "lsmlab-load", "version": 1, "generator": {"name": "made up", "version": "1"},
                "url": "http://127.0.0.1", "script": "get.lua", "threads": 1, "connections": 1, "duration_s": 1.0,
                "rate_per_s": 1000, "started_at": "2026-11-23T12:00:00Z", "requests_due": 1000, "requests": 1000,
                "bytes_read": 1, "requests_per_s": 1000.0, "bytes_per_s": 1.0, "elapsed_s": 1.0, "latency_us": values,
                "uncorrected_us": values, "send_lag_us": values, "status": {"200": 1000}, "series": [],
                "errors": {"connect": 0, "read": 0, "write": 0, "timeout": 0, "status": 0}, "cpu_s": 0.1,
                "unfinished": {"count": 0, "oldest_us": 0},
                "kept_schedule": {"verdict": True, "reasons": []}}  # fmt: skip
    (directory / "load.json").write_text(json.dumps(document))


def test_a_latency_at_another_rate_than_the_published_one_is_not_compared() -> None:
    starts = [{"rate": 300.0, "offered": 300.0, "max": 5.0}] * 6
    judged = judge(finding(kind="latency", metric="max", of="sync", high=100), {"sync": case("sync", starts)})
    assert judged.verdict == "not comparable here"
    assert judged.why == "published at 1,000/s, and 300/s were offered to sync here"


def test_a_rate_fitted_to_this_machine_is_the_published_share_of_its_saturation() -> None:
    starts = [{"rate": 300.0, "offered": 300.0, "max": 5.0}] * 6
    cases = {"sync": replace(case("sync", starts), same_share=True)}
    judged = judge(finding(kind="kept", of="sync", low=0.99), cases)
    assert judged.verdict == "reproduced"
    assert judged.why == "claimed at least 99.0%, at the same share of the saturation as published"
