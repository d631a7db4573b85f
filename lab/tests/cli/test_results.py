"""`lab results`, `lab list` and `lab check`: one line for each run, experiment or error."""

from __future__ import annotations

import pytest

from support.checkout import FakeCheckout


def test_runs_are_listed_newest_first_with_verdict_and_figures(checkout: FakeCheckout) -> None:
    for number in range(2):
        code, output = checkout.lab("run", "fake", "--rate", str(1000 + number), "--profile", "off")
        assert code == 0, output
    broken = checkout.root / "results/fake/20200101T000000Z"
    broken.mkdir()
    (broken / "run.json").write_text("{")
    code, output = checkout.lab("results")
    assert code == 0
    lines = output.splitlines()
    assert lines[0].split()[:3] == ["run", "verdict", "runtime"]
    newest, older, unreadable = lines[1], lines[2], lines[3]
    assert "rate=1001" in newest
    assert " ms" in newest
    assert "rate=1000" in older
    assert "unreadable" in unreadable
    assert "not JSON" in unreadable


def test_an_incomplete_run_says_where_it_ended(checkout: FakeCheckout) -> None:
    checkout.lab("run", "fake", "--variant", "dies-at-start")
    _, output = checkout.lab("results", "fake")
    assert "incomplete" in output
    assert "start was the phase that failed" in output


def test_runs_of_an_experiment_that_has_none_are_an_error(checkout: FakeCheckout) -> None:
    code, output = checkout.lab("results", "nonesuch")
    assert code == 2
    assert "no run of an experiment 'nonesuch'" in output
    assert "No runs yet" in checkout.lab("results")[1]


def test_the_list_shows_sound_experiments_and_names_the_others(checkout: FakeCheckout) -> None:
    checkout.experiment("wrong", title=3, service={"variant": "stack"})
    code, output = checkout.lab("list")
    assert code == 2
    assert "fake" in output
    assert "experiments/wrong/experiment.yaml:1: title" in output
    code, output = checkout.lab("check", "fake")
    assert (code, output.strip()) == (0, "1 experiment is sound")
    assert checkout.lab("check", "experiments")[0] == 2


def test_the_list_says_which_experiment_is_a_reports_and_which_the_labs(checkout: FakeCheckout) -> None:
    checkout.experiment("published", reference={"source": "report A, queue against stack"})
    code, output = checkout.lab("list")
    assert code == 0
    assert {line.split()[0]: line.split()[1:3] for line in output.splitlines()[1:]}["published"] == ["report", "A"]
    assert next(line for line in output.splitlines() if line.startswith("fake")).split()[1] == "lab"


def test_lines_are_not_wrapped_without_a_terminal(checkout: FakeCheckout) -> None:
    title = "a title that says a lot, " * 8
    checkout.experiment("wordy", title=title.strip())
    _, output = checkout.lab("list")
    assert title.strip() in output


@pytest.mark.parametrize(
    ("service", "message"),
    [
        (
            {"variant": "stak"},
            "experiments/odd/experiment.yaml:3: service.variant: 'stak': no such variant; did you mean stack?",
        ),
        (
            {"variant": "stack", "engine": "rocks"},
            "experiments/odd/experiment.yaml:4: service.engine: 'rocks': no such engine; available: lsm",
        ),
    ],
)
def test_an_unknown_variant_or_engine_is_an_error_of_the_experiment(
    checkout: FakeCheckout, service: dict[str, str], message: str
) -> None:
    checkout.experiment("odd", title="Odd", service=service)
    code, output = checkout.lab("check", "experiments")
    assert code == 2
    assert message in output
    assert checkout.lab("check", "fake")[0] == 0


def test_if_the_service_cannot_be_built_files_are_still_checked(checkout: FakeCheckout) -> None:
    checkout.write("Makefile", "build-service:\n\t@exit 1\n")
    checkout.experiment("wrong", title=3, service={"variant": "stack"})
    code, output = checkout.lab("check", "fake")
    assert code == 0
    assert "variants and engines were not checked, for the service cannot be built here: make build-service" in output
    assert "1 experiment is sound" in output
    assert checkout.lab("check", "experiments")[0] == 2
