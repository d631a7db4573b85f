"""One real run in each runtime, made once and looked at by every test here.

The docker half needs an engine. Without one it is skipped and the last lines say so; if CI is set it fails instead.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.installed import NO_ENGINE, leave_out

CHECKOUT = Path(__file__).resolve().parents[3]
RUN_LIMIT_S = 1500
READY_LIMIT_S = 60
RATE, WARMUP_S, DURATION_S = 5_000, 3, 12
"""Load of the run that all tests look at. A machine four times slower than a laptop serves that rate too."""


@dataclass(frozen=True)
class FinishedRun:
    """The result of `make experiment`: its exit code, what it printed, and the directory of the run."""

    runtime: str
    exit_code: int
    output: str
    directory: Path


def outside_make() -> dict[str, str]:
    """Return the environment without the settings of `make torture-…`: they are not meant for an experiment."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}


def make(
    *words: str, directory: Path = CHECKOUT, limit_s: float = RUN_LIMIT_S, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run make in a checkout as a user would, without a terminal."""
    return subprocess.run(
        ["make", *words],
        cwd=directory,
        env={**outside_make(), **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=limit_s,
        check=False,
    )


def engine_answers() -> bool:
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True, timeout=300, check=False).returncode == 0


def runs_of(experiment: str) -> set[Path]:
    return set((CHECKOUT / "results" / experiment).glob("*T*Z"))


def wait_until_ready(prometheus_url: str) -> None:
    wait_until_it_answers(f"{prometheus_url}/-/ready")


def wait_until_it_answers(url: str) -> None:
    deadline = time.monotonic() + READY_LIMIT_S
    while True:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            assert time.monotonic() < deadline, f"{url} has not answered within {READY_LIMIT_S} s"
            time.sleep(0.2)


def require(runtime: str) -> None:
    if runtime == "docker" and not engine_answers():
        leave_out(NO_ENGINE)


# `make test-kubernetes` brings up a cluster and runs the same tests in it.
IN_A_CLUSTER = bool(os.environ.get("LAB_TEST_KUBERNETES"))
RUNTIMES = ["kubernetes"] if IN_A_CLUSTER else ["local", "docker"]


@pytest.fixture(scope="session", params=RUNTIMES)
def finished_run(request: pytest.FixtureRequest) -> FinishedRun:
    runtime: str = request.param
    require(runtime)
    before = runs_of("stack-get")
    settings = [f"RATE={RATE}", f"DURATION={DURATION_S}s", f"WARMUP={WARMUP_S}s", f"RUNTIME={runtime}"]
    done = make("experiment", "NAME=stack-get", "MONITORING=on", *settings)
    new = runs_of("stack-get") - before
    if len(new) != 1:
        pytest.fail(f"expected one new run, got {sorted(new)}; make printed:\n{done.stdout[-4000:]}", pytrace=False)
    return FinishedRun(runtime, done.returncode, done.stdout, new.pop())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test that needs a run waits for it, builds included."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.timeout(RUN_LIMIT_S + 100))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and NO_ENGINE in report.longrepr[2]
    ]
    if skipped:
        terminalreporter.write_line(
            f"The docker end-to-end tests did not run ({len(skipped)}): {NO_ENGINE}. "
            "`make check` says how to get one; everything else above is of the local runtime."
        )
