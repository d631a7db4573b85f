"""`LOADGEN` and `LOADGEN_IMAGE` in containers: whole runs with a stand-in for wrk2 of which only the text is known."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.paths import Checkout

from .conftest import CHECKOUT, make, require, runs_of

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1800)]
STANDIN = Path(__file__).parent / "standin"
IMAGE = "lsmlab-test-wrk2"
DOCKERFILE = """
FROM lsmlab-loadgen
COPY wrk2 /usr/local/bin/wrk2
ENTRYPOINT ["/usr/local/bin/wrk2"]
"""
EXPERIMENT = "sync-put"
RATE, DURATION_S = 2000, 3
LACKING = "does not write load.json, latency.hlog"


@dataclass(frozen=True)
class OtherRun:
    """A run with another load generator: what its name must be, and the directory."""

    name: str
    directory: Path
    image: str


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require("docker")
    from lab.runtime.docker.runtime import DockerRuntime

    DockerRuntime(Checkout(CHECKOUT)).build(tmp_path_factory.mktemp("build") / "build.log", lambda _: None)
    docker("build", "--tag", IMAGE, "--file", "-", str(STANDIN), text=DOCKERFILE)
    yield docker("image", "inspect", "--format", "{{.Id}}", IMAGE).strip()
    docker("image", "rm", "--force", IMAGE)


def docker(*words: str, text: str = "") -> str:
    done = subprocess.run(["docker", *words], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"docker {' '.join(words)}: {done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module", params=["LOADGEN", "LOADGEN_IMAGE"])
def other_run(request: pytest.FixtureRequest, image: str) -> OtherRun:
    setting: str = request.param
    before = runs_of(EXPERIMENT)
    value = str(STANDIN / "wrk2") if setting == "LOADGEN" else IMAGE
    settings = [f"RATE={RATE}", f"DURATION={DURATION_S}s", "WARMUP=1s", "RUNTIME=docker", "MONITORING=off"]
    if setting == "LOADGEN_IMAGE":
        settings.append("PROFILE=off")  # the run with LOADGEN is profiled
    done = make("experiment", f"NAME={EXPERIMENT}", *settings, f"{setting}={value}")
    assert done.returncode == 0, done.stdout[-4000:]
    (directory,) = runs_of(EXPERIMENT) - before
    return OtherRun(Path(value).name, directory, image if setting == "LOADGEN_IMAGE" else "")


def manifest(run: OtherRun) -> dict:
    return json.loads((run.directory / "run.json").read_text())


def test_its_text_is_all_that_there_is(other_run: OtherRun) -> None:
    text = (other_run.directory / "measure/1/load.txt").read_text()
    assert text.startswith(f"Running {DURATION_S}s test @ http://127.0.0.1:8080\n")
    assert text.rstrip().splitlines()[-1].startswith("Transfer/sec:")
    assert [path.name for path in (other_run.directory / "measure/1").iterdir()] == ["load.txt"]


def test_the_lab_reads_its_text(other_run: OtherRun) -> None:
    run = manifest(other_run)
    assert run["complete"] is True
    assert run["environment"]["load_generator"] == {"name": other_run.name, "version": "unknown", "custom": True}
    if other_run.image:
        assert run["environment"]["images"]["loadgen"] == other_run.image
    summary = run["summary"]
    assert summary["rate_offered_per_s"] == RATE
    percentiles = summary["latency_ms"]["percentiles"]
    text = (other_run.directory / "measure/1/load.txt").read_text()
    assert summary["requests"] == int(re.search(r"(\d+) requests in", text)[1]) > 0
    (median,) = [line.split()[1] for line in text.splitlines() if line.strip().startswith("50.000%")]
    assert percentiles["50"] == pytest.approx(milliseconds(median), rel=0.02)
    assert 0 < percentiles["50"] <= summary["latency_ms"]["max"]


def milliseconds(word: str) -> float:
    for unit, factor in (("us", 1e-3), ("ms", 1.0), ("s", 1e3)):
        if word.endswith(unit) and word.removesuffix(unit).replace(".", "", 1).isdigit():
            return float(word.removesuffix(unit)) * factor
    raise AssertionError(f"no time: {word}")


def test_the_report_says_what_is_missing(other_run: OtherRun) -> None:
    run = manifest(other_run)
    assert run["summary"]["lacks"] == ["load.json", "latency.hlog"]
    checks = {check["name"]: check for check in run["validity"]["checks"]}
    assert LACKING in checks["outputs"]["detail"]
    assert {checks[name]["outcome"] for name in ("schedule", "generator's error", "unfinished")} == {"unknown"}
    for report in ("report.md", "report.html"):
        assert LACKING in (other_run.directory / report).read_text(), report


def test_a_repetition_with_our_own_generator_is_shown_beside_it(other_run: OtherRun) -> None:
    own = json.loads((other_run.directory / "reference-generator/load.json").read_text())
    assert own["generator"]["name"] == "loadgen"
    assert (own["rate_per_s"], own["duration_s"]) == (RATE, DURATION_S)
    run = manifest(other_run)
    reference = run["summary"]["reference_generator"]["latency_ms"]["percentiles"]
    assert reference["50"] == pytest.approx(own["latency_us"]["percentiles"]["50"] / 1e3, rel=0.01)
    checks = {check["name"]: check["detail"] for check in run["validity"]["checks"]}
    assert "The lab's own, in one more repetition at the same load, shows its size: p50 " in checks["generator's error"]
    assert "Lab’s generator" in (other_run.directory / "report.html").read_text()


def test_an_option_that_wrk2_lacks_would_have_ended_the_run() -> None:
    done = subprocess.run([STANDIN / "wrk2", "--json", "x"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "wrk2: unrecognized option '--json'\n")
