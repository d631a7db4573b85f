from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from selenium.webdriver import Chrome
from xdist.scheduler import LoadScopeScheduling

from support import chromium
from support.checkout import FakeCheckout
from support.installed import IS_MISSING, NO_ENGINE, leave_out, require

os.environ["MAKELEVEL"] = "1"  # messages are in make's words, whoever started the tests

# How long an example takes depends on what else the machine does.
settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")


@pytest.fixture
def checkout(tmp_path: Path) -> FakeCheckout:
    """A checkout whose service, load generator and profiler are fakes."""
    return FakeCheckout(tmp_path / "checkout").build()


@pytest.fixture(scope="session")
def browser() -> Iterator[Chrome]:
    """Headless Chromium; one for all tests of a process, which open their pages by `support.chromium`."""
    driver = chromium.start()
    yield driver
    driver.quit()


# Files whose tests share nothing and take seconds each, as they run the lab. With `-n`, each of these tests goes to the
# next free process. The tests of any other file stay in one process, because they share fixtures that are costly.
EACH_ALONE = {
    "test_compare.py",
    "test_from_outside.py",
    "test_results.py",
    "test_run.py",
    "test_run_errors.py",
    "test_run_interrupted.py",
    "test_series.py",
    "test_suite.py",
}

# End-to-end tests that measure nothing and use neither the lock nor the ports nor the containers of runs. With `-n`,
# one process takes them while another makes the runs, one after the other.
BESIDE_RUNS = {
    "test_add_a_variant.py",
    "test_clients.py",
    "test_containers.py",
    "test_linked_dataset.py",
    "test_load_schema.py",
    "test_native_transport.py",
    "test_planted_limits.py",
    "test_your_service.py",
}


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Hands out files, and the tests of some files one by one."""

    def _split_scope(self, nodeid: str) -> str:
        file = Path(nodeid.partition("::")[0])
        if "e2e" in file.parts:
            return "beside runs" if file.name in BESIDE_RUNS else "runs"
        return nodeid if file.name in EACH_ALONE else str(file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Scheduling:
    """Have `-n` schedule by these rules."""
    return Scheduling(config, log)


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out tests that open pages if the browser or its driver is missing."""
    if item.get_closest_marker("browser") is None:
        return
    if not any(map(shutil.which, BROWSERS)):
        leave_out(f"Chromium {IS_MISSING}chromium chromium-driver)")
    require("chromedriver", "chromium-driver")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell `make test` how many tests were left out for which missing program; it repeats that at its end.

    With `-n`, each process of tests comes here too, with its own part of them.
    """
    if (told := os.environ.get("TESTS_LEFT_OUT")) and "PYTEST_XDIST_WORKER" not in os.environ:
        skipped = (report.longrepr for report in terminalreporter.stats.get("skipped", []))
        reasons = Counter(why[2].removeprefix("Skipped: ") for why in skipped if isinstance(why, tuple))
        missing = {why: count for why, count in reasons.items() if IS_MISSING in why or NO_ENGINE in why}
        with Path(told).open("a", encoding="utf-8") as file:
            file.writelines(f"not run: {count} of the lab's tests: {why}\n" for why, count in missing.items())
