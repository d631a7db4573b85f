"""Values that override an experiment for one run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from experiment_files.examples import SWEEP, WHOLE
from lab.errors import InputError
from lab.experiment import Experiment, apply_overrides


@pytest.mark.parametrize(("word", "events"), [("off", None), ("on", ("cpu", "wall"))])
def test_a_run_can_omit_the_profiled_repetition(
    read: Callable[[str], Experiment], word: str, events: tuple[str, ...] | None
) -> None:
    after, recorded = apply_overrides(read(WHOLE), {"profile": word})
    assert recorded == {"profile": word}
    assert (None if after.profile is None else after.profile.events) == events


def test_a_run_may_be_profiled_although_the_experiment_is_not(read: Callable[[str], Experiment]) -> None:
    before, after = WHOLE.split("profile:")
    unprofiled = read(before + "profile: false\n" + after[after.index("reference") :])
    assert apply_overrides(unprofiled, {"profile": "on"})[0].profile is not None
    assert apply_overrides(unprofiled, {"rate": "1k"})[0].profile is None


def test_overrides_change_the_experiment_and_are_recorded(read: Callable[[str], Experiment]) -> None:
    before = read(WHOLE)
    after, recorded = apply_overrides(before, {"rate": "20k", "duration": "20s", "variant": "queue"})
    assert recorded == {"rate": 20_000, "duration": "20s", "variant": "queue"}
    assert (after.load.rate_per_s, after.load.duration_s, after.service.variant) == (20_000, 20.0, "queue")
    expected = before.resolved()
    expected["load"] |= {"rate_per_s": 20_000, "duration_s": 20.0}
    expected["service"]["variant"] = "queue"
    expected["title"] = "GET at 20,000/s (duration 20s, variant queue)"
    assert after.resolved() == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": "abc"}, "RATE=abc: 'abc' is not a whole number, which may end in k or M: 70000, 70k"),
        ({"duration": "20"}, "DURATION=20: '20' is not a number with a unit of us, ms, s, m or h"),
        ({"duration": "-3s"}, "DURATION=-3s: '-3s' is out of range: must be at least 1 (seconds)"),
        ({"duration": "0"}, "DURATION=0: '0' is out of range: must be at least 1 (seconds)"),
        ({"duration": "-5"}, "DURATION=-5: '-5' is out of range: must be at least 1 (seconds)"),
        ({"rate": "-5"}, "RATE=-5: '-5' is out of range: must be at least 1"),
        ({"workers": "-5"}, "WORKERS=-5: '-5' is out of range: must be at least 1"),
        ({"profile": "no"}, "PROFILE=no: is not allowed; allowed: on or off"),
        ({"threads": "100"}, "THREADS=100: load: connections (64) must be at least threads (100)"),
        ({"repeat": "0"}, "REPEAT=0: '0' is out of range: must be at least 1"),
    ],
)
def test_a_bad_override_names_the_setting_and_what_is_allowed(
    read: Callable[[str], Experiment], given: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        apply_overrides(read(WHOLE), given)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("title", "given", "shown"),
    [
        ("GET at 70,000/s", {"rate": "20k"}, "GET at 20,000/s"),
        ("GET at 70,000/s, in turns", {"scale": "0.5"}, "GET at 35,000/s, in turns"),
        ("GET over 150 tables", {"rate": "20k"}, "GET over 150 tables, at 20,000/s"),
        ("GET at 170,000/s", {"rate": "20k"}, "GET at 170,000/s, at 20,000/s"),
        ("GET at 70,000/s", {"rate": "70k", "warmup": "0s", "profile": "off"}, "GET at 70,000/s"),
        ("GET at 70,000/s", {"variant": "queue", "duration": "5s"}, "GET at 70,000/s (variant queue, duration 5s)"),
    ],
)
def test_the_title_says_what_runs(
    read: Callable[[str], Experiment], title: str, given: dict[str, str], shown: str
) -> None:
    assert apply_overrides(read(WHOLE.replace("GET at 70,000/s", title)), given)[0].title == shown


def test_the_title_of_one_rate_of_a_sweep_names_it(read: Callable[[str], Experiment]) -> None:
    sweep = read(SWEEP.replace("GET at 70,000/s", "GET at three rates"))
    assert [point.title for point in sweep.points()] == ["GET at 1,000/s", "GET at 2,000/s", "GET at 5,000/s"]
    assert apply_overrides(sweep, {"rate": "3k"})[0].title == "GET at 3,000/s"
    halved, _ = apply_overrides(sweep, {"scale": "0.5"})
    assert halved.title == "GET at three rates"
    assert [point.title for point in halved.points()] == ["GET at 500/s", "GET at 1,000/s", "GET at 2,500/s"]
