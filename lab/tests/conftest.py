from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from xdist.scheduler import LoadScopeScheduling

from support import chromium
from support.checkout import FakeCheckout


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
    """Skip tests that open pages if the browser or its driver is missing; `pytest -rs` reports that in one line.

    If CI is set they fail instead: it was to install both.
    """
    if item.get_closest_marker("browser") is None:
        return
    if not any(map(shutil.which, BROWSERS)):
        _leave_out("Chromium is missing (Debian: apt install chromium chromium-driver)")
    if shutil.which("chromedriver") is None:
        _leave_out("chromedriver is missing (Debian: apt install chromium-driver)")


def _leave_out(why: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"pages are not opened: {why}; under CI these tests must run", pytrace=False)
    pytest.skip(f"pages are not opened: {why}")
