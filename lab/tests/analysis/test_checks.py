"""The verdict: what makes a run suspect or invalid, and what is only a note."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from lab.analysis import judge
from lab.analysis.checks import SATURATED
from lab.manifest import Agreement, Check, CpuPlan, GeneratorStop, Manifest, Schedule, Summary, Unfinished, Validity
from report.synthesis import Shape, make_run


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"), Shape())


@pytest.fixture
def manifest(sound: Path) -> Manifest:
    return Manifest.read(sound / "run.json")


def summary_of(manifest: Manifest) -> Summary:
    assert manifest.summary is not None
    return manifest.summary


def check(validity: Validity, name: str) -> Check:
    return next(check for check in validity.checks if check.name == name)


def test_a_sound_run_is_valid_without_reasons(sound: Path, manifest: Manifest) -> None:
    validity = judge(sound, manifest)
    assert validity.state == "valid"
    assert validity.reasons == validity.findings == []
    assert len({check.name for check in validity.checks}) == len(validity.checks)
    assert check(validity, "network").outcome == "note"
    assert check(validity, "repetitions").outcome == "note"


def test_a_run_that_measured_nothing_is_invalid(sound: Path, manifest: Manifest) -> None:
    manifest.summary = None
    validity = judge(sound, manifest)
    assert validity.state == "invalid"
    assert validity.reasons == ["nothing was measured: the load generator left no report"]


@pytest.mark.parametrize(("outcome", "words"), [("failed", "failed"), ("interrupted", "was interrupted")])
def test_a_phase_that_did_not_end_well_makes_it_invalid(
    sound: Path, manifest: Manifest, outcome: Any, words: str
) -> None:
    phase = next(phase for phase in manifest.phases if phase.name == "measure")
    phase.outcome, phase.detail = outcome, "the service died"
    validity = judge(sound, manifest)
    assert validity.state == "invalid"
    assert validity.reasons[0] == f"the phase measure 1 {words}: the service died"


# Saturation.


def slowed(manifest: Manifest, achieved_per_s: float) -> Manifest:
    summary = summary_of(manifest)
    summary.rate_achieved_per_s = achieved_per_s
    first = summary.repetitions[0]
    first.rate_achieved_per_s = achieved_per_s
    first.latency_ms.mean = max(0.0, 1 - achieved_per_s / 2000) * 20_000 / 2
    return manifest


def test_falling_behind_at_the_end_is_not_called_a_backlog(sound: Path, manifest: Manifest) -> None:
    slowed(manifest, 1960)
    summary_of(manifest).repetitions[0].latency_ms.mean = 35.0
    validity = judge(sound, manifest)
    assert validity.state == "suspect"
    assert "kept up for most of the time and fell behind at the end" in validity.reasons[0]


def test_one_per_cent_below_the_offered_rate_is_reached(sound: Path, manifest: Manifest) -> None:
    assert check(judge(sound, slowed(manifest, 1981)), "rate").outcome == "pass"


def test_a_saturated_service_is_a_finding_of_a_valid_run(sound: Path, manifest: Manifest) -> None:
    validity = judge(sound, slowed(manifest, 1700))
    assert validity.state == "valid"
    assert validity.findings[0].startswith(f"{SATURATED}: 1,700 of 2,000 requests/s")
    assert "backlog" in validity.findings[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda s, m: setattr(s, "kept_schedule", None),
        lambda s, m: setattr(s, "kept_schedule", Schedule(verdict=False, reasons=["late"])),
        lambda s, m: setattr(s.repetitions[0], "net_latency_ms", None),
        lambda s, m: [setattr(s.repetitions[0], name, None) for name in ("generator_cpu_s", "busiest_loop_share")],
        lambda s, m: setattr(s.repetitions[0], "busiest_loop_share", 0.95),
        lambda s, m: setattr(m.environment.cpu_plan, "loadgen", [0]),
    ],
    ids=["no schedule", "schedule missed", "no net latency", "no CPU time", "generator at its limit", "shared CPUs"],
)
def test_saturation_is_suspect_unless_the_generator_is_cleared(sound: Path, manifest: Manifest, change: Any) -> None:
    slowed(manifest, 1700)
    change(summary_of(manifest), manifest)
    validity = judge(sound, manifest)
    assert validity.state == "suspect"
    assert not any(finding.startswith(SATURATED) for finding in validity.findings)
    assert any("It is not certain that this was the service's limit" in reason for reason in validity.reasons)


def test_one_saturated_repetition_among_others_is_not_hidden_by_them(sound: Path, manifest: Manifest) -> None:
    summary = summary_of(manifest)
    slow = summary_of(slowed(manifest.model_copy(deep=True), 1500)).repetitions[0]
    summary.repetitions = [*[summary.repetitions[0]] * 30, slow]
    detail = check(judge(sound, manifest), "rate").detail
    assert detail.startswith(f"{SATURATED}: in 1 of 31 repetitions, 1,500 (repetition 1) of 2,000 requests/s")


def test_more_than_offered_is_suspect(sound: Path, manifest: Manifest) -> None:
    assert judge(sound, slowed(manifest, 2100)).state == "suspect"


# One thing wrong at a time.


def refuse(summary: Summary, requests: int) -> None:
    summary.refused = summary.errors.status = requests


def move(summary: Summary, percentile: str, net_ms: float) -> None:
    net = summary.repetitions[0].net_latency_ms
    assert net is not None
    net.percentiles[percentile] = net_ms


def repeat_thrice(_: Summary, manifest: Manifest) -> None:
    manifest.experiment.resolved = manifest.experiment.resolved.model_copy(update={"repeat": 3})


def one_busy_thread_on_seven_cpus(summary: Summary, manifest: Manifest) -> None:
    repetition = summary.repetitions[0]
    repetition.busiest_loop_share = repetition.net_latency_ms = None  # as from a generator that reports neither
    repetition.generator_cpu_s = 0.95 * (repetition.elapsed_s or 0.0)
    assert manifest.environment.cpu_plan is not None
    manifest.environment.cpu_plan.loadgen = list(range(1, 8))


def busy(summary: Summary) -> None:
    summary.repetitions[0].busiest_loop_share = 0.95


def stop(summary: Summary, seconds: float) -> None:
    summary.repetitions[0].generator_stops = [GeneratorStop(at_s=7.3, length_us=seconds * 1e6)]


@pytest.mark.parametrize(
    ("change", "name", "outcome"),
    [
        (lambda s, m: setattr(s.errors, "timeout", 1), "errors", "note"),
        (lambda s, m: setattr(s.errors, "timeout", 40), "errors", "warn"),
        (lambda s, m: setattr(s.errors, "status", 4000), "errors", "fail"),
        (lambda s, m: refuse(s, 39_000), "errors", "pass"),
        (lambda s, m: refuse(s, 39_000), "refusals", "note"),
        (lambda s, m: move(s, "50", 0.05), "generator's error", "warn"),
        (lambda s, m: move(s, "99", 0.2), "generator's error", "warn"),
        (lambda s, m: move(s, "99.9", 0.2), "generator's error", "note"),
        (lambda s, m: (move(s, "99.9", 0.2), stop(s, 0.9)), "generator's error", "warn"),
        (lambda s, m: stop(s, 0.9), "generator's error", "pass"),
        (lambda s, m: setattr(s.repetitions[0], "net_latency_ms", None), "generator's error", "unknown"),
        (lambda s, m: setattr(s, "failure", "script: boom"), "schedule", "fail"),
        (lambda s, m: setattr(s, "kept_schedule", Schedule(verdict=False, reasons=["late"])), "schedule", "warn"),
        (lambda s, m: busy(s), "generator CPU", "note"),
        (lambda s, m: (busy(s), move(s, "99", 0.2)), "generator CPU", "warn"),
        (lambda s, m: (busy(s), setattr(s.repetitions[0], "net_latency_ms", None)), "generator CPU", "warn"),
        (lambda s, m: (busy(s), setattr(s.repetitions[0], "rate_achieved_per_s", 900.0)), "generator CPU", "warn"),
        (one_busy_thread_on_seven_cpus, "generator CPU", "warn"),
        (lambda s, m: setattr(s.latency_ms, "count", 999), "samples", "warn"),
        (lambda s, m: setattr(s.latency_ms, "count", 1000), "samples", "pass"),
        (lambda s, m: setattr(s.repetitions[0], "requests", 0), "samples", "fail"),
        (lambda s, m: setattr(s, "unfinished", Unfinished(count=1000, oldest_us=2e6)), "unfinished", "warn"),
        (lambda s, m: setattr(s, "unfinished", Unfinished(count=10)), "unfinished", "note"),
        (lambda s, m: setattr(s, "problems", ["a log was cut off"]), "outputs", "warn"),
        (lambda s, m: setattr(s, "lacks", ["latency.hlog"]), "outputs", "note"),
        (repeat_thrice, "repetitions", "warn"),
        (lambda s, m: setattr(s, "agreement", Agreement(rate_spread=0.04)), "repetitions", "warn"),
        (lambda s, m: setattr(s, "agreement", Agreement(latency_spread={"50": 0.2})), "repetitions", "warn"),
        (lambda s, m: setattr(s, "agreement", Agreement(latency_spread={"50": 0.1, "99": 0.3})), "repetitions", "pass"),
        (lambda s, m: setattr(m.environment.cpu_plan, "loadgen", [0]), "CPU plan", "warn"),
        (
            lambda s, m: setattr(m.environment, "cpu_plan", CpuPlan(service=[], loadgen=[], other=[])),
            "CPU plan",
            "warn",
        ),
        (lambda s, m: setattr(m.environment.cpu_plan, "other", [2]), "CPU plan", "pass"),
        (lambda s, m: setattr(m.environment, "cpu_plan", None), "CPU plan", "unknown"),
        (lambda s, m: setattr(m.environment, "native_transport", False), "transport", "note"),
        (lambda s, m: setattr(m.environment, "profiling_engine", "ctimer"), "profile", "note"),
        (lambda s, m: setattr(s, "profiled", None), "profile", "note"),
        (lambda s, m: setattr(s.profiled, "rate_achieved_per_s", 1500.0), "profiled rate", "note"),
        (lambda s, m: setattr(m.environment.git, "dirty", True), "source", "note"),
        (lambda s, m: setattr(m.environment, "git", None), "source", "unknown"),
    ],
)
def test_each_check_sees_its_own_trouble(sound: Path, manifest: Manifest, change: Any, name: str, outcome: str) -> None:
    change(summary_of(manifest), manifest)
    validity = judge(sound, manifest)
    assert check(validity, name).outcome == outcome
    if outcome in ("warn", "fail"):
        assert validity.state == {"warn": "suspect", "fail": "invalid"}[outcome]
    assert (check(validity, name).detail in validity.reasons) == (outcome in ("warn", "fail"))


@pytest.mark.parametrize(
    ("name", "disturbance"),
    [
        ("steal", {"steal": 0.08}),
        ("memory pressure", {"refaulting": 0.4}),
        ("page cache", {"reading": 0.4}),
        ("other I/O", {"power": True, "others_mb": 900}),
    ],
)
def test_saturation_on_a_disturbed_machine_is_no_capacity(
    tmp_path: Path, name: str, disturbance: dict[str, Any]
) -> None:
    run = make_run(tmp_path, Shape(rate=3000, capacity=2500, seconds=8, profiled=False, **disturbance))
    validity = judge(run, Manifest.read(run / "run.json"))
    assert validity.findings == []
    assert any(f"not certain that this was the service's limit ({name})" in reason for reason in validity.reasons)


def test_conditions_that_were_not_observed_are_unknown_not_fine(tmp_path: Path, manifest: Manifest) -> None:
    validity = judge(tmp_path, manifest)
    names = ("steal", "other load", "memory pressure", "page cache", "throttling", "run delay")
    assert {check(validity, name).outcome for name in names} == {"unknown"}


def test_a_damaged_timeline_is_a_reason(tmp_path: Path, manifest: Manifest) -> None:
    (tmp_path / "timeline.csv").write_text("nonsense\n")
    validity = judge(tmp_path, manifest)
    assert validity.state == "suspect"
    assert "timeline.csv:1: its columns do not begin with time" in validity.reasons[0]


def test_a_profile_of_a_handful_of_samples_is_marked_as_such(tmp_path: Path, manifest: Manifest) -> None:
    (tmp_path / "profile").mkdir()
    (tmp_path / "profile/profile.json").write_text('{"events": {"cpu": {"samples": 100, "empty": false}}}')
    found = check(judge(tmp_path, manifest), "profile")
    assert found.outcome == "note"
    assert "100 samples: shares under 10% are noise" in found.detail


def test_the_most_serious_reason_comes_first(sound: Path, manifest: Manifest) -> None:
    summary = summary_of(manifest)
    summary.problems = ["a log was cut off"]
    summary.errors.status = 39_000
    reasons = judge(sound, manifest).reasons
    assert reasons[0].startswith("39,000 errors"), reasons
    assert reasons[1].startswith("outputs are damaged")


def test_the_generators_error_names_the_percentile_with_both_values_and_the_stop(
    sound: Path, manifest: Manifest
) -> None:
    summary = summary_of(manifest)
    summary.repetitions[0].latency_ms.percentiles["99"] = 806.0
    move(summary, "99", 0.13)
    stop(summary, 0.9)
    detail = check(judge(sound, manifest), "generator's error").detail
    assert "the load generator moved p99: it is 806 ms, and 130 µs without the generator's own delays" in detail
    assert "stood still for 900 ms in second 7, which shows in the tail" in detail


def test_a_constant_offset_of_some_microseconds_is_stated_and_keeps_the_run_valid(tmp_path: Path) -> None:
    run = make_run(tmp_path, Shape(lag_us=60.0, profiled=False))
    validity = judge(run, Manifest.read(run / "run.json"))
    assert check(validity, "generator's error").outcome == "pass"
    assert "it adds 60 µs to the median" in check(validity, "generator's error").detail
    assert validity.state == "valid"


def test_a_generator_that_does_not_report_its_error_is_valid_at_best_with_that_finding(tmp_path: Path) -> None:
    run = make_run(tmp_path, Shape(json=False, hlog=False, profiled=False))
    validity = judge(run, Manifest.read(run / "run.json"))
    assert validity.state == "valid"
    assert any("own error is unknown" in finding for finding in validity.findings)


def test_a_second_that_was_not_served_in_time_is_named_though_the_average_reaches_the_rate(
    sound: Path, manifest: Manifest, tmp_path: Path
) -> None:
    directory = tmp_path / "measure/1"
    directory.mkdir(parents=True)
    document = json.loads((sound / "measure/1/load.json").read_text())
    document["series"][8] |= {"requests": 1200, "backlog": 800}
    document["series"][9]["requests"] = 2800
    (directory / "load.json").write_text(json.dumps(document))
    found = check(judge(tmp_path, manifest), "rate")
    assert found.outcome == "note"
    assert found.detail.startswith("offered rate reached on average, not at every moment")
    assert "in second 8 1,200 of 2,000" in found.detail
    assert found.detail in judge(tmp_path, manifest).findings


@pytest.mark.parametrize(
    ("level", "outcome"), [((0, 1.0), "pass"), ((6, 1.16), "note"), ((6, 2.0), "warn"), ((4, 5.0), "warn")]
)
def test_an_unfinished_warm_up_means_no_steady_state(tmp_path: Path, level: tuple[int, float], outcome: str) -> None:
    run = make_run(tmp_path, Shape(level=level, profiled=False))
    found = check(judge(run, Manifest.read(run / "run.json")), "steady state")
    assert found.outcome == outcome, found.detail
    if level[1] > 1:
        assert found.detail.startswith(f"no steady state: from second {level[0]} on the median latency is")


@pytest.mark.parametrize(("before_us", "outcome"), [(47.0, "pass"), (90.0, "warn")])
def test_a_change_of_the_generators_part_of_the_median_is_not_attributed_to_the_service(
    tmp_path: Path, before_us: float, outcome: str
) -> None:
    """The medians are those of quiet runs on a machine whose CPUs woke up slower for some seconds."""
    run = make_run(tmp_path, Shape(profiled=False))
    path = run / "measure/1/load.json"
    document = json.loads(path.read_text())
    for second in document["series"]:
        early = second["t_s"] < 8
        second |= {"p50_us": 117.0 if early else 82.0, "net_p50_us": before_us if early else 36.0}
    path.write_text(json.dumps(document))
    found = check(judge(run, Manifest.read(run / "run.json")), "steady state")
    assert found.outcome == outcome, found.detail
    if outcome == "warn":
        assert found.detail.endswith("from second 8 on the net median latency is 36 µs, before it 90 µs")


@pytest.mark.parametrize(("cpus", "outcome"), [(0.03, "pass"), (0.1, "note"), (0.2, "warn")])
def test_a_busy_jit_compiler_means_no_steady_state(tmp_path: Path, cpus: float, outcome: str) -> None:
    run = make_run(tmp_path, Shape(jit=cpus, profiled=False))
    validity = judge(run, Manifest.read(run / "run.json"))
    found = check(validity, "steady state")
    assert found.outcome == outcome, found.detail
    if outcome != "pass":
        assert f"no steady state: in the second half the JIT compiler still used {cpus:.0%} of a CPU" in found.detail
        assert found.detail in validity.findings + validity.reasons


@pytest.mark.parametrize(
    ("jit_s", "p99_us", "faster_from_s", "outcome"),
    [
        (0.9, 52_000, None, "warn"),
        (0.9, 52_000, 3, "warn"),
        (0.9, 52_000, 8, "later"),
        (0.9, 900, None, "pass"),
        (0.1, 52_000, None, "pass"),
    ],
)
def test_a_cold_start_means_no_steady_state_and_explains_a_median_that_falls_within_it(
    tmp_path: Path, jit_s: float, p99_us: float, faster_from_s: int | None, outcome: str
) -> None:
    """A compiler at work that no request waited for is none; nor is one slow second without a compiler at work."""
    run = make_run(tmp_path, Shape(profiled=False))
    path = run / "measure/1/load.json"
    document = json.loads(path.read_text())
    for second in document["series"]:
        second["net_p99_us"] = p99_us if second["t_s"] == 0 else 900.0
        second["net_p50_us"] = 90.0 if second["t_s"] < (faster_from_s or 0) else 36.0
    path.write_text(json.dumps(document))
    start_s = datetime.fromisoformat(document["started_at"]).timestamp()
    with (run / "machine.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    first = next(row for row in rows if float(row["time_s"]) - float(row["interval_s"]) >= start_s)
    first["service_jit_s"] = str(jit_s)
    with (run / "machine.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(first))
        writer.writeheader()
        writer.writerows(rows)
    found = check(judge(run, Manifest.read(run / "run.json")), "steady state")
    assert found.outcome == ("warn" if outcome == "later" else outcome), found.detail
    if outcome == "later":
        assert "from second 8 on the net median latency is 36 µs, before it 90 µs" in found.detail
    if outcome == "warn":
        assert "in the first 3 s the JIT compiler used 900 ms of CPU time" in found.detail
        assert "p99 latency was up to 52 ms, later 900 µs" in found.detail


def test_exclusion_rests_on_the_environments_checks_alone(sound: Path, manifest: Manifest, tmp_path: Path) -> None:
    """A run is excluded if its machine was disturbed for half of the time, and never for its outcome."""
    stolen = make_run(tmp_path, Shape(profiled=False, steal=0.08))
    (why,) = judge(stolen, Manifest.read(stolen / "run.json")).unfit
    assert why.startswith("the hypervisor took 8% of a CPU")
    summary_of(manifest).errors.status = 39_000
    validity = judge(sound, manifest)
    assert (validity.state, validity.unfit) == ("invalid", [])
    of_environment = {check.name for check in judge(sound, manifest).checks if check.environment}
    by_the_second = {"other load", "steal", "throttling", "run delay"}
    named = {"other processes", "memory pressure", "page cache", "other I/O", "clock"}
    assert of_environment == {"CPU plan", "CPU set", *by_the_second, *named}
