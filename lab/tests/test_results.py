"""`lab results`, `lab list` and `lab validate`: what there is, told in one line each."""

from __future__ import annotations

import pytest

from lab.cli.results import _latency
from support.house import FakeHouse


def test_runs_are_listed_newest_first_with_verdict_and_figures(house: FakeHouse) -> None:
    for number in range(2):
        code, output = house.lab("run", "fake", "--rate", str(1000 + number))
        assert code == 0, output
    broken = house.root / "results/fake/20200101T000000Z"
    broken.mkdir()
    (broken / "run.json").write_text("{")
    code, output = house.lab("results")
    assert code == 0
    lines = output.splitlines()
    assert lines[0].split()[:3] == ["run", "verdict", "runtime"]
    newest, older, unreadable = lines[1], lines[2], lines[3]
    assert "rate=1001" in newest
    assert " ms" in newest
    assert "rate=1000" in older
    assert "unreadable" in unreadable
    assert "not JSON" in unreadable


def test_an_incomplete_run_says_where_it_ended(house: FakeHouse) -> None:
    house.lab("run", "fake", "--variant", "dies-at-start")
    _, output = house.lab("results", "fake")
    assert "incomplete" in output
    assert "start was the phase that failed" in output


def test_runs_of_an_experiment_that_has_none_are_an_error(house: FakeHouse) -> None:
    code, output = house.lab("results", "nonesuch")
    assert code == 2
    assert "no run of an experiment 'nonesuch'" in output
    assert "No runs yet" in house.lab("results")[1]


def test_the_list_shows_sound_experiments_and_names_the_others(house: FakeHouse) -> None:
    house.experiment("wrong", title=3, service={"variant": "stack"})
    code, output = house.lab("list")
    assert code == 2
    assert "fake" in output
    assert "experiments/wrong/experiment.yaml:1: title" in output
    code, output = house.lab("validate", "fake")
    assert (code, output.strip()) == (0, "1 experiment is sound")
    assert house.lab("validate")[0] == 2


@pytest.mark.parametrize(
    ("value_ms", "shown"),
    [(0.588, "0.588 ms"), (4.444, "4.44 ms"), (44.44, "44.4 ms"), (444.4, "444 ms"), (4444, "4.44 s"), (None, "–")],
)
def test_latencies_have_three_digits_and_a_unit(value_ms: float | None, shown: str) -> None:
    assert _latency(value_ms) == shown


def test_lines_are_whole_where_no_terminal_limits_them(house: FakeHouse) -> None:
    title = "a title that says a lot, " * 8
    house.experiment("wordy", title=title.strip())
    _, output = house.lab("list")
    assert title.strip() in output
