"""From outputs to a summary: merged repetitions, what other load generators lack, what profiling cost."""

from __future__ import annotations

import json
import random
import statistics
from pathlib import Path

import pytest

from lab.analysis import LoadError, NothingMeasuredError, read_load_json, read_log, summarise
from lab.analysis.histogram import Sample
from lab.analysis.summary import _agreement
from lab.manifest import Distribution, Errors, Measurement
from report.synthesis import Shape, make_run


def test_percentiles_of_several_repetitions_come_from_the_merged_logs(tmp_path: Path) -> None:
    run = make_run(tmp_path, Shape(repetitions=3, profiled=False, seconds=4))
    summary = summarise(run, rate_offered_per_s=2000)
    logs = [read_log(run / f"measure/{n}/latency.hlog").total() for n in (1, 2, 3)]
    merged = Sample.merged(logs)
    assert summary.latency_ms.count == merged.count == 24_000
    assert summary.requests == 24_000
    assert summary.latency_ms.percentiles["99"] == merged.percentile_ns("99") / 1e6
    assert "99.9" in summary.latency_ms.percentiles
    assert "99.9" not in summary.repetitions[0].latency_ms.percentiles, "8,000 values are too few"
    assert [r.source for r in summary.repetitions] == ["measure/1", "measure/2", "measure/3"]
    assert summary.rate_achieved_per_s == pytest.approx(2000)
    assert summary.agreement is not None
    assert summary.agreement.latency_spread["50"] < 0.05


def test_repetitions_are_taken_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    run = make_run(tmp_path, Shape(profiled=False, seconds=1, judged=False))
    for number in (2, 10):
        (run / f"measure/{number}").mkdir()
        for name in ("load.json", "load.txt", "latency.hlog"):
            (run / f"measure/{number}/{name}").write_bytes((run / "measure/1" / name).read_bytes())
    summary = summarise(run, rate_offered_per_s=2000)
    assert [r.source for r in summary.repetitions] == ["measure/1", "measure/2", "measure/10"]


def test_the_profiled_repetition_takes_no_part_in_the_figures(tmp_path: Path) -> None:
    with_profile = make_run(tmp_path / "with", Shape(seconds=3, repetitions=2))
    without = make_run(tmp_path / "without", Shape(seconds=3, repetitions=2, profiled=False))
    profiled, plain = (summarise(run, rate_offered_per_s=2000) for run in (with_profile, without))
    assert profiled.latency_ms == plain.latency_ms
    assert profiled.profiled is not None
    assert profiled.profiling_cost is not None
    assert profiled.profiling_cost.latency_ratio["50"] == pytest.approx(1.12, rel=0.03)
    assert profiled.profiling_cost.rate_achieved_ratio == pytest.approx(1)
    assert plain.profiling_cost is None


def test_one_repetition_does_not_show_the_cost_of_profiling(tmp_path: Path) -> None:
    summary = summarise(make_run(tmp_path, Shape(seconds=3)), rate_offered_per_s=2000)
    assert summary.profiled is not None
    assert summary.profiling_cost is None


def test_agreement_does_not_grow_with_the_number_of_repetitions() -> None:
    draw = random.Random(7)

    def spread(times: int) -> float:
        rates = [draw.gauss(1000, 50) for _ in range(times)]
        repetitions = [
            Measurement(
                source=f"measure/{number}",
                rate_offered_per_s=1000,
                rate_achieved_per_s=rate,
                requests=1000,
                latency_ms=Distribution(count=0),
                errors=Errors(),
            )
            for number, rate in enumerate(rates, 1)
        ]
        found = _agreement(repetitions)
        assert found is not None
        assert found.rate_spread is not None
        return found.rate_spread

    few, many = (statistics.mean(spread(times) for _ in range(300)) for times in (3, 30))
    assert many == pytest.approx(few, rel=0.2)
    assert many == pytest.approx(0.05, rel=0.05)


def test_the_services_cpu_time_a_request_comes_from_the_timeline(tmp_path: Path) -> None:
    summary = summarise(make_run(tmp_path, Shape(repetitions=2)), rate_offered_per_s=2000)
    assert summary.service_cpu_us_per_request == pytest.approx(0.62 / 2000 * 1e6, rel=0.1)
    assert summary.profiling_cost is not None
    assert summary.profiling_cost.service_cpu_ratio == pytest.approx(0.71 / 0.62, rel=0.1)


def test_a_load_generator_with_only_text_is_summarised_from_it(tmp_path: Path) -> None:
    whole = make_run(tmp_path / "whole", Shape(profiled=False))
    bare = make_run(tmp_path / "bare", Shape(profiled=False, hlog=False, json=False))
    exact, coarse = (summarise(run, rate_offered_per_s=2000) for run in (whole, bare))
    assert coarse.lacks == ["load.json", "latency.hlog"]
    assert coarse.rate_offered_per_s == 2000
    assert coarse.send_lag_us is None
    assert coarse.latency_ms.count == exact.latency_ms.count
    assert coarse.latency_ms.percentiles == pytest.approx(exact.latency_ms.percentiles, rel=0.01)


def test_texts_alone_are_merged_by_their_spectra(tmp_path: Path) -> None:
    whole = make_run(tmp_path / "whole", Shape(repetitions=2, profiled=False))
    bare = make_run(tmp_path / "bare", Shape(repetitions=2, profiled=False, hlog=False, json=False))
    exact, coarse = (summarise(run, rate_offered_per_s=2000) for run in (whole, bare))
    assert coarse.latency_ms.count == exact.latency_ms.count
    for percentile, value in exact.latency_ms.percentiles.items():
        assert value * 0.99 <= coarse.latency_ms.percentiles[percentile] <= value * 1.25


def test_a_truncated_log_is_a_problem_and_does_not_end_the_analysis(tmp_path: Path) -> None:
    summary = summarise(make_run(tmp_path, Shape(profiled=False, cut_off_hlog=True)), rate_offered_per_s=2000)
    assert summary.latency_ms.count == 38_000
    assert summary.problems == [
        "measure/1/latency.hlog was cut off in its last line",
        "measure/1/latency.hlog holds 38,000 values, the load generator reports 40,000",
    ]


def test_a_damaged_log_leaves_the_figures_of_the_report(tmp_path: Path) -> None:
    run = make_run(tmp_path, Shape(profiled=False))
    (run / "measure/1/latency.hlog").write_text("nonsense\n")
    summary = summarise(run, rate_offered_per_s=2000)
    assert summary.latency_ms.count == 40_000
    assert summary.problems == [
        "measure/1/latency.hlog: not a histogram log: no line '#[Histogram log format version …]' at its top"
    ]


def test_a_run_without_any_report_is_an_error_that_says_where_to_look(tmp_path: Path) -> None:
    with pytest.raises(NothingMeasuredError) as error:
        summarise(tmp_path, rate_offered_per_s=2000)
    assert "no measure/<n> holds a report" in error.value.message
    assert "service.log" in error.value.hint


def test_keys_of_a_later_load_generator_are_ignored(tmp_path: Path) -> None:
    run = make_run(tmp_path, Shape(profiled=False, seconds=1))
    path = run / "measure/1/load.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "colour": "blue"}))
    assert read_load_json(path).requests == 2000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"requests": "many"}, "requests: Input should be a valid integer"),
        ({"requests": -1}, "requests: Input should be greater than or equal to 0"),
        ({"version": 2}, "version: Input should be 1"),
        ({"format": "other"}, "format: Input should be 'lsmlab-load'"),
        ({"latency_us": None}, "latency_us: Input should be an object"),
        ({"served_us": {"histogram": "AAAA"}}, "served_us.histogram: Value error, the histogram cannot be decoded"),
    ],
)
def test_a_report_with_other_fields_is_refused_by_field(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    run = make_run(tmp_path, Shape(profiled=False, seconds=1, judged=False))
    path = run / "measure/1/load.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(LoadError) as error:
        summarise(run, rate_offered_per_s=2000)
    assert message in error.value.message
    assert str(path) in error.value.message


@pytest.mark.parametrize(("content", "message"), [(b"{", "not JSON"), (b"\xff", "not UTF-8"), (None, "No such file")])
def test_a_report_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "load.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LoadError, match=message):
        read_load_json(path)
