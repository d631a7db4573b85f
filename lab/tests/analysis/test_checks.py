"""The verdict: what makes a run suspect or invalid, and what is only said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.analysis import judge
from lab.analysis.checks import SATURATED
from lab.manifest import Agreement, Check, CpuPlan, Distribution, Manifest, Schedule, Summary, Unfinished, Validity
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


def test_saturation_leaves_no_free_connection_to_be_late_on(sound: Path, manifest: Manifest) -> None:
    slowed(manifest, 700)
    summary_of(manifest).send_lag_us = Distribution(count=64, max=5000.0, percentiles={"50": 3000.0})
    validity = judge(sound, manifest)
    assert check(validity, "send lag").detail.startswith("only 64 of 40,000 requests were due while")
    assert validity.state == "valid"
    assert len(validity.findings) == 1


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
        lambda s, m: setattr(s, "send_lag_us", None),
        lambda s, m: setattr(s.repetitions[0], "generator_cpu_s", None),
        lambda s, m: setattr(s.repetitions[0], "generator_cpu_s", 19.5),
        lambda s, m: setattr(m.environment.cpu_plan, "loadgen", [0]),
    ],
    ids=["no schedule", "schedule missed", "no lag", "no CPU time", "generator at its limit", "shared CPUs"],
)
def test_saturation_is_suspect_unless_the_generator_is_cleared(sound: Path, manifest: Manifest, change: Any) -> None:
    slowed(manifest, 1700)
    change(summary_of(manifest), manifest)
    validity = judge(sound, manifest)
    assert validity.state == "suspect"
    assert validity.findings == []
    assert any("It is not certain that this was the service's limit" in reason for reason in validity.reasons)


def test_one_saturated_repetition_among_others_is_not_hidden_by_them(sound: Path, manifest: Manifest) -> None:
    summary = summary_of(manifest)
    slow = summary_of(slowed(manifest.model_copy(deep=True), 1500)).repetitions[0]
    summary.repetitions = [*[summary.repetitions[0]] * 30, slow]
    assert check(judge(sound, manifest), "rate").detail.startswith(SATURATED)


def test_more_than_offered_is_suspect(sound: Path, manifest: Manifest) -> None:
    assert judge(sound, slowed(manifest, 2100)).state == "suspect"


# One thing wrong at a time.


def lag(p99_us: float) -> Distribution:
    return Distribution(count=40_000, max=p99_us * 2, percentiles={"99": p99_us})


@pytest.mark.parametrize(
    ("change", "name", "outcome"),
    [
        (lambda s, m: setattr(s.errors, "timeout", 1), "errors", "note"),
        (lambda s, m: setattr(s.errors, "timeout", 40), "errors", "warn"),
        (lambda s, m: setattr(s.errors, "status", 4000), "errors", "fail"),
        (lambda s, m: setattr(s, "send_lag_us", lag(24)), "send lag", "pass"),
        (lambda s, m: setattr(s, "send_lag_us", lag(99)), "send lag", "note"),
        (lambda s, m: setattr(s, "send_lag_us", lag(101)), "send lag", "warn"),
        (lambda s, m: setattr(s, "rate_offered_per_s", 20_000.0), "send lag", "note"),
        (lambda s, m: setattr(s, "kept_schedule", Schedule(verdict=False, reasons=["late"])), "schedule", "warn"),
        (lambda s, m: setattr(s.repetitions[0], "generator_cpu_s", 18.5), "generator CPU", "warn"),
        (lambda s, m: setattr(s.latency_ms, "count", 999), "samples", "warn"),
        (lambda s, m: setattr(s.latency_ms, "count", 1000), "samples", "pass"),
        (lambda s, m: setattr(s, "unfinished", Unfinished(count=1000, oldest_us=2e6)), "unfinished", "warn"),
        (lambda s, m: setattr(s, "unfinished", Unfinished(count=10)), "unfinished", "note"),
        (lambda s, m: setattr(s, "problems", ["a log was cut off"]), "outputs", "warn"),
        (lambda s, m: setattr(s, "lacks", ["latency.hlog"]), "outputs", "note"),
        (lambda s, m: m.experiment.resolved.update(repeat=3), "repetitions", "warn"),
        (lambda s, m: setattr(s, "agreement", Agreement(rate_spread=0.06)), "repetitions", "warn"),
        (lambda s, m: setattr(s, "agreement", Agreement(latency_spread={"50": 0.3})), "repetitions", "warn"),
        (lambda s, m: setattr(s, "agreement", Agreement(latency_spread={"50": 0.1, "99": 0.4})), "repetitions", "pass"),
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


@pytest.mark.parametrize(("steal", "state"), [(0.005, "valid"), (0.03, "suspect"), (0.15, "invalid")])
def test_steal_time_while_measuring_counts(tmp_path: Path, steal: float, state: str) -> None:
    run = make_run(tmp_path, Shape(steal=steal, profiled=False, seconds=5, seed=2))
    validity = judge(run, Manifest.read(run / "run.json"))
    assert check(validity, "steal").outcome == {"valid": "pass", "suspect": "warn", "invalid": "fail"}[state]
    assert validity.state == state


def test_other_load_is_what_neither_service_nor_generator_used(sound: Path, manifest: Manifest) -> None:
    quiet = check(judge(sound, manifest), "other load")
    assert quiet.outcome == "pass"
    assert manifest.environment.cpu is not None
    text = (sound / "timeline.csv").read_text()
    header = text.split("\n", 1)[0].split(",")
    rows = [line.split(",") for line in text.strip().split("\n")[1:]]
    for row in rows:
        row[header.index("host_cpu_share")] = "0.95"
    busy = sound.parent / "busy"
    busy.mkdir()
    (busy / "timeline.csv").write_text("\n".join([",".join(header), *(",".join(row) for row in rows)]) + "\n")
    assert check(judge(busy, manifest), "other load").outcome == "warn"


def test_saturation_on_a_disturbed_machine_is_nobodys_capacity(tmp_path: Path) -> None:
    run = make_run(tmp_path, Shape(rate=3000, capacity=2500, seconds=4, profiled=False, steal=0.05))
    validity = judge(run, Manifest.read(run / "run.json"))
    assert validity.findings == []
    assert "not certain that this was the service's limit (steal)" in validity.reasons[0]


def test_conditions_that_were_not_observed_are_unknown_not_fine(tmp_path: Path, manifest: Manifest) -> None:
    validity = judge(tmp_path, manifest)
    assert {check(validity, name).outcome for name in ("steal", "other load", "memory pressure")} == {"unknown"}


def test_a_damaged_timeline_is_a_reason(tmp_path: Path, manifest: Manifest) -> None:
    (tmp_path / "timeline.csv").write_text("nonsense\n")
    validity = judge(tmp_path, manifest)
    assert validity.state == "suspect"
    assert "timeline.csv:1: not a timeline" in validity.reasons[0]


def test_a_profile_of_a_handful_of_samples_is_named_as_such(tmp_path: Path, manifest: Manifest) -> None:
    (tmp_path / "profile").mkdir()
    (tmp_path / "profile/profile.json").write_text('{"events": {"cpu": {"samples": 100, "empty": false}}}')
    found = check(judge(tmp_path, manifest), "profile")
    assert found.outcome == "note"
    assert "100 samples: shares under 10% are noise" in found.detail


def test_reasons_have_the_gravest_first(sound: Path, manifest: Manifest) -> None:
    summary = summary_of(manifest)
    summary.problems = ["a log was cut off"]
    summary.errors.status = 39_000
    reasons = judge(sound, manifest).reasons
    assert reasons[0].startswith("39,000 errors")
    assert reasons[1].startswith("outputs are damaged")
