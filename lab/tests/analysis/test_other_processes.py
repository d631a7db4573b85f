"""Other processes: named if a percentile may be caused by them, though no second of theirs is bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.analysis import judge
from lab.manifest import Check, Manifest, Validity
from report.synthesis import Shape, make_run


def check(validity: Validity, name: str) -> Check:
    return next(check for check in validity.checks if check.name == name)


@pytest.mark.parametrize(
    ("others", "outcome", "message"),
    [
        ({}, "pass", ""),
        ({"cron": 0.0004}, "pass", ""),
        ({"agent": 0.002}, "note", "other processes used 0.20% of a CPU (agent 0.20%): p99.9 may be caused by them"),
        (
            {"few": 0.0001, "kdamond.0": 0.004, "agent": 0.005, "many": 0.001},
            "note",
            "beside the run, other processes used 1.01% of a CPU (agent 0.50%, kdamond.0 0.40%, many 0.10%): "
            "p99 may be caused by them",
        ),
    ],
)
def test_processes_too_small_for_a_bad_second_are_named_if_a_percentile_may_be_theirs(
    tmp_path: Path, others: dict[str, float], outcome: str, message: str
) -> None:
    run = make_run(tmp_path, Shape(others=others, profiled=False, repetitions=2))
    validity = judge(run, Manifest.read(run / "run.json"))
    found = check(validity, "other processes")
    assert found.outcome == outcome, found.detail
    assert message in found.detail
    assert validity.state == "valid"
    assert validity.findings == ([found.detail] if message.startswith("beside the run") else [])


@pytest.mark.parametrize("left", ["absent", "cut off", "damaged", "of no length", "not text"])
def test_other_processes_are_unknown_if_one_repetition_was_not_observed(tmp_path: Path, left: str) -> None:
    run = make_run(tmp_path, Shape(others={"agent": 0.2}, profiled=False, repetitions=2))
    path = run / "processes.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    if left == "damaged":
        path.write_text("".join([*lines[:2], '{"end_s": "now"}\n', lines[3]]))
    elif left == "of no length":
        path.write_text('{"end_s": 1.0, "interval_s": 0.0, "cpu_s": {}}\n')
    elif left == "not text":
        path.write_bytes(b"\xff\n")
    elif left == "cut off":
        path.write_text("".join(lines[:2]) + lines[3][:20])
    else:
        path.unlink()
    validity = judge(run, Manifest.read(run / "run.json"))
    assert check(validity, "other processes").outcome == "unknown"
    outputs = check(validity, "outputs")
    messages = {
        "damaged": "processes.jsonl:3: Input should be a valid number",
        "of no length": "processes.jsonl:1: Input should be greater than 0",
        "not text": "processes.jsonl: cannot be read: 'utf-8' codec can't decode byte 0xff in position 0",
    }
    if left in messages:
        assert outputs.detail.startswith(f"outputs are damaged: {messages[left]}")
    else:
        assert outputs.outcome == "pass"
