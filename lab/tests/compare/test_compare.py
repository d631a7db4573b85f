"""`lab compare` from outside, on a checkout whose programs are fakes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.checkout import LIMIT_S, FakeCheckout, nothing_is_left

QUICK = ("--blocks", "6", "--metric", "p50", "--warmup", "0s", "--profile", "off")


def record(checkout: FakeCheckout) -> tuple[dict[str, Any], Path]:
    directory = checkout.runs("compare")[-1]
    return json.loads((directory / "record.json").read_text()), directory


def test_two_hundred_microseconds_more_are_worse_by_two_hundred_microseconds(checkout: FakeCheckout) -> None:
    code, output = checkout.lab("compare", "fake", "fake VARIANT=slower-by-200-us", *QUICK, "--duration", "1s")
    assert code == 0, output
    result = record(checkout)[0]["results"][0]
    primary = next(metric for metric in result["metrics"] if metric["primary"])
    assert result["verdict"] == "worse", output
    assert primary["difference"] == pytest.approx(0.2, rel=0.2), "ms"
    assert "fake VARIANT=slower-by-200-us is worse than fake: latency p50 +" in output
    assert "+200 µs" in output


@pytest.mark.parametrize("window_s", [2, 5, 20])
def test_the_cost_of_a_request_is_the_servers_whatever_a_window_lasts(checkout: FakeCheckout, window_s: int) -> None:
    """The server uses 70 µs of CPU and 1,000 bytes for each request, those of the lead-in included."""
    known = {"FAKE_CPU_US_PER_REQUEST": "70", "FAKE_MEASUREMENT_TAKES_S": "0"}
    quick = ("--blocks", "6", "--metric", "p50", "--warmup", "1s", "--profile", "off", "--force")
    quick += ("--duration", f"{2 * window_s}s")
    code, output = checkout.lab("compare", "fake", "fake VARIANT=queue", *quick, **known)
    assert code == 0, output
    found, _ = record(checkout)
    assert found["design"]["window_s"] == window_s
    metrics = {metric["name"]: metric for metric in found["results"][0]["metrics"]}
    assert [metrics["cpu"][side] for side in "ab"] == pytest.approx([70, 70], rel=0.01)
    assert [metrics["alloc"][side] for side in "ab"] == pytest.approx([1000, 1000], rel=0.01)


def test_a_side_that_spins_uses_no_cpu_while_the_other_one_is_measured(checkout: FakeCheckout) -> None:
    checkout.experiment("spinning", title="Spins", service={"variant": "queue", "idle": "spin"})
    code, output = checkout.lab("compare", "fake", "spinning", *QUICK, "--duration", "1s")
    assert code == 0, output
    windows = [window for block in record(checkout)[0]["blocks"] for window in block["windows"]]
    beside = [window["idle_cpu_s"] for window in windows if window["side"] == "a"]
    itself = [window["service_cpu_s"] for window in windows if window["side"] == "b"]
    assert sum(beside) < 0.3 * sum(itself), (beside, itself)
    assert "CPU of the sides without load" in (record(checkout)[1] / "compare.md").read_text()
    assert nothing_is_left(checkout)


def test_ctrl_c_ends_a_side_that_was_stopped_because_it_spins(checkout: FakeCheckout) -> None:
    checkout.experiment("spinning", title="Spins", service={"variant": "queue", "idle": "spin"})
    process = checkout.start("compare", "spinning", "fake", *QUICK, "--duration", "10m", "--seed", "1")
    checkout.wait_for_phase("measure")
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130, output
    assert nothing_is_left(checkout)


def test_all_sides_rest_before_each_window(checkout: FakeCheckout) -> None:
    """What one side still writes would use the CPUs of the other's window."""
    code, output = checkout.lab("compare", "fake", "fake VARIANT=queue", *QUICK, "--duration", "2s")
    assert code == 0, output
    for side in "ab":
        log = (record(checkout)[1] / side / "service.log").read_text()
        assert log.count("rests") == 6 * (1 + 4), "after each start, and before each window of either side"


def test_three_sides_run_in_turns_and_each_is_judged_against_the_first(checkout: FakeCheckout) -> None:
    others = ("fake VARIANT=queue", "fake VARIANT=slower-by-200-us")
    code, output = checkout.lab("compare", "fake", *others, *QUICK, "--duration", "2s", "--seed", "3")
    assert code == 0, output
    found, directory = record(checkout)
    assert [side["directory"] for side in found["sides"]] == ["a", "b", "c"]
    assert sorted(block["order"] for block in found["blocks"]) == ["abc", "abc", "bca", "bca", "cab", "cab"]
    for block in found["blocks"]:
        turns = "".join(window["side"] for window in block["windows"])
        assert turns == block["order"] + block["order"][::-1]
        assert all(window["idle_cpu_s"] is not None for window in block["windows"])
    assert [result["verdict"] for result in found["results"]] == ["same", "worse"], output
    assert "fake VARIANT=queue is the same as fake within 5.0%: latency p50" in output
    assert "fake VARIANT=slower-by-200-us is worse than fake: latency p50 +" in output
    text = (directory / "compare.md").read_text()
    assert found["compared"][0] == "B: service.variant: stack against queue"
    for told in ("B against A in each metric", "C against A in each metric", "C is fake VARIANT=slower-by-200-us"):
        assert told in text
    for side in "abc":
        assert json.loads((directory / side / "run.json").read_text())["complete"] is True
        assert f'href="{side}/report.html"' in (directory / "compare.html").read_text()
    assert nothing_is_left(checkout)


def test_sides_that_the_memory_does_not_hold_are_refused(checkout: FakeCheckout) -> None:
    code, output = checkout.lab("compare", *["fake"] * 4, *QUICK, FAKE_AVAILABLE_BYTES=str(11 * 2**30))
    assert code == 2
    assert "4 sides: there is memory for 3, at 2.4 GiB each" in output
    assert not (checkout.root / "results").exists()


def test_differences_besides_the_service_are_a_caution(checkout: FakeCheckout) -> None:
    output, _ = interrupted(checkout, "fake", "fake RATE=50")
    assert "the sides differ in more than the service: load.rate_per_s: 100 against 50" in output


def interrupted(checkout: FakeCheckout, *words: str) -> tuple[str, list[dict[str, Any]]]:
    """Start a comparison, end it in its first window; return what it printed and the experiments of both sides."""
    process = checkout.start("compare", *words, *QUICK, "--duration", "10m")
    checkout.wait_for_phase("measure")
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=LIMIT_S)
    directory = record(checkout)[1]
    return output, [json.loads((directory / side / "run.json").read_text())["experiment"] for side in "ab"]


def test_a_scale_multiplies_the_declared_rate_of_each_side(checkout: FakeCheckout) -> None:
    output, sides = interrupted(checkout, "fake", "fake SCALE=0.25", "--scale", "0.5")
    assert [side["resolved"]["load"]["rate_per_s"] for side in sides] == [50, 25], output
    assert [side["rate"]["scale"] for side in sides] == [0.5, 0.25]


def test_a_rate_that_is_fitted_to_a_is_the_rate_of_b_too(checkout: FakeCheckout) -> None:
    words = ("fake", "fake VARIANT=queue", "--rate", "auto")
    code, output = checkout.lab("compare", *words)
    assert code == 2
    assert "A: RATE=auto: nothing to base it on" in output
    assert "make capacity NAME=fake" in output
    assert not (checkout.root / "results").exists()
    code, output = checkout.lab("capacity", "fake", "--duration", "1s", "--warmup", "0s", FAKE_SATURATED_AT_PER_S="80")
    assert code == 0, output
    output, sides = interrupted(checkout, *words)
    rates = [side["resolved"]["load"]["rate_per_s"] for side in sides]
    assert rates == [pytest.approx(56, abs=1)] * 2, output
    assert rates[0] == rates[1]
    assert [side["rate"]["how"] for side in sides] == ["auto", "given"]


def test_a_rate_beyond_this_machine_is_reported_with_what_to_type_instead(checkout: FakeCheckout) -> None:
    load = {"script": "get.lua", "rate": 100, "threads": 1, "connections": 2, "duration": "1s"}
    checkout.experiment("many", load=load, reference={"source": "a report", "cpus": 4096})
    output, _ = interrupted(checkout, "many", "many VARIANT=queue")
    assert "100/s was measured on 4096 CPUs" in output
    assert "instead: make compare A=many B='many VARIANT=queue' SCALE=" in output


def test_ctrl_c_leaves_nothing_running_and_a_comparison_that_is_not_judged(checkout: FakeCheckout) -> None:
    process = checkout.start("compare", "fake", "fake VARIANT=queue", *QUICK, "--duration", "10m")
    checkout.wait_for_phase("measure")
    assert len([line for line in checkout.left_running() if "serve --config" in line]) >= 2, "both are alive"
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130, output
    assert "Interrupted in phase measure; nothing is left running." in output, output
    assert nothing_is_left(checkout)
    found, directory = record(checkout)
    assert (found["state"], found["results"]) == ("incomplete", [])
    assert "so it is not judged" in (directory / "compare.html").read_text()
    for side in "ab":
        assert json.loads((directory / side / "run.json").read_text())["complete"] is False
    code, output = checkout.lab("compare", str(directory / "a"), str(directory / "b"))
    assert code == 2
    assert "this run is incomplete, and an incomplete run is never compared" in output


def test_a_service_that_dies_fails_the_comparison_and_names_the_phase(checkout: FakeCheckout) -> None:
    code, output = checkout.lab("compare", "fake", "fake VARIANT=dies-under-load", *QUICK, "--duration", "2s")
    assert code == 1
    assert "the service died during the measurement" in output
    assert "incomplete, so it is not judged" in output
    assert nothing_is_left(checkout)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nope", "fake"), "A: no experiment named 'nope' in experiments"),
        (("fake", "fake", "--blocks", "3"), "BLOCKS=3: at least 6 blocks are needed"),
        (("fake", "fake VARIAN=queue"), "no such setting VARIAN; did you mean VARIANT?"),
        (("fake", "fake RATE=lots"), "B: RATE=lots: 'lots' is not a whole number"),
        (
            ("fake", "fake", "--repeat", "3"),
            "REPEAT=3: BLOCKS says how often each side is started",
        ),
        (("fake", "fake queue"), "'queue' is not KEY=value, such as 'VARIANT=queue'"),
        (("", "fake"), "A is empty: name an experiment"),
        (("fake", "fake", "--monitoring", "on"), "MONITORING=on: a comparison runs without Prometheus"),
        (("fake", "fake", "--generators", "2"), "No such option: --generators"),
        (("fake",) * 7, "7 sides: at most 6 are compared at a time"),
        (("fake", "fake", "fake RATE=lots"), "C: RATE=lots: 'lots' is not a whole number"),
    ],
)
def test_bad_input_starts_nothing(checkout: FakeCheckout, words: tuple[str, ...], message: str) -> None:
    code, output = checkout.lab("compare", *words)
    assert code == 2, output
    assert message in output.replace("\n", "")
    assert not (checkout.root / "results").exists()


def test_an_unknown_variant_is_refused_after_the_build_and_leaves_nothing(checkout: FakeCheckout) -> None:
    code, output = checkout.lab("compare", "fake", "fake VARIANT=quue", *QUICK)
    assert code == 2, output
    assert "VARIANT=quue: no such variant; did you mean queue" in output
    assert checkout.runs("compare") == []
    assert nothing_is_left(checkout)


def test_finished_runs_of_one_start_each_cannot_tell(checkout: FakeCheckout) -> None:
    for variant in ("stack", "queue"):
        code, output = checkout.lab("run", "fake", "--variant", variant, "--profile", "off", "--warmup", "0s")
        assert code == 0, output
    a, b = (f"fake/{run.name}" for run in checkout.runs())
    code, output = checkout.lab("compare", a, b, "--metric", "p50")
    assert code == 0, output
    assert "verdict: cannot tell" in output
    assert "these runs have one start of the service each, and starts differ by luck" in output
    assert "made one after the other" in output
    found, directory = record(checkout)
    assert found["how"] == "finished runs"
    assert (directory / found["sides"][0]["directory"] / "run.json").is_file()
    code, output = checkout.lab("compare", a, "fake")
    assert code == 2
    assert "is a finished run, but fake is not" in output
    code, output = checkout.lab("compare", a, a)
    assert code == 2
    assert "A and B are one run" in output
    code, output = checkout.lab("compare", a, b, "--blocks", "10")
    assert code == 2
    assert "BLOCKS: finished runs are compared as they are" in output


def test_finished_runs_of_six_starts_each_are_judged(checkout: FakeCheckout) -> None:
    for _ in range(2):
        code, output = checkout.lab("run", "fake", "--repeat", "6", "--profile", "off", "--warmup", "0s")
        assert code == 0, output
    a, b = (f"fake/{run.name}" for run in checkout.runs())
    code, output = checkout.lab("compare", a, b, "--metric", "p50")
    assert code == 0, output
    assert "verdict: same within 5.0%" in output
    assert "6 starts a side" in output
    assert "smallest differences by calibration: unknown: there was no calibration (make calibrate)" in output


def test_runs_with_another_flag_of_the_jvm_are_not_judged_unless_it_is_forced(checkout: FakeCheckout) -> None:
    for flag in ("", "-XX:+UseZGC"):
        quick = ("--repeat", "6", "--profile", "off", "--warmup", "0s")
        code, output = checkout.lab("run", "fake", *quick, JAVA_TOOL_OPTIONS=flag)
        assert code == 0, output
    a, b = (f"fake/{run.name}" for run in checkout.runs())
    why = "the runs are of unlike environments: jvm_flags: -Xmx1g against -Xmx1g -XX:+UseZGC"
    code, output = checkout.lab("compare", a, b, "--metric", "p50")
    assert code == 0, output
    assert f"Cannot tell: {why}." in output
    code, output = checkout.lab("compare", a, b, "--metric", "p50", "--force")
    assert code == 0, output
    assert "verdict: same within 5.0%" in output
    assert f"FORCE=1: {why}" in output


def test_a_machine_that_is_not_fit_to_measure_withdraws_the_verdict_unless_it_is_forced(
    checkout: FakeCheckout,
) -> None:
    code, output = checkout.lab("compare", "fake", "fake", *QUICK, "--duration", "1s", "--force", FAKE_STEAL="0.5")
    assert code == 0, output
    why = "the machine was not fit to measure: A: the hypervisor took 50% of a CPU of the service"
    assert "verdict: same within 5.0%" in output
    assert f"FORCE=1: {why}" in output
    found, directory = record(checkout)
    assert [line[:3] for line in found["results"][0]["forced"]] == ["A: ", "B: "]
    for page in ("compare.html", "compare.md"):
        assert f"FORCE=1: {why}" in (directory / page).read_text(), page
        assert "as set, without a pilot" in (directory / page).read_text(), page
    sides = str(directory / "a"), str(directory / "b")
    code, output = checkout.lab("compare", *sides, "--metric", "p50")
    assert code == 0, output
    assert "verdict: cannot tell" in output
    assert f"Cannot tell: {why}" in output
    code, output = checkout.lab("compare", *sides, "--metric", "p50", "--force")
    assert code == 0, output
    assert "verdict: same within 5.0%" in output
    assert f"FORCE=1: {why}" in output


def committed(checkout: FakeCheckout, besides: str = "true") -> None:
    """Commit the checkout; the service of the commit is built by copying it, and by a command `besides`."""
    jar = "service/server/target/service/lsmlab-server.jar"
    checkout.write("Makefile", f"build-service build-loadgen build-profiler:\n\t@mkdir -p {Path(jar).parent}\n"
                               f"\t@test -f {jar} || {{ cp {checkout.root / jar} {jar}; {besides}; }}\n")  # fmt: skip
    checkout.write(".gitignore", ".cache/\nresults/\nservice/\n")
    identity = {
        "GIT_AUTHOR_NAME": "T",
        "GIT_AUTHOR_EMAIL": "t@t",
        "GIT_COMMITTER_NAME": "T",
        "GIT_COMMITTER_EMAIL": "t@t",
    }
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "base"]):
        subprocess.run(["git", *words], cwd=checkout.root, check=True, env={**os.environ, **identity})


@pytest.mark.parametrize(
    ("says", "message"),
    [
        ("fake-0", "HEAD has table format fake-0 and this checkout fake-1: they cannot read one dataset"),
        ("", "HEAD: its service has no command table-format, so it is not known if it can read the dataset"),
    ],
)
def test_regress_refuses_a_service_that_cannot_read_the_dataset(
    checkout: FakeCheckout, says: str, message: str
) -> None:
    committed(checkout, f"printf '{says}' >service/server/target/service/table-format.txt")
    code, output = checkout.lab("regress", "HEAD", "fake", *QUICK, "--duration", "1s")
    assert code == 2, output
    assert message in output.replace("\n", " ")
    assert checkout.runs("compare") == []


def test_regress_compares_with_the_service_of_an_earlier_commit(checkout: FakeCheckout) -> None:
    committed(checkout)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout.root, check=True, capture_output=True, text=True)
    code, output = checkout.lab("regress", "HEAD", "fake", *QUICK, "--duration", "1s")
    assert code == 0, output
    assert "fake of this checkout is the same as fake of HEAD within 5.0%" in output
    found, directory = record(checkout)
    assert found["compared"] == [f"revision of the service: {commit.stdout[:12]} against this checkout"]
    a = json.loads((directory / "a/run.json").read_text())
    assert a["environment"]["git"] == {"commit": commit.stdout.strip(), "dirty": False, "diff_hash": None}
    worktrees = subprocess.run(
        ["git", "worktree", "list"], cwd=checkout.root, capture_output=True, text=True, check=True
    )
    assert len(worktrees.stdout.splitlines()) == 1
    assert not list((checkout.root / ".cache/regress").glob("*/"))
    assert nothing_is_left(checkout)


def test_profiling_cost_is_a_comparison_whose_second_side_is_recorded(checkout: FakeCheckout) -> None:
    checkout.environment["FAKE_PROFILE_LOG"] = str(checkout.root / "profile.log")
    words = QUICK[:-2]  # without --profile off
    code, output = checkout.lab("profiling-cost", "fake", *words, "--duration", "1s")
    assert code == 0, output
    assert "fake, recorded is the same as fake within 5.0%" in output
    found, directory = record(checkout)
    assert found["compared"] == ["recording: off against cpu, alloc each 500us"]
    assert found["besides"] == []
    assert (checkout.root / "profile.log").read_text().splitlines() == ["start b cpu,alloc within 121s", "stop b "] * 6
    assert not list(directory.glob("?/profile")), "there is no repetition besides the windows"
    assert not (directory / "b/recording").exists()
    assert nothing_is_left(checkout)


def test_profiling_cost_refuses_profile_off(checkout: FakeCheckout) -> None:
    code, output = checkout.lab("profiling-cost", "fake", "--profile", "off")
    assert code == 2
    assert "side A is never profiled, side B always is" in output


def test_regress_refuses_an_unknown_revision(checkout: FakeCheckout) -> None:
    code, output = checkout.lab("regress", "no-such-branch", "fake")
    assert code == 2
    assert "BASE=no-such-branch: no such revision" in output
